package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store"
)

// While a session is opened, a careless program rewrites it again and again: the open returns the session or an error, and never crashes.
func TestOpenWhileRewritten(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, "session.jsonl")
	log := gen.Session(gen.Options{Seed: 3, Bytes: int64(soaktest.Part(3_000_000, 1_000_000))})
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Duration(soaktest.Part(1000, 300))*time.Millisecond)
	defer stop()
	var wg sync.WaitGroup
	looked := make(chan struct{}) // receives on each look, if the test waits for it
	wg.Go(func() {
		for round := 0; ctx.Err() == nil; round++ {
			cut := len(log) * (round % 7) / 7
			if err := os.Truncate(path, int64(cut)); err != nil {
				t.Error(err)
				return
			}
			// In place, or by a rename.
			to := path
			if round%2 == 1 {
				to += ".new"
			}
			err := os.WriteFile(to, log, 0o600)
			if err == nil && to != path {
				err = os.Rename(to, path)
			}
			if err != nil {
				t.Error(err)
				return
			}
			for range round % 5 { // now and then a reader sees it whole
				select {
				case <-looked:
				case <-ctx.Done():
				}
			}
		}
	})
	s := world.Store(home)
	opened, failed := 0, 0
	for ctx.Err() == nil {
		sess, err := s.Open(t.Context(), path, store.OpenOptions{})
		select {
		case looked <- struct{}{}:
		default:
		}
		if err != nil {
			failed++
			if !errors.Is(err, backend.ErrChanged) && !errors.Is(err, store.ErrNotSession) {
				t.Fatalf("%v; want not (!errors.Is(err, backend.ErrChanged) && !errors.Is(err, store.ErrNotSession))", err)
			}
			continue
		}
		opened++
		if err := sess.Close(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	t.Logf("opened %d times, failed %d times", opened, failed)
	// When it is left alone, it is whole again.
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	sess, err := s.Open(t.Context(), path, store.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	if got, want := sess.Tree().Len(), bytes.Count(log, []byte("\n"))-1; got != want {
		t.Errorf("%d entries, want %d", got, want)
	}
}
