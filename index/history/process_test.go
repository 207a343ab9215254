package history

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestMain is also the process that others kill: it adds prompts and acknowledges each that was flushed.
func TestMain(m *testing.M) {
	if path := os.Getenv("TREELINE_TEST_HISTORY"); path != "" {
		if err := writeAndTell(path, os.Getenv("TREELINE_TEST_NAME"), os.Getenv("TREELINE_TEST_COUNT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func writeAndTell(path, name, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	h, err := Open(context.Background(), path, Options{})
	if err != nil {
		return err
	}
	for i := range n {
		if err := h.Add(fmt.Sprint(name, " ", i), "/"+name); err != nil {
			return err
		}
		if i%3 == 0 { // batches of several sizes
			if err := h.Flush(context.Background()); err != nil {
				return err
			}
			fmt.Println(i)
		}
	}
	return h.Close()
}

// writer starts a process that writes to a history.
func writer(t *testing.T, path, name string, count int) (*exec.Cmd, io.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "TREELINE_TEST_HISTORY="+path, "TREELINE_TEST_NAME="+name, fmt.Sprint("TREELINE_TEST_COUNT=", count))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// TestTwoProcesses: what two write at once is all there, each one's in its order.
func TestTwoProcesses(t *testing.T) {
	path := newPath(t)
	const n = 150
	names := []string{"anna", "boris"}
	var running []*exec.Cmd
	for _, name := range names {
		cmd, out := writer(t, path, name, n)
		go io.Copy(io.Discard, out)
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	h := open(t, path)
	for _, name := range names {
		list := texts(t, h, Query{Text: name})
		slices.Reverse(list)
		for i, p := range list {
			if p != fmt.Sprint(name, " ", i) {
				t.Fatalf("%s: number %d is %q", name, i, p)
			}
		}
		if len(list) != n {
			t.Errorf("%s: %d of %d", name, len(list), n)
		}
	}
	if err := h.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestKill: a writer is killed at any moment, again and again. What was flushed is there, in order and once, the
// database is whole, and the next writer goes on.
func TestKill(t *testing.T) {
	rounds := 15
	if os.Getenv("TREELINE_SOAK") != "" {
		rounds = 300
	}
	path := newPath(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	for round := range rounds {
		name := fmt.Sprint("round", round)
		cmd, out := writer(t, path, name, 100_000)
		acknowledged := -1
		lines := bufio.NewScanner(out)
		for left := rnd.IntN(30); left >= 0 && lines.Scan(); left-- {
			n, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
			if err != nil {
				t.Fatal(err)
			}
			acknowledged = n
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, out)
		_ = cmd.Wait() // it was killed

		h := open(t, path)
		list := texts(t, h, Query{Text: name})
		slices.Reverse(list)
		if len(list) <= acknowledged {
			t.Fatalf("%s: %d were acknowledged, %d are there", name, acknowledged+1, len(list))
		}
		for i, p := range list {
			if p != fmt.Sprint(name, " ", i) {
				t.Fatalf("%s: number %d is %q", name, i, p)
			}
		}
		if err := h.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
