package store_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func (d *desk) recent(cwd string) *store.Session {
	d.Helper()
	return d.Closing(d.ContinueRecent(d.Context(), d.fill(store.CreateOptions{CWD: cwd})))
}

// age makes a file older by some time.
func (d *desk) age(path string, by time.Duration) {
	d.Helper()
	at := time.Now().Add(-by)
	d.Must(os.Chtimes(path, at, at))
}

// Without breadcrumbs the newest session of the directory goes on; the header names the directory.
func TestContinueRecent(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if s := d.recent("/a"); d.Exists(s.Path()) || s.Header().CWD != "/a" || s.Tree().Len() != 0 {
		t.Errorf("a new one: %+v", s.Header())
	}
	older := d.Begin("omp", store.CreateOptions{CWD: "/a"})
	d.Answer(older, "older")
	newer := d.Begin("omp", store.CreateOptions{CWD: "/a"})
	d.Answer(newer, "newer")
	d.age(older.Path(), time.Hour)
	d.age(newer.Path(), time.Minute)
	d.Must(older.Close())
	d.Must(newer.Close())
	if got := d.recent("/a"); got.ID() != newer.ID() {
		t.Errorf("%s, want the newer %s", got.ID(), newer.ID())
	}
	// Of two that were written at the same moment, the later name counts: names begin with the time.
	at := time.Now().Add(-time.Minute)
	d.Must(os.Chtimes(older.Path(), at, at))
	d.Must(os.Chtimes(newer.Path(), at, at))
	if got := d.recent("/a"); got.ID() != newer.ID() {
		t.Errorf("%s, want %s, whose name is later", got.ID(), newer.ID())
	}
	d.age(older.Path(), time.Hour)
	// A session of another directory in the same folder does not count, however new: "/a/b-c" and "/a/b/c" share one.
	other := d.Begin("omp", store.CreateOptions{CWD: "/a/b-c"})
	d.Answer(other, "other")
	if got := d.recent("/a/b/c"); got.ID() == other.ID() || got.Tree().Len() != 0 {
		t.Error("the folder's name decided")
	}
	// Nor does a file that cannot be read.
	d.Must(os.WriteFile(filepath.Join(filepath.Dir(newer.Path()), "z.jsonl"), []byte("nonsense\n"), 0o600))
	got := d.recent("/a")
	if got.ID() != newer.ID() {
		t.Errorf("%s, want %s", got.ID(), newer.ID())
	}
	d.Answer(got, "more")
	d.Same(d.Seen(got.Path()), []string{"newer", "more"})
	dir := filepath.Join(d.Home, "custom")
	s := d.Begin("omp", store.CreateOptions{CWD: "/a", Dir: dir})
	d.Answer(s, "custom")
	in := d.Closing(d.ContinueRecent(t.Context(), d.fill(store.CreateOptions{CWD: "/a", Dir: dir})))
	if in.ID() != s.ID() {
		t.Errorf("%s, want the one in the folder", in.ID())
	}
}

// Each terminal goes on with its own session: a breadcrumb of two lines names it.
func TestBreadcrumbs(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *world.World) { d.Terminal = "pts-3" })
	mine := d.Begin("omp", store.CreateOptions{CWD: "/a"})
	_, err := mine.AppendThinkingLevelChange(t.Context(), "high")
	d.Must(err)
	crumb := filepath.Join(d.Home, ".omp", "agent", "terminal-sessions", "pts-3")
	if d.Exists(crumb) {
		t.Error("a breadcrumb to a session that may never be")
	}
	d.User(mine, "mine")
	d.Same(d.ReadLines(crumb), []string{"/a", mine.Path()})
	if list, _ := os.ReadDir(filepath.Dir(crumb)); len(list) != 1 {
		t.Errorf("left beside it: %v", list)
	}
	elsewhere := newDesk(t, func(o *world.World) { o.Home, o.Terminal = d.Home, "tmux-%1" })
	theirs := elsewhere.Begin("omp", store.CreateOptions{CWD: "/a", Write: store.WriteOptions{Random: rand.Reader}})
	elsewhere.Answer(theirs, "newer")
	d.age(mine.Path(), time.Hour)
	d.Must(mine.Close())
	if got := d.recent("/a"); got.ID() != mine.ID() {
		t.Errorf("%s, want the terminal's own %s", got.ID(), mine.ID())
	}
	if got := elsewhere.recent("/a"); got.ID() != theirs.ID() {
		t.Errorf("%s, want %s", got.ID(), theirs.ID())
	}
	// A caller that serves several terminals names the one that it means.
	named := d.fill(store.CreateOptions{CWD: "/a", Write: store.WriteOptions{Terminal: "/dev/pts/9"}})
	for range 2 {
		s := d.Closing(d.ContinueRecent(t.Context(), named))
		d.Answer(s, "named")
		d.Same(d.ReadLines(filepath.Join(filepath.Dir(crumb), "pts-9")), []string{"/a", s.Path()})
		d.Must(s.Close())
	}
	d.Same(d.ReadLines(crumb), []string{"/a", mine.Path()})
	for name, want := range map[string]string{"../x": "..-x", "..": "", "a\nb": "a-b", "/dev/pts/3": "pts-3", "tmux-%1": "tmux-%1", strings.Repeat("x", 201): ""} {
		if got := place.TerminalName(name); got != want {
			t.Errorf("terminal %q is %q", name, got)
		}
	}
	// In another directory there is nothing to go on with, and the breadcrumb follows.
	s := d.recent("/b")
	if s.Tree().Len() != 0 {
		t.Error("the breadcrumb of another directory was followed")
	}
	d.Answer(s, "b")
	d.Same(d.ReadLines(crumb), []string{"/b", s.Path()})
	d.Must(s.Move(t.Context(), "/c"))
	d.Same(d.ReadLines(crumb), []string{"/c", s.Path()})
	if got := d.recent("/c"); got.ID() != s.ID() {
		t.Error("the move was not followed")
	}
	// The header decides: the session was moved after the breadcrumb was written.
	d.Must(os.WriteFile(crumb, []byte("/d\n"+s.Path()+"\n"), 0o600))
	if got := d.recent("/d"); got.ID() == s.ID() {
		t.Error("the breadcrumb decided, not the header")
	}
	// Damage: one line, a file that is gone, nonsense.
	for _, content := range []string{"/a", "/a\n" + filepath.Join(d.Home, "gone") + "\n", "\x00", "", "/a\n" + d.Home + "\n"} {
		d.Must(os.WriteFile(crumb, []byte(content), 0o600))
		if got := d.recent("/a"); got.ID() != theirs.ID() && got.ID() != mine.ID() {
			t.Errorf("with %q: %s", content, got.ID())
		}
	}
	if info, err := os.Stat(crumb); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want no error, info.Mode().Perm() == 0o600", info, err)
	}
	// A session outside of all agents' folders leaves none.
	before := d.ReadLines(crumb)
	d.Edit(d.Put("x/a.jsonl", world.Log("s", "/z", world.Said("a", "", "x"))), store.WriteOptions{})
	d.Same(d.ReadLines(crumb), before)
	// pi has no breadcrumbs.
	pi := d.Begin("pi", store.CreateOptions{CWD: "/a"})
	d.User(pi, "x")
	if d.Exists(filepath.Join(d.Home, ".pi", "agent", "terminal-sessions")) {
		t.Error("pi leaves no breadcrumbs")
	}
}

// A session that does not name its directory belongs to that of its folder. A session that the agent does not list is not continued.
func TestContinueRecentWithoutCWD(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pi", "omp"} {
		d := newDesk(t)
		opt := d.fill(store.CreateOptions{CWD: "/a"})
		opt.Dialect = d.Format(name)
		made := d.Closing(d.ContinueRecent(t.Context(), opt))
		dir := filepath.Dir(made.Path())
		d.Must(os.MkdirAll(dir, 0o700))
		d.Must(os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(`{"type":"session","version":3,"id":"silent"}`+"\n"), 0o600))
		d.age(filepath.Join(dir, "a.jsonl"), time.Hour)
		d.Must(os.WriteFile(filepath.Join(filepath.Dir(dir), "z.jsonl"), []byte(`{"type":"session","version":3,"id":"elsewhere"}`+"\n"), 0o600))
		if got := d.Closing(d.ContinueRecent(t.Context(), opt)); got.ID() != "silent" {
			t.Errorf(`%s: %s; want got.ID() == "silent"`, name, got.ID())
		}
		d.Must(os.WriteFile(filepath.Join(dir, ".b.jsonl"), []byte(`{"type":"session","version":3,"id":"hidden"}`+"\n"), 0o600))
		want := session.ID("silent")
		if name == "pi" {
			want = "hidden" // pi lists them
		}
		if got := d.Closing(d.ContinueRecent(t.Context(), opt)); got.ID() != want {
			t.Errorf("%s with a hidden one: %s, want %s", name, got.ID(), want)
		}
	}
}
