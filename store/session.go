package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Session is one session, open for reading.
type Session struct {
	path    string
	log     backend.Log
	dialect dialect.Dialect
	tree    *session.Tree
	blobs   blob.Reader
	closers []io.Closer
}

// load reads the log and builds the tree.
func (s *Session) load(ctx context.Context, b backend.Backend, src session.Source) error {
	builder := session.NewBuilder(s.path, src)
	builder.Expect(s.log.Size)
	dec := s.dialect.NewDecoder(builder)
	for r, err := range records(ctx, b, s.log) {
		if err != nil {
			return err
		}
		dec.Decode(r)
	}
	if err := dec.Finish(); err != nil {
		var p *session.Problem
		if errors.As(err, &p) {
			p.File = s.path
		}
		return fmt.Errorf("%w: %w", err, ErrNotSession)
	}
	s.tree = builder.Finish()
	return nil
}

// Path is the file, as it was given.
func (s *Session) Path() string { return s.path }

// Log is the log as it was when it was opened.
func (s *Session) Log() backend.Log { return s.log }

// Dialect is how the log is read.
func (s *Session) Dialect() dialect.Dialect { return s.dialect }

// Tree is the session's entries.
func (s *Session) Tree() *session.Tree { return s.tree }

// Header is what the log's first record says.
func (s *Session) Header() session.Header { return s.tree.Header() }

// Close releases the log.
func (s *Session) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	s.closers = nil
	return errors.Join(errs...)
}

// ContextOptions ask for a context other than the agent's own.
type ContextOptions struct {
	DropFailed, StripDangling, LLM bool
	// NoBlobs leaves references to blobs as they are.
	NoBlobs bool
	// FallBack takes the last entry where the leaf is unknown.
	FallBack bool
	// Problem, if set, is told of blobs that are not there.
	Problem func(session.Problem)
}

// Context computes what the model would see at leaf; "" is the place before the first entry.
func (s *Session) Context(ctx context.Context, leaf session.EntryID, opt ContextOptions) (*session.Context, error) {
	o := session.ContextOptions{
		DropFailed: opt.DropFailed, StripDangling: opt.StripDangling, LLM: opt.LLM, FallBack: opt.FallBack,
	}
	if !opt.NoBlobs {
		o.Resolve = func(m []byte) ([]byte, error) { return s.resolveBlobs(ctx, m, opt.Problem) }
	}
	return session.BuildContext(s.tree, leaf, o)
}

// resolveBlobs puts blobs in the place of their references. One that cannot be had is reported, and its reference stays.
func (s *Session) resolveBlobs(ctx context.Context, m []byte, report func(session.Problem)) ([]byte, error) {
	return s.dialect.Codec().ResolveBlobs(m, func(ref string) ([]byte, error) {
		b, p := s.Blob(ctx, ref)
		if p == nil {
			return b, nil
		}
		if report != nil {
			report(*p)
		}
		return nil, p
	})
}

// Blob reads the blob that a reference names, or says why it cannot.
func (s *Session) Blob(ctx context.Context, ref string) ([]byte, *session.Problem) {
	p := &session.Problem{File: s.path, Kind: session.ProblemBlobMissing,
		Advice: "the reference was left in its place; copy the blob into the agent's folder of blobs to see it"}
	r, err := blob.ParseRef(ref)
	switch {
	case err != nil:
		p.Kind = session.ProblemBlobRef
		p.Advice = "the text was left in its place"
	case s.blobs == nil:
		err = fmt.Errorf("%s: %w: %s keeps no blobs", r, blob.ErrNotExist, s.dialect.Name())
	default:
		var b []byte
		if b, err = blob.Get(ctx, s.blobs, r); err == nil {
			return b, nil
		}
	}
	p.Message = err.Error()
	return nil, p
}
