package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store/caption"
	"github.com/treeline-dev/treeline/store/lists"
)

// replace replaces the log by lines and reads it again. The leaf stays. If another process wrote meanwhile, replace reads its entries,
// calls lines again and tries again. It calls lines once per round; nil records mean that there is nothing to do. The caller holds the
// lock, and no append is under way.
func (s *Session) replace(ctx context.Context, lines func() ([][]byte, error)) error {
	w := s.w
	for round := range maxRounds {
		records, err := lines()
		leaf := s.tree.LeafID()
		switch {
		case errors.Is(err, backend.ErrChanged):
			err = backend.ErrConflict // handled below: the log is read again
		case err != nil || records == nil:
			return s.named(err)
		case !w.created:
			s.restart(records, s.tree.Header())
			s.stay(leaf)
			if s.worthALog() {
				return s.create(ctx)
			}
			return nil
		default:
			s.source.Hold(ctx)
			err = s.put(ctx, records, leaf, round)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			return err // nothing was written
		case !errors.Is(err, backend.ErrConflict):
			return s.latch(err)
		}
		if err := s.catchUpOrRefuse(ctx); err != nil {
			return err
		}
	}
	return s.latch(fmt.Errorf("%w again and again", backend.ErrConflict))
}

// strictRounds is how often a rewrite starts over because other programs wrote first. Later rounds keep what was appended as it is: a busy
// agent may append faster than a long log can be read.
const strictRounds = 3

// beside returns the options for one round of a rewrite.
func (w *writing) beside(round int) backend.RewriteOptions {
	return backend.RewriteOptions{Force: w.opt.ForceRewrite, Grown: round >= strictRounds && w.opt.Policy != PolicyRefuse}
}

// swap replaces the log, and tells the observer what other programs did meanwhile.
func (s *Session) swap(ctx context.Context, records [][]byte, round int) (backend.Log, error) {
	now, late, err := backend.Replace(ctx, s.at.Backend, s.log, s.w.beside(round), records...)
	s.tellLate(late)
	return now, err
}

func (s *Session) tellLate(late backend.Late) {
	for _, e := range Late(s.at.Path, late) {
		s.w.opt.tell(e)
	}
}

// put replaces the log once.
func (s *Session) put(ctx context.Context, records [][]byte, leaf session.EntryID, round int) error {
	now, err := s.swap(ctx, records, round)
	if err != nil {
		return err
	}
	problems := s.tree.Problems()
	// Without cancellation: the tree must not keep spans of the old log.
	err = s.reload(context.WithoutCancel(ctx), now)
	if errors.Is(err, backend.ErrChanged) {
		// The log is replaced, and another program has written to it since.
		s.w.unsure = true
		_, err = s.catchUp(ctx)
	}
	if err != nil {
		return err
	}
	s.stay(leaf)
	s.tellProblems(problems)
	return nil
}

// catchUpOrRefuse reads what other processes wrote. With PolicyRefuse it then fails. The other policies go on: a rewrite does not depend on
// the leaf.
func (s *Session) catchUpOrRefuse(ctx context.Context) error {
	w := s.w
	fresh, err := s.catchUp(ctx)
	if err != nil {
		return s.latch(err)
	}
	w.tip = s.tree.LeafID()
	if fresh == 0 {
		return nil
	}
	w.opt.tell(Event{Kind: EventForeign, Path: s.at.Path, Count: fresh})
	if w.opt.Policy == PolicyRefuse {
		return s.refused(fresh)
	}
	return nil
}

// stay puts the leaf back to where it was. If that entry is gone, the leaf is the last one.
func (s *Session) stay(leaf session.EntryID) {
	_ = s.w.builder.SetLeaf(leaf) // fails if the entry is gone
	s.w.tip = s.tree.LeafID()
}

// restart decodes the records of a session whose log is not created yet. known is the header, for what the records do not say.
func (s *Session) restart(records [][]byte, known session.Header) {
	w := s.w
	w.waiting, w.end = nil, 0
	w.builder = logtree.Seed(s.dialect, s.at.Path, s.source, known)
	w.builder.Pending(true) // entries keep their records until a log has them
	w.dec = s.dialect.NewDecoder(w.builder)
	for _, r := range records {
		s.wait(r)
	}
	s.tree = w.builder.Finish()
	s.showWhole()
	w.tip = s.tree.LeafID()
}

// rewrite changes the log atomically, under the session's lock.
func (s *Session) rewrite(ctx context.Context, ed edits) error {
	if _, err := s.settled(); err != nil {
		return err
	}
	return s.replace(ctx, func() ([][]byte, error) { return s.edited(ctx, ed) })
}

// Rename gives the session a name; "" removes it. The agent's habit decides whether it is an entry or in the header.
func (s *Session) Rename(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.writable()
	if err != nil {
		return err
	}
	if w.d.Habits().Nameless {
		return s.named(fmt.Errorf(nameless, s.dialect.Name(), ErrUnsupported))
	}
	if r, ok := s.dialect.(dialect.Registrar); ok {
		return s.register(ctx, r, name)
	}
	if w.d.Habits().RenameByEntry {
		if _, err = s.append(ctx, session.SessionInfo{Name: name}, nil, nil); err == nil {
			err = s.named(caption.Set(ctx, s.dialect, s.at, name))
		}
		return err
	}
	return s.rewrite(ctx, edits{header: dialect.HeaderEdit{Title: &name, Now: w.opt.Clock}})
}

// RewriteToolCallArguments changes the arguments of a tool call on all branches; found is false if no entry has it.
func (s *Session) RewriteToolCallArguments(ctx context.Context, callID string, arguments []byte) (found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.settled(); err != nil {
		return false, err
	}
	editor, ok := s.dialect.(dialect.Editor)
	if !ok {
		return false, fmt.Errorf("changing tool calls of %s is %w", s.dialect.Name(), ErrUnsupported)
	}
	if !rawjson.Valid(arguments) {
		return false, s.named(errors.New("the arguments are not JSON"))
	}
	edit := func(e session.Entry) ([]byte, error) {
		if e.Role != session.RoleAssistant {
			return nil, nil
		}
		record, err := s.dialect.Encode(e)
		if whole, ok := e.Whole(); ok {
			record = whole
		}
		if err != nil {
			return nil, err
		}
		edited, changed, err := editor.SetArguments(record, callID, arguments)
		if !changed || err != nil {
			return nil, err
		}
		found = true // it stays set if the rewrite is tried again
		stored, whole, err := s.limit(ctx, edited)
		s.w.held.put(e.ID, stored, whole)
		return stored, err
	}
	err = s.replace(ctx, func() ([][]byte, error) {
		records, err := s.edited(ctx, edits{entry: edit})
		if err != nil || !found {
			return nil, err // nothing to rewrite
		}
		return records, nil
	})
	return found && err == nil, err
}

// RewriteEntries replaces all entries that the session knows by these records. The header, what is not an entry, and entries
// that another process writes meanwhile stay; a header among the records is ignored.
func (s *Session) RewriteEntries(ctx context.Context, entries [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.settled(); err != nil {
		return err
	}
	var fresh [][]byte
	var list []session.Entry
	for i, r := range entries {
		if !rawjson.IsObject(r) || !rawjson.Valid(r) {
			return s.named(fmt.Errorf("entry %d is not a JSON object", i))
		}
		// Clients hold lists that begin with the header.
		if lists.IsHeader(s.dialect, r) {
			continue
		}
		// Each must be an entry to the dialect, before the first is written.
		e, err := lists.One(s.dialect, rawjson.Compact(r))
		if err != nil {
			return s.named(fmt.Errorf("entry %d: %w", i, err))
		}
		record, err := e.Raw()
		var whole []byte
		if err == nil {
			record, whole, err = s.limit(ctx, record)
		}
		if err != nil {
			return s.named(fmt.Errorf("entry %d: %w", i, err))
		}
		s.w.held.put(e.ID, record, whole)
		fresh, list = append(fresh, record), append(list, e)
	}
	if err := s.checkParents(list); err != nil {
		return err
	}
	// An empty record removes the entry.
	none := func(session.Entry) ([]byte, error) { return []byte{}, nil }
	known := make(map[session.EntryID]bool, s.tree.Len())
	for e := range s.tree.Entries() {
		known[e.ID] = true
	}
	return s.replace(ctx, func() ([][]byte, error) {
		records, err := s.edited(ctx, edits{entry: none})
		if err != nil {
			return nil, err
		}
		records = append(records, fresh...)
		for e := range s.tree.Entries() {
			if known[e.ID] {
				continue
			}
			raw, err := e.Raw()
			if err != nil {
				return nil, err
			}
			records = append(records, raw)
		}
		return records, nil
	})
}

// migrate rewrites a log of an old version as today's and keeps the original. It is called when the session is opened for
// writing. The copy is on disk before the log is replaced.
func (s *Session) migrate(ctx context.Context) error {
	h := s.tree.Header()
	if !s.needsMigration(h) {
		return nil
	}
	if err := setAside(ctx, s.at.Backend, s.log, fmt.Sprintf("v%d.bak", h.Version)); err != nil {
		return err
	}
	return s.rewrite(ctx, edits{entry: s.current})
}

// needsMigration reports whether a log with that header is of an old version.
func (s *Session) needsMigration(h session.Header) bool {
	// An empty edit returns the header as it would be written today.
	header, _, err := s.w.d.EditHeader(h, nil, dialect.HeaderEdit{})
	return err == nil && !bytes.Equal(header, h.Raw)
}

// current returns today's record for an entry of an old version, nil for an entry of today's version.
func (s *Session) current(e session.Entry) ([]byte, error) {
	if !e.Migrated {
		return nil, nil
	}
	return s.dialect.Encode(e)
}

// setAside copies a log to "<name>.<suffix>". If that name is used for other bytes, a number is added.
func setAside(ctx context.Context, b backend.Backend, at backend.Log, suffix string) error {
	all, err := backend.ReadAll(ctx, b, at)
	if err != nil {
		return err
	}
	for n := 1; n < 1000; n++ {
		name := at.Name + "." + suffix
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		made, createErr := b.Create(ctx, name, all)
		if err = createErr; err == nil {
			return backend.Sync(ctx, b, made) // the original is about to be replaced
		}
		if !errors.Is(err, backend.ErrExist) {
			return err
		}
		// After a crash between the copy and the rewrite, a file with the same bytes is there: it is used.
		if old, statErr := b.Stat(ctx, name); statErr == nil && old.Size == at.Size {
			for r, readErr := range b.Read(ctx, old, 0) {
				if readErr == nil && bytes.Equal(r.Data, all) {
					return backend.Sync(ctx, b, old)
				}
			}
		}
	}
	return err
}

// stamp returns a time for file names.
func stamp(t time.Time) string { return t.UTC().Format("20060102T150405.000Z") }
