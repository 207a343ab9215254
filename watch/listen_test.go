package watch_test

import (
	"slices"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/watch"
)

// TestListen: after a list, each change of a session is reported by its path, and nothing else is reported.
func TestListen(t *testing.T) {
	h := newHome(t)
	h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1"))
	l, err := watch.Listen(t.Context(), h.m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.m.List(t.Context(), place.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	told := func(want string) {
		t.Helper()
		late := time.After(20 * time.Second)
		for {
			select {
			case <-l.Changed():
				if paths, all := l.Take(); all || slices.Contains(paths, want) {
					return
				}
			case <-late:
				t.Fatalf("%s is not told", want)
			}
		}
	}
	h.add(garden+"a.jsonl", messageLine("a2"))
	told(h.At(garden + "a.jsonl"))
	h.swap(garden+"b.jsonl", sessionLine("b"))
	told(h.At(garden + "b.jsonl"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.Take()
	h.add(garden+"a.jsonl", messageLine("a3"))
	if paths, all := l.Take(); len(paths) > 0 || all {
		t.Errorf("told after the end: %v", paths)
	}
}
