package watch

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// followed is one log that is watched. Until it changes nothing is known of it but what a list says.
type followed struct {
	src        *watchedSource
	name, path string
	listed     backend.Log // as the last list showed it
	base       backend.Log // as it was at the start: what it held then is not told
	pass       int         // of the last list that showed it
	elsewhere  bool        // of another working directory, or of a run: not followed
	gone       bool
	lost       bool   // what it held at the start will never be known
	failure    string // the last problem that was told

	// What is known once it was read.
	reading
	announced     bool
	header        session.Header // the last that was read
	dialect       dialect.Dialect
	blobs         blob.Reader
	title, prompt string
	held          backend.Reader // the file, whatever becomes of its name
	// known counts each entry that was ever there, here those of the log as it is since it was last read anew; nil while
	// both are the same.
	known, here map[uint64]int32
	quiet       func(e session.Entry, raw []byte) bool // what is not told while the log is read for the first time
}

// reading is how far a log was read.
type reading struct {
	// The tree is the builder's, and grows with it: one goroutine alone reads and tells.
	builder  *session.Builder
	dec      dialect.Decoder // nil: not read yet
	tree     *session.Tree
	source   *briefSource
	at       backend.Log // as it was when it was last read
	pos      int64       // where the next record begins
	line     int         // that were read
	inLine   bool        // the last one was whole and had no newline
	torn     bool        // behind it there was half a record
	looked   int64       // how far that was looked through for its end
	head     []byte      // the first bytes, which programs change in place
	problems int         // of the tree, that were looked at
	headed   bool        // the header was read
}

// headKept is how many bytes of a log's beginning are compared: title slots are shorter.
const headKept = 4 << 10

// briefSource reads entries from a log that is not kept open.
type briefSource struct {
	b  backend.Backend
	at atomic.Pointer[backend.Log]
}

// Bytes implements session.Source.
func (s *briefSource) Bytes(span session.Span) ([]byte, error) {
	src, err := newSource(context.Background(), s.b, *s.at.Load())
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return src.Bytes(span)
}

// close lets go of the file that is held; the log is followed on by its name.
func (f *followed) close() {
	if f.held != nil {
		_ = f.held.Close()
		f.held = nil
	}
}

// isText says whether the log grows line by line; others are read as a whole each time.
func (f *followed) isText() bool {
	return linesOf(f.src.b, f.name)
}

// change begins to tell of the log.
func (f *followed) change(kind ChangeKind) Change {
	return Change{
		Kind: kind, Path: f.path, Dialect: f.dialect, Header: f.header, Title: f.title, Prompt: f.prompt, blobs: f.blobs,
	}
}

// follow reads what is new in a log and tells it. What is wrong with the log is told too, and ends nothing.
func (w *watcher) follow(ctx context.Context, f *followed) error {
	if f.elsewhere {
		return nil
	}
	err := w.catchUp(ctx, f)
	switch {
	case err == nil:
		f.failure = ""
		return nil
	case stops(ctx, err):
		return err
	// Said once, not at each look, as long as it stays the same.
	case f.failure == err.Error():
		return nil
	}
	f.failure = err.Error()
	c := f.change(ChangeProblem)
	c.Err = named(f.path, err)
	return w.emit(c)
}

// catchUp reads on. A log that is changed in other ways than by growing while it is read is looked at again.
func (w *watcher) catchUp(ctx context.Context, f *followed) error {
	for try := 0; ; try++ {
		now, err := f.src.b.Stat(ctx, f.name)
		if errors.Is(err, backend.ErrNotExist) {
			return w.removed(ctx, f)
		}
		if err == nil {
			f.gone = false
			err = w.read(ctx, f, now)
		}
		if try == rewritten || !errors.Is(err, backend.ErrChanged) && !errors.Is(err, backend.ErrNotExist) {
			return err
		}
	}
}

// removed tells that a log is gone. Should it come back, what was told stays told.
func (w *watcher) removed(ctx context.Context, f *followed) error {
	if f.gone {
		return nil
	}
	if err := w.drain(ctx, f); err != nil {
		return err
	}
	c := f.change(ChangeRemoved)
	// It was never read, and cannot be any more. Should a log of that name come back, only times tell what is new in it.
	f.lost = f.lost || f.dec == nil && f.base.Size > 0
	f.gone, f.announced, f.failure, f.base = true, false, "", backend.Log{}
	f.reading = reading{}
	f.close()
	return w.emit(c)
}

// read finds out what a log is now, compared with what it was, and tells what is new.
func (w *watcher) read(ctx context.Context, f *followed, now backend.Log) error {
	if f.dec == nil {
		// A file that is held all the same was being read when another was put in its place.
		if err := w.drain(ctx, f); err != nil {
			return err
		}
		f.reading = reading{}
		return w.readFirst(ctx, f, now)
	}
	if !f.isText() {
		if f.at == now {
			return nil
		}
		return w.readAnew(ctx, f, now)
	}
	// Before its size is looked at: a log of the same size may be another one.
	grew, err := f.grew(ctx, f.at)
	if err != nil {
		return err
	}
	switch {
	case grew && f.begins(ctx, now):
		return w.readOn(ctx, f, now)
	case grew: // the beginning was changed in place: a title, or the time of the last save
		return w.readAnew(ctx, f, now)
	}
	// It is another log now, or a part of the old one.
	torn, kind := f.torn, ChangeReplaced
	if now.Size < f.pos && w.standsAt(ctx, f, now) {
		kind = ChangeTruncated
	}
	// What was appended to the old file before it lost its name is told first: it is older.
	if err := w.drain(ctx, f); err != nil {
		return err
	}
	if torn && f.pos <= now.Size && w.standsAt(ctx, f, now) { // what was torn was moved away
		w.hold(ctx, f, now)
		return w.readOn(ctx, f, now)
	}
	if err := w.emit(f.change(kind)); err != nil {
		return err
	}
	return w.readAnew(ctx, f, now)
}

// grew says whether a log is still the one that was seen, longer or not. Reading from its end on is how a backend is asked:
// it compares the generation, and there are mostly no bytes to be read.
func (f *followed) grew(ctx context.Context, seen backend.Log) (bool, error) {
	for _, err := range f.src.b.Read(ctx, seen, seen.Size) {
		if errors.Is(err, backend.ErrChanged) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// begins says whether a log begins as it did.
func (f *followed) begins(ctx context.Context, now backend.Log) bool {
	return bytes.Equal(f.readHead(ctx, now, int64(len(f.head))), f.head)
}

func (f *followed) readHead(ctx context.Context, at backend.Log, size int64) []byte {
	b, err := f.bytes(ctx, at, session.Span{Length: min(size, at.Size)})
	if err != nil {
		return nil // which is like no beginning that was ever read
	}
	return b
}

func (f *followed) bytes(ctx context.Context, at backend.Log, span session.Span) ([]byte, error) {
	src, err := newSource(ctx, f.src.b, at)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return src.Bytes(span)
}

// stands says whether a log of that size holds, as far as it reaches, what it held: it begins as it did, and the last entry
// that has room in it is where it was. read gives its bytes. It is asked only after the backend said that the log changed:
// it need not be cheap.
func (w *watcher) stands(f *followed, size int64, read func(session.Span) ([]byte, error)) bool {
	head := f.head[:min(int64(len(f.head)), size)]
	got, err := read(session.Span{Length: int64(len(head))})
	if err != nil || !bytes.Equal(got, head) {
		return false
	}
	for i := f.tree.Len() - 1; i >= 0; i-- {
		e := f.tree.At(i)
		if e.Span.End() > size {
			continue
		}
		raw, err := read(e.Span)
		return err == nil && rawjson.Valid(raw) && bytes.Contains(raw, []byte(e.NativeID)) && f.known[w.key(e, raw)] > 0
	}
	return true
}

// standsAt is stands for a log.
func (w *watcher) standsAt(ctx context.Context, f *followed, now backend.Log) bool {
	return w.stands(f, now.Size, func(span session.Span) ([]byte, error) { return f.bytes(ctx, now, span) })
}

// readFirst reads a log for the first time. What it held at the start is not told.
func (w *watcher) readFirst(ctx context.Context, f *followed, now backend.Log) error {
	if f.base.Size == 0 && !f.lost {
		return w.readWhole(ctx, f, now, nothingKnown)
	}
	if !f.lost {
		same, err := f.grew(ctx, f.base)
		if err != nil {
			return err
		}
		if same {
			return w.readWhole(ctx, f, now, f.atStart)
		}
		f.lost = true
		// All that is known of it is its size at the start.
		kind := ChangeReplaced
		if now.Size < f.base.Size {
			kind = ChangeTruncated
		}
		if err := w.emit(f.change(kind)); err != nil {
			return err
		}
	}
	return w.readWhole(ctx, f, now, func(_ session.Entry, raw []byte) bool { return f.olderThan(raw, w.start) })
}

// atStart says that an entry was whole at the start.
func (f *followed) atStart(e session.Entry, _ []byte) bool { return e.Span.End() <= f.base.Size }

// olderThan is the guess that is left where nobody knows what the log held: an entry without a time counts as new.
func (f *followed) olderThan(raw []byte, moment time.Time) bool {
	at, ok := f.dialect.Codec().Time(raw).Time()
	return ok && at.Before(moment)
}

// readAnew reads a log that is not the one that was known. What was told is known by its ids.
func (w *watcher) readAnew(ctx context.Context, f *followed, now backend.Log) error {
	return w.readWhole(ctx, f, now, nothingKnown)
}

// nothingKnown is for logs of which all is told that was not told before.
func nothingKnown(session.Entry, []byte) bool { return false }

// key is what an entry is known by: its id, or its bytes where it has none.
func (w *watcher) key(e session.Entry, raw []byte) uint64 {
	if e.NativeID != "" {
		return maphash.String(w.seed, string(e.NativeID))
	}
	return maphash.Bytes(w.seed, raw)
}

// isFresh counts an entry, and says whether it was never there before.
func (f *followed) isFresh(key uint64) bool {
	// As long as the log was never read anew, what is in it and what was ever told are the same.
	if f.here == nil {
		f.known[key]++
		return true
	}
	// Counted, not only noted: records without ids may stand several times with the same bytes.
	f.here[key]++
	if f.here[key] <= f.known[key] {
		return false
	}
	f.known[key] = f.here[key]
	return true
}

// moved takes over what is known of a session from the log that it was in before, if that is gone or another one.
func (w *watcher) moved(ctx context.Context, f *followed) error {
	id := f.header.ID
	old := w.ids[id]
	w.ids[id] = f
	if id == "" || old == nil || old == f || len(f.known) > 0 {
		return nil
	}
	if old.builder != nil && old.header.ID == id {
		// Where the other log is still what it was, two files have one id.
		same, err := old.grew(ctx, old.at)
		if same || err != nil && !errors.Is(err, backend.ErrNotExist) {
			return nil // a copy, which is a session of its own
		}
		if err := w.drain(ctx, old); err != nil {
			return err
		}
	}
	f.known, f.here = maps.Clone(old.known), map[uint64]int32{}
	return nil
}

// firstWhole gives the records that a log begins with, as far as they are whole.
func firstWhole(ctx context.Context, b backend.Backend, at backend.Log) ([]dialect.Record, error) {
	first, err := firstRecords(ctx, b, at)
	return slices.DeleteFunc(first, func(r dialect.Record) bool { return r.Torn && !isWhole(r.Data) }), err
}

// isWhole says whether a line without newline is a whole record: no beginning of an object is one.
func isWhole(data []byte) bool {
	data = dialect.TrimBOM(data)
	return rawjson.IsObject(data) && rawjson.Valid(data)
}
