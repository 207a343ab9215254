package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// ErrNotSession is wrapped by the error for a file that no dialect can read.
var ErrNotSession = errors.New("not a session")

// OpenOptions change how a session is opened.
type OpenOptions struct {
	// Dialect reads the log, whatever it looks like. nil: the log is asked.
	Dialect dialect.Dialect
}

// Open opens the session in a file for reading. Nothing is written, not even a time.
//
// Damage does not fail it: what could be read is there, and Tree().Problems says what could not. It fails with a
// *session.Problem, wrapped together with ErrNotSession, where the file has no readable header.
func (s *Store) Open(ctx context.Context, path string, opt OpenOptions) (*Session, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	b, err := s.opt.OpenDir(filepath.Dir(abs))
	if err != nil {
		return nil, err
	}
	sess, err := s.OpenLog(ctx, b, filepath.Base(abs), path, opt)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	// Closed with the session, which reads entries from it on demand.
	sess.closers = append(sess.closers, b)
	return sess, nil
}

// OpenLog opens the session in a log of any backend. The path is how it is called in messages; it also decides between
// the values of a family.
func (s *Store) OpenLog(ctx context.Context, b backend.Backend, name, path string, opt OpenOptions) (*Session, error) {
	for try := 0; ; try++ {
		sess, _, err := s.openLog(ctx, b, name, path, opt)
		if try == rewritten || !errors.Is(err, backend.ErrChanged) {
			return sess, err
		}
	}
}

// rewritten is how often a log that others rewrite while it is opened is looked at again.
const rewritten = 100

// openLog is OpenLog for those who go on reading. Stat, detection and reading are three looks at the log: what they see
// must be one log, which the backend checks by at. ErrChanged says that it was not, and the caller begins again.
func (s *Store) openLog(ctx context.Context, b backend.Backend, name, path string, opt OpenOptions) (*Session, loaded, error) {
	var l loaded
	at, err := b.Stat(ctx, name)
	if err != nil {
		return nil, l, named(path, err)
	}
	var first []dialect.Record
	_, runs := opt.Dialect.(dialect.Runs)
	if opt.Dialect == nil || runs { // who knows what it is need not look
		if first, err = firstRecords(ctx, b, at); err != nil {
			return nil, l, named(path, err)
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, l, err
	}
	d, known := opt.Dialect, true
	if d == nil {
		d, known = s.detect(abs, first)
		// Who names the agent may mean either: the log says whether it is a run or a session.
	} else if own := Sessions(d); runs && own.Detect(first) {
		d = own
	}
	src, err := newSource(ctx, b, at)
	if err != nil {
		return nil, l, named(path, err)
	}
	if l, err = load(ctx, b, at, d, path, src, session.Header{}); err != nil {
		src.Close()
		// Such an error is a Problem, which names the file itself.
		if !known || errors.Is(err, ErrNotSession) {
			return nil, l, err
		}
		return nil, l, named(path, err)
	}
	s.findCWD(ctx, l, b, name, path, d)
	return &Session{store: s, path: path, log: at, dialect: d, tree: l.tree, source: src, blobs: s.blobsFor(abs, d)}, l, nil
}

// named puts the path before an error, for messages that people read.
func named(path string, err error) error {
	var damage *backend.DamageError
	switch {
	case err == nil || path == "":
		return err
	case errors.As(err, &damage):
		return &session.Problem{File: damage.File, Line: damage.Line, Offset: damage.Offset, Kind: session.ProblemMalformed,
			Message: damage.Message, Advice: damage.Advice}
	// The backend names the log as it knows it; the path says more, and once is enough.
	case errors.Is(err, backend.ErrNotExist):
		return fmt.Errorf("%s: %w", path, backend.ErrNotExist)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// firstRecords gives enough of a log to tell what it is.
func firstRecords(ctx context.Context, b backend.Backend, at backend.Log) ([]dialect.Record, error) {
	const enough = 8
	var first []dialect.Record
	for r, err := range records(ctx, b, at) {
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(r.Data)) > 0 {
			// A record is the backend's until the next one.
			r.Data = bytes.Clone(r.Data)
			first = append(first, r)
		}
		if len(first) == enough {
			break
		}
	}
	return first, nil
}

// records reads a log as lines, whatever its name: a backup of a log is one too. Only what calls itself a JSON document is
// one record.
func records(ctx context.Context, b backend.Backend, at backend.Log) iter.Seq2[dialect.Record, error] {
	return func(yield func(dialect.Record, error) bool) {
		line := 0
		lines := linesOf(b, at.Name)
		for r, err := range b.Read(ctx, at, 0) {
			if err != nil {
				yield(dialect.Record{}, err)
				return
			}
			if lines {
				line++
				if !yield(dialect.Record{Data: r.Data, Offset: r.Offset, Line: line, Torn: r.Torn}, nil) {
					return
				}
				continue
			}
			if filepath.Ext(at.Name) == ".json" {
				yield(dialect.Record{Data: r.Data, Offset: r.Offset, Line: 1}, nil)
				return
			}
			rest, offset := r.Data, r.Offset
			// What is left of a name like "x.jsonl.v1.bak": the backend gives it whole, and lines are ours to find.
			for len(rest) > 0 {
				data, after, found := bytes.Cut(rest, []byte{'\n'})
				line++
				if !yield(dialect.Record{Data: bytes.TrimSuffix(data, []byte{'\r'}), Offset: offset, Line: line, Torn: !found}, nil) {
					return
				}
				offset += int64(len(rest) - len(after))
				rest = after
			}
		}
	}
}

// eachRecord is records for a whole log, the fastest way that the backend has. take must keep nothing of a record, and
// what it found counts only where there is no error. View gives the bytes of a file without copying them (mapped memory);
// they are gone when it returns.
func eachRecord(ctx context.Context, b backend.Backend, at backend.Log, take func(dialect.Record)) error {
	if v, ok := b.(backend.Viewer); ok && backend.IsText(at.Name) {
		err := v.View(ctx, at, func(data []byte) error { return eachLine(ctx, data, take) })
		// Not on this system, or not for this file: it is read record by record instead.
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	for r, err := range records(ctx, b, at) {
		if err != nil {
			return err
		}
		take(r)
	}
	return nil
}

// eachLine takes apart the bytes of a text log. The rules are those of internal/jsonl: a carriage return before the newline
// goes, a last line without newline is torn.
func eachLine(ctx context.Context, data []byte, take func(dialect.Record)) error {
	// Asked once: for each line it would cost more than most lines.
	done := ctx.Done()
	for start, line := 0, 1; start < len(data); line++ {
		select {
		case <-done:
			return context.Cause(ctx)
		default:
		}
		r := dialect.Record{Offset: int64(start), Line: line}
		end := bytes.IndexByte(data[start:], '\n')
		if end < 0 {
			r.Data, r.Torn = data[start:], true
			take(r)
			return nil
		}
		r.Data = data[start : start+end : start+end]
		if end > 0 && r.Data[end-1] == '\r' {
			r.Data = r.Data[: end-1 : end-1]
		}
		take(r)
		start += end + 1
	}
	return nil
}

// blobsFor gives the blobs that references in a log mean.
func (s *Store) blobsFor(path string, d dialect.Dialect) blob.Reader {
	dir := s.blobDir(path, d)
	if dir == "" || s.opt.OpenBlobs == nil {
		return nil
	}
	return s.opt.OpenBlobs(dir)
}

// blobDir is the folder of the blobs that references in a log mean: that of the agent's folder the log lies in, or the
// agent's default one; "" where the dialect has none.
func (s *Store) blobDir(path string, d dialect.Dialect) string {
	// A folder that was copied as a whole has its own blobs beside its sessions.
	if dir, ok := sessionsAbove(path); ok {
		return d.Layout().RootAt(filepath.Dir(dir)).Blobs
	}
	for _, r := range d.Layout().Roots(s.opt.Env) {
		if r.Blobs != "" {
			return r.Blobs
		}
	}
	return ""
}
