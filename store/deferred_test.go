package store_test

import (
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A log is created when the dialect, or the caller, says so; until then entries are in the tree and say that they are not
// durable.
func TestDeferred(t *testing.T) {
	for _, test := range []struct {
		dialect string
		habit   dialect.Defer
		creates string // the role of the message that creates the log; "" is the header alone
	}{
		{"pi", "", "user"}, {"omp", "", "assistant"}, {"omp-doc", "", "assistant"},
		{"omp", dialect.DeferMessage, "user"}, {"pi", dialect.DeferAssistant, "assistant"},
		{"omp", dialect.DeferNever, ""}, {"pi", dialect.DeferNever, ""},
	} {
		t.Run(test.dialect+"/"+string(test.habit), func(t *testing.T) {
			d := newDesk(t)
			s := d.Begin(test.dialect, store.CreateOptions{Write: store.WriteOptions{Defer: test.habit}})
			if d.Exists(s.Path()) != (test.creates == "") {
				t.Fatalf("after Create the log exists: %v", d.Exists(s.Path()))
			}
			steps := []struct {
				role string
				do   func() (store.Appended, error)
			}{
				{"", func() (store.Appended, error) { return s.AppendThinkingLevelChange(t.Context(), "high") }},
				{"toolResult", func() (store.Appended, error) { return s.AppendMessage(t.Context(), world.Message("toolResult", "t")) }},
				{"user", func() (store.Appended, error) { return s.AppendMessage(t.Context(), world.Message("user", "u")) }},
				{"assistant", func() (store.Appended, error) { return s.AppendMessage(t.Context(), world.Message("assistant", "a")) }},
				{"user", func() (store.Appended, error) { return s.AppendMessage(t.Context(), world.Message("user", "v")) }},
			}
			durable := test.creates == ""
			for i, step := range steps {
				durable = durable || step.role == test.creates
				got, err := step.do()
				d.Must(err)
				if got.Durable != durable || d.Exists(s.Path()) != durable {
					t.Fatalf("step %d: durable %v, exists %v, want %v", i, got.Durable, d.Exists(s.Path()), durable)
				}
				for e := range s.Tree().Entries() {
					if e.Durable() != durable || (e.Line == 0) == durable {
						t.Fatalf("step %d: entry %s durable %v, line %d", i, e.ID, e.Durable(), e.Line)
					}
					if _, err := e.Raw(); err != nil {
						t.Fatal(err)
					}
				}
			}
			d.MemoryEqualsDisk(s)
			info, err := os.Stat(s.Path())
			d.Must(err)
			if info.Mode().Perm() != 0o600 {
				t.Errorf("the log's mode is %v", info.Mode())
			}
		})
	}
}

// A session without an answer leaves no log, whatever else was done with it.
func TestDeferredLeavesNothing(t *testing.T) {
	for name, do := range map[string]func(d *desk, s *store.Session) error{
		"nothing":  func(*desk, *store.Session) error { return nil },
		"a rewind": func(d *desk, s *store.Session) error { return s.ResetLeaf(d.Context(), false) },
		"a rewind that is to last": func(d *desk, s *store.Session) error {
			return s.ResetLeaf(d.Context(), true)
		},
		"a branch": func(d *desk, s *store.Session) error {
			_, err := s.Branch(d.Context(), s.Leaf(), true)
			return err
		},
		"a summary": func(d *desk, s *store.Session) error {
			_, err := s.BranchWithSummary(d.Context(), s.Leaf(), session.BranchSummary{Summary: "x"})
			return err
		},
		"a label": func(d *desk, s *store.Session) error {
			_, err := s.Label(d.Context(), s.Leaf(), "x")
			return err
		},
		"a name":        func(d *desk, s *store.Session) error { return s.Rename(d.Context(), "x") },
		"a move":        func(d *desk, s *store.Session) error { return s.Move(d.Context(), "/elsewhere") },
		"a flush":       func(d *desk, s *store.Session) error { return s.Flush(d.Context()) },
		"a deletion":    func(d *desk, s *store.Session) error { return s.Delete(d.Context()) },
		"a new session": func(d *desk, s *store.Session) error { return s.NewSession(d.Context(), "", "") },
		"a rewrite": func(d *desk, s *store.Session) error {
			return s.RewriteEntries(d.Context(), [][]byte{[]byte(`{"type":"custom","id":"a","parentId":null,"customType":"x"}`)})
		},
		"tool calls": func(d *desk, s *store.Session) error {
			_, err := s.RewriteToolCallArguments(d.Context(), "x", []byte(`{}`))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			s := d.Begin("omp", store.CreateOptions{})
			d.User(s, "anybody there?")
			d.Must(do(d, s))
			d.Must(s.Close())
			if files, _ := os.ReadDir(d.Home); len(files) > 0 {
				t.Errorf("left: %v", files)
			}
		})
	}
}

// What was done before the log existed is in it.
func TestDeferredKeepsWhatWasDone(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", store.CreateOptions{})
	one := d.User(s, "one")
	d.User(s, "two")
	_, err := s.Branch(t.Context(), one, false)
	d.Must(err)
	d.User(s, "three")
	_, err = s.Label(t.Context(), one, "start")
	d.Must(err)
	d.Must(s.Rename(t.Context(), "A name"))
	d.Must(s.Move(t.Context(), "/elsewhere"))
	if s.Leaf() == one || s.Tree().Len() != 4 {
		t.Fatalf("leaf %s of %d", s.Leaf(), s.Tree().Len())
	}
	d.Answer(s, "four")
	want := []string{"one", "three", "four"}
	d.Same(d.Texts(s), want)
	d.Same(d.Seen(s.Path()), want)
	d.MemoryEqualsDisk(s)
	h := s.Header()
	if h.Title != "A name" || h.CWD != "/elsewhere" || s.Tree().Label(one) != "start" {
		t.Errorf("%+v", h)
	}
	if !strings.Contains(s.Path(), "--elsewhere--") {
		t.Errorf("the log is %s", s.Path())
	}
}
