package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// NewSession begins another session in the same place, which the Session then is. An empty id makes one. Deferred entries of the old
// session are dropped.
func (s *Session) NewSession(ctx context.Context, id session.ID, parent string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.settled()
	if err != nil {
		return err
	}
	opt := CreateOptions{CWD: s.tree.Header().CWD, Dialect: s.dialect, ID: id, Parent: parent, Write: w.opt}
	var next *Session
	if s.at.Path == "" {
		next, err = s.store.InMemory(ctx, opt)
	} else {
		opt.Dir = s.folder()
		next, err = s.store.create(ctx, opt, false)
	}
	if err != nil {
		return err
	}
	return s.become(next)
}

// become turns the session into another one of the same dialect. Trees and contexts from before keep reading the old log. The caller holds
// the lock and must not use next afterwards: this session owns what next held.
func (s *Session) become(next *Session) error {
	s.source.Hold(context.Background())
	s.source.Retire()
	var err error
	if s.release != nil {
		err = s.release()
	}
	s.at, s.blobs, s.release = next.at, next.blobs, next.release
	s.log, s.tree, s.source = next.log, next.tree, next.source
	s.w = next.w
	s.w.idle = sync.NewCond(&s.mu) // it was tied to the lock of next
	return err
}

// Fork copies the session with all branches into a new one beside it, which is written at once. The handle becomes the
// copy, as in the agents' session managers: what is appended from now on goes to the copy, and the original stays as it is.
// To have a handle of each, use Store.ForkFrom, which leaves this session alone, or open the original again with Store.OpenWrite.
func (s *Session) Fork(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.settled()
	if err != nil {
		return err
	}
	opt := CreateOptions{CWD: s.tree.Header().CWD, Dir: s.folder(), Parent: s.at.Path, Write: w.opt}
	// The path of a log that is not created yet would name nothing.
	if w.d.Habits().ForkByID || !w.created || s.at.Path == "" {
		opt.Parent = string(s.tree.Header().ID)
	}
	next, err := s.copyTo(ctx, opt)
	if err != nil {
		return err
	}
	return s.become(next)
}

// copyTo makes a session of the lines of this one, with an id and a time of its own. opt.Dir is "" for one in memory.
// The leaf stays where it is.
func (s *Session) copyTo(ctx context.Context, opt CreateOptions) (*Session, error) {
	w := s.w
	if err := w.opt.ask(Event{Kind: EventBeforeFork, Path: s.at.Path, Entry: s.tree.LeafID()}); err != nil {
		return nil, s.named(err)
	}
	n, err := s.store.newSession(w.d, opt)
	if err != nil {
		return nil, err
	}
	// Entries of an old version are written as today's.
	ed := edits{entry: s.current, header: headerOf(n)}
	if _, ok := s.dialect.(dialect.Stamper); ok {
		ed.entry = func(e session.Entry) ([]byte, error) {
			record, err := s.dialect.Encode(e)
			return s.copied(record, n), err
		}
	}
	if opt.Title != "" && !w.d.Habits().RenameByEntry {
		ed.header.Title = &opt.Title
	}
	records, err := s.edited(ctx, ed)
	if err != nil {
		return nil, s.named(err)
	}
	next, err := s.copyOf(ctx, n, opt.Dir, records, opt.Write)
	if err != nil {
		return nil, err
	}
	next.inherit(w.held)
	next.stay(s.tree.LeafID())
	return next.entitle(ctx, n)
}

// copyOf writes a session that consists of these records, at once: a copy was asked for. dir is "" for a session in memory.
func (s *Session) copyOf(ctx context.Context, n dialect.NewSession, dir string, records [][]byte, opt WriteOptions) (*Session, error) {
	d := s.w.d
	opt.Defer = cmp.Or(opt.Defer, d.Habits().Defer) // for sessions that this one becomes
	h := memoryHome()
	if dir != "" {
		path := place.Join(dir, s.store.FileName(d.Dialect, n))
		err := s.store.checkTitle(d.Dialect, n, path)
		if err == nil {
			h, err = s.store.homeAt(path, opt)
		}
		if err != nil {
			return nil, err
		}
	}
	next := s.store.waiting(h, d, logtree.Born(n), records, opt)
	// Before the records: no record ever names a missing blob.
	files, err := s.carry(ctx, next, records)
	if err = s.named(err); err == nil {
		err = next.create(ctx)
	}
	if err != nil {
		ctx = context.WithoutCancel(ctx)
		// If the log may exist after all, its files stay.
		if _, there := next.at.Backend.Stat(ctx, next.at.Name); len(files.Logs) > 0 && errors.Is(there, backend.ErrNotExist) {
			err = errors.Join(err, files.Remove(ctx))
		}
		return nil, cmp.Or(err, next.letGo())
	}
	return next, nil
}

// ForkFrom copies the session at a path with all branches into a new one for another working directory. The source is only read.
func (s *Store) ForkFrom(ctx context.Context, source string, opt CreateOptions) (*Session, error) {
	src, opt, err := s.openSource(ctx, source, opt)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if src.w.d.Habits().ForkByID {
		opt.Parent = string(src.tree.Header().ID)
	}
	return src.copyTo(ctx, opt)
}

// openSource opens a session that is to be copied, and fills in what the copy is to be. The source gets the state of a
// writer so that records can be made from it; it is not written.
func (s *Store) openSource(ctx context.Context, source string, opt CreateOptions) (*Session, CreateOptions, error) {
	if err := s.checkCWD(opt.CWD, opt.Write); err != nil {
		return nil, opt, err
	}
	src, err := s.Open(ctx, source, OpenOptions{})
	if err == nil && opt.Dialect != nil && opt.Dialect != src.dialect && opt.Dialect.Family() == src.dialect.Family() {
		// The dialect of the copy decides which entries it would write in another form.
		if err = src.Close(); err == nil {
			src, err = s.Open(ctx, source, OpenOptions{Dialect: opt.Dialect})
		}
	}
	if err != nil {
		return nil, opt, err
	}
	h := src.tree.Header()
	switch {
	case h.Raw == nil:
		err = logtree.Named(source, fmt.Errorf("%w: it is empty", ErrNotSession))
	case h.Newer:
		err = logtree.Named(source, newer(h)) // the copy would be of that version too
	case opt.Dialect != nil && opt.Dialect.Family() != src.dialect.Family():
		err = logtree.Named(source, fmt.Errorf("a copy of a session of %s for %s is %w", src.dialect.Name(), opt.Dialect.Name(), ErrUnsupported))
	}
	var d dialect.WritingDialect
	if err == nil {
		d, err = s.writer(src.dialect)
	}
	var abs string
	if err == nil {
		abs, err = place.Abs(source)
	}
	if err = cmp.Or(err, opt.Write.complete()); err != nil {
		return nil, opt, errors.Join(err, src.Close())
	}
	opt.CWD, opt.Parent = s.Absolute(opt.CWD), abs
	if opt.Dir, err = s.copyDir(d.Dialect, abs, opt); err != nil {
		return nil, opt, errors.Join(logtree.Named(source, err), src.Close())
	}
	opt.Dir = s.dirFor(d, opt.Dir, opt.CWD)
	src.w = src.newWriting(d, opt.Write)
	src.w.created = true
	return src, opt, nil
}

// copyDir is profiled for a copy: without other wishes in opt, a copy stays in the profile of its source.
func (s *Store) copyDir(d dialect.Dialect, source string, opt CreateOptions) (string, error) {
	if _, ok := d.Layout().(dialect.Profiler); ok && opt.Dir == "" && opt.Profile == "" && opt.Dialect == nil {
		if root, ok := s.RootOf(d, source); ok {
			return root.Sessions, nil
		}
	}
	return s.profiled(d, opt)
}

// BranchedSession copies the path to an entry into a new session: the Session is then the copy. Labels on the path are
// made again at its end; a child of a label becomes a child of the label's parent.
func (s *Session) BranchedSession(ctx context.Context, leaf session.EntryID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.settled()
	if err != nil {
		return err
	}
	// As the agents do, the parent is named even if it is not on disk yet.
	opt := CreateOptions{CWD: s.tree.Header().CWD, Dir: s.folder(), Parent: s.at.Path, Write: w.opt}
	next, err := s.branched(ctx, leaf, opt)
	if err != nil {
		return err
	}
	return s.become(next)
}

// BranchFrom copies the path to an entry of the session at a path into a new session. The source is only read.
func (s *Store) BranchFrom(ctx context.Context, source string, leaf session.EntryID, opt CreateOptions) (*Session, error) {
	src, opt, err := s.openSource(ctx, source, opt)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return src.branched(ctx, leaf, opt)
}

// branched makes the session that BranchedSession and BranchFrom return.
func (s *Session) branched(ctx context.Context, leaf session.EntryID, opt CreateOptions) (*Session, error) {
	w := s.w
	editor, ok := s.dialect.(dialect.Editor)
	if !ok {
		return nil, fmt.Errorf("a fork at an entry of a session of %s is %w; the whole session can be forked", s.dialect.Name(), ErrUnsupported)
	}
	// Path would accept "", but a branched session needs an entry.
	if _, err := s.tree.Get(leaf); err != nil {
		return nil, err
	}
	path, err := s.tree.Path(leaf)
	if err != nil {
		return nil, err
	}
	if err := w.opt.ask(Event{Kind: EventBeforeFork, Path: s.at.Path, Entry: leaf}); err != nil {
		return nil, s.named(err)
	}
	n, err := s.store.newSession(w.d, opt)
	if err != nil {
		return nil, err
	}
	edit := headerOf(n)
	edit.Whole = true // the copy has the whole path, including records of other logs
	if !w.d.Habits().RenameByEntry {
		edit.Title = new(cmp.Or(opt.Title, s.tree.Header().Title)) // the title slot is not copied
	}
	header, slot, err := w.d.EditHeader(s.tree.Header(), nil, edit)
	if err != nil {
		return nil, err
	}
	c := chain{s: s, editor: editor, moved: map[session.EntryID]session.EntryID{}, ids: map[session.EntryID]bool{}, new: n}
	_, copies := s.dialect.(dialect.Stamper)
	if !copies || !s.tree.Header().InEntry { // otherwise each record says what the header would
		c.records = present(slot, header)
	}
	for i, e := range path.Entries() {
		if err := c.add(e); err != nil {
			return nil, s.named(fmt.Errorf("entry %s: %w", e.ID, err))
		}
		// If the first message is the header too, EditHeader has made its record already.
		if i == 0 && !copies && s.tree.Header().InEntry {
			c.records = present(slot, header)
		}
	}
	if err := c.relabel(); err != nil {
		return nil, s.named(err)
	}
	next, err := s.copyOf(ctx, n, opt.Dir, c.records, opt.Write)
	if err != nil {
		return nil, err
	}
	next.inherit(c.held)
	return next.entitle(ctx, n)
}

// headerOf turns a copied header into that of a new session.
func headerOf(n dialect.NewSession) dialect.HeaderEdit {
	return dialect.HeaderEdit{ID: &n.ID, Time: &n.Time, CWD: &n.CWD, Parent: &n.Parent, Copy: true}
}

// present returns the records that are not nil.
func present(records ...[]byte) [][]byte {
	return slices.DeleteFunc(records, func(r []byte) bool { return r == nil })
}
