package watch

import (
	"context"
	"errors"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// followed is one log that is watched. Until it changes, only what a list shows is known of it.
type followed struct {
	place.Location
	src       *source
	tail      logtree.Tail
	listed    backend.Log // as the last list showed it
	base      backend.Log // as it was at the start; that content is not reported
	pass      int         // the last list that showed it
	elsewhere bool        // of another working directory, or of a run: not followed
	gone      bool
	lost      bool   // its content at the start can no longer be read
	failure   string // the last problem that was reported
	unread    error  // why it could not be read at the start, if it is the only log that is watched

	// What is known once it was read.
	reading
	announced     bool
	header        session.Header // the last one read
	dialect       dialect.Dialect
	blobs         blob.Reader
	title, prompt string
	// known counts every entry that the log ever had, here those that it has since it was last reread; here is nil while both are the same.
	known, here map[uint64]int32
	quiet       quiet // which entries are not reported while the log is read for the first time
}

// reading is the tree of the part of a log that was read. Not safe for concurrent use.
type reading struct {
	builder  *session.Builder
	dec      dialect.Decoder // nil: not read yet
	tree     *session.Tree
	source   *briefSource
	problems int  // problems of the tree that were handled
	headed   bool // the header was read
}

// quiet reports whether an entry is not to be reported.
type quiet func(e session.Entry, raw []byte) bool

// tellAll is for logs whose entries are all reported.
func tellAll(session.Entry, []byte) bool { return false }

// briefSource reads entries from a log that is not kept open.
type briefSource struct {
	b  backend.Backend
	at atomic.Pointer[backend.Log]
}

// Bytes implements session.Source.
func (s *briefSource) Bytes(span session.Span) ([]byte, error) {
	src, err := logtree.OpenSource(context.Background(), s.b, *s.at.Load())
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return src.Bytes(span)
}

// lines reports whether the log grows line by line; others are read as a whole each time.
func (f *followed) lines() bool { return backend.Lines(f.Backend, f.Name) }

// change begins a Change of the log.
func (f *followed) change(kind Kind) Change {
	return Change{
		Kind: kind, Path: f.Path, Dialect: f.dialect, Header: f.header, Title: f.title, Prompt: f.prompt, blobs: f.blobs,
	}
}

// follow reads what is new in a log and reports it. A problem with the log is reported, too, and ends nothing.
func (w *watcher) follow(ctx context.Context, f *followed) error {
	if f.elsewhere {
		if _, err := f.Backend.Stat(ctx, f.Name); errors.Is(err, backend.ErrNotExist) {
			w.forget(f)
		}
		return nil
	}
	err := w.catchUp(ctx, f)
	switch {
	case err == nil:
		f.failure = ""
		return nil
	case stops(ctx, err):
		return err
	}
	return w.failed(f, err)
}

// failed reports why a log cannot be read, once and not at each look.
func (w *watcher) failed(f *followed, err error) error {
	if f.failure == err.Error() {
		return nil
	}
	f.failure = err.Error()
	c := f.change(KindProblem)
	c.Err = logtree.Named(f.Path, err)
	return w.emit(c)
}

// catchUp reads on. If the log is changed while it is read, other than by growing, it is read again.
func (w *watcher) catchUp(ctx context.Context, f *followed) error {
	for try := 0; ; try++ {
		now, err := f.Backend.Stat(ctx, f.Name)
		if errors.Is(err, backend.ErrNotExist) {
			return w.removed(ctx, f)
		}
		if err == nil {
			if f.gone {
				f.gone = false
				w.cameBack(f)
			}
			err = w.read(ctx, f, now)
		}
		if try == logtree.Retries || !errors.Is(err, backend.ErrChanged) && !errors.Is(err, backend.ErrNotExist) {
			return err
		}
	}
}

// removed reports that a log is gone. Its reported entries are remembered in case it comes back.
func (w *watcher) removed(ctx context.Context, f *followed) error {
	if f.gone {
		return nil
	}
	if err := w.drain(ctx, f); err != nil {
		return err
	}
	c := f.change(KindRemoved)
	// If it was never read, only times tell what is new in a later log of that name.
	f.lost = f.lost || f.dec == nil && f.base.Size > 0
	f.gone, f.announced, f.failure, f.base = true, false, "", backend.Log{}
	f.reading = reading{}
	f.src.empty = f.src.empty || f.src.only != ""
	w.release(f)
	w.gone, w.entries = append(w.gone, f), w.entries+len(f.known)
	for len(w.gone) > mostGone || w.entries > mostGoneEntries && len(w.gone) > 1 {
		w.forget(w.gone[0])
	}
	return w.emit(c)
}

// The last removed logs are remembered in case they come back, within these limits.
const (
	mostGone        = 4096
	mostGoneEntries = 1 << 20
)

// forget drops what is known of a removed log. If only one log is watched, it is not dropped.
func (w *watcher) forget(f *followed) {
	w.cameBack(f)
	if f.src.only == "" {
		delete(f.src.logs, f.Name)
	}
	if w.ids[f.header.ID] == f {
		delete(w.ids, f.header.ID)
	}
}

// cameBack removes a log from the list of removed ones.
func (w *watcher) cameBack(f *followed) {
	if i := slices.Index(w.gone, f); i >= 0 {
		w.gone, w.entries = slices.Delete(w.gone, i, i+1), w.entries-len(f.known)
	}
}

// missing returns the logs that the last list should have shown and did not. They need not be gone: their folder may be unreadable at the
// moment. They are followed like any other, and Stat shows whether they are gone.
func (w *watcher) missing(src *source, prefix string) []*followed {
	var list []*followed
	for name, f := range src.logs {
		if f.pass != w.pass && !f.gone && strings.HasPrefix(name, prefix) {
			list = append(list, f)
		}
	}
	sorting.By(list, func(a, b *followed) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// read finds out how a log changed, and reports what is new.
func (w *watcher) read(ctx context.Context, f *followed, now backend.Log) error {
	if f.dec == nil {
		// If a log that was not read is held, it was replaced during the reading.
		if err := w.drain(ctx, f); err != nil {
			return err
		}
		f.reading = reading{}
		return w.readFirst(ctx, f, now)
	}
	change, err := f.tail.Compare(ctx, now)
	if err != nil {
		return err
	}
	kind := KindReplaced
	switch change {
	case logtree.Same:
		return nil
	case logtree.Grown:
		return w.readOn(ctx, f, now)
	case logtree.Mended:
		w.hold(ctx, f, now)
		return w.readOn(ctx, f, now)
	case logtree.Edited: // a title, or the time of the last save
		return w.reread(ctx, f, now)
	case logtree.Truncated:
		kind = KindTruncated
	}
	if !f.lines() {
		return w.reread(ctx, f, now) // its program writes the whole log each time
	}
	// What was appended to the old log before it lost its name is older, and reported first.
	if err := w.drain(ctx, f); err != nil {
		return err
	}
	if err := w.emit(f.change(kind)); err != nil {
		return err
	}
	return w.reread(ctx, f, now)
}

// readFirst reads a log for the first time. Its content at the start is not reported.
func (w *watcher) readFirst(ctx context.Context, f *followed, now backend.Log) error {
	if f.base.Size == 0 && !f.lost {
		return w.reread(ctx, f, now)
	}
	if !f.lost {
		was := logtree.Tail{Backend: f.Backend, At: f.base}
		stands, err := was.Stands(ctx)
		if err != nil {
			return err
		}
		if stands {
			return w.readWhole(ctx, f, now, f.atStart)
		}
		f.lost = true
		// Only its size at the start is known.
		kind := KindReplaced
		if now.Size < f.base.Size {
			kind = KindTruncated
		}
		if err := w.emit(f.change(kind)); err != nil {
			return err
		}
	}
	return w.readWhole(ctx, f, now, func(_ session.Entry, raw []byte) bool { return f.olderThan(raw, w.start) })
}

// atStart reports whether an entry was whole at the start.
func (f *followed) atStart(e session.Entry, _ []byte) bool { return e.Span.End() <= f.base.Size }

// olderThan is the best guess if the old content of the log is unknown: an entry without a time counts as new.
func (f *followed) olderThan(raw []byte, moment time.Time) bool {
	at, ok := f.dialect.Codec().Time(raw).Time()
	return ok && at.Before(moment)
}

// reread reads a log from its beginning. Entries that were reported are known by their keys.
func (w *watcher) reread(ctx context.Context, f *followed, now backend.Log) error {
	return w.readWhole(ctx, f, now, tellAll)
}

// key identifies an entry: by its id, or by its bytes if it has none.
func (w *watcher) key(e session.Entry, raw []byte) uint64 {
	if e.NativeID != "" {
		return maphash.String(w.seed, string(e.NativeID))
	}
	return maphash.Bytes(w.seed, raw)
}

// isFresh counts an entry, and reports whether the log never had it before.
func (f *followed) isFresh(key uint64) bool {
	if f.here == nil {
		f.known[key]++
		return true
	}
	// Counted, and not just recorded: records without ids may occur several times with the same bytes.
	f.here[key]++
	if f.here[key] <= f.known[key] {
		return false
	}
	f.known[key] = f.here[key]
	return true
}

// moved takes over what is known of a session from the log that it was in before, if that log is gone or another one.
func (w *watcher) moved(ctx context.Context, f *followed) error {
	id := f.header.ID
	old := w.ids[id]
	w.ids[id] = f
	if id == "" || old == nil || old == f || len(f.known) > 0 {
		return nil
	}
	if old.dec != nil && old.header.ID == id {
		_, change, err := old.tail.Look(ctx)
		if err != nil || change <= logtree.Edited {
			return nil // the other log is still there: this one is a copy, and a session of its own
		}
		if err := w.drain(ctx, old); err != nil {
			return err
		}
	}
	f.known, f.here = maps.Clone(old.known), map[uint64]int32{}
	return nil
}
