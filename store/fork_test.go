package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A branched session is the path alone: labels are made again at its end, entries behind them hang on what they hung on,
// and a compaction that kept from a label on keeps from what followed it.
func TestBranchedSession(t *testing.T) {
	for _, name := range []string{"pi", "omp"} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			s := d.create(name, store.CreateOptions{})
			one := d.user(s, "one")
			two := d.answer(s, "two")
			label, err := s.Label(t.Context(), one, "start")
			d.must(err)
			three := d.user(s, "three")
			_, err = s.Label(t.Context(), three, "gone")
			d.must(err)
			_, err = s.Label(t.Context(), three, "")
			d.must(err)
			compaction, err := s.Compact(t.Context(), session.Compaction{Summary: "sum", FirstKept: label.ID})
			d.must(err)
			d.answer(s, "four")
			_, err = s.Branch(t.Context(), two, false)
			d.must(err)
			other := d.user(s, "elsewhere")
			_, err = s.Label(t.Context(), other, "not on the path")
			d.must(err)
			old, id := s.Path(), s.ID()
			before := d.read(old)

			d.must(s.BranchedSession(t.Context(), compaction.ID))
			if s.ID() == id || s.Path() == old || filepath.Dir(s.Path()) != filepath.Dir(old) {
				t.Errorf("session %s at %s", s.ID(), s.Path())
			}
			if s.Header().Parent != old {
				t.Errorf("parentSession %q, want the path %q", s.Header().Parent, old)
			}
			d.same(d.read(old), before)
			var kinds []string
			parent := session.EntryID("")
			for e := range s.Tree().Entries() {
				kinds = append(kinds, e.Type)
				if e.Parent != parent {
					t.Errorf("%s hangs on %q, not on %q", e.ID, e.Parent, parent)
				}
				parent = e.ID
			}
			d.same(kinds, []string{"message", "message", "message", "compaction", "label"})
			if d.member(s.Path(), 4, "firstKeptEntryId") != string(three) {
				t.Errorf("kept from %v, want %s", d.member(s.Path(), 4, "firstKeptEntryId"), three)
			}
			if s.Tree().Label(one) != "start" || s.Tree().Label(three) != "" {
				t.Error("labels are not as before")
			}
			d.same(d.texts(s), []string{"sum", "three"})
			d.user(s, "five")
			d.same(d.seen(s.Path()), []string{"sum", "three", "five"})
			d.memoryEqualsDisk(s)
			if len(s.Tree().Problems()) > 0 {
				t.Error(s.Tree().Problems())
			}
			if err := s.BranchedSession(t.Context(), "nobody"); err == nil || err.Error() != "Entry nobody not found" {
				t.Error(err)
			}
		})
	}
}

// A fork is all of the session, under an id of its own; pi names its parent by path, omp by id.
func TestFork(t *testing.T) {
	d := newDesk(t)
	for _, name := range []string{"pi", "omp"} {
		s := d.create(name, store.CreateOptions{CWD: "/a"})
		one := d.user(s, "one")
		d.answer(s, "two")
		_, err := s.Branch(t.Context(), one, false)
		d.must(err)
		d.answer(s, "three")
		_, err = s.Branch(t.Context(), one, false)
		d.must(err)
		d.told()
		old, id, before := s.Path(), s.ID(), d.read(s.Path())

		copied := d.closing(d.ForkFrom(t.Context(), old, d.fill(store.CreateOptions{CWD: "/b"})))
		want := string(id)
		if name == "pi" {
			want = old
		}
		if h := copied.Header(); h.Parent != want || h.CWD != "/b" || h.ID == id || h.Version != 3 {
			t.Errorf("%s: %+v", name, h)
		}
		d.same(d.read(copied.Path())[1:], before[1:])
		d.user(copied, "four")
		d.memoryEqualsDisk(copied)

		d.must(s.Fork(t.Context()))
		if h := s.Header(); h.Parent != want || h.CWD != "/a" || h.ID == id || s.Leaf() != one {
			t.Errorf("%s: %+v, leaf %s", name, h, s.Leaf())
		}
		d.same(d.read(s.Path())[1:], before[1:])
		d.user(s, "five")
		d.same(d.texts(s), []string{"one", "five"})
		d.same(d.seen(s.Path()), []string{"one", "five"})
		d.same(d.read(old), before)
		d.memoryEqualsDisk(s)
		if told := d.told(); !slices.Contains(told, store.EventBeforeFork) {
			t.Errorf("told: %v", told)
		}
		path := d.closing(d.BranchFrom(t.Context(), old, one, d.fill(store.CreateOptions{CWD: "/c", ID: "mine"})))
		if h := path.Header(); h.Parent != old || h.CWD != "/c" || h.ID != "mine" || path.Tree().Len() != 1 {
			t.Errorf("%s: %+v", name, h)
		}
	}
	for source, want := range map[string]error{
		d.put("x/empty.jsonl", ""):                                              store.ErrNotSession,
		d.put("x/garbage.jsonl", "nonsense\n"):                                  store.ErrNotSession,
		d.put("x/newer.jsonl", strings.Replace(log("s", "/"), `:3,`, `:9,`, 1)): store.ErrNewer,
		filepath.Join(d.home, "none.jsonl"):                                     os.ErrNotExist,
	} {
		_, err := d.ForkFrom(t.Context(), source, d.fill(store.CreateOptions{}))
		if err == nil || !errors.Is(err, want) && want != os.ErrNotExist {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// What is damaged in a session is damaged in its copy: nothing is lost, and the copy can be gone on with.
func TestForkOfDamaged(t *testing.T) {
	d := newDesk(t)
	glued := said("b", "a", "two") + said("c", "b", "three")
	lines := []string{said("a", "", "one"), "nonsense", glued, `{"type":"session","id":"again"}`, "", said("d", "c", "four"), `{"type":"mess`}
	path := d.put("x/a.jsonl", strings.TrimSuffix(log("s", "/w", lines...), "\n"))
	s := d.closing(d.ForkFrom(t.Context(), path, d.fill(store.CreateOptions{})))
	d.same(d.read(s.Path())[1:], lines)
	d.same(d.texts(s), []string{"one", "two", "three", "four"})
	d.memoryEqualsDisk(s)
	d.user(s, "five")
	d.memoryEqualsDisk(s)
	d.must(s.Move(t.Context(), "/elsewhere"))
	d.user(s, "six")
	d.memoryEqualsDisk(s)
	d.must(s.Rename(t.Context(), "name"))
	d.same(d.read(s.Path())[1:len(lines)+1], lines)
	d.user(s, "seven")
	d.same(d.seen(s.Path()), []string{"one", "two", "three", "four", "five", "six", "seven"})
	d.memoryEqualsDisk(s)
}
