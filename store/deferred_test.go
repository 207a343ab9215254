package store_test

import (
	"os"
	"path/filepath"
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
		{"pi", "", "user"}, {"omp", "", "user"}, {"omp-doc", "", "assistant"},
		{"omp-doc", dialect.DeferMessage, "user"}, {"pi", dialect.DeferAssistant, "assistant"},
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

// While creation is deferred nothing of the session is on disk, whatever the caller does, and Close writes nothing.
func TestDeferredLeavesNothing(t *testing.T) {
	for name, do := range map[string]func(d *desk, s *store.Session) error{
		"nothing":  func(*desk, *store.Session) error { return nil },
		"a rewind": func(d *desk, s *store.Session) error { return s.ResetLeaf(d.Context(), store.BranchOptions{}) },
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
			s := d.Begin("omp-doc", store.CreateOptions{})
			d.User(s, "anybody there?")
			d.Must(do(d, s))
			d.Must(s.Close())
			if files, _ := os.ReadDir(d.Home); len(files) > 0 {
				t.Errorf("left: %v", files)
			}
		})
	}
}

// What needs a log ends the deferral, also for a document that waits for an answer.
func TestDeferralEnds(t *testing.T) {
	for name, do := range map[string]func(d *desk, s *store.Session) error{
		"a flush": func(d *desk, s *store.Session) error { return s.Flush(d.Context()) },
		"a branch that is to last": func(d *desk, s *store.Session) error {
			got, err := s.Branch(d.Context(), s.Leaf(), store.BranchOptions{Durable: true})
			if !got.Durable {
				d.Error("the branch is not durable")
			}
			return err
		},
		"a fork": func(d *desk, s *store.Session) error { return s.Fork(d.Context()) },
		"a branched session": func(d *desk, s *store.Session) error {
			return s.BranchedSession(d.Context(), s.Leaf())
		},
	} {
		for _, format := range []string{"omp", "omp-doc", "pi", "operator", "operator-doc"} {
			t.Run(name+"/"+format, func(t *testing.T) {
				d := newDesk(t)
				s := d.Begin(format, store.CreateOptions{})
				got, err := s.AppendModelChange(t.Context(), "", "p", "m")
				d.Must(err)
				if got.Durable || d.Exists(s.Path()) {
					t.Fatal("written too early")
				}
				d.Must(do(d, s))
				if !d.Exists(s.Path()) {
					t.Fatal("not written")
				}
				d.MemoryEqualsDisk(s)
				if !s.Tree().Has(got.ID) {
					t.Errorf("entry %s is lost", got.ID)
				}
			})
		}
	}
}

// A session without entries leaves no log, even if it is flushed.
func TestFlushOfNothing(t *testing.T) {
	for _, level := range []store.Durability{store.DurabilityFlush, store.DurabilityAlways} {
		d := newDesk(t)
		s := d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Durability: level}})
		d.Must(s.Flush(t.Context()))
		d.Must(s.Close())
		if files, _ := os.ReadDir(d.Home); len(files) > 0 {
			t.Errorf("%s: left %v", level, files)
		}
	}
}

// At DurabilityAlways the first append creates the log, whatever it appends.
func TestAlwaysCreates(t *testing.T) {
	for _, format := range []string{"omp", "omp-doc", "pi", "operator-doc"} {
		d := newDesk(t)
		s := d.Begin(format, store.CreateOptions{Write: store.WriteOptions{Durability: store.DurabilityAlways}})
		if d.Exists(s.Path()) {
			t.Errorf("%s: written before the first append", format)
		}
		got, err := s.AppendModelChange(t.Context(), "", "p", "m")
		d.Must(err)
		if !got.Durable || !d.Exists(s.Path()) {
			t.Errorf("%s: durable %v, exists %v", format, got.Durable, d.Exists(s.Path()))
		}
		d.MemoryEqualsDisk(s)
	}
}

// A session in memory never says that an entry is durable.
func TestInMemoryIsNotDurable(t *testing.T) {
	d := newDesk(t)
	s := d.Closing(d.InMemory(t.Context(), d.fill(store.CreateOptions{Dialect: d.Format("omp")})))
	for range 2 {
		if d.Say(s, "assistant", "x").Durable {
			t.Error("durable in memory")
		}
	}
}

// What was done before the log existed is in it.
func TestDeferredKeepsWhatWasDone(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferAssistant}})
	one := d.User(s, "one")
	d.User(s, "two")
	_, err := s.Branch(t.Context(), one, store.BranchOptions{})
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
		t.Errorf(`%+v; want h.Title == "A name", h.CWD == "/elsewhere", s.Tree().Label(one) == "start"`, h)
	}
	if !strings.Contains(s.Path(), "--elsewhere--") {
		t.Errorf("the log is %s", s.Path())
	}
}

// A session that never gets a log leaves no note of its folder, though an entry of it has a blob. One that gets a log keeps it.
func TestDeferredNote(t *testing.T) {
	d := newDesk(t, func(w *world.World) { w.State = w.At("state") })
	big := session.Image{MIME: "image/png", Data: strings.Repeat("pict", 1<<12)}
	for _, answered := range []bool{false, true} {
		s := d.Begin("omp-doc", store.CreateOptions{Dir: filepath.Join(d.Home, "elsewhere")})
		if _, err := s.AppendUser(t.Context(), "look", big); err != nil {
			t.Fatal(err)
		}
		noted, err := d.Store.Folders(t.Context())
		d.Must(err)
		if len(noted) != 1 || len(noted[0].Seen) != 1 {
			t.Errorf("with a blob: %+v", noted)
		}
		if answered {
			d.Answer(s, "seen")
		}
		d.Must(s.Close())
		noted, err = d.Store.Folders(t.Context())
		d.Must(err)
		if len(noted) == 1 != answered {
			t.Errorf("answered %v: %+v", answered, noted)
		}
	}
}
