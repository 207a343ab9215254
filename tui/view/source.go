package view

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// source is the session of a screen. Commands read it in goroutines of their own; they do not change the screen.
type source struct {
	store *treeline.Store // nil: the session is shown without updates

	// mu is held for reading while the tree is used, and for writing while it grows.
	mu   sync.RWMutex
	sess *treeline.Session
	doc  *transcript.Document
	kin  []treeline.Row // sessions, including the related ones

	asked atomic.Pointer[string] // the first prompt; nil until it is known
}

func newSource(sess *treeline.Session, o Options) *source {
	return &source{store: o.Store, sess: sess, doc: transcript.New(sess, nil)}
}

func (s *source) close() error {
	s.lock()
	defer s.mu.Unlock()
	return s.sess.Close()
}

// lock takes the lock for writing. It does not make new readers wait for earlier ones: a long command must not block the screen.
func (s *source) lock() {
	for !s.mu.TryLock() {
		time.Sleep(5 * time.Millisecond)
	}
}

// facts are what the screen shows about the session as a whole.
type facts struct {
	title, agent, cwd, path string
	id                      session.ID
	leaf                    session.EntryID
	entries                 int
	speaks                  bool // there is a conversation
	problems                []session.Problem
	labels                  []labeled
	isTask                  bool
	relatives               []relative
}

// relative is a related session.
type relative struct {
	what string
	row  treeline.Row
}

// labeled is an entry with a label.
type labeled struct {
	entry session.EntryID
	name  string
}

func (s *source) facts() facts {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, h := s.sess.Tree(), s.sess.Header()
	title, _ := s.sess.Title() // a session whose title cannot be read is named by its first prompt
	title = cmp.Or(strings.TrimSpace(title), s.firstPrompt(), s.listed())
	f := facts{
		title: title, agent: s.sess.Dialect().Name(), cwd: h.CWD, path: s.sess.Path(), id: h.ID, leaf: t.LeafID(),
		entries: t.Len(), speaks: s.doc.Skeleton().Entries() > 0, problems: slices.Clone(t.Problems()), isTask: h.Task,
	}
	for id, name := range t.Labels() {
		if _, ok := t.Lookup(id); ok {
			f.labels = append(f.labels, labeled{id, name})
		}
	}
	sorting.By(f.labels, func(a, b labeled) int { return index(t, a.entry) - index(t, b.entry) })
	f.relatives = s.relatives()
	return f
}

// firstPrompt returns the prompt by which lists name a session without a title, or "" if it is not at the beginning of the log.
func (s *source) firstPrompt() string {
	if p := s.asked.Load(); p != nil {
		return *p
	}
	list, _, _ := s.sess.Tree().Prompts(0) // a prompt that cannot be read has no text
	for i := range list {
		if text := strings.TrimSpace(list[i].Text); text != "" {
			s.asked.Store(&text)
			return text
		}
	}
	return ""
}

// listed returns the session's name in the list, or "" if it is not in the list.
func (s *source) listed() string {
	i := slices.IndexFunc(s.kin, func(r treeline.Row) bool { return r.Path == s.sess.Path() })
	if i < 0 {
		return ""
	}
	return s.kin[i].Heading()
}

// index returns the index of an entry in the log, or -1.
func index(t *session.Tree, id session.EntryID) int {
	if e, ok := t.Lookup(id); ok {
		return e.Index
	}
	return -1
}

// relatives returns the session that this one comes from, its forks and its sub-agents.
func (s *source) relatives() (list []relative) {
	path, parents := s.sess.Path(), place.Parents(s.kin)
	for i := range s.kin {
		r := &s.kin[i]
		if r.Err != nil {
			continue
		}
		p := parents[i]
		switch {
		case r.Path == path && p >= 0 && r.IsTask():
			list = append(list, relative{"started this sub-agent", s.kin[p]})
		case r.Path == path && p >= 0:
			list = append(list, relative{"this is a fork of it", s.kin[p]})
		case p >= 0 && s.kin[p].Path == path && r.IsTask():
			list = append(list, relative{"sub-agent", *r})
		case p >= 0 && s.kin[p].Path == path:
			list = append(list, relative{"fork", *r})
		}
	}
	return list
}

// window returns a part of the path, with what else depends on the tree.
func (s *source) window(ctx context.Context, r transcript.Request) (*transcript.Window, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.doc.Window(ctx, r)
}

func (s *source) changes(ctx context.Context, leaf *session.EntryID) ([]transcript.FileChange, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.doc.Changes(ctx, leaf)
}

func (s *source) outline(r transcript.OutlineRequest) (*transcript.Outline, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.doc.Outline(r)
}

func (s *source) outlineRows(ctx context.Context, o *transcript.Outline, from, to int) (rows []transcript.OutlineRow, err error) {
	s.use(o, func() { rows, err = o.Rows(ctx, from, to) })
	return rows, err
}

// use calls f while the tree does not grow. It does nothing if the tree has grown since the outline was made: then a new one is being made.
func (s *source) use(o *transcript.Outline, f func()) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if o != nil && o.Document() == s.doc {
		f()
	}
}

// through returns the leaf with which a window shows an entry, or the entry itself if it is not known.
func (s *source) through(id session.EntryID) session.EntryID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if leaf, err := s.doc.Skeleton().Through(id); err == nil {
		return leaf
	}
	return id
}

// knows reports whether an entry exists.
func (s *source) knows(id session.EntryID) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.sess.Tree().Lookup(id)
	return ok
}

// leads reports whether an entry is on the path to a leaf.
func (s *source) leads(id, leaf session.EntryID) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.doc.Skeleton().Leads(id, leaf)
}

// nearest returns the last item that does not come after an entry in the log, or -1.
func (s *source) nearest(items []*item, id session.EntryID) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.sess.Tree()
	at, best := index(t, id), -1
	for n, it := range items {
		if it.id != "" && index(t, it.id) <= at {
			best = n
		}
	}
	return max(best, min(0, len(items)-1))
}

// renew reads what was written. It reports whether anything has changed.
func (s *source) renew(ctx context.Context) (bool, error) {
	s.lock()
	defer s.mu.Unlock()
	change, err := s.sess.Renew(ctx)
	switch {
	case err == nil && change == logtree.Same:
		return false, nil
	case err == nil && change == logtree.Grown:
	case s.store == nil:
		return false, err
	default: // the log was replaced
		sess, err := s.store.Open(ctx, s.sess.Path(), treeline.OpenOptions{})
		if err != nil {
			return false, err
		}
		_ = s.sess.Close() // it was only read
		s.sess = sess
	}
	s.doc = transcript.New(s.sess, nil)
	if s.kin != nil {
		s.doc.SetChildren(s.kin)
	}
	return true, nil
}

// relate finds the related sessions.
func (s *source) relate(ctx context.Context, store *treeline.Store) error {
	s.mu.RLock()
	path := s.sess.Path()
	s.mu.RUnlock()
	var rows []treeline.Row
	var err error
	if store.Paged() { // without listing the whole archive
		rows, err = store.LookUp(ctx, find.Keys{Paths: []string{path}})
	}
	if err == nil {
		rows, err = store.Kin(ctx, rows, find.KinOptions{Below: true})
	}
	if err != nil {
		return err
	}
	s.lock()
	defer s.mu.Unlock()
	s.kin = rows
	s.doc.SetChildren(rows)
	return nil
}

// prompt returns the next entry that a person typed, in the direction of step, starting at an entry, or "". It skips what the agent wrote
// in the name of the user.
func (s *source) prompt(ctx context.Context, o *transcript.Outline, from session.EntryID, step int, active bool) (session.EntryID, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if o.Document() != s.doc {
		return from, nil
	}
	r := wire.NewReader(ctx, s.sess)
	for row := o.NextPrompt(o.Find(from), step, active); row >= 0; row = o.NextPrompt(row, step, active) {
		e, ok := s.sess.Tree().Lookup(o.ID(row))
		if !ok {
			break
		}
		v, err := r.Look(e)
		if ctx.Err() != nil {
			return "", err
		}
		if m, ok := v.Body.(session.Message); !ok || !m.Meta { // one that cannot be read is shown as unreadable
			return e.ID, nil
		}
	}
	return "", nil
}
