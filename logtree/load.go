package logtree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Loaded is the result of reading a log. Builder and Decoder are ready for the next records.
type Loaded struct {
	Builder *session.Builder
	Decoder dialect.Decoder
	Tree    *session.Tree
	// Lines is how many lines were read.
	Lines int
	// Torn: the last line is unterminated.
	Torn bool
	// Loose: the last line is unterminated and holds entries beside something that is not a record. An append would move
	// the whole line aside as torn.
	Loose bool
	// Long is why the log was not read to its end: a line that is too long. Such a log must not be written.
	Long *backend.LongLineError
}

// Load reads a log and builds its tree. Only the envelopes of entries are kept; src reads the rest on demand. path names the log in
// messages. known holds header fields from elsewhere, for formats whose records lack them.
func (r Reader) Load(ctx context.Context, b backend.Backend, at backend.Log, d dialect.Dialect, path string, src session.Source, known session.Header) (Loaded, error) {
	l := Loaded{Builder: Seed(d, path, src, known)}
	l.Builder.Expect(at.Size)
	later := context.WithoutCancel(ctx) // the decoder also reads what is appended later
	ask := &asking{ctx: later, r: r, b: b, name: at.Name, path: path, d: d}
	var open backend.Reader
	if s, ok := src.(*Source); ok {
		ask.src, open = s, s.reader()
	}
	l.Decoder = dialect.Supplies{File: ask.file, Log: ask.log}.Meet(d.NewDecoder(l.Builder))
	err := each(ctx, b, at, open, func(r dialect.Record) {
		before := l.Builder.Len()
		l.Decoder.Decode(r)
		l.Lines = r.Line
		if l.Torn = r.Torn; r.Torn {
			l.Loose = IsLoose(r.Data, r.Torn, l.Builder.Len()-before)
		}
	})
	if l.Long, _ = errors.AsType[*backend.LongLineError](err); l.Long != nil {
		l.Torn, l.Loose = false, false
		l.Builder.Problem(session.Problem{
			Line: l.Long.Line, Offset: l.Long.Offset, Kind: session.ProblemUnreadable, Message: l.Long.Message(), Advice: l.Long.Advice(),
		})
	} else if err != nil {
		return l, err
	}
	if err := l.Decoder.Finish(); err != nil {
		var p *session.Problem
		if errors.As(err, &p) {
			p.File = path // the decoder does not know it
		}
		return l, fmt.Errorf("%w: %w", err, ErrNotSession)
	}
	l.Tree = l.Builder.Finish()
	return l, nil
}

// IsLoose reports whether an append would move a line aside as torn although it holds entries. entries is the number of entries in it.
func IsLoose(line []byte, torn bool, entries int) bool {
	return torn && entries > 0 && !rawjson.Valid(line)
}

// Seed begins the tree of a log with what its path says and, for the rest, with what is known of the session.
func Seed(d dialect.Dialect, path string, src session.Source, known session.Header) *session.Builder {
	b := session.NewBuilder(path, src)
	p, ok := d.Layout().(dialect.Placer)
	if !ok {
		return b
	}
	h := session.Header{ID: known.ID, CWD: known.CWD, Parent: known.Parent, Timestamp: known.Timestamp}
	if path != "" {
		var created session.Time
		// In such formats the file's name is the id, whatever was known.
		h.ID, created = p.Named(filepath.ToSlash(path))
		if created.Text != "" {
			h.Timestamp = created
		}
	}
	b.SetHeader(h)
	return b
}

// Born returns the header of a new session whose log has no records yet.
func Born(n dialect.NewSession) session.Header {
	return session.Header{ID: n.ID, CWD: n.CWD, Parent: n.Parent, Timestamp: session.TimeOf(n.Time)}
}

// FromRecords builds the tree of records that are not yet in a log. records are their spans in src, one after the other as in a
// log.
func FromRecords(d dialect.Dialect, path string, known session.Header, src session.Source, records []session.Span) (Loaded, error) {
	l := Loaded{Builder: Seed(d, path, src, known), Lines: len(records)}
	l.Decoder = d.NewDecoder(l.Builder)
	for i, at := range records {
		data, err := src.Bytes(at)
		if err != nil {
			return l, err
		}
		l.Decoder.Decode(dialect.Record{Data: data, Offset: at.Offset, Line: i + 1})
	}
	l.Tree = l.Builder.Finish()
	return l, nil
}

// FromText builds the tree of the bytes of a log. It has no source: only the header's record can be read.
func FromText(d dialect.Dialect, path string, text []byte) Loaded {
	l := Loaded{Builder: Seed(d, path, nil, session.Header{})}
	l.Decoder = d.NewDecoder(l.Builder)
	for r := range splitLines(text, 0) {
		l.Decoder.Decode(r)
		l.Lines = r.Line
	}
	l.Tree = l.Builder.Finish()
	return l
}

// Log is one log as it was read.
type Log struct {
	Loaded
	Path    string
	At      backend.Log
	Dialect dialect.Dialect
	Source  *Source

	tail   Tail // see Renew
	halved bool // Renew has read only some of the appended records
}

// Close closes the log. Entries that are not in memory can no longer be read.
func (l *Log) Close() error { return l.Source.Close() }

// Reader opens logs.
type Reader struct {
	// Dialects are asked in this order.
	Dialects []dialect.Dialect
	// Place gives the dialect of the place that a log lies in.
	Place func(path string) dialect.Dialect
	// Around gives the folders to which a need of the log at path is relative (see dialect.NeedKind), in the order in which they
	// are searched. There are none if the log lies in no place of its agent. Around may be nil.
	Around func(d dialect.Dialect, path string, kind dialect.NeedKind) ([]Folder, error)
}

// Folder is where logs are looked for, and its path for messages.
type Folder struct {
	Backend backend.Backend
	Path    string
}

// Open reads the log of that name. path names it in messages and also decides between the values of a family. If d is not nil, it
// reads the log whatever its content. A log that is rewritten while it is read is read again.
//
// Damage does not fail it: what could be read is in the tree, and its Problems say what could not. It fails with a
// *session.Problem, wrapped together with ErrNotSession, if the log has no readable header.
func (r Reader) Open(ctx context.Context, b backend.Backend, name, path string, d dialect.Dialect) (*Log, error) {
	for try := 0; ; try++ {
		l, err := r.open(ctx, b, name, path, d)
		if try == Retries || !errors.Is(err, backend.ErrChanged) {
			return l, err
		}
	}
}

// open asks for the log's identity, its first records and all of it. The backend compares each with the identity and
// reports ErrChanged if they are not of one log.
func (r Reader) open(ctx context.Context, b backend.Backend, name, path string, d dialect.Dialect) (*Log, error) {
	at, open, err := backend.OpenNow(ctx, b, name)
	if err != nil {
		return nil, Named(path, err)
	}
	src := &Source{b: b, at: at, r: open, size: at.Size}
	known := true
	runs, isRuns := d.(dialect.Runs)
	if d == nil || isRuns {
		first, err := leading(numbered(backend.Records(ctx, b, at, open, 0), name, backend.Lines(b, name)))
		if err != nil {
			_ = src.Close()
			return nil, Named(path, err)
		}
		if d == nil {
			d, known = Detect(r.Dialects, r.Place(path), first)
		} else if own := runs.Sessions(); own.Detect(first) {
			d = own // the caller named the agent; the log may be one of its runs
		}
	}
	l := &Log{Path: path, At: at, Dialect: d, Source: src}
	if l.Loaded, err = r.Load(ctx, b, at, d, path, src, session.Header{}); err != nil {
		_ = src.Close()
		// Such an error is a Problem, which names the file itself.
		if !known || errors.Is(err, ErrNotSession) {
			return nil, err
		}
		return nil, Named(path, err)
	}
	return l, nil
}
