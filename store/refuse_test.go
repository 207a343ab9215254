package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// What looks like a mistake is refused and changes nothing. Force writes it.
func TestRefused(t *testing.T) {
	for _, format := range []string{"omp", "omp-doc", "pi"} {
		for name, do := range map[string]func(d *desk, s *store.Session, aside session.EntryID) error{
			"a message without a role": func(d *desk, s *store.Session, _ session.EntryID) error {
				_, err := s.AppendMessage(d.Context(), []byte(`{"rol":"user","content":"x"}`))
				return err
			},
			"an empty message": func(d *desk, s *store.Session, _ session.EntryID) error {
				_, err := s.AppendMessage(d.Context(), []byte(`{}`))
				return err
			},
			"a message that is not UTF-8": func(d *desk, s *store.Session, _ session.EntryID) error {
				_, err := s.AppendMessage(d.Context(), []byte("{\"role\":\"user\",\"content\":\"\xff\"}"))
				return err
			},
			"a record that is not UTF-8": func(d *desk, s *store.Session, _ session.EntryID) error {
				_, err := s.AppendRecord(d.Context(), []byte("{\"type\":\"custom\",\"customType\":\"\xff\"}"))
				return err
			},
			"data that is not UTF-8": func(d *desk, s *store.Session, _ session.EntryID) error {
				_, err := s.Append(d.Context(), session.Custom{Type: "note", Data: session.Raw("\"\xff\"")})
				return err
			},
			"a call without an id": func(d *desk, s *store.Session, _ session.EntryID) error {
				_, err := s.AppendAssistant(d.Context(), []session.Part{session.ToolCall{Name: "bash"}}, store.Answer{})
				return err
			},
			"an unknown reason for the end of an answer": func(d *desk, s *store.Session, _ session.EntryID) error {
				_, err := s.AppendAssistant(d.Context(), []session.Part{session.Text{Text: "x"}}, store.Answer{Stop: "tired"})
				return err
			},
			"a model change without a model": func(d *desk, s *store.Session, _ session.EntryID) error {
				_, err := s.AppendModelChange(d.Context(), "", "acme", "")
				return err
			},
			"the record of a message without a role": func(d *desk, s *store.Session, _ session.EntryID) error {
				_, err := s.AppendRecord(d.Context(), []byte(`{"type":"message","message":{}}`))
				return err
			},
			"the record of a message without one": func(d *desk, s *store.Session, _ session.EntryID) error {
				_, err := s.AppendRecord(d.Context(), []byte(`{"type":"message"}`))
				return err
			},
			"a compaction that keeps from another branch": func(d *desk, s *store.Session, aside session.EntryID) error {
				_, err := s.Compact(d.Context(), session.Compaction{Summary: "s", FirstKept: aside})
				return err
			},
			"the record of a compaction that keeps from nothing": func(d *desk, s *store.Session, _ session.EntryID) error {
				_, err := s.AppendRecord(d.Context(), []byte(`{"type":"compaction","summary":"s","firstKeptEntryId":"nothing","tokensBefore":1}`))
				return err
			},
			"a parent that is no entry": func(d *desk, s *store.Session, _ session.EntryID) error {
				return s.RewriteEntries(d.Context(), [][]byte{[]byte(world.Said("a", "", "x")), []byte(world.Said("b", "nothing", "y"))})
			},
		} {
			t.Run(format+"/"+name, func(t *testing.T) {
				t.Parallel()
				for _, force := range []bool{false, true} {
					d := newDesk(t)
					s := d.Begin(format, store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever, Force: force}})
					first := d.User(s, "one")
					aside := d.User(s, "two")
					_, err := s.Branch(t.Context(), first, store.BranchOptions{})
					d.Must(err)
					d.User(s, "three")
					before, leaf := d.ReadLines(s.Path()), s.Leaf()
					err = do(d, s, aside)
					var refused *store.RefusedError
					if errors.As(err, &refused) == force || force && err != nil {
						t.Errorf("force %v: %v", force, err)
					}
					if !force {
						d.Same(d.ReadLines(s.Path()), before)
						if s.Leaf() != leaf {
							t.Errorf("the leaf is %s", s.Leaf())
						}
						d.User(s, "four") // no error is latched
					}
					d.MemoryEqualsDisk(s)
				}
			})
		}
	}
}

// A compaction may keep from an entry that is still being written.
func TestCompactionOfDeferred(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp-doc", store.CreateOptions{})
	first := d.User(s, "one")
	_, err := s.Compact(t.Context(), session.Compaction{Summary: "s", FirstKept: first})
	d.Must(err)
	d.Answer(s, "two")
	d.Same(d.Seen(s.Path()), []string{"s", "one", "two"})
}

// An orphan of the session may stay when its entries are rewritten.
func TestRewriteKeepsOrphans(t *testing.T) {
	d := newDesk(t)
	path := filepath.Join(d.Home, "s.jsonl")
	d.Must(os.WriteFile(path, []byte(world.Log("s", "/w", world.Said("a", "gone", "x"))), 0o600))
	s := d.Edit(path, store.WriteOptions{})
	d.Must(s.RewriteEntries(t.Context(), [][]byte{[]byte(world.Said("a", "gone", "y"))}))
	d.Same(d.Seen(path), []string{"y"})
}

// A working directory that does not exist is refused, where the machine can tell.
func TestRefusedDirectory(t *testing.T) {
	home := t.TempDir()
	opt := world.Options(home, durable.OS{})
	opt.Env.Access = file.Access
	st := store.New(store.Options{Machine: place.New(opt)})
	defer st.Close()
	ctx, none := t.Context(), filepath.Join(home, "none")
	aFile := filepath.Join(home, "file")
	if err := os.WriteFile(aFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var refused *store.RefusedError
	if _, err := st.Create(ctx, store.CreateOptions{CWD: aFile}); !errors.As(err, &refused) || refused.Reason != aFile+" is not a directory" {
		t.Errorf("a file: %v", err)
	}
	s, err := st.Create(ctx, store.CreateOptions{CWD: home})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.AppendUser(ctx, "one"); err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(home, "named.jsonl")
	for _, force := range []bool{false, true} {
		w := store.WriteOptions{Force: force}
		for name, do := range map[string]func() (*store.Session, error){
			"Create": func() (*store.Session, error) { return st.Create(ctx, store.CreateOptions{CWD: none, Write: w}) },
			"ContinueRecent": func() (*store.Session, error) {
				return st.ContinueRecent(ctx, store.CreateOptions{CWD: none, Write: w})
			},
			"ForkFrom": func() (*store.Session, error) {
				return st.ForkFrom(ctx, s.Path(), store.CreateOptions{CWD: none, Write: w})
			},
			"BranchFrom": func() (*store.Session, error) {
				return st.BranchFrom(ctx, s.Path(), s.Leaf(), store.CreateOptions{CWD: none, Write: w})
			},
			"OpenWrite": func() (*store.Session, error) {
				return st.OpenWrite(ctx, named, store.CreateOptions{CWD: none, Write: store.WriteOptions{Force: force, Create: true}})
			},
			"Move": func() (*store.Session, error) {
				moved, err := st.OpenWrite(ctx, s.Path(), store.CreateOptions{Write: w})
				if err != nil {
					return nil, err
				}
				if force { // the other tests need it where it is
					return moved, nil
				}
				return moved, errors.Join(moved.Move(ctx, none), moved.Close())
			},
		} {
			got, err := do()
			var refused *store.RefusedError
			if errors.As(err, &refused) == force || force && err != nil {
				t.Errorf("%s, force %v: %v", name, force, err)
			}
			if force && err == nil {
				if err := got.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		if _, err := os.Stat(named); (err == nil) != force {
			t.Errorf("force %v: %v", force, err)
		}
	}
}

// Options that have no meaning are refused before anything is opened.
func TestUnknownOptions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.Begin("omp", store.CreateOptions{CWD: "/a"})
	d.User(s, "one")
	d.Must(s.Close())
	for _, opt := range []store.WriteOptions{{Policy: "none"}, {Defer: "later"}, {Durability: "maybe"}} {
		create := d.fill(store.CreateOptions{CWD: "/a", Write: opt})
		_, err1 := d.Create(t.Context(), create)
		_, err2 := d.OpenWrite(t.Context(), s.Path(), create)
		_, err3 := d.ForkFrom(t.Context(), s.Path(), create)
		if err1 == nil || err2 == nil || err3 == nil {
			t.Errorf("%+v: %v, %v, %v; want errors", opt, err1, err2, err3)
		}
	}
}

// Arguments that a model wrote and that are not JSON are kept, and a provider's word for the end of an answer is known.
func TestAnswerAsGiven(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"omp", "claude", "codex"} {
		d := newDesk(t)
		s := d.Begin(format, store.CreateOptions{})
		given := []session.Part{session.ToolCall{ID: "call_1", Name: "bash", Arguments: session.Raw(`{"command": "ls`)}}
		a, err := s.AppendAssistant(t.Context(), given, store.Answer{Provider: "anthropic", Model: "m", Stop: "max_tokens"})
		d.Must(err)
		e, err := s.Tree().Get(a.ID)
		d.Must(err)
		record, err := e.Raw()
		d.Must(err)
		if !strings.Contains(string(record), `ls`) {
			t.Errorf("%s: the arguments are lost: %s", format, record)
		}
		if string(given[0].(session.ToolCall).Arguments) != `{"command": "ls` {
			t.Errorf("%s: the caller's parts were changed", format)
		}
		body, err := e.Body()
		d.Must(err)
		if m, ok := body.(session.Message); format != "codex" && (!ok || dialect.StopOf(m.Stop) != dialect.StopLength) {
			t.Errorf("%s: %+v; want one that ended at its limit", format, body)
		}
	}
}
