package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// decodeOne decodes a record as an entry of a tree of its own.
func decodeOne(d dialect.Dialect, record []byte) (session.Entry, error) {
	w, ok := d.(dialect.Writer)
	if !ok {
		return session.Entry{}, fmt.Errorf("writing sessions of %s is %w", d.Name(), ErrUnsupported)
	}
	header, err := w.Header(dialect.NewSession{ID: "x", CWD: "/"})
	if err != nil {
		return session.Entry{}, err
	}
	b := session.NewBuilder("", nil)
	dec := d.NewDecoder(b)
	dec.Decode(dialect.Record{Data: header, Line: 1})
	b.Pending(true)
	dec.Decode(dialect.Record{Data: record, Line: 2})
	t := b.Finish()
	if t.Len() != 1 {
		return session.Entry{}, errors.New("the entry is not one JSON object")
	}
	return t.At(0), nil
}

// NewSession leaves the session and begins another in the same place: the Session is then that one.
func (s *Session) NewSession(ctx context.Context, id session.ID, parent string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.settled()
	if err != nil {
		return err
	}
	opt := CreateOptions{CWD: s.tree.Header().CWD, Dialect: s.dialect, ID: id, Parent: parent, Write: w.opt}
	var next *Session
	if s.path == "" {
		next, err = s.store.InMemory(ctx, opt)
	} else {
		opt.Dir = s.folder()
		next, err = s.store.Create(ctx, opt)
	}
	if err != nil {
		return err
	}
	return s.become(next)
}

// become makes the session another one.
func (s *Session) become(next *Session) error {
	err := s.release()
	s.path, s.dialect, s.blobs = next.path, next.dialect, next.blobs
	s.log, s.tree, s.source, s.closers = next.log, next.tree, next.source, next.closers
	s.w = next.w
	s.w.idle = s.newWriting(next.w.d, nil, "", WriteOptions{}).idle
	return err
}

// Fork copies the session, all branches, into one of its own beside it, and goes on there: the Session is then the copy.
func (s *Session) Fork(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.settled()
	if err != nil {
		return err
	}
	parent := s.path
	if w.d.Habits().ForkByID || parent == "" {
		parent = string(s.tree.Header().ID)
	}
	next, err := s.copyTo(ctx, s.folder(), s.tree.Header().CWD, parent, edits{entry: s.current})
	if err != nil {
		return err
	}
	return s.become(next)
}

// copyTo makes a session of the edited lines of this one, with an id and a time of its own. dir is "" for one in memory.
// The leaf stays where it is.
func (s *Session) copyTo(ctx context.Context, dir, cwd, parent string, ed edits) (*Session, error) {
	w := s.w
	w.opt.Observer(Event{Kind: EventBeforeFork, Path: s.path, Entry: s.tree.LeafID()})
	opt := CreateOptions{CWD: cwd, Dialect: s.dialect, Parent: parent, Write: w.opt}
	n, err := s.store.newSession(w.d, opt)
	if err != nil {
		return nil, err
	}
	ed.header = dialect.HeaderEdit{ID: &n.ID, Time: &n.Time, CWD: &n.CWD, Parent: &parent, DropSlot: true}
	records, err := s.edited(ctx, ed)
	if err != nil {
		return nil, named(s.path, err)
	}
	if err := s.carryBlobs(ctx, dir, records); err != nil {
		return nil, named(s.path, err)
	}
	next, err := s.store.from(ctx, w.d, n, dir, records, w.opt)
	if err != nil {
		return nil, err
	}
	next.stay(s.tree.LeafID())
	return next, nil
}

// from begins a session that consists of these records. They are written at once where they are worth a log, or where the
// agent does so whatever they hold; otherwise they wait for what makes them worth it.
func (s *Store) from(ctx context.Context, d dialect.Writer, n dialect.NewSession, dir string, records [][]byte, opt WriteOptions) (*Session, error) {
	habit := opt.Defer
	if habit == "" {
		habit = d.Habits().Defer
	}
	opt.Defer = dialect.DeferAssistant // nothing is written before all is there
	var next *Session
	var err error
	if dir == "" {
		next, err = s.beginIn(ctx, memory.New(), memoryName, "", d, n, opt)
		habit = dialect.DeferNever
	} else {
		next, err = s.begin(ctx, d, n, filepath.Join(dir, d.Layout().File(n.Time, n.ID)), opt)
	}
	if err != nil {
		return nil, err
	}
	next.w.opt.Defer = habit
	next.restart(records)
	if habit != dialect.DeferNever && !d.Habits().AskedAtOnce && !next.worthALog() {
		return next, nil
	}
	if err := next.create(ctx); err != nil {
		return nil, errors.Join(err, next.release())
	}
	return next, nil
}

// worthALog says whether an entry is there that the log waits for.
func (s *Session) worthALog() bool {
	for e := range s.tree.Entries() {
		if e.Kind == session.KindMessage && wakes(s.w.opt.Defer, session.Message{Role: e.Role}) {
			return true
		}
	}
	return false
}

// ForkFrom copies the session in a file, all branches, into a new one for another working directory. The source is
// only read.
func (s *Store) ForkFrom(ctx context.Context, source string, opt CreateOptions) (*Session, error) {
	src, err := s.Open(ctx, source, OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if src.tree.Header().Raw == nil {
		return nil, fmt.Errorf("%s: %w: it is empty", source, ErrNotSession)
	}
	if opt.Dialect != nil && opt.Dialect.Family() == src.dialect.Family() {
		src.dialect = opt.Dialect
	}
	d, err := s.writer(src.dialect)
	if err != nil {
		return nil, err
	}
	opt.Write.fill()
	cwd := s.absolute(opt.CWD)
	dir := opt.Dir
	if dir == "" {
		dir = s.sessionDir(d, cwd)
	}
	parent := src.path
	if abs, err := filepath.Abs(parent); err == nil {
		parent = abs
	}
	if d.Habits().ForkByID {
		parent = string(src.tree.Header().ID)
	}
	if opt.Write.Defer == "" {
		opt.Write.Defer = dialect.DeferNever // it was asked for
	}
	src.w = src.newWriting(d, nil, "", opt.Write)
	src.w.created = true
	return src.copyTo(ctx, dir, cwd, parent, edits{entry: src.current})
}

// BranchedSession copies the path to an entry into a session of its own and goes on there: the Session is then the copy.
// Labels on the path are made again at its end, for what they name; entries that hung on a label hang on what it hung on.
func (s *Session) BranchedSession(ctx context.Context, leaf session.EntryID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.settled()
	if err != nil {
		return err
	}
	parent := ""
	if w.created && s.path != "" {
		parent = s.path
	}
	next, err := s.branched(ctx, leaf, s.folder(), s.tree.Header().CWD, parent)
	if err != nil {
		return err
	}
	return s.become(next)
}

// BranchFrom copies the path to an entry of the session in a file into a new session. The source is only read.
func (s *Store) BranchFrom(ctx context.Context, source string, leaf session.EntryID, opt CreateOptions) (*Session, error) {
	src, err := s.Open(ctx, source, OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	d, err := s.writer(src.dialect)
	if err != nil {
		return nil, err
	}
	opt.Write.fill()
	cwd, dir := s.absolute(opt.CWD), opt.Dir
	if dir == "" {
		dir = s.sessionDir(d, cwd)
	}
	if opt.Write.Defer == "" {
		opt.Write.Defer = dialect.DeferNever
	}
	src.w = src.newWriting(d, nil, "", opt.Write)
	src.w.created = true
	parent, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	return src.branched(ctx, leaf, dir, cwd, parent)
}

// branched makes the session that BranchedSession goes on with.
func (s *Session) branched(ctx context.Context, leaf session.EntryID, dir, cwd, parent string) (*Session, error) {
	w := s.w
	editor, ok := s.dialect.(dialect.Editor)
	if !ok {
		return nil, fmt.Errorf("a branched session of %s is %w", s.dialect.Name(), ErrUnsupported)
	}
	if _, err := s.tree.Get(leaf); err != nil {
		return nil, err
	}
	path, err := s.tree.Path(leaf)
	if err != nil {
		return nil, err
	}
	w.opt.Observer(Event{Kind: EventBeforeFork, Path: s.path, Entry: leaf})
	opt := CreateOptions{CWD: cwd, Dialect: s.dialect, Parent: parent, Write: w.opt}
	n, err := s.store.newSession(w.d, opt)
	if err != nil {
		return nil, err
	}
	header, _, err := w.d.EditHeader(s.tree.Header(), nil,
		dialect.HeaderEdit{ID: &n.ID, Time: &n.Time, CWD: &n.CWD, Parent: &parent, DropSlot: true})
	if err != nil {
		return nil, err
	}
	c := chain{s: s, editor: editor, moved: map[session.EntryID]session.EntryID{}, ids: map[session.EntryID]bool{}}
	c.records = [][]byte{header}
	for _, e := range path.Entries() {
		if err := c.add(e); err != nil {
			return nil, fmt.Errorf("%s: entry %s: %w", s.path, e.ID, err)
		}
	}
	if err := c.relabel(path); err != nil {
		return nil, err
	}
	if err := s.carryBlobs(ctx, dir, c.records); err != nil {
		return nil, named(s.path, err)
	}
	return s.store.from(ctx, w.d, n, dir, c.records, w.opt)
}

// chain hangs the entries of a path behind each other, leaving out labels.
type chain struct {
	s       *Session
	editor  dialect.Editor
	records [][]byte
	last    session.EntryID
	// moved says, for a label that was left out, which entry follows it: a compaction may keep from a label on.
	moved   map[session.EntryID]session.EntryID
	skipped []session.EntryID
	ids     map[session.EntryID]bool
}

func (c *chain) add(e session.Entry) error {
	if e.Kind == session.KindLabel {
		c.skipped = append(c.skipped, e.ID)
		return nil
	}
	for _, id := range c.skipped {
		c.moved[id] = e.ID
	}
	c.skipped = nil
	record, err := c.s.dialect.Encode(e)
	if err != nil {
		return err
	}
	var keep session.EntryID
	if e.Kind == session.KindCompaction {
		body, err := e.Body()
		if err != nil {
			return err
		}
		if b, ok := body.(session.Compaction); ok {
			keep = c.moved[b.FirstKept]
		}
	}
	if e.Parent != c.last || keep != "" {
		if record, err = c.editor.Rechain(record, c.last, keep); err != nil {
			return err
		}
	}
	c.records = append(c.records, record)
	c.last = e.ID
	c.ids[e.ID] = true
	return nil
}

// relabel makes the labels of the path's entries again.
func (c *chain) relabel(path session.Path) error {
	w := c.s.w
	keepTime := w.d.Habits().RelabelKeepsTime
	times := map[session.EntryID]session.Time{}
	if keepTime {
		for e := range c.s.tree.Entries() {
			if e.Kind != session.KindLabel {
				continue
			}
			body, err := e.Body()
			if err != nil {
				return err
			}
			if l, ok := body.(session.Label); ok {
				times[l.Target], err = e.Time()
				if err != nil {
					return err
				}
			}
		}
	}
	for _, e := range path.Entries() {
		label := c.s.tree.Label(e.ID)
		if label == "" || !c.ids[e.ID] {
			continue
		}
		id, err := c.s.freshID()
		if err != nil {
			return err
		}
		n := dialect.NewEntry{ID: id, Parent: c.last, Time: w.opt.Clock(), Body: session.Label{Target: e.ID, Label: label}}
		if at, ok := times[e.ID].Time(); ok {
			n.Time = at
		}
		record, err := w.d.Record(n)
		if err != nil {
			return err
		}
		c.records = append(c.records, record)
		c.last = id
		c.ids[id] = true
		w.proposed[id] = true // so that the next label does not get it too
		defer delete(w.proposed, id)
	}
	return nil
}
