package storetest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A name is kept, in the header or as an entry.
func rename(s *suite) {
	sess := s.begin("apricot", "bilberry")
	for _, name := range []string{"A first name", "Another"} {
		err := sess.Rename(s.Context(), name)
		if s.habits.Nameless {
			if !errors.Is(err, store.ErrUnsupported) {
				s.Errorf("a name: %v", err)
			}
			continue
		}
		if _, ok := s.dialect.(dialect.Registrar); ok && errors.Is(err, store.ErrUnsupported) && backend.Scheme(sess.Path()) != "" {
			continue // a URL has no place for files of the agent
		}
		s.must(err)
		again := s.reopened(sess.Path(), "apricot", "bilberry")
		for _, x := range []*store.Session{sess, again} {
			if got, err := x.Title(); err != nil || got != name {
				s.Errorf("title %q, %v", got, err)
			}
		}
		// Outside of an agent's folder the log may be read as another program's, which has its own names.
		if got, err := sess.Name(); err != nil || got != name {
			s.Errorf("name %q, %v", got, err)
		}
		if rows := s.rows(s.cwd); len(rows) != 1 || rows[0].Heading() != name {
			s.Errorf("listed as %+v", rows)
		}
	}
	s.say(sess, session.RoleUser, "cherry")
	s.reopened(sess.Path(), "apricot", "bilberry", "cherry")
}

// All entries are replaced; the header stays.
func rewriteEntries(s *suite) {
	sess := s.begin("apricot", "bilberry", "cherry")
	id, list := sess.ID(), s.records(sess)
	if err := sess.RewriteEntries(s.Context(), [][]byte{[]byte("fig")}); err == nil {
		s.Error("what is not an entry was written")
	}
	keep := slices.IndexFunc(list, func(r []byte) bool { return strings.Contains(string(r), "cherry") })
	s.must(sess.RewriteEntries(s.Context(), list[:keep]))
	s.hears(sess, "apricot", "bilberry")
	if again := s.reopened(sess.Path(), "apricot", "bilberry"); again.ID() != id || again.CWD() != s.cwd {
		s.Errorf("%+v; want again.ID() == %v, again.CWD() == %v", again.Header(), id, s.cwd)
	}
	s.say(sess, session.RoleUser, "damson")
	s.reopened(sess.Path(), "apricot", "bilberry", "damson")
}

// The arguments of a tool call change, and nothing else.
func rewriteToolCall(s *suite) {
	sess := s.begin("apricot")
	composer, ok := s.dialect.(dialect.Composer)
	if !ok {
		s.Fatalf("%s makes no messages", s.dialect.Name())
	}
	messages, err := composer.Compose(dialect.NewMessage{
		ID: "m1", Role: session.RoleAssistant, Time: time.Date(2026, 2, 16, 10, 0, 0, 0, time.UTC), Provider: "p", Model: "m",
		Parts: []session.Part{session.Text{Text: "bilberry"}, session.ToolCall{ID: "call-1", Name: "look", Arguments: session.Raw(`{"at":"cherry"}`)}},
	})
	s.must(err)
	for _, m := range messages {
		s.must(second(sess.AppendMessage(s.Context(), m)))
	}
	before := s.bytes(sess.Path())
	found, err := sess.RewriteToolCallArguments(s.Context(), "call-1", []byte(`{"at":"damson"}`))
	if _, ok := s.dialect.(dialect.Editor); !ok {
		if !errors.Is(err, store.ErrUnsupported) || s.bytes(sess.Path()) != before {
			s.Errorf("changing a tool call: %v", err)
		}
		return
	}
	if !found || err != nil {
		s.Fatalf("found %v, %v", found, err)
	}
	if got, want := s.bytes(sess.Path()), strings.ReplaceAll(before, "cherry", "damson"); got != want {
		s.Errorf("the log is\n%s\nwant\n%s", got, want)
	}
	before = s.bytes(sess.Path())
	if found, err := sess.RewriteToolCallArguments(s.Context(), "call-2", []byte(`{}`)); found || err != nil || s.bytes(sess.Path()) != before {
		s.Errorf("a call that does not exist: %v, %v", found, err)
	}
	if _, err := sess.RewriteToolCallArguments(s.Context(), "call-1", []byte(`{`)); err == nil {
		s.Error("arguments that are not JSON were written")
	}
	if !s.habits.ResultsInCalls { // some agents do not send a call without its result
		s.must(second(sess.AppendToolResult(s.Context(), "call-1", []session.Part{session.Text{Text: "seen"}}, false)))
	}
	s.say(sess, session.RoleUser, "elderberry")
	s.reopened(sess.Path(), "apricot", "bilberry", "damson", "elderberry")
}

// A move takes the session to another working directory, wherever its log is then.
func move(s *suite) {
	sess := s.begin("apricot", "bilberry")
	old, id := sess.Path(), sess.ID()
	s.listed(s.cwd, id)
	s.must(sess.Move(s.Context(), s.other))
	if sess.CWD() != s.other || sess.ID() != id {
		s.Errorf("%+v; want sess.CWD() == %v, sess.ID() == %v", sess.Header(), s.other, id)
	}
	s.listed(s.cwd)
	s.listed(s.other, id)
	s.listed("", id)
	if _, err := s.b.Open(s.Context(), old, store.OpenOptions{}); (err == nil) != (sess.Path() == old) {
		s.Errorf("moved from %s to %s: %v", old, sess.Path(), err)
	}
	s.say(sess, session.RoleUser, "cherry")
	if dir := s.a.FolderOf(s.dialect, sess.Path()); dir != sess.Dir() {
		s.Errorf("copies go to %s, the log is in %s", sess.Dir(), dir)
	}
	s.reopened(sess.Path(), "apricot", "bilberry", "cherry")
}

// A deleted session is gone, unless another process wrote entries that the caller has not seen.
func deletes(s *suite) {
	sess := s.begin("apricot", "bilberry")
	kept := s.begin("cherry", "damson")
	theirs := s.write(s.b, sess.Path(), store.WriteOptions{})
	s.say(theirs, session.RoleUser, "elderberry")
	s.must(theirs.Close())
	if err := sess.Delete(s.Context()); !errors.Is(err, store.ErrForeign) {
		s.Errorf("deleted what it did not know: %v", err)
	}
	s.reopened(sess.Path(), "apricot", "bilberry", "elderberry")
	s.must(sess.Delete(s.Context()))
	if _, err := sess.AppendText(s.Context(), session.RoleUser, "fig"); !errors.Is(err, store.ErrClosed) {
		s.Errorf("appended to a deleted session: %v", err)
	}
	if _, err := s.b.Open(s.Context(), sess.Path(), store.OpenOptions{}); !errors.Is(err, backend.ErrNotExist) {
		s.Errorf("opened a deleted session: %v", err)
	}
	s.listed("", kept.ID())
	s.reopened(kept.Path(), "cherry", "damson")
}

// A fork has all that the session has, and an id of its own.
func fork(s *suite) {
	sess := s.begin("apricot", "bilberry")
	old, id, before := sess.Path(), sess.ID(), s.bytes(sess.Path())
	s.must(sess.Fork(s.Context()))
	if sess.ID() == id || sess.Path() == old || sess.CWD() != s.cwd {
		s.Errorf("the fork is %s at %s", sess.ID(), sess.Path())
	}
	s.say(sess, session.RoleUser, "cherry")
	s.say(sess, session.RoleAssistant, "damson")
	s.reopened(sess.Path(), "apricot", "bilberry", "cherry", "damson")
	other := s.closing(s.b.ForkFrom(s.Context(), old, store.CreateOptions{CWD: s.other}))
	s.hears(other, "apricot", "bilberry")
	s.reopened(other.Path(), "apricot", "bilberry")
	s.listed(s.other, other.ID())
	if s.bytes(old) != before {
		s.Error("the old log changed")
	}
	if rows := s.rows(s.cwd); len(rows) != 2 {
		s.Errorf("%d sessions", len(rows))
	}
}

// A branched session has the path to one entry.
func branched(s *suite) {
	sess := s.begin("apricot", "bilberry")
	leaf := sess.Leaf()
	s.say(sess, session.RoleUser, "cherry")
	old, id, before := sess.Path(), sess.ID(), s.bytes(sess.Path())
	other, err := s.b.BranchFrom(s.Context(), old, leaf, store.CreateOptions{CWD: s.other})
	if _, ok := s.dialect.(dialect.Editor); !ok {
		if err2 := sess.BranchedSession(s.Context(), leaf); !errors.Is(err, store.ErrUnsupported) || !errors.Is(err2, store.ErrUnsupported) {
			s.Errorf("a branched session: %v, %v", err, err2)
		}
		return
	}
	s.closing(other, err)
	s.reopened(other.Path(), "apricot", "bilberry")
	s.listed(s.other, other.ID())
	s.must(sess.BranchedSession(s.Context(), leaf))
	if sess.ID() == id || sess.Path() == old {
		s.Errorf("the branched session is %s at %s", sess.ID(), sess.Path())
	}
	s.say(sess, session.RoleUser, "damson")
	s.reopened(sess.Path(), "apricot", "bilberry", "damson")
	if s.bytes(old) != before {
		s.Error("the old log changed")
	}
}

// A new session in the place of an old one leaves the old one as it is.
func newSession(s *suite) {
	sess := s.begin("apricot", "bilberry")
	old, id := sess.Path(), sess.ID()
	s.must(sess.NewSession(s.Context(), "", ""))
	if sess.ID() == id || sess.Path() == old || sess.Tree().Len() != 0 || sess.CWD() != s.cwd {
		s.Errorf("%+v at %s", sess.Header(), sess.Path())
	}
	s.say(sess, session.RoleUser, "cherry")
	s.say(sess, session.RoleAssistant, "damson")
	s.reopened(old, "apricot", "bilberry")
	s.reopened(sess.Path(), "cherry", "damson")
}
