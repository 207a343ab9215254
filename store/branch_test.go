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
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// member gives a member of the i-th line of a file, from the end for a negative i; nil where there is none.
func (d *desk) member(path string, i int, key string) any {
	d.Helper()
	lines := d.read(path)
	if i < 0 {
		i += len(lines)
	}
	var v map[string]any
	d.must(json.Unmarshal([]byte(lines[i]), &v))
	return v[key]
}

// The values of the family differ in what they write.
func TestValuesDiffer(t *testing.T) {
	for _, test := range []struct {
		dialect   string
		target    bool // a branch summary names the target, not the leaf that was left
		extension string
	}{{"pi", false, "fromHook"}, {"omp", true, "fromExtension"}, {"omp-doc", true, "fromExtension"}} {
		t.Run(test.dialect, func(t *testing.T) {
			d := newDesk(t)
			s := d.create(test.dialect, store.CreateOptions{})
			one := d.user(s, "one")
			two := d.answer(s, "two")
			_, err := s.BranchWithSummary(t.Context(), one, session.BranchSummary{Summary: "left", FromExtension: true})
			d.must(err)
			want := two
			if test.target {
				want = one
			}
			if got := d.member(s.Path(), -1, "fromId"); got != string(want) {
				t.Errorf("fromId %v, want %s", got, want)
			}
			if d.member(s.Path(), -1, test.extension) != true || d.member(s.Path(), -1, "parentId") != string(one) {
				t.Error(d.read(s.Path()))
			}
			_, err = s.BranchWithSummary(t.Context(), "", session.BranchSummary{Summary: "all"})
			d.must(err)
			if got := d.member(s.Path(), -1, "fromId"); got != "root" && test.target || d.member(s.Path(), -1, "parentId") != nil {
				t.Errorf("before the first entry: fromId %v", got)
			}
			d.must(s.ResetLeaf(t.Context(), false))
			_, err = s.BranchWithSummary(t.Context(), "", session.BranchSummary{Summary: "nothing"})
			d.must(err)
			if got := d.member(s.Path(), -1, "fromId"); got != "root" {
				t.Errorf("from nothing to nothing: fromId %v", got)
			}
			d.memoryEqualsDisk(s)
		})
	}
}

// pi names a session by an entry, omp in the header, and in the title slot where there is one.
func TestRename(t *testing.T) {
	d := newDesk(t)
	pi := d.create("pi", store.CreateOptions{Title: "At first"})
	d.user(pi, "hi")
	d.must(pi.Rename(t.Context(), "Later"))
	if d.member(pi.Path(), 1, "name") != "At first" || d.member(pi.Path(), -1, "name") != "Later" || d.member(pi.Path(), 0, "title") != nil {
		t.Error(d.read(pi.Path()))
	}
	omp := d.create("omp", store.CreateOptions{Title: "At first"})
	d.answer(omp, "hi")
	if omp.Header().Title != "At first" {
		t.Errorf("title %q", omp.Header().Title)
	}
	body := d.read(omp.Path())[1:]
	d.must(omp.Rename(t.Context(), `Later "on"`))
	if omp.Header().Title != `Later "on"` || d.member(omp.Path(), 0, "title") != `Later "on"` {
		t.Error(d.read(omp.Path()))
	}
	d.same(d.read(omp.Path())[1:], body)
	d.must(omp.Rename(t.Context(), ""))
	if omp.Header().Title != "" || d.member(omp.Path(), 0, "title") != nil {
		t.Error(d.read(omp.Path()))
	}
	d.answer(omp, "more")
	d.memoryEqualsDisk(omp)

	slot := `{"type":"title","v":1,"title":"old","source":"auto","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}`
	slot = strings.Replace(slot, `"pad":""`, `"pad":"`+strings.Repeat(" ", 255-len(slot))+`"`, 1)
	path := d.put("x/slot.jsonl", slot+"\n"+log("s", "/w", said("a", "", "hi")))
	s := d.edit(path, store.WriteOptions{})
	for _, name := range []string{"short", strings.Repeat("long ", 100), strings.Repeat("ä😀", 90), ""} {
		d.must(s.Rename(t.Context(), name))
		lines := d.read(path)
		if len(lines) != 3 || len(lines[0]) != 255 {
			t.Errorf("%d lines, the slot has %d bytes", len(lines), len(lines[0]))
		}
		if title := s.Header().Title; !strings.HasPrefix(name, title) || (title == "") != (name == "") {
			t.Errorf("title %q of %q", title, name)
		}
		if got, _ := d.member(path, 1, "title").(string); got != name {
			t.Errorf("the header has %q of %q", got, name)
		}
	}
	d.memoryEqualsDisk(s)
}

// A branch that is to last does, in the programs of the agents too: the last entry of the file is where it goes on.
func TestBranchLasts(t *testing.T) {
	for _, lasts := range []bool{true, false} {
		d := newDesk(t)
		s := d.create("pi", store.CreateOptions{})
		one := d.user(s, "one")
		d.answer(s, "two")
		a, err := s.Branch(t.Context(), one, lasts)
		d.must(err)
		if lasts != (a.ID != one) || s.Leaf() != a.ID || a.Durable != lasts {
			t.Errorf("%+v, leaf %s", a, s.Leaf())
		}
		d.same(d.texts(s), []string{"one"})
		want := []string{"one"}
		if !lasts {
			want = []string{"one", "two"} // forgotten, unless something is appended
		}
		d.same(d.seen(s.Path()), want)
		d.user(s, "three")
		d.same(d.seen(s.Path()), []string{"one", "three"})
		d.must(s.ResetLeaf(t.Context(), lasts))
		d.same(d.texts(s), []string{})
		d.user(s, "four")
		d.same(d.seen(s.Path()), []string{"four"})
		d.memoryEqualsDisk(s)
	}
}

// A move takes the log to the folder of the other directory; one that lies elsewhere stays where it is.
func TestMove(t *testing.T) {
	d := newDesk(t)
	s := d.create("omp", store.CreateOptions{CWD: "/a"})
	d.user(s, "one")
	d.answer(s, "two")
	old, body := s.Path(), d.read(s.Path())[1:]
	d.must(s.Move(t.Context(), "/b"))
	if d.exists(old) || filepath.Base(s.Path()) != filepath.Base(old) || !strings.Contains(s.Path(), "--b--") || s.Header().CWD != "/b" {
		t.Errorf("now at %s, header %+v", s.Path(), s.Header())
	}
	d.same(d.read(s.Path())[1:], body)
	d.answer(s, "three")
	d.must(s.Move(t.Context(), "/b")) // it is there already
	d.memoryEqualsDisk(s)
	t.Chdir(filepath.Dir(s.Path()))
	path := filepath.Base(s.Path())
	d.must(s.Close())
	relative := d.edit(path, store.WriteOptions{})
	d.must(relative.Move(t.Context(), "/b"))
	d.must(relative.Move(t.Context(), "/c"))
	d.same(d.texts(relative), []string{"one", "two", "three"})

	elsewhere := d.put("x/a.jsonl", log("s", "/w", said("a", "", "hi")))
	s = d.edit(elsewhere, store.WriteOptions{})
	d.must(s.Move(t.Context(), "/b"))
	if s.Path() != elsewhere || s.Header().CWD != "/b" || d.member(elsewhere, 0, "cwd") != "/b" {
		t.Errorf("at %s: %+v", s.Path(), s.Header())
	}

	// A name that is taken is not taken over.
	s = d.create("omp", store.CreateOptions{CWD: "/a", ID: "x"})
	d.answer(s, "mine")
	dir := filepath.Join(filepath.Dir(filepath.Dir(s.Path())), "--z--")
	d.must(os.MkdirAll(dir, 0o700))
	taken := filepath.Join(dir, filepath.Base(s.Path()))
	d.must(os.WriteFile(taken, []byte("theirs"), 0o600))
	if err := s.Move(t.Context(), "/z"); err == nil {
		t.Error("moved onto another file")
	}
	d.same(d.read(taken), []string{"theirs"})
	d.answer(s, "still mine")
	d.memoryEqualsDisk(s)
}

// NewSession leaves the old log as it is and begins another beside it.
func TestNewSession(t *testing.T) {
	d := newDesk(t)
	s := d.create("omp", store.CreateOptions{CWD: "/a"})
	d.answer(s, "old")
	old := s.Path()
	if err := s.NewSession(t.Context(), "../x", ""); err == nil {
		t.Error("an id that is a path is taken")
	}
	d.must(s.NewSession(t.Context(), "new", old))
	if h := s.Header(); h.ID != "new" || h.Parent != old || h.CWD != "/a" || s.Tree().Len() != 0 || d.exists(s.Path()) {
		t.Errorf("%+v", h)
	}
	d.answer(s, "new")
	d.same(d.seen(old), []string{"old"})
	d.same(d.seen(s.Path()), []string{"new"})
}

// Delete removes the log; what others wrote since is not deleted unseen.
func TestDelete(t *testing.T) {
	d := newDesk(t)
	s := d.create("pi", store.CreateOptions{})
	d.user(s, "one")
	path := s.Path()
	d.appendPlain(path, said("f", string(s.Leaf()), "theirs")+"\n")
	if err := s.Delete(t.Context()); !errors.Is(err, store.ErrForeign) || !d.exists(path) {
		t.Errorf("deleted what it did not know: %v", err)
	}
	d.must(s.Delete(t.Context()))
	if d.exists(path) {
		t.Error("still there")
	}
	d.must(s.Close())
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := s.AppendMessage(t.Context(), message("user", "x")); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
}

// Observers are told before and after a compaction, before a fork, and of each move of the leaf.
func TestObserver(t *testing.T) {
	d := newDesk(t)
	s := d.create("omp", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever}})
	one := d.user(s, "one")
	for _, step := range []struct {
		do   func() error
		want []store.EventKind
	}{
		{func() error {
			_, err := s.Compact(t.Context(), session.Compaction{Summary: "s", FirstKept: one})
			return err
		},
			[]store.EventKind{store.EventBeforeCompaction, store.EventCompaction}},
		{func() error { _, err := s.Branch(t.Context(), one, false); return err }, []store.EventKind{store.EventTree}},
		{func() error { _, err := s.Branch(t.Context(), one, true); return err }, []store.EventKind{store.EventTree}},
		{func() error {
			_, err := s.BranchWithSummary(t.Context(), one, session.BranchSummary{Summary: "x"})
			return err
		},
			[]store.EventKind{store.EventTree}},
		{func() error { return s.ResetLeaf(t.Context(), false) }, []store.EventKind{store.EventTree}},
		{func() error { return s.Fork(t.Context()) }, []store.EventKind{store.EventBeforeFork}},
		{func() error { return s.BranchedSession(t.Context(), one) }, []store.EventKind{store.EventBeforeFork}},
		{func() error { d.user(s, "two"); return nil }, nil},
	} {
		d.told()
		d.must(step.do())
		if got := d.told(); !slices.Equal(got, step.want) {
			t.Errorf("told %v, want %v", got, step.want)
		}
	}
	path := d.put("x/a.jsonl", log("s", "/w", "nonsense", said("a", "gone", "hi")))
	d.edit(path, store.WriteOptions{})
	if got := d.told(); !slices.Equal(got, []store.EventKind{store.EventProblem, store.EventProblem}) {
		t.Errorf("problems told: %v", got)
	}
}
