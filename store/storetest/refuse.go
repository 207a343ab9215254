package storetest

import (
	"bytes"
	"errors"
	"regexp"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// fails requires that each attempt fails with want and leaves the log unchanged.
func (s *suite) fails(sess *store.Session, want error, attempts map[string]func() error) {
	s.Helper()
	before, leaf := s.bytes(sess.Path()), sess.Leaf()
	for name, attempt := range attempts {
		if err := attempt(); !errors.Is(err, want) {
			s.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if s.bytes(sess.Path()) != before || sess.Leaf() != leaf {
		s.Error("the session changed")
	}
}

// Ids that are not valid, entries that do not exist and logs that do not exist are refused.
func unknown(s *suite) {
	for _, id := range []session.ID{"../x", "a/b", ".."} {
		var invalid *store.IDError
		if _, err := s.a.Create(s.Context(), store.CreateOptions{CWD: s.cwd, Dialect: s.dialect, ID: id}); !errors.As(err, &invalid) {
			s.Errorf("id %q: %v", id, err)
		}
	}
	sess := s.begin("apricot", "bilberry")
	ctx, none := s.Context(), session.EntryID("nothing")
	attempts := map[string]func() error{
		"Context": func() error { return second(sess.Context(ctx, none, store.ContextOptions{})) },
	}
	if s.habits.Branches {
		attempts["Branch"] = func() error { return second(sess.Branch(ctx, none, store.BranchOptions{Durable: true})) }
		attempts["BranchWithSummary"] = func() error { return second(sess.BranchWithSummary(ctx, none, session.BranchSummary{Summary: "x"})) }
	}
	if s.habits.Labels {
		attempts["Label"] = func() error { return second(sess.Label(ctx, none, "x")) }
	}
	if _, ok := s.dialect.(dialect.Editor); ok {
		attempts["BranchedSession"] = func() error { return sess.BranchedSession(ctx, none) }
	}
	s.fails(sess, session.ErrUnknownEntry, attempts)
	gone := s.begin("cherry", "damson")
	s.must(gone.Delete(ctx))
	s.fails(sess, backend.ErrNotExist, map[string]func() error{
		"Open":      func() error { return second(s.a.Open(ctx, gone.Path(), store.OpenOptions{})) },
		"OpenWrite": func() error { return second(s.a.OpenWrite(ctx, gone.Path(), store.CreateOptions{})) },
		"ForkFrom":  func() error { return second(s.a.ForkFrom(ctx, gone.Path(), store.CreateOptions{CWD: s.cwd})) },
	})
	s.listed("", sess.ID())
}

// writes returns all ways to change a session.
func (s *suite) writes(sess *store.Session) map[string]func() error {
	ctx, leaf := s.Context(), sess.Leaf()
	return map[string]func() error{
		"AppendText":        func() error { return second(sess.AppendText(ctx, session.RoleUser, "fig")) },
		"AppendMessage":     func() error { return second(sess.AppendMessage(ctx, []byte(`{"role":"user","content":"fig"}`))) },
		"Branch":            func() error { return second(sess.Branch(ctx, leaf, store.BranchOptions{Durable: true})) },
		"BranchWithSummary": func() error { return second(sess.BranchWithSummary(ctx, leaf, session.BranchSummary{Summary: "x"})) },
		"ResetLeaf":         func() error { return sess.ResetLeaf(ctx, store.BranchOptions{Durable: true}) },
		"Label":             func() error { return second(sess.Label(ctx, leaf, "x")) },
		"Compact":           func() error { return second(sess.Compact(ctx, session.Compaction{Summary: "x", FirstKept: leaf})) },
		"Rename":            func() error { return sess.Rename(ctx, "x") },
		"Fork":              func() error { return sess.Fork(ctx) },
		"BranchedSession":   func() error { return sess.BranchedSession(ctx, leaf) },
		"NewSession":        func() error { return sess.NewSession(ctx, "", "") },
		"RewriteEntries":    func() error { return sess.RewriteEntries(ctx, nil) },
		"RewriteToolCallArguments": func() error {
			return second(sess.RewriteToolCallArguments(ctx, "call-1", []byte(`{}`)))
		},
		"Move":   func() error { return sess.Move(ctx, s.other) },
		"Delete": func() error { return sess.Delete(ctx) },
		"Flush":  func() error { return sess.Flush(ctx) },
	}
}

// A closed session refuses everything that writes; a closed store refuses everything.
func closed(s *suite) {
	sess := s.begin("apricot", "bilberry")
	s.must(sess.Close())
	s.fails(sess, store.ErrClosed, s.writes(sess))
	if c, err := sess.Context(s.Context(), sess.Leaf(), store.ContextOptions{}); err == nil {
		for _, err := range c.Messages() { // what is in memory may still be read
			if err != nil && !errors.Is(err, store.ErrClosed) {
				s.Errorf("reading a closed session: %v; want ErrClosed", err)
			}
		}
	}
	s.reopened(sess.Path(), "apricot", "bilberry")
	st := s.store(s.place.Options)
	s.must(st.Close())
	s.fails(sess, backend.ErrClosed, map[string]func() error{
		"Open":      func() error { return second(st.Open(s.Context(), sess.Path(), store.OpenOptions{})) },
		"OpenWrite": func() error { return second(st.OpenWrite(s.Context(), sess.Path(), store.CreateOptions{})) },
		"Create": func() error {
			return second(st.Create(s.Context(), store.CreateOptions{CWD: s.cwd, Dialect: s.dialect}))
		},
	})
}

// A session that is open for reading is not written, and a store for reading writes nothing.
func readOnly(s *suite) {
	sess := s.begin("apricot", "bilberry")
	s.must(sess.Close())
	opt := s.place.Options
	opt.ReadOnly = true
	st := s.store(opt)
	look := s.closing(st.Open(s.Context(), sess.Path(), store.OpenOptions{}))
	s.hears(look, "apricot", "bilberry")
	s.fails(look, store.ErrReadOnly, s.writes(look))
	create := store.CreateOptions{CWD: s.cwd, Dialect: s.dialect}
	s.fails(look, backend.ErrReadOnly, map[string]func() error{
		"OpenWrite": func() error { return second(st.OpenWrite(s.Context(), sess.Path(), store.CreateOptions{})) },
		"Create":    func() error { return second(st.Create(s.Context(), create)) },
		"ForkFrom":  func() error { return second(st.ForkFrom(s.Context(), sess.Path(), create)) },
	})
	rows, err := st.List(s.Context(), place.ListOptions{})
	if err != nil || len(rows) != 1 {
		s.Errorf("%d sessions, %v", len(rows), err)
	}
}

// version is the version in a header, for formats that have one.
var version = regexp.MustCompile(`"version": ?[0-9]+`)

// A log of a newer version is read as well as possible and never written.
func newer(s *suite) {
	sess := s.begin("apricot", "bilberry")
	s.must(sess.Close())
	path := sess.Path()
	l, release, err := s.b.LocateWriting(path, "", nil)
	s.must(err)
	at, err := l.Backend.Stat(s.Context(), l.Name)
	s.must(err)
	var records [][]byte
	for r, err := range l.Backend.Read(s.Context(), at, 0) {
		s.must(err)
		records = append(records, bytes.Clone(r.Data))
	}
	if !version.Match(records[0]) {
		s.must(release())
		return // the format has one version
	}
	records[0] = version.ReplaceAll(records[0], []byte(`"version":999`))
	s.must(second(l.Backend.Replace(s.Context(), at, records...)))
	s.must(release())
	look := s.closing(s.a.Open(s.Context(), path, store.OpenOptions{}))
	if !look.Header().Newer {
		s.Errorf("%+v is not newer", look.Header())
	}
	s.hears(look, "apricot", "bilberry")
	ctx, create := s.Context(), store.CreateOptions{CWD: s.cwd}
	s.fails(look, store.ErrNewer, map[string]func() error{
		"OpenWrite":  func() error { return second(s.a.OpenWrite(ctx, path, store.CreateOptions{})) },
		"ForkFrom":   func() error { return second(s.a.ForkFrom(ctx, path, create)) },
		"BranchFrom": func() error { return second(s.a.BranchFrom(ctx, path, look.Leaf(), create)) },
	})
}
