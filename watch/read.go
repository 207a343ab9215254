package watch

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// mostHeld is how many logs are held open: those that were read last. While a log is held, nothing is missed if a program appends to it and
// then replaces it.
const mostHeld = 64

// errElsewhere stops reading a session of another working directory.
var errElsewhere = errors.New("the session is of another working directory")

// readWhole reads a log from its beginning and reports its entries, except those that were reported before and those that not excludes. A
// log without a whole record of a session is tried again later.
func (w *watcher) readWhole(ctx context.Context, f *followed, now backend.Log, not quiet) error {
	f.quiet = not // drain needs it if the log is replaced before it was read to its end
	first, err := leadingWhole(ctx, f.Backend, now)
	if err != nil {
		return err
	}
	d, ok := w.opt.Dialect, true
	if d == nil {
		d, ok = logtree.Detect(w.m.Dialects(), w.m.DialectAt(f.Path), first)
	}
	before := f.tree
	if len(first) == 0 || !ok {
		f.reading, f.announced = reading{}, false
		// A log that has just begun has few records.
		if len(first) > 0 && (len(first) >= logtree.EnoughToDetect || !f.lines()) {
			w.release(f)
			return logtree.ErrNotSession
		}
		// A held log stays held: it may be this one, rewritten since it was checked, and reported already.
		return nil
	}
	if f.src.only == "" && w.opt.Dialect == nil && place.IsRuns(d) {
		f.elsewhere = true // a log of a run, wherever it lies
		return nil
	}
	f.dialect, f.blobs = d, w.m.Blobs(f.Path, d)
	f.begin(now)
	// Before the reading: from here on nothing that is appended is missed when the log loses its name.
	w.hold(ctx, f, now)
	if err = w.readRecords(ctx, f, now, taking{not, toldBy(before)}); err != nil {
		f.reading = reading{} // the log was replaced meanwhile
		if errors.Is(err, errElsewhere) {
			w.release(f)
			return nil
		}
		return err
	}
	// The content at the start is in known now.
	f.base, f.quiet = backend.Log{}, tellAll
	f.tail.SetHead(ctx, f.builder.Header().Span.End())
	return f.dec.Finish()
}

// leadingWhole returns the records at the beginning of a log, without a torn one.
func leadingWhole(ctx context.Context, b backend.Backend, at backend.Log) ([]dialect.Record, error) {
	first, err := logtree.Leading(ctx, b, at)
	return slices.DeleteFunc(first, func(r dialect.Record) bool { return r.Torn && !logtree.IsWhole(r.Data) }), err
}

// begin prepares to read a log from its beginning.
func (f *followed) begin(now backend.Log) {
	f.tail.Rewind()
	f.reading = reading{source: &briefSource{b: f.Backend}}
	f.source.at.Store(&now)
	// Without the old header: the log's present one counts.
	f.builder = logtree.Seed(f.dialect, f.Path, f.source, session.Header{})
	f.dec = f.dialect.NewDecoder(f.builder)
	f.tree = f.builder.Finish()
	// known stays from one reading to the next: it has the entries that were reported.
	if f.known == nil {
		f.known, f.here = map[uint64]int32{}, nil
	} else {
		f.here = map[uint64]int32{}
	}
}

// readOn reads what was appended.
func (w *watcher) readOn(ctx context.Context, f *followed, now backend.Log) error {
	f.source.at.Store(&now)
	return w.readRecords(ctx, f, now, taking{not: tellAll})
}

// taking controls what is reported of the records that are read.
type taking struct {
	not  quiet
	told map[session.Problem]bool // problems that were reported before
}

// toldBy returns the problems of a tree.
func toldBy(t *session.Tree) map[session.Problem]bool {
	told := map[session.Problem]bool{}
	if t != nil {
		for _, p := range t.Problems() {
			told[p] = true
		}
	}
	return told
}

func (w *watcher) readRecords(ctx context.Context, f *followed, now backend.Log, how taking) error {
	for r, err := range f.tail.Records(ctx, now) {
		if err == nil {
			err = w.take(ctx, f, r, how)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take decodes a record and reports its entries. Entries are counted whether they are reported or not: entries that were not reported at
// the start must not be reported when the log is reread.
func (w *watcher) take(ctx context.Context, f *followed, r dialect.Record, how taking) error {
	count := f.tree.Len()
	f.dec.Decode(r)
	f.builder.Finish()
	if err := w.announce(ctx, f); err != nil {
		return err
	}
	for i := count; i < f.tree.Len(); i++ {
		e := f.tree.At(i)
		raw, err := rawIn(r, e)
		if err != nil {
			return err
		}
		f.learn(e, raw)
		if fresh := f.isFresh(w.key(e, raw)); !fresh || how.not(e, raw) {
			continue
		}
		c := f.change(KindEntry)
		c.Entry, c.Raw = e, raw
		if err := w.emit(c); err != nil {
			return err
		}
	}
	return w.tellProblems(f, r, how)
}

// rawIn returns the record of an entry, from the line that was just read if the entry is in it.
func rawIn(r dialect.Record, e session.Entry) ([]byte, error) {
	start, end := e.Span.Offset-r.Offset, e.Span.End()-r.Offset
	if e.Foreign() || start < 0 || end > int64(len(r.Data)) { // the offset of a foreign entry refers to its own log
		return e.Raw()
	}
	return bytes.Clone(r.Data[start:end]), nil // r is valid only until the next record; a Change may be kept
}

// tellProblems reports problems with a record that were not there at the start.
func (w *watcher) tellProblems(f *followed, r dialect.Record, how taking) error {
	list := f.tree.Problems()[f.problems:]
	f.problems += len(list)
	if r.Offset < f.base.Size {
		return nil
	}
	for _, p := range list {
		if how.told[p] {
			continue
		}
		c := f.change(KindProblem)
		c.Err = &p
		if err := w.emit(c); err != nil {
			return err
		}
	}
	return nil
}

// announce reports a session whose header is new or different. It is called after each record and acts on the first one that has a header,
// or an entry in logs without header. Sessions of other working directories end here.
func (w *watcher) announce(ctx context.Context, f *followed) error {
	if f.headed || f.builder.Header().Raw == nil && f.tree.Len() == 0 {
		return nil
	}
	f.headed = true
	w.m.FindCWD(ctx, f.builder, f.Location, f.dialect)
	old, h := f.header, f.builder.Header()
	f.header, f.title = h, h.Title
	if f.announced {
		if old.ID == h.ID && old.CWD == h.CWD && old.Title == h.Title {
			return nil
		}
		w.ids[h.ID] = f // this log may be moved away, too
		return w.emit(f.change(KindSession))
	}
	f.announced = true
	if w.opt.CWD != "" && f.src.only == "" {
		row := place.Row{Path: f.Path, Dialect: f.dialect, Summary: dialect.Summary{CWD: h.CWD}}
		if f.elsewhere = len(w.m.InDir(w.opt.CWD, []place.Row{row})) == 0; f.elsewhere {
			return errElsewhere
		}
	}
	// A session that existed at the start is not new.
	if err := w.moved(ctx, f); err != nil || f.base.Size > 0 || f.lost {
		return err
	}
	return w.emit(f.change(KindSession))
}

// learn records the title and the first prompt of a session.
func (f *followed) learn(e session.Entry, raw []byte) {
	switch {
	case e.Kind == session.KindSessionInfo:
		if b, err := f.dialect.Codec().Body(e, raw); err == nil {
			// An empty name removes the title in lists. Here the old one still identifies the session.
			if info, ok := b.(session.SessionInfo); ok && info.Name != "" {
				f.title = info.Name
			}
		}
	case e.Role == session.RoleUser && f.prompt == "":
		body, err := f.dialect.Codec().Body(e, raw)
		if m, ok := body.(session.Message); err != nil || ok && m.Meta {
			return // text that the agent wrote in the user's name is not a prompt
		}
		parts, err := f.dialect.Codec().Parts(e, raw)
		if err != nil {
			return // the caller sees the error when it shows the entry
		}
		for _, p := range parts {
			if t, ok := p.(session.Text); ok && strings.TrimSpace(t.Text) != "" {
				f.prompt = t.Text
				return
			}
		}
	}
}

// hold keeps a log open, and releases the one held longest if there are too many.
func (w *watcher) hold(ctx context.Context, f *followed, now backend.Log) {
	if !f.tail.Hold(ctx, now) {
		return
	}
	w.holding = append(slices.DeleteFunc(w.holding, func(other *followed) bool { return other == f }), f)
	if len(w.holding) > mostHeld {
		w.release(w.holding[0])
	}
}

// release closes a log that may be held.
func (w *watcher) release(f *followed) {
	f.tail.Close()
	w.holding = slices.DeleteFunc(w.holding, func(other *followed) bool { return other == f })
}

// drain reads what was written to a log before another log took its name.
func (w *watcher) drain(ctx context.Context, f *followed) error {
	change, records := f.tail.Rest()
	if change == logtree.Removed {
		return nil // what was written is lost, as for a log that is not held
	}
	if f.dec == nil || change == logtree.Replaced {
		f.begin(f.tail.At) // truncated or rewritten under its old name; the entries that were reported are known
	}
	for r := range records {
		if err := w.take(ctx, f, r, taking{not: f.quiet}); err != nil {
			return err
		}
	}
	return nil
}
