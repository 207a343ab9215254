package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A new session is what it was asked to be. It need not exist before its first messages; then other stores see it.
func create(s *suite) {
	sess := s.begin()
	if sess.ID() == "" || sess.CWD() != s.cwd || sess.Dialect() != s.dialect || sess.Leaf() != "" || sess.Tree().Len() != 0 {
		s.Errorf("%+v of %s", sess.Header(), sess.Dialect().Name())
	}
	s.say(sess, session.RoleUser, "apricot")
	s.say(sess, session.RoleAssistant, "bilberry")
	s.must(sess.Flush(s.Context()))
	again := s.reopened(sess.Path(), "apricot", "bilberry")
	if again.ID() != sess.ID() || again.CWD() != s.cwd || again.Leaf() != sess.Leaf() {
		s.Errorf("%+v, reopened %+v", sess.Header(), again.Header())
	}
	// A second session does not take the name.
	before := s.bytes(sess.Path())
	at, _ := sess.Header().Timestamp.Time()
	second, err := s.b.Create(s.Context(), store.CreateOptions{
		CWD: s.cwd, Dialect: s.dialect, ID: sess.ID(), Write: store.WriteOptions{Clock: func() time.Time { return at }},
	})
	if err == nil {
		_, err = second.AppendText(s.Context(), session.RoleUser, "fig")
		_, err2 := second.AppendText(s.Context(), session.RoleAssistant, "fig")
		err = errors.Join(err, err2, second.Close())
	}
	if err == nil && second.Path() == sess.Path() {
		s.Error("a second session was created at the path of the first")
	}
	if s.bytes(sess.Path()) != before {
		s.Error("the log changed")
	}
}

// An entry is there when its append returns, and the session goes on where it was left.
func appends(s *suite) {
	sess := s.begin("apricot", "bilberry")
	path := sess.Path()
	s.reopened(path, "apricot", "bilberry")
	a := s.say(sess, session.RoleUser, "cherry")
	if !a.Durable || a.Foreign != 0 || a.ID != sess.Leaf() {
		s.Errorf("%+v, leaf %s", a, sess.Leaf())
	}
	s.hears(sess, "apricot", "bilberry", "cherry")
	s.must(sess.Close())
	s.must(sess.Close())
	again := s.write(s.b, path, store.WriteOptions{Durability: store.DurabilityAlways})
	before := s.bytes(path)
	s.say(again, session.RoleAssistant, "damson")
	if after := s.bytes(path); !s.habits.SavedWhole && after[:len(before)] != before {
		s.Error("an append changed what was there")
	}
	var prompts []string
	for p, err := range again.Prompts(s.Context()) {
		s.must(err)
		prompts = append(prompts, p.Text)
	}
	s.must(again.Close())
	s.reopened(path, "apricot", "bilberry", "cherry", "damson")
	if len(prompts) != 2 || prompts[0] != "apricot" || prompts[1] != "cherry" {
		s.Errorf("prompts %q", prompts)
	}
}

// Another store wrote first: the policy decides, and no entry is lost.
func conflict(s *suite) {
	for _, test := range []struct {
		policy store.Policy
		want   []string // after a restart
	}{
		{store.PolicyBranch, []string{"apricot", "bilberry", "damson"}},
		{store.PolicyFollow, []string{"apricot", "bilberry", "cherry", "damson"}},
		{store.PolicyRefuse, []string{"apricot", "bilberry", "damson"}},
	} {
		s.sub(string(test.policy), func(s *suite) {
			if !s.habits.Branches {
				test.want = []string{"apricot", "bilberry", "cherry", "damson"}
			}
			path := s.begin("apricot", "bilberry").Path()
			ours := s.write(s.a, path, store.WriteOptions{Policy: test.policy})
			theirs := s.write(s.b, path, store.WriteOptions{})
			known := theirs.Tree().Len()
			first := s.say(theirs, session.RoleUser, "cherry")
			wrote := theirs.Tree().Len() - known // some agents write more than the message
			a, err := ours.AppendText(s.Context(), session.RoleUser, "damson")
			if test.policy == store.PolicyRefuse {
				if !errors.Is(err, store.ErrForeign) {
					s.Fatalf("not refused: %+v, %v", a, err)
				}
				if s.hears(ours, "apricot", "bilberry"); !ours.Tree().Has(first.ID) {
					s.Error("the session does not show what they wrote")
				}
				a, err = ours.AppendText(s.Context(), session.RoleUser, "damson")
			} else if err == nil && a.Foreign != wrote {
				s.Errorf("%+v; want not (err == nil && a.Foreign != wrote)", a)
			}
			s.must(err)
			s.reopened(path, test.want...)
			s.must(ours.Close())
			again := s.reopened(path, test.want...)
			if !again.Tree().Has(a.ID) || !again.Tree().Has(first.ID) || again.Tree().Len() < 4 {
				s.Errorf("entries are lost: %d", again.Tree().Len())
			}
		})
	}
}

// A branch moves the leaf.
func branch(s *suite) {
	sess := s.begin("apricot", "bilberry", "cherry", "damson")
	path, before := sess.Path(), s.bytes(sess.Path())
	two := sess.Tree().At(1)
	if _, ok := s.dialect.(dialect.Reacher); ok {
		reach(s, sess)
		return
	}
	if !s.habits.Branches {
		if _, err := sess.Branch(s.Context(), two.ID, store.BranchOptions{Durable: true}); !errors.Is(err, store.ErrUnsupported) {
			s.Errorf("a branch: %v", err)
		}
		_, err := sess.BranchWithSummary(s.Context(), two.ID, session.BranchSummary{Summary: "fig"})
		if err := errors.Join(err, sess.ResetLeaf(s.Context(), store.BranchOptions{Durable: true})); !errors.Is(err, store.ErrUnsupported) || s.bytes(path) != before {
			s.Errorf("a branch: %v", err)
		}
		return
	}
	s.must(second(sess.Branch(s.Context(), two.ID, store.BranchOptions{})))
	at := s.heard(sess, two.ID)
	s.hears(sess, at...)
	if s.bytes(path) != before {
		s.Error("a branch that is not durable was written")
	}
	s.reopened(path, "apricot", "bilberry", "cherry", "damson")
	s.must(second(sess.Branch(s.Context(), two.ID, store.BranchOptions{Durable: true})))
	s.reopened(path, at...)
	s.say(sess, session.RoleUser, "elderberry")
	s.reopened(path, append(at, "elderberry")...)
	s.must(second(sess.BranchWithSummary(s.Context(), two.ID, session.BranchSummary{Summary: "fig"})))
	s.reopened(path, append(at, "fig")...)
	// Not every format can say that the leaf is before the first entry.
	before = s.bytes(path)
	err := sess.ResetLeaf(s.Context(), store.BranchOptions{Durable: true})
	if errors.Is(err, store.ErrUnsupported) && s.bytes(path) == before {
		s.must(sess.ResetLeaf(s.Context(), store.BranchOptions{}))
	} else {
		s.must(err)
		s.reopened(path)
	}
	s.say(sess, session.RoleUser, "gooseberry")
	if again := s.reopened(path, "gooseberry"); again.Tree().Tips() < 4 {
		s.Errorf("%d branches", again.Tree().Tips())
	}
}

// In a linear log the leaf goes back where the format can say so: here, to the end of a turn and before the first one.
func reach(s *suite, sess *store.Session) {
	path, before := sess.Path(), s.bytes(sess.Path())
	var messages []session.EntryID
	for e := range sess.Tree().Entries() {
		if e.Kind == session.KindMessage {
			messages = append(messages, e.ID)
		}
	}
	for _, opt := range []store.BranchOptions{{}, {Durable: true}} {
		if s.dialect.(dialect.Reacher).Reach(sess.Tree(), messages[0]) == nil {
			break // not every format goes back by whole turns only
		}
		if _, err := sess.Branch(s.Context(), messages[0], opt); !errors.Is(err, store.ErrUnsupported) {
			s.Errorf("a branch within a turn: %v", err)
		}
	}
	_, err := sess.BranchWithSummary(s.Context(), messages[1], session.BranchSummary{Summary: "fig"})
	if !errors.Is(err, store.ErrUnsupported) || s.bytes(path) != before {
		s.Errorf("a branch with a summary: %v", err)
	}
	s.must(second(sess.Branch(s.Context(), messages[1], store.BranchOptions{})))
	s.hears(sess, "apricot", "bilberry")
	s.reopened(path, "apricot", "bilberry", "cherry", "damson")
	s.say(sess, session.RoleUser, "elderberry")
	again := s.reopened(path, "apricot", "bilberry", "elderberry")
	if again.Tree().Tips() < 2 || again.Leaf() != sess.Leaf() {
		s.Errorf("%d branches, leaf %s, reopened %s", again.Tree().Tips(), sess.Leaf(), again.Leaf())
	}
	if _, err := sess.Branch(s.Context(), messages[3], store.BranchOptions{}); !errors.Is(err, store.ErrUnsupported) {
		s.Errorf("a branch to what was taken back: %v", err)
	}
	s.must(second(sess.Branch(s.Context(), messages[1], store.BranchOptions{Durable: true})))
	if again := s.reopened(path, "apricot", "bilberry"); again.Leaf() != messages[1] {
		s.Errorf("the leaf is %s, want %s", again.Leaf(), messages[1])
	}
	// What another writer added meanwhile stays.
	s.must(sess.ResetLeaf(s.Context(), store.BranchOptions{}))
	s.say(s.write(s.b, path, store.WriteOptions{}), session.RoleUser, "fig")
	if _, err := sess.AppendText(s.Context(), session.RoleUser, "gooseberry"); !errors.Is(err, store.ErrForeign) {
		s.Errorf("a branch beside another writer: %v", err)
	}
	s.reopened(path, "apricot", "bilberry", "fig")
	s.must(sess.ResetLeaf(s.Context(), store.BranchOptions{Durable: true}))
	s.reopened(path)
	s.say(sess, session.RoleUser, "gooseberry")
	s.reopened(path, "gooseberry")
}

func second[T any](_ T, err error) error { return err }

// A label names an entry until it is removed.
func label(s *suite) {
	sess := s.begin("apricot", "bilberry")
	target := sess.Leaf()
	for _, name := range []string{"here", "there", ""} {
		_, err := sess.Label(s.Context(), target, name)
		if !s.habits.Labels {
			if !errors.Is(err, store.ErrUnsupported) {
				s.Errorf("a label: %v", err)
			}
			continue
		}
		s.must(err)
		again := s.reopened(sess.Path(), "apricot", "bilberry")
		if got := again.Tree().Label(target); got != name || sess.Tree().Label(target) != name {
			s.Errorf("label %q, want %q", got, name)
		}
	}
}

// A compaction takes the place of what came before it.
func compact(s *suite) {
	sess := s.begin("apricot", "bilberry", "cherry", "damson")
	before := s.bytes(sess.Path())
	c, want := session.Compaction{Summary: "fig", FirstKept: sess.Leaf()}, []string{"fig", "damson"}
	_, err := sess.Compact(s.Context(), c)
	if s.habits.CompactsInPlace {
		if !errors.Is(err, store.ErrUnsupported) || s.bytes(sess.Path()) != before {
			s.Errorf("a compaction that is no entry: %v", err)
		}
		return
	}
	if s.habits.SavedWhole || s.habits.KeepsByRepeating {
		if !errors.Is(err, store.ErrUnsupported) || s.bytes(sess.Path()) != before {
			s.Errorf("a compaction that keeps entries: %v", err)
		}
		if s.habits.SavedWhole {
			return
		}
		c.FirstKept, want = "", want[:1]
		_, err = sess.Compact(s.Context(), c)
	}
	s.must(err)
	if s.habits.SumsInOwnWords && s.habits.KeepsByRepeating {
		want = slices.Concat([]string{"apricot", "cherry"}, want) // the agent repeats the prompts
	}
	s.hears(sess, want...)
	s.say(sess, session.RoleUser, "elderberry")
	s.reopened(sess.Path(), append(want, "elderberry")...)
}
