package storetest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/watch"
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

// A watch tells of every entry once, in order, and of sessions that appear and disappear.
func watches(s *suite) {
	for name, opt := range map[string]watch.Options{
		"hints": {After: soon},
		"polls": {After: soon, NoHints: true},
	} {
		s.sub(name, func(s *suite) { s.watch(opt) })
	}
}

// soon is time.After with a shorter wait: a look at a database takes long, and the next one is delayed accordingly.
func soon(d time.Duration) <-chan time.Time { return time.After(min(d, 5*time.Millisecond)) }

func (s *suite) watch(opt watch.Options) {
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
	defer cancel()
	one := s.begin("apricot", "bilberry")
	next, stop := iter.Pull2(watch.Watch(ctx, s.b.Machine, opt))
	defer stop()
	// tells waits for a change of a session: an entry, if text is set.
	tells := func(kind watch.Kind, sess *store.Session, text string) {
		s.Helper()
		for {
			c, err, ok := next()
			s.must(err)
			if !ok {
				s.Fatalf("the watch ended before %s %s", kind, text)
			}
			if c.Kind == watch.KindEntry && c.Entry.Kind != session.KindMessage {
				continue // some agents write more than messages
			}
			if c.Kind != kind || sess != nil && c.Path != sess.Path() {
				s.Fatalf("told %s of %s, %v: %s; want %s %s", c.Kind, c.Path, c.Err, c.Raw, kind, text)
			}
			if text != "" {
				parts, err := c.Parts()
				s.must(err)
				if len(parts) != 1 || parts[0] != (session.Text{Text: text}) {
					s.Fatalf("told %v, want %s", parts, text)
				}
			}
			return
		}
	}
	tells(watch.KindStart, nil, "")
	s.say(one, session.RoleUser, "cherry")
	tells(watch.KindEntry, one, "cherry")
	two := s.closing(s.b.Create(s.Context(), store.CreateOptions{CWD: s.other, Dialect: s.dialect}))
	s.say(two, session.RoleUser, "damson")
	s.say(two, session.RoleAssistant, "elderberry")
	tells(watch.KindSession, two, "")
	tells(watch.KindEntry, two, "damson")
	tells(watch.KindEntry, two, "elderberry")
	s.say(one, session.RoleAssistant, "fig")
	tells(watch.KindEntry, one, "fig")
	s.must(two.Delete(s.Context()))
	tells(watch.KindRemoved, two, "")
	s.must(one.Delete(s.Context()))
	tells(watch.KindRemoved, one, "")
}
