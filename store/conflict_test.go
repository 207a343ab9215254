package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// two opens one session twice, with an entry in it.
func (d *desk) two(policy store.Policy) (a, b *store.Session, root session.EntryID) {
	d.Helper()
	a = d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever, Policy: policy}})
	root = d.User(a, "root")
	b = d.Edit(a.Path(), store.WriteOptions{Policy: policy})
	return a, b, root
}

func (d *desk) parent(s *store.Session, id session.EntryID) session.EntryID {
	d.Helper()
	e, err := s.Tree().Get(id)
	d.Must(err)
	return e.Parent
}

// The default: our entry keeps its parent and is a branch beside the foreign ones; the caller is told how many there are.
func TestPolicyBranch(t *testing.T) {
	d := newDesk(t)
	a, b, root := d.two("")
	b1 := d.User(b, "b1")
	b2 := d.User(b, "b2")
	d.Told()
	got := d.Say(a, "user", "a1")
	if got.Foreign != 2 || got.Outcome != store.PolicyBranch || !got.Durable {
		t.Errorf("%+v; want got.Foreign == 2, got.Outcome == store.PolicyBranch, got.Durable", got)
	}
	if told := d.Told(); !slices.Equal(told, []store.EventKind{store.EventForeign}) {
		t.Errorf("told %v", told)
	}
	if d.parent(a, got.ID) != root || d.parent(a, b2) != b1 || a.Leaf() != got.ID {
		t.Error("hung elsewhere")
	}
	d.Same(d.Texts(a), []string{"root", "a1"})
	d.MemoryEqualsDisk(a)
	if next := d.Say(a, "user", "a2"); next.Foreign != 0 || next.Outcome != "" {
		t.Errorf(`%+v; want next.Foreign == 0, next.Outcome == ""`, next)
	}
	back := d.Say(b, "user", "b3")
	if back.Foreign != 2 || d.parent(b, back.ID) != b2 {
		t.Errorf("%+v; want back.Foreign == 2, d.parent(b, back.ID) == %v", back, b2)
	}
	d.Same(d.Texts(b), []string{"root", "b1", "b2", "b3"})
	d.MemoryEqualsDisk(b)
}

func TestPolicyFollow(t *testing.T) {
	d := newDesk(t)
	a, b, root := d.two(store.PolicyFollow)
	b1 := d.User(b, "b1")
	got := d.Say(a, "user", "a1")
	if got.Foreign != 1 || got.Outcome != store.PolicyFollow || d.parent(a, got.ID) != b1 {
		t.Errorf("%+v; want got.Foreign == 1, got.Outcome == store.PolicyFollow, d.parent(a, got.ID) == %v", got, b1)
	}
	d.Same(d.Texts(a), []string{"root", "b1", "a1"})
	// A parent that the caller chose stays.
	b2 := d.Say(b, "user", "b2")
	if b2.Foreign != 1 || d.parent(b, b2.ID) != got.ID {
		t.Errorf("%+v; want b2.Foreign == 1, d.parent(b, b2.ID) == %v", b2, got.ID)
	}
	sum, err := a.BranchWithSummary(t.Context(), root, session.BranchSummary{Summary: "left"})
	d.Must(err)
	if sum.Foreign != 1 || d.parent(a, sum.ID) != root {
		t.Errorf("%+v hangs on %s", sum, d.parent(a, sum.ID))
	}
	d.MemoryEqualsDisk(a)
}

func TestPolicyRefuse(t *testing.T) {
	d := newDesk(t)
	a, b, root := d.two(store.PolicyRefuse)
	b1 := d.User(b, "b1")
	before := d.ReadLines(a.Path())
	_, err := a.AppendMessage(t.Context(), world.Message("user", "a1"))
	if !errors.Is(err, store.ErrForeign) || !strings.Contains(err.Error(), "1 new entries") {
		t.Errorf(`%v; want the error store.ErrForeign, strings.Contains(err.Error(), "1 new entries")`, err)
	}
	d.Same(d.ReadLines(a.Path()), before)
	if !a.Tree().Has(b1) || a.Leaf() != root {
		t.Errorf("has theirs: %v, leaf %s", a.Tree().Has(b1), a.Leaf())
	}
	// The session has read the foreign entry now, and the caller decides.
	_, err = a.Branch(t.Context(), b1, store.BranchOptions{})
	d.Must(err)
	if got := d.Say(a, "user", "a1"); got.Foreign != 0 || d.parent(a, got.ID) != b1 {
		t.Errorf("%+v; want got.Foreign == 0, d.parent(a, got.ID) == %v", got, b1)
	}
	if err := b.Rename(t.Context(), "x"); !errors.Is(err, store.ErrForeign) {
		t.Errorf("renamed unseen: %v", err)
	}
	d.Must(b.Rename(t.Context(), "x"))
	d.MemoryEqualsDisk(b)
}

// An empty session: two writers that begin at once make two roots.
func TestPolicyBranchFromNothing(t *testing.T) {
	d := newDesk(t)
	a := d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever}})
	b := d.Edit(a.Path(), store.WriteOptions{Policy: store.PolicyRefuse})
	d.User(a, "a1")
	if _, err := b.AppendMessage(t.Context(), world.Message("user", "b1")); !errors.Is(err, store.ErrForeign) || b.Leaf() != "" {
		t.Errorf("%v, leaf %q", err, b.Leaf())
	}
	d.User(b, "b1")
	d.Same(d.Texts(b), []string{"b1"})
	d.User(a, "a2")
	d.Same(d.Texts(a), []string{"a1", "a2"})
}

// Programs that take no lock are noticed by what they write.
func TestForeignPrograms(t *testing.T) {
	t.Parallel()
	theirs := world.Said("f1", "root", "theirs") + "\n"
	for name, test := range map[string]struct {
		do      func(d *desk, path string)
		foreign int
		fails   error
		torn    bool
	}{
		"append":     {do: func(d *desk, path string) { d.AppendPlain(path, theirs) }, foreign: 1},
		"append two": {do: func(d *desk, path string) { d.AppendPlain(path, theirs+world.Said("f2", "f1", "more")+"\n") }, foreign: 2},
		"append without newline": {do: func(d *desk, path string) {
			d.AppendPlain(path, strings.TrimSuffix(theirs, "\n"))
		}, foreign: 1},
		"append a newline": {do: func(d *desk, path string) { d.AppendPlain(path, "\n") }},
		"append nonsense":  {do: func(d *desk, path string) { d.AppendPlain(path, "nonsense\n") }},
		"append half":      {do: func(d *desk, path string) { d.AppendPlain(path, theirs[:30]) }, torn: true},
		"touch": {do: func(d *desk, path string) {
			later := time.Now().Add(time.Hour)
			d.Must(os.Chtimes(path, later, later))
		}},
		"rewrite with one more": {do: func(d *desk, path string) {
			old, err := os.ReadFile(path)
			d.Must(err)
			d.Must(os.WriteFile(path+".new", append(old, theirs...), 0o600))
			d.Must(os.Rename(path+".new", path))
		}, foreign: 1},
		"rewrite another header": {do: func(d *desk, path string) {
			old, err := os.ReadFile(path)
			d.Must(err)
			d.Must(os.WriteFile(path, []byte(strings.Replace(string(old), `"cwd":`, `"title":"theirs","cwd":`, 1)), 0o600))
		}},
		"a title in place, and an entry": {do: func(d *desk, path string) {
			d.Must(os.WriteFile(path, []byte(strings.Replace(strings.Join(d.ReadLines(path), "\n")+"\n", `"id":"mine"`, `"id":"mine" `, 1)+theirs), 0o600))
		}, foreign: 1},
		"rewrite without our place": {do: func(d *desk, path string) {
			d.Must(os.WriteFile(path, []byte(strings.SplitAfter(strings.Join(d.ReadLines(path), "\n"), "\n")[0]+theirs), 0o600))
		}, fails: session.ErrUnknownEntry},
		"truncate":        {do: func(d *desk, path string) { d.Must(os.Truncate(path, 0)) }, fails: store.ErrNotSession},
		"delete":          {do: func(d *desk, path string) { d.Must(os.Remove(path)) }, fails: backend.ErrNotExist},
		"another session": {do: func(d *desk, path string) { d.Must(os.WriteFile(path, []byte(world.Log("other", "/")), 0o600)) }, fails: backend.ErrConflict},
		"a newer version": {do: func(d *desk, path string) {
			old, err := os.ReadFile(path)
			d.Must(err)
			d.Must(os.WriteFile(path, []byte(strings.Replace(string(old), `"version":3`, `"version":4`, 1)), 0o600))
		}, fails: store.ErrNewer},
		"nonsense instead": {do: func(d *desk, path string) { d.Must(os.WriteFile(path, []byte("nonsense\n"), 0o600)) }, fails: store.ErrNotSession},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			s := d.Begin("omp", store.CreateOptions{ID: "mine", Write: store.WriteOptions{Defer: dialect.DeferNever}})
			root := d.User(s, "root")
			d.User(s, "ours")
			path := s.Path()
			test.do(d, path)
			after, readErr := os.ReadFile(path)
			got, err := s.AppendMessage(t.Context(), world.Message("user", "next"))
			if test.fails != nil {
				if !errors.Is(err, test.fails) {
					t.Errorf("%v, want %v", err, test.fails)
				}
				now, nowErr := os.ReadFile(path)
				if string(now) != string(after) || (nowErr == nil) != (readErr == nil) {
					t.Errorf("written all the same: %q", now)
				}
				if _, again := s.AppendMessage(t.Context(), world.Message("user", "next")); again == nil || again.Error() != err.Error() {
					t.Errorf("then: %v", again)
				}
				return
			}
			d.Must(err)
			if got.Foreign != test.foreign || (got.Outcome != "") != (test.foreign > 0) {
				t.Errorf(`%+v; want got.Foreign == %v, (got.Outcome != "") == %v`, got, test.foreign, (test.foreign > 0))
			}
			d.Same(d.Seen(path), []string{"root", "ours", "next"})
			d.MemoryEqualsDisk(s)
			d.User(s, "last")
			d.MemoryEqualsDisk(s)
			if !test.torn && !strings.HasPrefix(strings.Join(d.ReadLines(path), "\n"), strings.TrimSuffix(string(after), "\n")) {
				t.Errorf("what was there is not there any more")
			}
			if torn, _ := filepath.Glob(path + ".torn-*"); (len(torn) == 1) != test.torn {
				t.Errorf("torn: %v", torn)
			}
			_ = root
		})
	}
}

// A record that another process was writing when we looked is read when it is whole.
func TestTornRecordIsContinued(t *testing.T) {
	d := newDesk(t)
	path := d.Put("x/a.jsonl", world.Log("s", "/w", world.Said("a", "", "one")))
	theirs := world.Said("b", "a", "two")
	d.AppendPlain(path, theirs[:40])
	s := d.Edit(path, store.WriteOptions{})
	if s.Tree().Len() != 1 || len(s.Tree().Problems()) != 1 {
		t.Fatalf("%d entries, %v", s.Tree().Len(), s.Tree().Problems())
	}
	d.AppendPlain(path, theirs[40:]+"\n")
	got := d.Say(s, "user", "three")
	if got.Foreign != 1 || !s.Tree().Has("b") {
		t.Errorf(`%+v; want got.Foreign == 1, s.Tree().Has("b")`, got)
	}
	d.MemoryEqualsDisk(s)
	if torn, _ := filepath.Glob(path + ".torn-*"); len(torn) > 0 {
		t.Errorf("moved away: %v", torn)
	}
}

// If both sides chose the same ids, ours gets another one, and its children follow.
func TestIDsTakenMeanwhile(t *testing.T) {
	d := newDesk(t)
	random := &repeating{}
	s := d.Begin("omp", store.CreateOptions{ID: "s", Write: store.WriteOptions{Defer: dialect.DeferNever, Random: random}})
	d.User(s, "root")
	d.AppendPlain(s.Path(), world.Said("deadbeef", string(s.Leaf()), "theirs")+"\n")
	random.n = 1
	got := d.Say(s, "user", "ours")
	if got.ID == "deadbeef" || got.Foreign != 1 {
		t.Errorf(`%+v; want got.ID != "deadbeef", got.Foreign == 1`, got)
	}
	d.User(s, "next")
	d.Same(d.Seen(s.Path()), []string{"root", "ours", "next"})
	d.MemoryEqualsDisk(s)
	if p := s.Tree().Problems(); len(p) > 0 {
		t.Error(p)
	}
}

// during is a backend that calls a function at the beginning of an append.
type during struct {
	backend.Backend
	calls []func() // one for each append; nil: nothing
}

func (b *during) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	if len(b.calls) > 0 {
		call := b.calls[0]
		if b.calls = b.calls[1:]; call != nil {
			call()
		}
	}
	return b.Backend.Append(ctx, at, records...)
}

// An entry whose id was taken gets another one. Entries proposed before or after that follow it, not the one that took the id.
func TestQueuedFollowsTheNewID(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"before": 0, "after": 1} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			wrapped := &during{}
			d.Store = d.wrapping(func(b backend.Backend) backend.Backend {
				wrapped.Backend = b
				return wrapped
			})
			proposed, clock := telling()
			random := &repeating{}
			s := d.Closing(d.Create(t.Context(), store.CreateOptions{Dialect: d.Format("omp"), ID: "s",
				Write: store.WriteOptions{Defer: dialect.DeferNever, Random: random, Clock: clock}}))
			root := d.User(s, "root")
			d.AppendPlain(s.Path(), world.Said("deadbeef", string(root), "theirs")+"\n")
			var group sync.WaitGroup
			wrapped.calls = append(make([]func(), before), func() {
				for len(proposed) > 0 {
					<-proposed
				}
				group.Go(func() {
					if _, err := s.AppendMessage(t.Context(), world.Message("user", "next")); err != nil {
						t.Errorf("append: %v", err)
					}
				})
				<-proposed // it holds the lock until it is queued
				s.Leaf()
			})
			random.n = 1
			ours := d.User(s, "ours")
			group.Wait()
			if ours == "deadbeef" || d.parent(s, ours) != root || d.parent(s, s.Leaf()) != ours {
				t.Errorf("%s hangs on %s, the next on %s", ours, d.parent(s, ours), d.parent(s, s.Leaf()))
			}
			d.Same(d.Seen(s.Path()), []string{"root", "ours", "next"})
			d.MemoryEqualsDisk(s)
		})
	}
}

// Foreign entries are read once: the second try to append succeeds.
func TestConflictTriesOnceMore(t *testing.T) {
	d := newDesk(t)
	wrapped, tries := &during{}, 0
	d.Store = d.wrapping(func(b backend.Backend) backend.Backend {
		wrapped.Backend = b
		return wrapped
	})
	a, _, root := d.two("")
	d.AppendPlain(a.Path(), world.Said("b1", string(root), "theirs")+"\n")
	wrapped.calls = slices.Repeat([]func(){func() { tries++ }}, 9)
	if got := d.Say(a, "user", "a1"); got.Foreign != 1 || tries != 2 {
		t.Errorf("%d entries of others, %d tries; want 1 and 2", got.Foreign, tries)
	}
}

// A log that has only another time and no new entries is not a reason to refuse.
func TestPolicyRefuseTouched(t *testing.T) {
	d := newDesk(t)
	a, _, root := d.two(store.PolicyRefuse)
	d.Told()
	later := time.Now().Add(time.Hour)
	d.Must(os.Chtimes(a.Path(), later, later))
	d.AppendPlain(a.Path(), "\n")
	if got := d.Say(a, "user", "a1"); got.Foreign != 0 || got.Outcome != "" || d.parent(a, got.ID) != root {
		t.Errorf("%+v on %s; want no entry of others, on %s", got, d.parent(a, got.ID), root)
	}
	if slices.Contains(d.Told(), store.EventForeign) {
		t.Error("told of entries of others")
	}
	d.MemoryEqualsDisk(a)
}

// A rewrite is refused once as well; the second try succeeds, since the session then shows what others wrote.
func TestPolicyRefuseRewrites(t *testing.T) {
	for name, change := range map[string]func(context.Context, *store.Session, string) error{
		"rename": func(ctx context.Context, s *store.Session, _ string) error { return s.Rename(ctx, "new") },
		"move":   func(ctx context.Context, s *store.Session, to string) error { return s.Move(ctx, to) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			a, b, _ := d.two(store.PolicyRefuse)
			_, err := b.AppendMessage(t.Context(), []byte(`{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"x","arguments":{"a":1}}]}`))
			d.Must(err)
			before := d.ReadLines(a.Path())
			if err := change(t.Context(), a, d.Home); !errors.Is(err, store.ErrForeign) {
				t.Errorf("error %v, want %v", err, store.ErrForeign)
			}
			d.Same(d.ReadLines(b.Path()), before)
			d.Must(change(t.Context(), a, d.Home))
			if len(d.ReadLines(a.Path())) != len(before) {
				t.Error("something is gone")
			}
		})
	}
}

// Two programs append the same record to a log whose records have no ids: both are acknowledged, so both are there.
func TestSameRecordTwice(t *testing.T) {
	d := newDesk(t)
	opt := d.Write(store.WriteOptions{Defer: dialect.DeferNever})
	now := d.Clock()
	opt.Clock = func() time.Time { return now }
	a := d.Closing(d.Create(t.Context(), store.CreateOptions{Dialect: d.Format("codex"), Write: opt}))
	say := func(s *store.Session, text string) store.Appended {
		t.Helper()
		done, err := s.AppendUser(t.Context(), text)
		d.Must(err)
		return done
	}
	say(a, "root")
	b := d.Closing(d.OpenWrite(t.Context(), a.Path(), store.CreateOptions{Write: opt}))
	say(a, "go on")
	if got := say(b, "go on"); got.Foreign == 0 {
		t.Errorf("%+v; want foreign entries", got)
	}
	if n := strings.Count(strings.Join(d.ReadLines(a.Path()), "\n"), `"text":"go on"`); n != 2 {
		t.Errorf("it is there %d times, want 2", n)
	}
	d.MemoryEqualsDisk(b)
}
