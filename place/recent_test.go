package place_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func (d *desk) recent(cwd string) *store.Session {
	d.Helper()
	return d.closing(d.ContinueRecent(d.Context(), d.fill(store.CreateOptions{CWD: cwd})))
}

// age makes a file older than all that are made from now on.
func (d *desk) age(path string, by time.Duration) {
	d.Helper()
	at := time.Now().Add(-by)
	d.must(os.Chtimes(path, at, at))
}

// Without breadcrumbs the newest session of the directory goes on; the header says of which directory it is.
func TestContinueRecent(t *testing.T) {
	d := newDesk(t)
	if s := d.recent("/a"); d.exists(s.Path()) || s.Header().CWD != "/a" || s.Tree().Len() != 0 {
		t.Errorf("a new one: %+v", s.Header())
	}
	older := d.create("omp", store.CreateOptions{CWD: "/a"})
	d.answer(older, "older")
	newer := d.create("omp", store.CreateOptions{CWD: "/a"})
	d.answer(newer, "newer")
	d.age(older.Path(), time.Hour)
	d.age(newer.Path(), time.Minute)
	d.must(older.Close())
	d.must(newer.Close())
	if got := d.recent("/a"); got.ID() != newer.ID() {
		t.Errorf("%s, want the newer %s", got.ID(), newer.ID())
	}
	// A session of another directory in the same folder does not count, however new: "/a/b-c" and "/a/b/c" share one.
	other := d.create("omp", store.CreateOptions{CWD: "/a/b-c"})
	d.answer(other, "other")
	if got := d.recent("/a/b/c"); got.ID() == other.ID() || got.Tree().Len() != 0 {
		t.Error("the folder's name decided")
	}
	// Nor does what cannot be read.
	d.must(os.WriteFile(filepath.Join(filepath.Dir(newer.Path()), "z.jsonl"), []byte("nonsense\n"), 0o600))
	got := d.recent("/a")
	if got.ID() != newer.ID() {
		t.Errorf("%s, want %s", got.ID(), newer.ID())
	}
	d.answer(got, "more")
	d.same(d.seen(got.Path()), []string{"newer", "more"})
	dir := filepath.Join(d.home, "custom")
	s := d.create("omp", store.CreateOptions{CWD: "/a", Dir: dir})
	d.answer(s, "custom")
	in := d.closing(d.ContinueRecent(t.Context(), d.fill(store.CreateOptions{CWD: "/a", Dir: dir})))
	if in.ID() != s.ID() {
		t.Errorf("%s, want the one in the folder", in.ID())
	}
}

// Each terminal goes on with its own session: two lines say which.
func TestBreadcrumbs(t *testing.T) {
	d := newDesk(t, func(d *desk) { d.terminal = "pts-3" })
	mine := d.create("omp", store.CreateOptions{CWD: "/a"})
	d.user(mine, "mine")
	crumb := filepath.Join(d.home, ".omp", "agent", "terminal-sessions", "pts-3")
	if d.exists(crumb) {
		t.Error("a breadcrumb to a session that may never be")
	}
	d.answer(mine, "yes")
	d.same(d.read(crumb), []string{"/a", mine.Path()})
	if list, _ := os.ReadDir(filepath.Dir(crumb)); len(list) != 1 {
		t.Errorf("left beside it: %v", list)
	}
	elsewhere := newDesk(t, func(o *desk) { o.home, o.terminal, o.chance.next = d.home, "tmux-%1", 1000 })
	theirs := elsewhere.create("omp", store.CreateOptions{CWD: "/a"})
	elsewhere.answer(theirs, "newer")
	d.age(mine.Path(), time.Hour)
	d.must(mine.Close())
	if got := d.recent("/a"); got.ID() != mine.ID() {
		t.Errorf("%s, want the terminal's own %s", got.ID(), mine.ID())
	}
	if got := elsewhere.recent("/a"); got.ID() != theirs.ID() {
		t.Errorf("%s, want %s", got.ID(), theirs.ID())
	}
	// Of another directory: nothing to go on with there, and the breadcrumb follows.
	s := d.recent("/b")
	if s.Tree().Len() != 0 {
		t.Error("the breadcrumb of another directory was followed")
	}
	d.answer(s, "b")
	d.same(d.read(crumb), []string{"/b", s.Path()})
	d.must(s.Move(t.Context(), "/c"))
	d.same(d.read(crumb), []string{"/c", s.Path()})
	if got := d.recent("/c"); got.ID() != s.ID() {
		t.Error("the move was not followed")
	}
	// The header decides: somebody moved the session, and the breadcrumb does not know.
	d.must(os.WriteFile(crumb, []byte("/d\n"+s.Path()+"\n"), 0o600))
	if got := d.recent("/d"); got.ID() == s.ID() {
		t.Error("the breadcrumb decided, not the header")
	}
	// Damage: one line, a file that is gone, nonsense.
	for _, content := range []string{"/a", "/a\n" + filepath.Join(d.home, "gone") + "\n", "\x00", "", "/a\n" + d.home + "\n"} {
		d.must(os.WriteFile(crumb, []byte(content), 0o600))
		if got := d.recent("/a"); got.ID() != theirs.ID() && got.ID() != mine.ID() {
			t.Errorf("with %q: %s", content, got.ID())
		}
	}
	if info, err := os.Stat(crumb); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	// A session that lies in nobody's folder leaves none.
	before := d.read(crumb)
	d.edit(d.put("x/a.jsonl", log("s", "/z", said("a", "", "x"))), store.WriteOptions{})
	d.same(d.read(crumb), before)
	// pi has no breadcrumbs.
	pi := d.create("pi", store.CreateOptions{CWD: "/a"})
	d.user(pi, "x")
	if d.exists(filepath.Join(d.home, ".pi", "agent", "terminal-sessions")) {
		t.Error("pi leaves no breadcrumbs")
	}
}

// A session that does not say of which directory it is, is of the one in whose folder it lies. What the agent does not list it
// does not go on with.
func TestContinueRecentWithoutCWD(t *testing.T) {
	for _, name := range []string{"pi", "omp"} {
		d := newDesk(t)
		opt := d.fill(store.CreateOptions{CWD: "/a"})
		opt.Dialect = d.dialect(name)
		made := d.closing(d.ContinueRecent(t.Context(), opt))
		dir := filepath.Dir(made.Path())
		d.must(os.MkdirAll(dir, 0o700))
		d.must(os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(`{"type":"session","version":3,"id":"silent"}`+"\n"), 0o600))
		d.age(filepath.Join(dir, "a.jsonl"), time.Hour)
		d.must(os.WriteFile(filepath.Join(filepath.Dir(dir), "z.jsonl"), []byte(`{"type":"session","version":3,"id":"elsewhere"}`+"\n"), 0o600))
		if got := d.closing(d.ContinueRecent(t.Context(), opt)); got.ID() != "silent" {
			t.Errorf("%s: %s", name, got.ID())
		}
		d.must(os.WriteFile(filepath.Join(dir, ".b.jsonl"), []byte(`{"type":"session","version":3,"id":"hidden"}`+"\n"), 0o600))
		want := session.ID("silent")
		if name == "pi" {
			want = "hidden" // pi lists them
		}
		if got := d.closing(d.ContinueRecent(t.Context(), opt)); got.ID() != want {
			t.Errorf("%s with a hidden one: %s, want %s", name, got.ID(), want)
		}
	}
}
