package storetest

import (
	"errors"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

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
