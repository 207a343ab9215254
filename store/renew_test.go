package store_test

import (
	"os"
	"testing"

	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/store"
)

const (
	renewHead  = `{"type":"session","version":3,"id":"r","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/garden"}` + "\n"
	renewFirst = `{"type":"message","id":"r1","parentId":null,"timestamp":"2026-02-16T10:00:01.000Z","message":{"role":"user","content":"one"}}` + "\n"
	renewNext  = `{"type":"message","id":"r2","parentId":"r1","timestamp":"2026-02-16T10:00:02.000Z","message":{"role":"user","content":"two"}}` + "\n"
	renewLast  = `{"type":"message","id":"r3","parentId":"r2","timestamp":"2026-02-16T10:00:03.000Z","message":{"role":"user","content":"three"}}` + "\n"
)

// A session that is open for reading reads what other processes append, into the same tree, and says when it cannot.
func TestRenew(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	path := w.Old(".omp/agent/sessions/--garden--/r.jsonl", renewHead+renewFirst)
	s := w.View(path, store.OpenOptions{})
	tree := s.Tree()
	renew := func(want logtree.Change) {
		t.Helper()
		if got, err := s.Renew(t.Context()); err != nil || got != want {
			t.Fatalf("change %d (%v), want %d", got, err, want)
		}
	}
	renew(logtree.Same)
	w.AppendPlain(path, renewNext)
	renew(logtree.Grown)
	renew(logtree.Same)
	w.AppendPlain(path, renewLast[:40])
	renew(logtree.Grown) // a torn record is a problem until it is whole
	w.AppendPlain(path, renewLast[40:])
	renew(logtree.Replaced)
	if s.Tree() != tree || s.Leaf() != "r2" {
		t.Errorf("the leaf is %q", s.Leaf())
	}
	e, _ := tree.Leaf()
	if raw, err := e.Raw(); err != nil || string(raw)+"\n" != renewNext {
		t.Errorf("the leaf is %s (%v)", raw, err)
	}
	if got, _ := w.View(path, store.OpenOptions{}).Renew(t.Context()); got != logtree.Same {
		t.Errorf("a session that was just opened: %d", got)
	}
	w.Must(os.Remove(path))
	renew(logtree.Removed)
}

// A log that another log replaced is not read on.
func TestRenewReplaced(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	path := w.Old(".omp/agent/sessions/--garden--/r.jsonl", renewHead+renewFirst+renewNext)
	s := w.View(path, store.OpenOptions{})
	w.Must(os.Remove(path))
	w.Old(".omp/agent/sessions/--garden--/r.jsonl", renewHead+renewFirst)
	if got, err := s.Renew(t.Context()); err != nil || got == logtree.Same || got == logtree.Grown {
		t.Errorf("change %d (%v)", got, err)
	}
	if got, err := w.Edit(path, store.WriteOptions{}).Renew(t.Context()); err != nil || got != logtree.Replaced {
		t.Errorf("a session that is open for writing: change %d (%v)", got, err)
	}
}
