package place_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
)

// TestProject: the project is the nearest directory upwards with sessions, inside the repository; a linked worktree without
// sessions has those of the main one.
func TestProject(t *testing.T) {
	t.Parallel()
	const (
		repo   = "src/app/.git/"                        // a repository
		linked = "src/wt/.git"                          // a linked worktree of it
		inside = "src/app/.git/worktrees/wt/commondir"  // the worktree's part in the repository
		sub    = "src/app/lib/.git"                     // a submodule
		bare   = "src/bare.git/worktrees/wt2/commondir" // the repository of another worktree
	)
	for _, c := range []struct {
		name, here, sessions, want string
	}{
		{"itself", "src/app/cmd", "src/app/cmd", "src/app/cmd"},
		{"above", "src/app/cmd/x", "src/app", "src/app"},
		{"not above the repository", "src/app/cmd", "src", "src/app/cmd"},
		{"not above a submodule", "src/app/lib/x", "src/app", "src/app/lib/x"},
		{"main worktree", "src/wt", "src/app", "src/app"},
		{"same directory of the main worktree", "src/wt/cmd/x", "src/app/cmd", "src/app/cmd"},
		{"above in the linked worktree first", "src/wt/cmd", "src/wt", "src/wt"},
		{"not above the main worktree", "src/wt/cmd", "src", "src/wt/cmd"},
		{"bare repository", "src/wt2", "src", "src/wt2"},
		{"without a repository", "notes/a/b", "notes", "notes"},
		{"not home", "notes/a", ".", "notes/a"},
		{"home itself", ".", ".", "."},
		{"not above home", ".", "..", "."},
		{"no sessions", "notes/a", "elsewhere", "notes/a"},
	} {
		w := world.New(t, func(w *world.World) {
			w.CWD = filepath.Join(w.Home, c.here)
			for name, text := range map[string]string{
				repo + "HEAD": "ref: refs/heads/main\n", linked: "gitdir: " + w.Home + "/src/app/.git/worktrees/wt\n", inside: "../..\n",
				sub: "gitdir: ../.git/modules/lib\n", "src/wt2/.git": "gitdir: ../bare.git/worktrees/wt2\n", bare: "../..\n",
			} {
				w.Put(name, text)
			}
			if err := os.MkdirAll(w.CWD, 0o700); err != nil {
				t.Fatal(err)
			}
		})
		w.Old(".omp/agent/sessions/-x/1_a.jsonl", world.Log("a", filepath.Join(w.Home, c.sessions)))
		rows, err := w.List(t.Context(), place.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := w.Store.Project(rows), filepath.Join(w.Home, c.want); got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
	}
}

// TestLast: @last~n counts back through the sessions of the project.
func TestLast(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	for i := range 3 {
		w.Old(fmt.Sprintf(".omp/agent/sessions/-x/%d_s%d.jsonl", i, i), world.Log(fmt.Sprint("s", i), w.CWD))
	}
	w.Old(".omp/agent/sessions/-x/9_else.jsonl", world.Log("else", "/elsewhere"))
	for ref, want := range map[string]string{"@last": "s2", "@last~0": "s2", "@last~1": "s1", "@last~2": "s0"} {
		if row, err := w.Find(t.Context(), ref); err != nil || string(row.ID) != want {
			t.Errorf("%s: %s, %v; want no error, string(row.ID) == %v", ref, row.ID, err, want)
		}
	}
	for _, ref := range []string{"@last~3", "@last~", "@last~-1", "@last~+1", "@last~x", "@lastly"} {
		if row, err := w.Find(t.Context(), ref); !errors.Is(err, place.ErrNoSession) {
			t.Errorf("%s: %s, %v; want the error place.ErrNoSession", ref, row.ID, err)
		}
	}
}

// TestLastOfATick: of sessions that changed within one tick of the clock, @last is the one that was created last.
func TestLastOfATick(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	now := time.Now()
	for i, minute := range []string{"10:21", "10:23", "10:22"} {
		log := strings.Replace(world.Log(fmt.Sprint("s", i), w.CWD), "10:20", minute, 1)
		if err := os.Chtimes(w.Put(fmt.Sprintf(".omp/agent/sessions/-x/%d_s%d.jsonl", i, i), log), now, now); err != nil {
			t.Fatal(err)
		}
	}
	for ref, want := range map[string]string{"@last": "s1", "@last~1": "s2", "@last~2": "s0"} {
		if row, err := w.Find(t.Context(), ref); err != nil || string(row.ID) != want {
			t.Errorf("%s: %s, %v; want %s", ref, row.ID, err, want)
		}
	}
}

// TestShortHere: an id that is short among the sessions of the project selects the one of the project; a shorter prefix does not.
func TestShortHere(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Old(".omp/agent/sessions/-x/1_a.jsonl", world.Log("0aaa1111-1", w.CWD))
	w.Old(".omp/agent/sessions/-x/2_b.jsonl", world.Log("0aaa1111-2", "/elsewhere"))
	rows, err := w.List(t.Context(), place.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rows = w.InDir(w.CWD, rows)
	place.Shorten(rows)
	if len(rows) != 1 || rows[0].Short != "0aaa1111" {
		t.Fatalf(`%+v; want len(rows) == 1, rows[0].Short == "0aaa1111"`, rows)
	}
	if row, err := w.Find(t.Context(), rows[0].Short); err != nil || row.ID != "0aaa1111-1" {
		t.Errorf(`%s, %v; want no error, row.ID == "0aaa1111-1"`, row.ID, err)
	}
	var many *place.AmbiguousError
	if _, err := w.Find(t.Context(), "0aaa111"); !errors.As(err, &many) {
		t.Errorf("a shorter one: %v", err)
	}
}
