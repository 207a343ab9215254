package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

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
	// A decoder wants a header first. It is thrown away with the tree.
	header, err := w.Header(dialect.NewSession{ID: "x", CWD: "/"})
	if err != nil {
		return session.Entry{}, err
	}
	b := session.NewBuilder("", nil)
	dec := d.NewDecoder(b)
	if header != nil {
		dec.Decode(dialect.Record{Data: header, Line: 1})
	}
	b.Pending(true)
	dec.Decode(dialect.Record{Data: record, Line: 2})
	// The decoder takes what it likes: a header, a scalar or two records on a line give none, or more than one.
	t := b.Finish()
	if t.Len() != 1 {
		return session.Entry{}, errors.New("the entry is not one JSON object")
	}
	return t.At(0), nil
}

// NewSession leaves the session and begins another in the same place: the Session is then that one. An empty id makes one.
// What the old session still had waiting is dropped with it: it was never worth a log.
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

// become makes the session another one, of the same dialect. Trees and contexts from before go on to read the old log. The
// lock of the session is held. next must not be used any more: its backend and files are this one's now.
func (s *Session) become(next *Session) error {
	// As long as somebody has such a tree the old file stays open; it is closed when nobody has.
	s.source.hold(context.Background())
	s.source.retire()
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	s.path, s.blobs = next.path, next.blobs
	s.log, s.tree, s.source, s.closers = next.log, next.tree, next.source, next.closers
	s.w = next.w
	// It was tied to the lock of next.
	s.w.idle = sync.NewCond(&s.mu)
	return first(errs...)
}

// Fork copies the session, all branches, into one of its own beside it, and goes on there: the Session is then the copy.
func (s *Session) Fork(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.settled()
	if err != nil {
		return err
	}
	opt := CreateOptions{CWD: s.tree.Header().CWD, Dir: s.folder(), Parent: s.path, Write: w.opt}
	// A path that is not there yet would name nothing.
	if w.d.Habits().ForkByID || !w.created || s.path == "" {
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
	w.opt.tell(Event{Kind: EventBeforeFork, Path: s.path, Entry: s.tree.LeafID()})
	n, err := s.store.newSession(w.d, opt)
	if err != nil {
		return nil, err
	}
	// Entries of an old version are written as today's: the copy is a new file, and gets no version of the past.
	ed := edits{entry: s.current, header: headerOf(n)}
	if opt.Title != "" && !w.d.Habits().RenameByEntry {
		ed.header.Title = &opt.Title
	}
	records, err := s.edited(ctx, ed)
	if err != nil {
		return nil, named(s.path, err)
	}
	// Before the records are there: no record ever names a blob that is missing.
	if err := s.carryBlobs(ctx, opt.Dir, records); err != nil {
		return nil, named(s.path, err)
	}
	next, err := s.store.from(ctx, w.d, n, opt.Dir, records, opt.Write)
	if err != nil {
		return nil, err
	}
	// Otherwise it would be the last entry of the file.
	next.stay(s.tree.LeafID())
	return next.entitle(ctx, n)
}

// from begins a session that consists of these records. They are written at once where they are worth a log, or where the
// agent does so whatever they hold; otherwise they wait for what makes them worth it. dir is "" for a session in memory.
func (s *Store) from(ctx context.Context, d dialect.WritingDialect, n dialect.NewSession, dir string, records [][]byte, opt WriteOptions) (*Session, error) {
	opt.Defer = cmp.Or(opt.Defer, d.Habits().Defer)
	var next *Session
	if dir == "" {
		opt.Defer = dialect.DeferNever
		next = s.waitingSession(memory.New(), memoryName, "", d, born(n), records, opt)
	} else {
		path := filepath.Join(dir, s.fileName(d.Dialect, n))
		b, err := s.writeDir(dir, path, opt)
		if err != nil {
			return nil, err
		}
		next = s.waitingSession(b, filepath.Base(path), path, d, born(n), records, opt)
	}
	// A copy of a session in which nobody answered waits like the original did.
	if opt.Defer != dialect.DeferNever && !d.Habits().AskedAtOnce && !next.worthALog() {
		return next, nil
	}
	if err := next.create(ctx); err != nil {
		return nil, first(err, next.release())
	}
	return next, nil
}

// worthALog says whether an entry is there that the log waits for.
func (s *Session) worthALog() bool {
	for e := range s.tree.Entries() {
		if e.Kind != session.KindMessage {
			continue
		}
		if body, err := e.Body(); err == nil && wakes(s.w.opt.Defer, body) {
			return true
		}
	}
	return false
}

// ForkFrom copies the session in a file, all branches, into a new one for another working directory. The source is
// only read.
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

// openSource opens a session that is to be copied, and fills in what the copy is to be. The source gets a writing without a
// backend: enough to make records, and nothing can be written with it.
func (s *Store) openSource(ctx context.Context, source string, opt CreateOptions) (*Session, CreateOptions, error) {
	src, err := s.Open(ctx, source, OpenOptions{})
	if err == nil && opt.Dialect != nil && opt.Dialect != src.dialect && opt.Dialect.Family() == src.dialect.Family() {
		// It is for the other value to say which entries it would write in another form.
		if err = src.Close(); err == nil {
			src, err = s.Open(ctx, source, OpenOptions{Dialect: opt.Dialect})
		}
	}
	if err != nil {
		return nil, opt, err
	}
	h := src.tree.Header()
	switch {
	// There is nothing that a copy could be made of.
	case h.Raw == nil:
		err = named(source, fmt.Errorf("%w: it is empty", ErrNotSession))
	case h.Newer:
		err = named(source, newer(h)) // a copy would be one of that version, too
	case opt.Dialect != nil && opt.Dialect.Family() != src.dialect.Family():
		err = named(source, fmt.Errorf("a copy of a session of %s for %s is %w", src.dialect.Name(), opt.Dialect.Name(), ErrUnsupported))
	}
	var d dialect.WritingDialect
	if err == nil {
		d, err = s.writer(src.dialect)
	}
	var abs string
	if err == nil {
		abs, err = filepath.Abs(source)
	}
	if err != nil {
		return nil, opt, errors.Join(err, src.Close())
	}
	opt.Write.fill()
	opt.CWD, opt.Parent = s.absolute(opt.CWD), abs
	if opt.Dir == "" {
		opt.Dir = s.sessionDir(d.Dialect, opt.CWD)
	} else {
		opt.Dir = s.placeIn(d.Dialect, opt.Dir)
	}
	if opt.Write.Defer == "" {
		opt.Write.Defer = dialect.DeferNever // it was asked for
	}
	src.w = src.newWriting(d, nil, "", opt.Write)
	src.w.created = true
	return src, opt, nil
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
	// The parent is named also while it is not on disk: so the agents do.
	opt := CreateOptions{CWD: s.tree.Header().CWD, Dir: s.folder(), Parent: s.path, Write: w.opt}
	next, err := s.branched(ctx, leaf, opt)
	if err != nil {
		return err
	}
	return s.become(next)
}

// BranchFrom copies the path to an entry of the session in a file into a new session. The source is only read.
func (s *Store) BranchFrom(ctx context.Context, source string, leaf session.EntryID, opt CreateOptions) (*Session, error) {
	src, opt, err := s.openSource(ctx, source, opt)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return src.branched(ctx, leaf, opt)
}

// branched makes the session that BranchedSession goes on with.
func (s *Session) branched(ctx context.Context, leaf session.EntryID, opt CreateOptions) (*Session, error) {
	w := s.w
	editor, ok := s.dialect.(dialect.Editor)
	if !ok {
		return nil, fmt.Errorf("a branched session of %s is %w", s.dialect.Name(), ErrUnsupported)
	}
	// Path alone would take "" for the place before the first entry; a branched session without any is none.
	if _, err := s.tree.Get(leaf); err != nil {
		return nil, err
	}
	path, err := s.tree.Path(leaf)
	if err != nil {
		return nil, err
	}
	w.opt.tell(Event{Kind: EventBeforeFork, Path: s.path, Entry: leaf})
	n, err := s.store.newSession(w.d, opt)
	if err != nil {
		return nil, err
	}
	edit := headerOf(n)
	if !w.d.Habits().RenameByEntry {
		edit.Title = ptr(cmp.Or(opt.Title, s.tree.Header().Title)) // a title slot is left behind
	}
	header, _, err := w.d.EditHeader(s.tree.Header(), nil, edit)
	if err != nil {
		return nil, err
	}
	c := chain{s: s, editor: editor, moved: map[session.EntryID]session.EntryID{}, ids: map[session.EntryID]bool{}}
	c.records = some(header)
	for i, e := range path.Entries() {
		if err := c.add(e); err != nil {
			return nil, named(s.path, fmt.Errorf("entry %s: %w", e.ID, err))
		}
		// Where the first message stands for the header, EditHeader has made its record already.
		if i == 0 && s.tree.Header().InEntry {
			c.records = c.records[:1] // it is the header
		}
	}
	if err := c.relabel(); err != nil {
		return nil, named(s.path, err)
	}
	if err := s.carryBlobs(ctx, opt.Dir, c.records); err != nil {
		return nil, named(s.path, err)
	}
	next, err := s.store.from(ctx, w.d, n, opt.Dir, c.records, opt.Write)
	if err != nil {
		return nil, err
	}
	return next.entitle(ctx, n)
}

func ptr[T any](v T) *T { return &v }

// headerOf makes a copied header that of a session of its own.
func headerOf(n dialect.NewSession) dialect.HeaderEdit {
	return dialect.HeaderEdit{ID: &n.ID, Time: &n.Time, CWD: &n.CWD, Parent: &n.Parent, DropSlot: true}
}
