// Package storetest is the contract of a store, as a test. What it promises holds for every backend and every dialect:
//
//   - A session that is created, appended to and closed is the same when another store opens it.
//   - Texts, images, calls and results that are appended come back as the same parts, and the agent's context shows them.
//   - A picture that the agent keeps outside of the log is there for another store, where the place keeps such.
//   - An append that meets entries of another writer loses none: it becomes a branch, follows them, or is refused.
//   - A branch moves the leaf. A durable one survives the restart, any other is forgotten unless something is appended.
//   - Labels, compactions and names are there after a restart.
//   - A fork, a branched session and a new session leave the old one as it is.
//   - A rewrite changes what it was asked to change and nothing else.
//   - A session that moves to another working directory is listed there, and only there. One that is deleted is gone.
//   - Lists, ids, the session to continue, searches and watches cover all of this, whichever store wrote it.
//   - What is refused changes nothing, and errors.Is says why: what a dialect cannot express, invalid ids, unknown entries,
//     closed sessions and stores, those that are open for reading, logs of a newer version.
//
// The suite uses no files: a log's path is a name that it passes on.
package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Place is an empty place for sessions.
type Place struct {
	// Options make a machine. The suite makes several from it, like several processes: the drivers show each what the others write.
	Options place.Options
	// Dialect names the format of the sessions.
	Dialect string
}

// Run tests stores. open gives a new Place at each call.
func Run(t *testing.T, open func(t *testing.T) Place) {
	for _, test := range []struct {
		name string
		run  func(*suite)
	}{
		{"Create", create}, {"Append", appends}, {"Typed", typed}, {"Blob", blobs}, {"Conflict", conflict}, {"Branch", branch}, {"Label", label},
		{"Compact", compact}, {"Rename", rename}, {"Fork", fork}, {"BranchedSession", branched}, {"NewSession", newSession},
		{"RewriteEntries", rewriteEntries}, {"RewriteToolCall", rewriteToolCall}, {"Move", move}, {"Delete", deletes},
		{"List", list}, {"Continue", continues}, {"Search", search}, {"Watch", watches},
		{"Unknown", unknown}, {"Closed", closed}, {"ReadOnly", readOnly}, {"Newer", newer},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := open(t)
			s := &suite{T: t, place: p, cwd: place.Join(p.Options.Env.WorkDir, "garden"), other: place.Join(p.Options.Env.WorkDir, "orchard")}
			s.a, s.b = s.store(p.Options), s.store(p.Options)
			d, err := s.a.Dialect(p.Dialect)
			s.must(err)
			w, ok := dialect.AsWriter(d)
			if !ok {
				t.Fatalf("%s cannot be written", p.Dialect)
			}
			s.dialect, s.habits = d, w.Habits()
			test.run(s)
		})
	}
}

// suite is one test: two stores of one place, and two working directories.
type suite struct {
	*testing.T
	place      Place
	a, b       *store.Store
	cwd, other string
	dialect    dialect.Dialect
	habits     dialect.Habits
}

// store makes a store that is closed with the test.
func (s *suite) store(opt place.Options) *store.Store {
	st := store.New(store.Options{Machine: place.New(opt)})
	s.Cleanup(func() { s.must(st.Close()) })
	return st
}

// sub runs a part of the test in the same place.
func (s *suite) sub(name string, run func(*suite)) {
	s.Run(name, func(t *testing.T) {
		part := *s
		part.T = t
		run(&part)
	})
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// closing closes a session with the test.
func (s *suite) closing(sess *store.Session, err error) *store.Session {
	s.Helper()
	s.must(err)
	s.Cleanup(func() { _ = sess.Close() })
	return sess
}

// begin creates a session of the first store, with a message for each text: the user's and the model's in turn.
func (s *suite) begin(texts ...string) *store.Session {
	s.Helper()
	sess := s.closing(s.a.Create(s.Context(), store.CreateOptions{CWD: s.cwd, Dialect: s.dialect}))
	for i, text := range texts {
		s.say(sess, []session.Role{session.RoleUser, session.RoleAssistant}[i%2], text)
	}
	return sess
}

func (s *suite) say(sess *store.Session, role session.Role, text string) store.Appended {
	s.Helper()
	a, err := sess.AppendText(s.Context(), role, text)
	s.must(err)
	return a
}

// write opens a session for writing.
func (s *suite) write(st *store.Store, path string, opt store.WriteOptions) *store.Session {
	s.Helper()
	return s.closing(st.OpenWrite(s.Context(), path, store.CreateOptions{Write: opt}))
}

// words are the texts of the suite. No format contains one of them by itself.
var words = []string{"apricot", "bilberry", "cherry", "damson", "elderberry", "fig", "gooseberry"}

// heard returns the words that the model would see at an entry.
func (s *suite) heard(sess *store.Session, leaf session.EntryID) []string {
	s.Helper()
	c, err := sess.Context(s.Context(), leaf, store.ContextOptions{})
	s.must(err)
	var list []string
	for m, err := range c.Messages() {
		s.must(err)
		for _, w := range words {
			if strings.Contains(string(m.JSON), w) {
				list = append(list, w)
			}
		}
	}
	return list
}

// hears compares what the model would see at the leaf.
func (s *suite) hears(sess *store.Session, want ...string) {
	s.Helper()
	if got := s.heard(sess, sess.Leaf()); !slices.Equal(got, want) {
		s.Errorf("the model sees %q, want %q", got, want)
	}
}

// reopened compares what the model would see after a restart: the other store opens the session.
func (s *suite) reopened(path string, want ...string) *store.Session {
	s.Helper()
	sess := s.closing(s.b.Open(s.Context(), path, store.OpenOptions{}))
	if sess.Dialect().Family() != s.dialect.Family() {
		s.Errorf("it is opened as %s", sess.Dialect().Name())
	}
	if p := sess.Tree().Problems(); len(p) > 0 {
		s.Errorf("problems: %v", p)
	}
	s.hears(sess, want...)
	return sess
}

// rows lists the sessions of a working directory, "" for all, as the other store sees them.
func (s *suite) rows(cwd string) []place.Row {
	s.Helper()
	rows, err := s.b.List(s.Context(), place.ListOptions{CWD: cwd, Problem: func(err error) { s.Error(err) }})
	s.must(err)
	for _, r := range rows {
		s.must(r.Err)
	}
	return rows
}

// listed compares the ids of a list, newest first.
func (s *suite) listed(cwd string, want ...session.ID) {
	s.Helper()
	var got []session.ID
	for _, r := range s.rows(cwd) {
		got = append(got, r.ID)
	}
	if !slices.Equal(got, want) {
		s.Errorf("sessions of %q: %q, want %q", cwd, got, want)
	}
}

// bytes returns the content of a log.
func (s *suite) bytes(path string) string {
	s.Helper()
	l, err := s.b.Locate(path)
	s.must(err)
	at, err := l.Backend.Stat(s.Context(), l.Name)
	s.must(err)
	all, err := backend.ReadAll(s.Context(), l.Backend, at)
	s.must(err)
	return string(all)
}

// records returns the entries of a session in the dialect's own JSON.
func (s *suite) records(sess *store.Session) (list [][]byte) {
	s.Helper()
	for e := range sess.Tree().Entries() {
		raw, err := sess.EntryJSON(s.Context(), e)
		s.must(err)
		list = append(list, raw)
	}
	return list
}

// later appends until the log is newer than another by more than a millisecond: clocks of file systems are coarse, and
// some agents choose by times in milliseconds.
func (s *suite) later(sess, than *store.Session, role session.Role, text string) {
	s.Helper()
	for range 1000 {
		time.Sleep(2 * time.Millisecond)
		s.say(sess, role, text)
		if sess.Log().Time.Sub(than.Log().Time) > 2*time.Millisecond {
			return
		}
	}
	s.Fatal("the time of the log does not change")
}
