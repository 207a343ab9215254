package store_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// member returns a member of the i-th line of a file, from the end for a negative i; nil if there is no such member.
func (d *desk) member(path string, i int, key string) any {
	d.Helper()
	lines := d.ReadLines(path)
	if i < 0 {
		i += len(lines)
	}
	var v map[string]any
	d.Must(json.Unmarshal([]byte(lines[i]), &v))
	return v[key]
}

// The dialects of the family differ in what they write.
func TestValuesDiffer(t *testing.T) {
	for _, test := range []struct {
		dialect   string
		target    bool // a branch summary names the target, not the old leaf
		extension string
	}{{"pi", false, "fromHook"}, {"omp", true, "fromExtension"}, {"omp-doc", true, "fromExtension"}} {
		t.Run(test.dialect, func(t *testing.T) {
			d := newDesk(t)
			s := d.Begin(test.dialect, store.CreateOptions{})
			one := d.User(s, "one")
			two := d.Answer(s, "two")
			_, err := s.BranchWithSummary(t.Context(), one, session.BranchSummary{Summary: "left", FromExtension: new(true)})
			d.Must(err)
			want := two
			if test.target {
				want = one
			}
			if got := d.member(s.Path(), -1, "fromId"); got != string(want) {
				t.Errorf("fromId %v, want %s", got, want)
			}
			if d.member(s.Path(), -1, test.extension) != true || d.member(s.Path(), -1, "parentId") != string(one) {
				t.Error(d.ReadLines(s.Path()))
			}
			_, err = s.BranchWithSummary(t.Context(), "", session.BranchSummary{Summary: "all"})
			d.Must(err)
			if got := d.member(s.Path(), -1, "fromId"); got != "root" && test.target || d.member(s.Path(), -1, "parentId") != nil {
				t.Errorf("before the first entry: fromId %v", got)
			}
			d.Must(s.ResetLeaf(t.Context(), store.BranchOptions{}))
			_, err = s.BranchWithSummary(t.Context(), "", session.BranchSummary{Summary: "nothing"})
			d.Must(err)
			if got := d.member(s.Path(), -1, "fromId"); got != "root" {
				t.Errorf("from nothing to nothing: fromId %v", got)
			}
			d.MemoryEqualsDisk(s)
		})
	}
}

// pi names a session by an entry, omp in the header, and in the title slot where there is one.
func TestRename(t *testing.T) {
	d := newDesk(t)
	pi := d.Begin("pi", store.CreateOptions{Title: "At first"})
	d.User(pi, "hi")
	d.Must(pi.Rename(t.Context(), "Later"))
	if d.member(pi.Path(), 1, "name") != "At first" || d.member(pi.Path(), -1, "name") != "Later" || d.member(pi.Path(), 0, "title") != nil {
		t.Error(d.ReadLines(pi.Path()))
	}
	omp := d.Begin("omp", store.CreateOptions{Title: "At first"})
	d.Answer(omp, "hi")
	if omp.Header().Title != "At first" {
		t.Errorf("title %q", omp.Header().Title)
	}
	body := d.ReadLines(omp.Path())[1:]
	d.Must(omp.Rename(t.Context(), `Later "on"`))
	if omp.Header().Title != `Later "on"` || d.member(omp.Path(), 0, "title") != `Later "on"` {
		t.Error(d.ReadLines(omp.Path()))
	}
	d.Same(d.ReadLines(omp.Path())[1:], body)
	d.Must(omp.Rename(t.Context(), ""))
	if omp.Header().Title != "" || d.member(omp.Path(), 0, "title") != nil {
		t.Error(d.ReadLines(omp.Path()))
	}
	d.Answer(omp, "more")
	d.MemoryEqualsDisk(omp)

	slot := `{"type":"title","v":1,"title":"old","source":"auto","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}`
	slot = strings.Replace(slot, `"pad":""`, `"pad":"`+strings.Repeat(" ", 255-len(slot))+`"`, 1)
	path := d.Put("x/slot.jsonl", slot+"\n"+world.Log("s", "/w", world.Said("a", "", "hi")))
	s := d.Edit(path, store.WriteOptions{})
	for _, name := range []string{"short", strings.Repeat("long ", 100), strings.Repeat("ä😀", 90), ""} {
		d.Must(s.Rename(t.Context(), name))
		lines := d.ReadLines(path)
		if len(lines) != 3 || len(lines[0]) != 255 {
			t.Errorf("%d lines, the slot has %d bytes", len(lines), len(lines[0]))
		}
		if title := s.Header().Title; !strings.HasPrefix(name, title) || (title == "") != (name == "") {
			t.Errorf("title %q of %q", title, name)
		}
		if got, _ := d.member(path, 1, "title").(string); got != name {
			t.Errorf("the header has %q of %q", got, name)
		}
		// This name was given by a person, now; otherwise the program may choose one.
		var source any = "user"
		if name == "" {
			source = nil
		}
		at, _ := d.member(path, 0, "updatedAt").(string)
		if d.member(path, 0, "source") != source || d.member(path, 1, "titleSource") != source || !strings.HasPrefix(at, "2026-02-16T10:00:") {
			t.Errorf("%s\n%s; want d.member(path, 0, \"source\") == %v, d.member(path, 1, \"titleSource\") == %v, strings.HasPrefix(at, \"2026-02-16T10:00:\")", lines[0], lines[1], source, source)
		}
	}
	d.MemoryEqualsDisk(s)
}

// A durable branch lasts, in the agents' programs too: the last entry of the file is the leaf.
func TestBranchLasts(t *testing.T) {
	for _, lasts := range []bool{true, false} {
		d := newDesk(t)
		s := d.Begin("pi", store.CreateOptions{})
		one := d.User(s, "one")
		d.Answer(s, "two")
		a, err := s.Branch(t.Context(), one, store.BranchOptions{Durable: lasts})
		d.Must(err)
		if lasts != (a.ID != one) || s.Leaf() != a.ID || a.Durable != lasts {
			t.Errorf("%+v, leaf %s", a, s.Leaf())
		}
		d.Same(d.Texts(s), []string{"one"})
		want := []string{"one"}
		if !lasts {
			want = []string{"one", "two"} // forgotten, unless something is appended
		}
		d.Same(d.Seen(s.Path()), want)
		d.User(s, "three")
		d.Same(d.Seen(s.Path()), []string{"one", "three"})
		d.Must(s.ResetLeaf(t.Context(), store.BranchOptions{Durable: lasts}))
		d.Same(d.Texts(s), []string{})
		d.User(s, "four")
		d.Same(d.Seen(s.Path()), []string{"four"})
		d.MemoryEqualsDisk(s)
	}
}

// A move takes the log to the folder of the other directory; one that lies elsewhere stays where it is.
func TestMove(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", store.CreateOptions{CWD: "/a"})
	d.User(s, "one")
	d.Answer(s, "two")
	old, body := s.Path(), d.ReadLines(s.Path())[1:]
	d.Must(s.Move(t.Context(), "/b"))
	if d.Exists(old) || filepath.Base(s.Path()) != filepath.Base(old) || !strings.Contains(s.Path(), "--b--") || s.Header().CWD != "/b" {
		t.Errorf("now at %s, header %+v", s.Path(), s.Header())
	}
	d.Same(d.ReadLines(s.Path())[1:], body)
	d.Answer(s, "three")
	d.Must(s.Move(t.Context(), "/b")) // it is there already
	d.MemoryEqualsDisk(s)
	t.Chdir(filepath.Dir(s.Path()))
	path := filepath.Base(s.Path())
	d.Must(s.Close())
	relative := d.Edit(path, store.WriteOptions{})
	d.Must(relative.Move(t.Context(), "/b"))
	d.Must(relative.Move(t.Context(), "/c"))
	d.Same(d.Texts(relative), []string{"one", "two", "three"})

	elsewhere := d.Put("x/a.jsonl", world.Log("s", "/w", world.Said("a", "", "hi")))
	s = d.Edit(elsewhere, store.WriteOptions{})
	d.Must(s.Move(t.Context(), "/b"))
	if s.Path() != elsewhere || s.Header().CWD != "/b" || d.member(elsewhere, 0, "cwd") != "/b" {
		t.Errorf("at %s: %+v", s.Path(), s.Header())
	}

	// A name that is taken is not taken over.
	s = d.Begin("omp", store.CreateOptions{CWD: "/a", ID: "x"})
	d.Answer(s, "mine")
	dir := filepath.Join(filepath.Dir(filepath.Dir(s.Path())), "--z--")
	d.Must(os.MkdirAll(dir, 0o700))
	taken := filepath.Join(dir, filepath.Base(s.Path()))
	d.Must(os.WriteFile(taken, []byte("theirs"), 0o600))
	if err := s.Move(t.Context(), "/z"); err == nil {
		t.Error("moved onto another file")
	}
	d.Same(d.ReadLines(taken), []string{"theirs"})
	d.Answer(s, "still mine")
	d.MemoryEqualsDisk(s)
}

// NewSession leaves the old log as it is and begins another beside it.
func TestNewSession(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", store.CreateOptions{CWD: "/a"})
	d.Answer(s, "old")
	old := s.Path()
	if err := s.NewSession(t.Context(), "../x", ""); err == nil {
		t.Error("an id that is a path is taken")
	}
	d.Must(s.NewSession(t.Context(), "new", old))
	if h := s.Header(); h.ID != "new" || h.Parent != old || h.CWD != "/a" || s.Tree().Len() != 0 || d.Exists(s.Path()) {
		t.Errorf(`%+v; want h.ID == "new", h.Parent == %v, h.CWD == "/a", s.Tree().Len() == 0, not d.Exists(s.Path())`, h, old)
	}
	d.Answer(s, "new")
	d.Same(d.Seen(old), []string{"old"})
	d.Same(d.Seen(s.Path()), []string{"new"})
}

// Delete removes the log; what others wrote since is not deleted unseen.
func TestDelete(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("pi", store.CreateOptions{})
	d.User(s, "one")
	path := s.Path()
	d.AppendPlain(path, world.Said("f", string(s.Leaf()), "theirs")+"\n")
	if err := s.Delete(t.Context()); !errors.Is(err, store.ErrForeign) || !d.Exists(path) {
		t.Errorf("deleted what it did not know: %v", err)
	}
	d.Must(s.Delete(t.Context()))
	if d.Exists(path) {
		t.Error("still there")
	}
	d.Must(s.Close())
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := s.AppendMessage(t.Context(), world.Message("user", "x")); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
}

// Observers get an event before and after a compaction, before a fork, and for each move of the leaf.
func TestObserver(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever}})
	one := d.User(s, "one")
	for _, step := range []struct {
		do   func() error
		want []store.EventKind
	}{
		{func() error {
			_, err := s.Compact(t.Context(), session.Compaction{Summary: "s", FirstKept: one})
			return err
		},
			[]store.EventKind{store.EventBeforeCompaction, store.EventCompaction}},
		{func() error { _, err := s.Branch(t.Context(), one, store.BranchOptions{}); return err }, []store.EventKind{store.EventTree}},
		{func() error { _, err := s.Branch(t.Context(), one, store.BranchOptions{Durable: true}); return err }, []store.EventKind{store.EventTree}},
		{func() error {
			_, err := s.BranchWithSummary(t.Context(), one, session.BranchSummary{Summary: "x"})
			return err
		},
			[]store.EventKind{store.EventTree}},
		{func() error {
			_, err := s.Append(t.Context(), session.Compaction{Summary: "s", FirstKept: one})
			return err
		},
			[]store.EventKind{store.EventBeforeCompaction, store.EventCompaction}},
		{func() error {
			_, err := s.AppendRecord(t.Context(), []byte(`{"type":"compaction","summary":"s","firstKeptEntryId":"`+string(one)+`","tokensBefore":1}`))
			return err
		},
			[]store.EventKind{store.EventBeforeCompaction, store.EventCompaction}},
		{func() error { return s.ResetLeaf(t.Context(), store.BranchOptions{}) }, []store.EventKind{store.EventTree}},
		{func() error { return s.Fork(t.Context()) }, []store.EventKind{store.EventBeforeFork}},
		{func() error { return s.BranchedSession(t.Context(), one) }, []store.EventKind{store.EventBeforeFork}},
		{func() error { d.User(s, "two"); return nil }, nil},
	} {
		d.Told()
		d.Must(step.do())
		if got := d.Told(); !slices.Equal(got, step.want) {
			t.Errorf("told %v, want %v", got, step.want)
		}
	}
	path := d.Put("x/a.jsonl", world.Log("s", "/w", "nonsense", world.Said("a", "gone", "hi")))
	d.Edit(path, store.WriteOptions{})
	if got := d.Told(); !slices.Equal(got, []store.EventKind{store.EventProblem, store.EventProblem}) {
		t.Errorf("problems told: %v", got)
	}
}

// Operator moves the leaf with an entry of its own: the observer gets one event, however the entry is appended.
func TestObserverOfLeaves(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("operator", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever}})
	one, err := s.AppendText(t.Context(), session.RoleUser, "one")
	d.Must(err)
	for name, do := range map[string]func() error{
		"Branch": func() error { _, err := s.Branch(t.Context(), one.ID, store.BranchOptions{Durable: true}); return err },
		"Append": func() error { _, err := s.Append(t.Context(), session.Leaf{Target: one.ID}); return err },
		"AppendRecord": func() error {
			_, err := s.AppendRecord(t.Context(), []byte(`{"type":"leaf","target_id":"`+string(one.ID)+`"}`))
			return err
		},
	} {
		d.Told()
		d.Must(do())
		if got := d.Told(); !slices.Equal(got, []store.EventKind{store.EventTree}) {
			t.Errorf("%s: told %v", name, got)
		}
	}
}

// An observer may refuse a compaction or a copy before it happens. Then nothing is changed.
func TestVeto(t *testing.T) {
	d := newDesk(t)
	no := errors.New("not now")
	opt := d.fill(store.CreateOptions{CWD: d.CWD, Write: store.WriteOptions{Defer: dialect.DeferNever}})
	tell := opt.Write.Observer
	opt.Write.Observer = func(e store.Event) {
		tell(e)
		if e.Refuse != nil {
			e.Refuse(no)
		}
	}
	s := d.Closing(d.Create(t.Context(), opt))
	one := d.User(s, "one")
	path, before := s.Path(), d.ReadLines(s.Path())
	for name, do := range map[string]func() error{
		"Compact": func() error {
			_, err := s.Compact(t.Context(), session.Compaction{Summary: "s", FirstKept: one})
			return err
		},
		"AppendRecord": func() error {
			_, err := s.AppendRecord(t.Context(), []byte(`{"type":"compaction","summary":"s","firstKeptEntryId":"`+string(one)+`","tokensBefore":1}`))
			return err
		},
		"Fork":            func() error { return s.Fork(t.Context()) },
		"BranchedSession": func() error { return s.BranchedSession(t.Context(), one) },
		"ForkFrom": func() error {
			_, err := d.ForkFrom(t.Context(), path, opt)
			return err
		},
	} {
		d.Told()
		err := do()
		var veto *store.VetoError
		if !errors.Is(err, no) || !errors.As(err, &veto) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v; want the error no, errors.As(err, &veto), strings.Contains(err.Error(), path)", name, err)
		}
		if got := d.Told(); len(got) != 1 || got[0] != veto.Event {
			t.Errorf("%s: told %v", name, got)
		}
	}
	if s.Path() != path || s.Leaf() != one {
		t.Errorf("%s at %s", s.Path(), s.Leaf())
	}
	d.Same(d.ReadLines(path), before)
	// What cannot be refused goes on, and so does the session.
	_, err := s.Branch(t.Context(), one, store.BranchOptions{Durable: true})
	d.Must(err)
	d.User(s, "two")
	d.MemoryEqualsDisk(s)
}
