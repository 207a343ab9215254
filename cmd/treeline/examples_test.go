package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/internal/doctest"
	"github.com/treeline-dev/treeline/place"
)

// demoDay is the day of demos in tests.
func demoDay() time.Time { return time.Date(2026, 3, 24, 12, 0, 0, 0, time.UTC) }

// onlyParsed are examples that are parsed but not run: they serve until they are stopped, or need a person, another program or another
// machine.
var onlyParsed = []string{
	"treeline serve", "treeline watch", "treeline pick", "treeline push", "treeline pull", "treeline token", "treeline mcp", "--exec", "--serve", "--store",
	"treeline demo", // other tests run it
}

// mayFail are examples that fail on the sessions of the demo, or that need a file which the demo does not have.
var mayFail = []string{
	`treeline search "connection reset"`, "treeline search --regexp", "treeline search parse*", "treeline check", "/backup", "/media", "/tmp/talk.jsonl", "history.db",
	"treeline rm --undo", "treeline history add --stdin", "treeline run record", "treeline run audit ~", "treeline history parser", "treeline new", "src/other", "src/shop",
}

// onlyRead are commands that need no home of their own.
var onlyRead = []string{"check", "completion", "context", "help", "ls", "search", "show", "sources", "stats", "tree", "version"}

// TestExamples runs the examples in the help of all commands on the sessions of the demo.
func TestExamples(t *testing.T) {
	t.Parallel()
	keepOrder()
	home := t.TempDir()
	a := cli.New()
	a.Clock = demoDay
	if err := demo.Write(t.Context(), home, demoDay, a.Drivers()...); err != nil {
		t.Fatal(err)
	}
	chosen := chooseInDemo(t, demoApp(a, home, io.Discard, io.Discard), home)
	var walk func(c *cobra.Command)
	n := 0
	walk = func(c *cobra.Command) {
		if c.Example == "" {
			t.Errorf("the help of %s has no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			if lines := doctest.Treeline(line); lines != nil {
				n++
				checkExample(t, c, home, chosen, lines[0])
			} else {
				t.Errorf("%s: no command of treeline in the example %q", c.CommandPath(), line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(a, ""))
	if n < 100 {
		t.Errorf("%d examples, want at least 100: is the help gone?", n)
	}
}

// checkExample parses an example and runs it, in a copy of the home if it writes.
func checkExample(t *testing.T, of *cobra.Command, home string, chosen demoChoice, words []string) {
	t.Helper()
	line := "treeline " + strings.Join(words, " ")
	root := newRoot(cli.New(), "")
	cmd, rest, err := root.Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil && cmd.Args != nil {
		err = cmd.Args(cmd, cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("help of %s: %s: %v", of.CommandPath(), line, err)
		return
	}
	contains := func(part string) bool { return strings.Contains(line, part) }
	if len(words) == 0 || slices.ContainsFunc(onlyParsed, contains) {
		return
	}
	dir := home
	if !slices.Contains(onlyRead, words[0]) {
		dir = filepath.Join(t.TempDir(), "home")
		for _, folder := range []string{".omp", ".claude", ".codex", ".local/state"} { // those that examples write to
			if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(home, folder))); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out bytes.Buffer
	a := cli.New()
	a.Clock = demoDay
	b := demoApp(a, dir, &out, &out)
	b.Stdin, b.Self = strings.NewReader(""), ""
	if code := run(context.Background(), b, chosen.in(dir, words)); code == exitUsage || code != exitFine && !slices.ContainsFunc(mayFail, contains) {
		t.Errorf("help of %s: %s: exit code %d: %s", of.CommandPath(), line, code, out.String())
	}
}

// demoChoice is the session of the demo that examples use. The ids in examples are those of the demo.
type demoChoice struct{ id, path string } // path is below the home directory

func chooseInDemo(t *testing.T, a *cli.App, home string) demoChoice {
	t.Helper()
	s, err := a.Store()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := &demoPlay{ctx: t.Context()}
	rows, err := s.List(t.Context(), place.ListOptions{})
	if err == nil {
		err = d.choose(rows)
	}
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Rel(home, d.path)
	if err != nil {
		t.Fatal(err)
	}
	return demoChoice{d.id, path}
}

// in replaces the made-up files and folders in an example by those of the demo in a home directory.
func (d demoChoice) in(home string, words []string) []string {
	names := []string{
		"session.jsonl", filepath.Join(home, d.path), "session.html", filepath.Join(home, "session.html"), "loss.json", filepath.Join(home, "loss.json"), "/tmp", home, "~", home,
	}
	if words[0] != "run" {
		names = append(names, "claude:@last", "claude:@last", "@last", d.id)
	}
	replace := strings.NewReplacer(names...)
	real := make([]string, len(words))
	for i, w := range words {
		real[i] = replace.Replace(w)
		if i > 0 && words[i-1] == "-o" {
			real[i] = filepath.Join(home, w)
		}
	}
	return real
}
