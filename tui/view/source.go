package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// source is the session that a screen shows. Commands read it in goroutines of their own; none of them changes the screen.
type source struct {
	store *treeline.Store // nil: the session is shown as it is
	rows  func(context.Context) ([]treeline.Row, error)

	// mu is held for reading while the tree is used, and for writing while it grows.
	mu   sync.RWMutex
	sess *treeline.Session
	doc  *transcript.Document
	kin  []treeline.Row // all sessions there are, for names of forks and sub-agents
}

func newSource(sess *treeline.Session, o Options) *source {
	return &source{store: o.Store, rows: o.Rows, sess: sess, doc: transcript.New(sess, nil)}
}

func (s *source) close() error {
	s.lock()
	defer s.mu.Unlock()
	return s.sess.Close()
}

// lock takes the lock for writing without making readers wait that come meanwhile: a long command must not stop the screen.
func (s *source) lock() {
	for !s.mu.TryLock() {
		time.Sleep(5 * time.Millisecond)
	}
}

// facts are what the screen says about the session as a whole.
type facts struct {
	title, agent, cwd, path string
	id                      session.ID
	leaf                    session.EntryID
	entries                 int
	problems                []session.Problem
	labels                  []labeled
	isTask                  bool
	relatives               []relative
}

// relative is a session that belongs to this one.
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
	title, _ := s.sess.Title() // a session without a readable title is shown without one
	f := facts{
		title: title, agent: s.sess.Dialect().Name(), cwd: h.CWD, path: s.sess.Path(), id: h.ID, leaf: t.LeafID(),
		entries: s.doc.Skeleton().Entries(), problems: slices.Clone(t.Problems()), isTask: h.Task,
	}
	for id, name := range t.Labels() {
		if _, ok := t.Lookup(id); ok {
			f.labels = append(f.labels, labeled{id, name})
		}
	}
	slices.SortFunc(f.labels, func(a, b labeled) int { return index(t, a.entry) - index(t, b.entry) })
	f.relatives = s.relatives()
	return f
}

// index is the place of an entry in the log, -1 for one that is not there.
func index(t *session.Tree, id session.EntryID) int {
	if e, ok := t.Lookup(id); ok {
		return e.Index
	}
	return -1
}

// relatives are the session that this one comes from, its forks and its sub-agents.
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
			list = append(list, relative{"began this one", s.kin[p]})
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

// window is a stretch of the path, with what depends on the tree beside it.
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

func (s *source) outlineRows(ctx context.Context, o *transcript.Outline, from, to int) ([]transcript.OutlineRow, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return o.Rows(ctx, from, to)
}

// read calls f while the tree does not grow. f must be quick.
func (s *source) read(f func()) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f()
}

// through gives the leaf with which a window shows an entry; the entry itself if it is not known.
func (s *source) through(id session.EntryID) session.EntryID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if leaf, err := s.doc.Skeleton().Through(id); err == nil {
		return leaf
	}
	return id
}

// knows reports whether there is such an entry.
func (s *source) knows(id session.EntryID) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.sess.Tree().Lookup(id)
	return ok
}

// leads reports whether an entry is on the way to a leaf.
func (s *source) leads(id, leaf session.EntryID) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.doc.Skeleton().Leads(id, leaf)
}

// nearest gives the last item that does not come after an entry in the log; -1 for none.
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

// renew reads what was written. It reports whether anything is different.
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
	default: // it was replaced
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

// relate asks which sessions there are.
func (s *source) relate(ctx context.Context) error {
	if s.rows == nil {
		return nil
	}
	rows, err := s.rows(ctx)
	if err != nil {
		return err
	}
	s.lock()
	defer s.mu.Unlock()
	s.kin = rows
	s.doc.SetChildren(rows)
	return nil
}

// errNowhere says that a text is not in the session.
var errNowhere = errors.New("it is nowhere in this session")

// search looks for a text, in lower case, from an entry on, in the order of the log; step is 1 or -1. It goes on at the other end.
func (s *source) search(ctx context.Context, needle string, from session.EntryID, step int, self bool) (session.EntryID, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.sess.Tree()
	n := t.Len()
	at := index(t, from)
	if at < 0 && step < 0 {
		at = n
	}
	if self {
		at -= step
	}
	r := wire.NewReader(ctx, s.sess)
	for range n {
		at = ((at+step)%n + n) % n
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		e := t.At(at)
		v, err := r.Look(e)
		if err == nil && (saysParts(v.Parts, needle) || contains(summary(v.Body), needle)) {
			return e.ID, nil
		}
	}
	return "", fmt.Errorf("%q: %w", needle, errNowhere)
}

// summary is the text of a body that has no parts.
func summary(b session.Body) string {
	switch b := b.(type) {
	case session.Compaction:
		return b.Summary
	case session.BranchSummary:
		return b.Summary
	}
	return ""
}

// saysParts reports whether parts have a text, whatever its case.
func saysParts(parts []session.Part, needle string) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			if contains(p.Text, needle) {
				return true
			}
		case session.Thinking:
			if contains(p.Text, needle) {
				return true
			}
		case session.ToolCall:
			if contains(p.Name, needle) || contains(string(p.Arguments), needle) {
				return true
			}
		case session.ToolResult:
			if saysParts(p.Parts, needle) {
				return true
			}
		case session.OpaquePart:
			if contains(string(p.JSON), needle) {
				return true
			}
		}
	}
	return false
}

func contains(text, needle string) bool { return strings.Contains(strings.ToLower(text), needle) }
