package logtree

import (
	"context"
	"fmt"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Blobs resolves the references to blobs in one log.
type Blobs struct {
	Path    string
	Dialect dialect.Dialect
	Reader  blob.Reader // nil: the agent keeps no blobs
	// Beside reads a file of the session's folder (see dialect.Foldered), named relative to it. It may be nil.
	Beside func(ctx context.Context, name string) ([]byte, error)
}

// Resolve replaces the references to blobs by their content. A missing blob is reported, and its reference
// stays.
func (b Blobs) Resolve(ctx context.Context, message []byte, report func(session.Problem)) ([]byte, error) {
	return b.Dialect.Codec().ResolveBlobs(message, func(ref string) ([]byte, error) {
		content, p := b.Get(ctx, ref)
		if p == nil {
			return content, nil
		}
		if report != nil {
			report(*p)
		}
		return nil, p
	})
}

// Get reads the blob of a reference. A blob that is missing is a Problem, not an error: the rest of the message is still
// worth reading.
func (b Blobs) Get(ctx context.Context, ref string) ([]byte, *session.Problem) {
	p := &session.Problem{File: b.Path, Kind: session.ProblemBlobMissing,
		Advice: "the reference was left in its place; copy the blob into the agent's folder of blobs to see it"}
	r, err := blob.ParseRef(ref)
	switch {
	case err != nil:
		p.Kind = session.ProblemBlobRef
		p.Advice = "the text was left in its place"
	case b.Reader == nil:
		err = fmt.Errorf("%s: %w: %s keeps no blobs", r, blob.ErrNotExist, b.Dialect.Name())
	default:
		var content []byte
		if content, err = blob.Get(ctx, b.Reader, r); err == nil {
			return content, nil
		}
	}
	p.Message = err.Error()
	return nil, p
}

// beside is like Get, for a file of the session's folder.
func (b Blobs) beside(ctx context.Context, name string) ([]byte, *session.Problem) {
	content, err := b.Beside(ctx, name)
	if err == nil {
		return content, nil
	}
	return nil, &session.Problem{File: b.Path, Kind: session.ProblemBlobMissing, Message: err.Error(),
		Advice: "the beginning of the text was left in its place; copy the file into the session's folder to see it whole"}
}

// Whole returns the record of an entry with the strings restored that the agent's format cut. Most records have none and come back
// unchanged. What cannot be restored stays cut, and the problems say why.
func (b Blobs) Whole(ctx context.Context, e session.Entry) (record []byte, problems []session.Problem, err error) {
	if record, err = e.Raw(); err != nil {
		return nil, nil, err
	}
	record, problems = b.Restore(ctx, e, record)
	return record, problems, nil
}

// Restore is Whole for a record that has already been read.
func (b Blobs) Restore(ctx context.Context, e session.Entry, record []byte) (whole []byte, problems []session.Problem) {
	d, ok := b.Dialect.(dialect.Overflower)
	if !ok {
		return record, nil
	}
	get := b.Get
	if _, ok := b.Dialect.Layout().(dialect.Foldered); ok {
		if get = b.beside; b.Beside == nil {
			return record, nil
		}
	}
	whole = d.Whole(record, func(ref string) ([]byte, error) {
		content, p := get(ctx, ref)
		if p != nil {
			p.Line, p.Offset = e.Line, e.Span.Offset
			problems = append(problems, *p)
			return nil, p
		}
		return content, nil
	})
	return whole, problems
}
