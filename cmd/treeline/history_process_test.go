package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// historyHome is a home with many sessions. Their prompts are few enough to be listed all at once.
func historyHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	if err := gen.Tree(filepath.Join(home, ".omp", "agent"), gen.TreeOptions{Seed: 7, Sessions: 120, Bytes: 2_000_000}); err != nil {
		t.Fatal(err)
	}
	return home
}

func historyProcess(home string, args ...string) *exec.Cmd {
	cmd := exec.Command("treeline", append([]string{"history"}, args...)...) // the test binary under another name
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "TZ=UTC")
	cmd.Dir = home
	return cmd
}

// once has the prompts of an undisturbed import, with which several tests compare.
var once struct {
	sync.Once
	prompts string
}

func undisturbed(t *testing.T) string {
	t.Helper()
	once.Do(func() { once.prompts = listed(t, historyHome(t)) })
	return once.prompts
}

// listed imports, and lists all prompts.
func listed(t *testing.T, home string) string {
	t.Helper()
	for _, args := range [][]string{{"import"}, {"--where", "--limit", "1000"}} {
		var stderr bytes.Buffer
		cmd := historyProcess(home, args...)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Fatalf("%q: %v\n%s; want no error, stderr.Len() <= 0", args, err, stderr.String())
		}
		if args[0] != "import" {
			return string(out)
		}
	}
	return ""
}

// TestHistoryImportKilled: an import that is killed again and again loses nothing and doubles nothing.
func TestHistoryImportKilled(t *testing.T) {
	t.Parallel()
	want := undisturbed(t)
	home := historyHome(t)
	killed(t, home, "import")
	if got := listed(t, home); len(got) == 0 || got != want {
		t.Errorf("%d bytes instead of %d", len(got), len(want))
	}
}

// killed starts a command repeatedly, and kills it after a random time.
func killed(t *testing.T, home string, args ...string) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 1))
	for range soaktest.Part(12, 5) {
		cmd := historyProcess(home, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(rnd.IntN(150))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // killed, or done
		kill.Stop()
	}
}

// TestHistoryRebuildKilled: a prompt that is only in the history survives a rebuild that is killed.
func TestHistoryRebuildKilled(t *testing.T) {
	t.Parallel()
	home := historyHome(t)
	if out, err := historyProcess(home, "add", "--cwd", "/by/hand", "typed by hand").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := listed(t, home)
	if !strings.HasPrefix(want, "typed by hand\n") {
		t.Fatalf(`%.200s; want strings.HasPrefix(want, "typed by hand\n")`, want)
	}
	killed(t, home, "--rebuild")
	if got := listed(t, home); got != want {
		t.Errorf("%d bytes instead of %d", len(got), len(want))
	}
}

// TestHistoryImportsAtOnce: several imports create the same history.
func TestHistoryImportsAtOnce(t *testing.T) {
	t.Parallel()
	want := undisturbed(t)
	home := historyHome(t)
	together(t, 3, func() *exec.Cmd { return historyProcess(home, "import") })
	if got := listed(t, home); got != want {
		t.Errorf("%d bytes instead of %d", len(got), len(want))
	}
}

// TestHistoryMendedAtOnce: several processes find the history damaged. One repairs it, and all succeed.
func TestHistoryMendedAtOnce(t *testing.T) {
	t.Parallel()
	home := historyHome(t)
	want := listed(t, home)
	db := filepath.Join(home, ".local", "state", "treeline", "history.db")
	if err := os.WriteFile(db, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	together(t, 3, func() *exec.Cmd { return historyProcess(home, "--limit", "5") })
	if got := listed(t, home); got != want {
		t.Errorf("%d bytes instead of %d", len(got), len(want))
	}
	if aside, err := filepath.Glob(db + ".corrupt-*Z"); err != nil || len(aside) != 1 {
		t.Errorf("moved aside: %q, %v", aside, err)
	}
}

// together runs several processes at the same time; all must succeed.
func together(t *testing.T, n int, make func() *exec.Cmd) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if out, err := make().CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
}
