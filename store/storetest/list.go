package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A list shows every session once, by its working directory, and an id or the beginning of one finds it.
func list(s *suite) {
	s.listed("")
	one := s.begin("apricot", "bilberry")
	two := s.closing(s.b.Create(s.Context(), store.CreateOptions{CWD: s.other, Dialect: s.dialect}))
	s.say(two, session.RoleUser, "cherry")
	s.later(two, one, session.RoleAssistant, "damson")
	s.listed(s.cwd, one.ID())
	s.listed(s.other, two.ID())
	if rows := s.rows(""); len(rows) != 2 {
		s.Errorf("%d sessions", len(rows))
	}
	for _, sess := range []*store.Session{one, two} {
		id := string(sess.ID())
		for _, ref := range []string{id, id[:len(id)-1]} {
			row, err := s.a.Find(s.Context(), ref)
			s.must(err)
			if row.ID != sess.ID() || row.CWD != sess.CWD() || row.Path != sess.Path() || row.Dialect.Family() != s.dialect.Family() {
				s.Errorf("%s finds %+v, want %s", ref, row, sess.Path())
			}
		}
	}
	if _, err := s.a.Find(s.Context(), "nothing-like-it"); !errors.Is(err, place.ErrNoSession) {
		s.Errorf("found: %v", err)
	}
}

// The session to continue is the newest of the working directory; without one a session begins.
func continues(s *suite) {
	opt := store.CreateOptions{CWD: s.cwd, Dialect: s.dialect}
	one := s.closing(s.a.ContinueRecent(s.Context(), opt))
	s.say(one, session.RoleUser, "apricot")
	s.say(one, session.RoleAssistant, "bilberry")
	other := s.closing(s.a.ContinueRecent(s.Context(), store.CreateOptions{CWD: s.other, Dialect: s.dialect}))
	if other.ID() == one.ID() || other.Tree().Len() != 0 {
		s.Error("a session of another working directory is continued")
	}
	two := s.begin("cherry")
	s.later(two, one, session.RoleAssistant, "damson")
	for _, newest := range []*store.Session{two, one} {
		if newest == one {
			s.later(one, two, session.RoleUser, "elderberry")
		}
		again := s.closing(s.b.ContinueRecent(s.Context(), opt))
		if again.ID() != newest.ID() {
			s.Errorf("%s is continued, want %s", again.ID(), newest.ID())
		}
		s.must(again.Close())
	}
}

// A search finds what is in the sessions now, whichever store wrote it.
func search(s *suite) {
	ix := index.Open(index.Options{})
	f := find.New(s.b.Machine, ix, time.Now)
	s.Cleanup(func() { s.must(f.Close()) })
	finds := func(word string, want ...*store.Session) {
		s.Helper()
		found, err := f.Search(s.Context(), word, find.Options{Problem: func(err error) { s.Error(err) }})
		s.must(err)
		var got, ids []session.ID
		for _, h := range found.Hits {
			got = append(got, h.Session.ID)
			sess := s.closing(s.a.Open(s.Context(), h.Session.Path, store.OpenOptions{}))
			if _, err := sess.Tree().Get(h.Entry); err != nil {
				s.Error(err)
			}
		}
		for _, sess := range want {
			ids = append(ids, sess.ID())
		}
		slices.Sort(got)
		if slices.Sort(ids); !slices.Equal(got, ids) {
			s.Errorf("%s is found in %q, want %q", word, got, ids)
		}
	}
	finds("apricot")
	one := s.begin("apricot", "bilberry")
	finds("apricot", one)
	two := s.begin("apricot", "cherry")
	finds("apricot", one, two)
	s.say(one, session.RoleUser, "damson")
	finds("damson", one)
	s.say(two, session.RoleUser, "damson")
	finds("damson", one, two)
	rows, err := f.Catalogue(s.Context(), find.RefreshOptions{Problem: func(err error) { s.Error(err) }})
	if err != nil || len(rows) != 2 {
		s.Errorf("%d sessions in the catalogue, %v", len(rows), err)
	}
	s.must(one.Move(s.Context(), s.other))
	finds("bilberry", one)
	s.must(one.Delete(s.Context()))
	finds("apricot", two)
	finds("bilberry")
}
