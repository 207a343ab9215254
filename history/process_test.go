package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { killtest.Main(m, writeAndTell) }

// writeAndTell runs in a child process; args are "path name count". It adds so many prompts and acknowledges those that were flushed.
func writeAndTell(args string) error {
	var path, name string
	var n int
	if _, err := fmt.Sscan(args, &path, &name, &n); err != nil {
		return err
	}
	h, err := openDB(context.Background(), path, dbOptions{})
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

// TestTwoProcesses: what two processes write at once is all there, in the order of each.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	const n = 150
	names := []string{"anna", "boris"}
	var running sync.WaitGroup
	for _, name := range names {
		running.Go(func() {
			if out, err := killtest.Command(path, name, n).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	running.Wait()
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
	if err := h.check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestKill: a writer is killed at any moment, again and again. What was flushed is there, in order and once, the database is whole, and the
// next writer continues.
func TestKill(t *testing.T) {
	t.Parallel()
	c := soaktest.Begin(t)
	path := newPath(t)
	rnd := rand.New(rand.NewPCG(c.Seed(3), 4))
	for round := range c.Rounds(10, 5) {
		if round%50 == 49 { // a new history now and then: checking a long one would take longer than writing it
			path = newPath(t)
		}
		name := fmt.Sprint("round", round)
		lines, err := killtest.Run(killtest.Command(path, name, MaxLimit), 1+rnd.IntN(30), 0) // no more than a search returns
		if err != nil || len(lines) == 0 {
			t.Fatalf("%d were acknowledged, %v", len(lines), err)
		}
		acknowledged, err := strconv.Atoi(lines[len(lines)-1])
		if err != nil {
			t.Fatal(err)
		}
		h := open(t, path)
		list := texts(t, h, Query{Text: name})
		slices.Reverse(list)
		c.Acknowledged(acknowledged + 1)
		if len(list) <= acknowledged {
			c.Lost("%s: %d were acknowledged, %d are there", name, acknowledged+1, len(list))
		}
		for i, p := range list {
			if p != fmt.Sprint(name, " ", i) {
				t.Fatalf("%s: number %d is %q", name, i, p)
			}
		}
		c.Unreadable(path, h.check(t.Context()))
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
