package watch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// mostHeld is how many files are held open: those of the sessions that were read last. Who appends to a file and then
// puts another in its place loses nothing while it is held.
const mostHeld = 64

// enoughToDetect is how many records are looked at before a log is given up as a session.
const enoughToDetect = 8

// errElsewhere ends the reading of a session of another working directory.
var errElsewhere = errors.New("the session is of another working directory")

// readWhole reads a log from its beginning and tells its entries, but for those that were told before and those that
// known says are. While it has no whole record of a session it waits for more.
func (w *watcher) readWhole(ctx context.Context, f *followed, now backend.Log, known func(session.Entry, []byte) bool) error {
	// drain needs it, too, should the log be replaced before it was read to its end.
	f.quiet = known
	first, err := firstWhole(ctx, f.src.b, now)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(f.path)
	if err != nil {
		return err
	}
	d, ok := w.opt.Dialect, true
	if d == nil {
		d, ok = w.s.detect(abs, first)
	}
	before := f.tree
	if len(first) == 0 || !ok {
		f.reading, f.announced = reading{}, false
		// A log that is being begun has fewer: then it is waited for, and nothing is said.
		if len(first) > 0 && (len(first) >= enoughToDetect || !f.isText()) {
			f.close()
			return ErrNotSession
		}
		// A file that is held stays so: it may be this one, written anew since it was looked at, and told already.
		return nil
	}
	if f.src.only == "" && w.opt.Dialect == nil && isRuns(d) {
		f.elsewhere = true // logs of runs belong to Runs, wherever they lie
		return nil
	}
	f.dialect, f.blobs = d, w.s.blobsFor(abs, d)
	f.begin(now)
	// Before the reading: from here on nothing that is appended can get lost with the file's name.
	w.hold(ctx, f, now)
	if err = w.readRecords(ctx, f, now, taking{known: known, before: before}); err != nil {
		f.reading = reading{} // how far it was read does not count: it is another log by now
		if errors.Is(err, errElsewhere) {
			f.close()
			return nil
		}
		return err
	}
	// What was there at the start is in known now.
	f.base, f.quiet = backend.Log{}, nothingKnown
	f.head = f.readHead(ctx, now, min(headKept, f.builder.Header().Span.End()))
	return f.dec.Finish()
}

// begin makes ready to read a log from its beginning.
func (f *followed) begin(now backend.Log) {
	f.reading = reading{source: &briefSource{b: f.src.b}, at: now}
	f.source.at.Store(&now)
	// No header of before: what the log says now counts.
	f.builder = seeded(f.dialect, f.path, f.source, session.Header{})
	f.dec = f.dialect.NewDecoder(f.builder)
	f.tree = f.builder.Finish()
	// known stays from one reading to the next: it is what was told.
	if f.known == nil {
		f.known, f.here = map[uint64]int32{}, nil
	} else {
		f.here = map[uint64]int32{}
	}
}

// longLine is how long a line without newline may be that is looked at whenever it grows. Of a longer one only what is new
// is, for its newline: a record of a hundred megabytes that comes in small pieces must not be read a thousand times.
const longLine = 1 << 20

// readOn reads what was appended.
func (w *watcher) readOn(ctx context.Context, f *followed, now backend.Log) error {
	if f.torn && now.Size-f.pos > longLine {
		if ended, err := f.lineEnds(ctx, now); err != nil || !ended {
			// It grew, and there is no record yet.
			f.at = now
			return err
		}
	}
	f.source.at.Store(&now)
	// After an error at is the old one: the next look reads on from pos, where it stopped.
	if err := w.readRecords(ctx, f, now, taking{known: nothingKnown}); err != nil {
		return err
	}
	f.at = now
	return nil
}

// lineEnds says whether there is a newline in what was appended since the last look at a torn line.
func (f *followed) lineEnds(ctx context.Context, now backend.Log) (bool, error) {
	src, err := newSource(ctx, f.src.b, now)
	if err != nil {
		return false, err
	}
	defer src.Close()
	for f.looked < now.Size {
		piece, err := src.Bytes(session.Span{Offset: f.looked, Length: min(now.Size-f.looked, longLine)})
		if err != nil || bytes.IndexByte(piece, '\n') >= 0 {
			return err == nil, err
		}
		f.looked += int64(len(piece))
	}
	return false, nil
}

// taking says what is told of the records that are read.
type taking struct {
	known  func(e session.Entry, raw []byte) bool
	before *session.Tree // whose problems were told; nil for none
}

// readRecords takes the records from where reading ended. One that is torn waits.
func (w *watcher) readRecords(ctx context.Context, f *followed, now backend.Log, how taking) error {
	if !f.isText() {
		for r, err := range records(ctx, f.src.b, now) {
			if err == nil {
				err = w.take(ctx, f, r, how)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	f.torn = false
	for r, err := range f.src.b.Read(ctx, now, f.pos) {
		if err != nil {
			return err
		}
		// A last line without newline is told if it is whole: a log may end so. A very long one is not parsed at each look.
		if r.Torn && (len(r.Data) > longLine || !isWhole(r.Data)) {
			f.torn, f.looked = true, r.End
			return nil
		}
		if err := w.takeLine(ctx, f, r, how); err != nil {
			return err
		}
	}
	return nil
}

// takeLine takes a record of a text log. It may be the rest of a line whose beginning was a record already.
func (w *watcher) takeLine(ctx context.Context, f *followed, r backend.Record, how taking) error {
	// Then the number of the line was counted with its beginning.
	rest := f.inLine
	if !rest {
		f.line++
	}
	f.pos, f.inLine = r.End, r.Torn
	if rest && len(bytes.TrimSpace(r.Data)) == 0 {
		return nil
	}
	return w.take(ctx, f, dialect.Record{Data: r.Data, Offset: r.Offset, Line: f.line, Torn: r.Torn}, how)
}

// take decodes a record and tells what it says. Entries are counted whether they are told or not: what was not told at the
// start must not be told when the log is read anew.
func (w *watcher) take(ctx context.Context, f *followed, r dialect.Record, how taking) error {
	count := f.tree.Len()
	f.dec.Decode(r)
	f.builder.Finish()
	if err := w.announce(ctx, f); err != nil {
		return err
	}
	for i := count; i < f.tree.Len(); i++ {
		e := f.tree.At(i)
		raw, err := f.raw(e, r)
		if err != nil {
			return err
		}
		f.learn(e, raw)
		if fresh := f.isFresh(w.key(e, raw)); !fresh || how.known(e, raw) {
			continue
		}
		c := f.change(ChangeEntry)
		c.Entry, c.Raw = e, raw
		if err := w.emit(c); err != nil {
			return err
		}
	}
	return w.tellProblems(f, r, how)
}

// raw gives the record of an entry that is on the line at hand.
func (f *followed) raw(e session.Entry, r dialect.Record) ([]byte, error) {
	start, end := e.Span.Offset-r.Offset, e.Span.End()-r.Offset
	if start < 0 || end > int64(len(r.Data)) {
		return e.Raw()
	}
	// The record is the backend's; changes are kept by those who are told of them.
	return bytes.Clone(r.Data[start:end]), nil
}

// tellProblems tells what is wrong with a record that was not there at the start.
func (w *watcher) tellProblems(f *followed, r dialect.Record, how taking) error {
	list := f.tree.Problems()[f.problems:]
	f.problems += len(list)
	// It was wrong before anybody watched.
	if r.Offset < f.base.Size {
		return nil
	}
	for _, p := range list {
		if how.before != nil && slices.Contains(how.before.Problems(), p) {
			continue
		}
		c := f.change(ChangeProblem)
		c.Err = &p
		if err := w.emit(c); err != nil {
			return err
		}
	}
	return nil
}

// announce tells of a session whose header was just read and says something else than before. That it was there at the
// start, or is not wanted, is found out here too. It is called after each record, and does something after the first that
// gives a header, or an entry where there is none.
func (w *watcher) announce(ctx context.Context, f *followed) error {
	if f.headed || f.builder.Header().Raw == nil && f.tree.Len() == 0 {
		return nil
	}
	f.headed = true
	w.s.findCWD(ctx, loaded{builder: f.builder}, f.src.b, f.name, f.path, f.dialect)
	old, h := f.header, f.builder.Header()
	f.header, f.title = h, h.Title
	if f.announced {
		if old.ID == h.ID && old.CWD == h.CWD && old.Title == h.Title {
			return nil
		}
		w.ids[h.ID] = f // it may be moved away in its turn
		return w.emit(f.change(ChangeSession))
	}
	f.announced = true
	if w.opt.CWD != "" && f.src.only == "" {
		row := Row{Path: f.path, Dialect: f.dialect, Summary: dialect.Summary{CWD: h.CWD}}
		if f.elsewhere = len(w.s.of(w.opt.CWD, []Row{row})) == 0; f.elsewhere {
			return errElsewhere
		}
	}
	// A session that was there at the start is not news.
	if err := w.moved(ctx, f); err != nil || f.base.Size > 0 || f.lost {
		return err
	}
	return w.emit(f.change(ChangeSession))
}

// learn notes what a session is called.
func (f *followed) learn(e session.Entry, raw []byte) {
	switch {
	case e.Kind == session.KindSessionInfo:
		if b, err := f.dialect.Codec().Body(e, raw); err == nil {
			// An empty name takes the title away for lists; who watches still wants to know which session it was.
			if info, ok := b.(session.SessionInfo); ok && info.Name != "" {
				f.title = info.Name
			}
		}
	case e.Role == session.RoleUser && f.prompt == "":
		parts, err := f.dialect.Codec().Parts(e, raw)
		if err != nil {
			return // whoever shows the entry is told
		}
		for _, p := range parts {
			if t, ok := p.(session.Text); ok && strings.TrimSpace(t.Text) != "" {
				f.prompt = t.Text
				return
			}
		}
	}
}

// hold keeps the file of a log open. Where that does not work the one before stays: the log was replaced once more.
// Backends without random access, and logs that are replaced as a whole, are not held.
func (w *watcher) hold(ctx context.Context, f *followed, now backend.Log) {
	o, ok := f.src.b.(backend.Opener)
	if !ok || !f.isText() {
		return
	}
	r, err := o.Open(ctx, now)
	if err != nil {
		return
	}
	f.close()
	f.held = r
	w.holding = slices.DeleteFunc(w.holding, func(other *followed) bool { return other == f || other.held == nil })
	if w.holding = append(w.holding, f); len(w.holding) > mostHeld {
		w.holding[0].close()
		w.holding = w.holding[1:]
	}
}

// drain reads what was written to a log before another was put in its place. Half a record at its end stays untold: nobody
// will complete it.
func (w *watcher) drain(ctx context.Context, f *followed) error {
	held, ok := f.held.(backend.Renewer)
	if !ok {
		return nil
	}
	size, grew, err := held.Renew()
	if err != nil {
		return nil // what the file held is lost, as it is where none is held
	}
	read := func(span session.Span) ([]byte, error) {
		b := make([]byte, span.Length)
		_, err := held.ReadAt(b, span.Offset)
		return b, err
	}
	if f.dec == nil || !grew || size < f.pos || !w.stands(f, size, read) {
		// The file was cut or written anew under its old name: it is read from the beginning, and what was told is known.
		f.begin(f.at)
	}
	rest := bufio.NewReader(io.NewSectionReader(held, f.pos, size-f.pos))
	for {
		data, err := rest.ReadBytes('\n')
		if len(data) == 0 || err != nil && !isWhole(data) {
			return nil
		}
		r := backend.Record{Offset: f.pos, End: f.pos + int64(len(data)), Torn: err != nil}
		r.Data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte{'\n'}), []byte{'\r'})
		if err := w.takeLine(ctx, f, r, taking{known: f.quiet}); err != nil {
			return err
		}
	}
}
