package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/screen"
)

func testApp(t *testing.T) (a *cli.App, stdout, stderr *bytes.Buffer) {
	t.Helper()
	home := t.TempDir()
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	a = cli.New()
	a.Stdin, a.Stdout, a.Stderr = strings.NewReader(""), stdout, stderr
	a.Getenv = func(key string) string {
		if key == "HOME" {
			return home
		}
		return ""
	}
	return a, stdout, stderr
}

// stopAt cancels a context once a text was written.
type stopAt struct {
	*bytes.Buffer
	after  string
	cancel context.CancelFunc
}

func (s stopAt) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.Contains(s.String(), s.after) {
		s.cancel()
	}
	return n, err
}

// TestCheckInterrupted: Ctrl-C keeps what was found so far, and fails.
func TestCheckInterrupted(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".jsonl")), []byte("garbage\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, stdout, stderr := testApp(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a.Stdout = stopAt{stdout, "1.jsonl", cancel}
	if code := run(ctx, a, []string{"check", dir}); code != exitProblem {
		t.Errorf("exit code %d", code)
	}
	if out := stdout.String(); !strings.Contains(out, "1.jsonl:") || strings.Contains(out, "3.jsonl") ||
		!strings.HasSuffix(out, "2 files, 2 problems\n") {
		t.Errorf("stdout:\n%s", out)
	}
	if got := stderr.String(); got != "treeline: interrupted after 2 of 5 files\n" {
		t.Errorf("stderr: %s", got)
	}
}

// TestInterrupted: an interrupted command says so.
func TestInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(file, []byte(`{"type":"session","version":3,"id":"s"}`+"\n"+`{"type":"message","id":"a","parentId":null}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"show", "tree", "context"} {
		a, _, stderr := testApp(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if code := run(ctx, a, []string{verb, file}); code != exitProblem || stderr.String() != "treeline: interrupted\n" {
			t.Errorf("%s: exit code %d, %s", verb, code, stderr)
		}
	}
}

// failing is an output that fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestOutputFails: a closed pipe is not an error, a full disk is.
func TestOutputFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
	}{
		{&os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, exitFine},
		{errors.New("disk full"), exitProblem},
	} {
		a, _, stderr := testApp(t)
		a.Stdout = failing{c.err}
		if code := run(t.Context(), a, []string{"demo"}); code != c.code {
			t.Errorf("%v: exit code %d, %s", c.err, code, stderr)
		}
	}
}

// TestFlagsOfFindingComplete: every flag of these commands completes its values, or nothing, but no files.
func TestFlagsOfFindingComplete(t *testing.T) {
	a, _, _ := testApp(t)
	root := newRoot(a, "")
	complete(a, root)
	for _, c := range root.Commands() {
		if !slices.Contains([]string{"ls", "search", "sources", "watch", "tree", "show", "stats"}, c.Name()) {
			continue
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if _, ok := c.GetFlagCompletionFunc(f.Name); !ok && f.Value.Type() != "bool" {
				t.Errorf("%s --%s completes nothing", c.Name(), f.Name)
			}
		})
	}
}

// TestEveryCommandExplainsItself: every command has a long help, an example and a completion.
func TestEveryCommandExplainsItself(t *testing.T) {
	a, _, _ := testApp(t)
	for _, c := range newRoot(a, "").Commands() {
		if c.Example == "" || c.Short == "" {
			t.Errorf("%s has no example or no short help", c.Name())
		}
		if c.Name() != "help" && (c.Long == "" || strings.Contains(c.Short, ".")) {
			t.Errorf("%s: no long help, or a full stop in the short one", c.Name())
		}
		for _, line := range strings.Split(c.UsageString(), "\n") {
			if screen.Width(line, false) > 150 {
				t.Errorf("%s: too long a line of help: %s", c.Name(), line)
			}
		}
		if strings.Contains(c.Use, "<session>") && c.ValidArgsFunction == nil {
			t.Errorf("%s does not complete sessions", c.Name())
		}
		if _, isCheck := map[string]bool{"ls": true, "show": true, "tree": true, "context": true, "check": true}[c.Name()]; isCheck {
			for _, flag := range []string{"json", "dialect"} {
				if c.Flags().Lookup(flag) == nil {
					t.Errorf("%s has no --%s", c.Name(), flag)
				}
			}
		}
	}
}

// TestOneCommand: a command line that begins with the name of a command makes that command and the help, and no other one.
func TestOneCommand(t *testing.T) {
	a, _, _ := testApp(t)
	count := 0
	for _, g := range groups(nil) {
		for _, v := range g.verbs {
			count++
			if v.name == "help" {
				continue
			}
			if list := newRoot(a, v.name).Commands(); len(list) != 1 || list[0].Name() != v.name || list[0].GroupID != g.title {
				t.Errorf("%s makes %d commands, the first is %s", v.name, len(list), list[0].Name())
			}
		}
	}
	for _, word := range []string{"", "list", "nothing", "--json"} {
		if list := newRoot(a, word).Commands(); len(list) != count {
			t.Errorf("%q makes %d commands of %d", word, len(list), count)
		}
	}
}
