package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/termsvg"
)

var record = flag.Bool("record", false, "write docs/recording.svg")

// TestRecording: the recording in README.md shows the current output of the commands. -record writes it.
func TestRecording(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("treeline-recording") // the test binary under another name: a process of its own has the time zone that it is given
	cmd.Env = append(os.Environ(), "TZ=UTC")
	cmd.Stderr = os.Stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "docs", "recording.svg")
	if *record {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := difftest.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("docs/recording.svg is not what the commands print; 'make screenshots' writes it anew (- committed, + now):\n%s", diff)
	}
}

// recorded is the command of TestRecording.
func recorded() {
	if err := recordCommands(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitProblem)
	}
}

// recordCommands runs commands on the demo's sessions, and draws their output on a terminal.
func recordCommands(ctx context.Context, out io.Writer) error {
	size := termsvg.Size{Columns: 80, Rows: 21}
	a := cli.New()
	a.Clock = demoDay
	return withDemo(ctx, a, func(dir string) error {
		var scenes []termsvg.Scene
		for _, line := range []string{
			"ls --all --model claude",
			"search twice --in assistant",
			"tree 01a1df83#446c3b98 -n 7",
			"context 01a1df83 | head -n 18",
			"resume 01a1df83 --in codex",
		} {
			words, _, _ := strings.Cut(line, " | ")
			var stdout, stderr bytes.Buffer
			b := demoApp(a, dir, &stdout, &stderr)
			b.Columns = size.Columns
			if code := run(ctx, b, append([]string{"--color=always"}, strings.Fields(words)...)); code != exitFine {
				return fmt.Errorf("treeline %s: exit code %d: %s", line, code, stderr.String())
			}
			reading := 4 * time.Second
			if strings.Count(stdout.String(), "\n") < 3 {
				reading = 2 * time.Second
			}
			scenes = append(scenes, termsvg.Scene{Command: "treeline " + line, Output: stdout.String(), Reading: reading})
		}
		return termsvg.Write(out, size, "treeline on the command line", scenes)
	})
}
