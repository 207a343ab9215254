package store_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Many appenders at once: each entry follows the one before, nothing is lost, and the tree equals the log.
func TestAppendConcurrently(t *testing.T) {
	for _, level := range []store.Durability{store.DurabilityNone, store.DurabilityAlways} {
		d := newDesk(t)
		s := d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever, Durability: level}})
		const appenders, each = 16, 20
		var group sync.WaitGroup
		for range appenders {
			group.Go(func() {
				for i := range each {
					a, err := s.AppendMessage(t.Context(), world.Message("user", strings.Repeat("x", i)))
					if err != nil || !a.Durable {
						t.Errorf("%+v: %v; want no error, a.Durable", a, err)
					}
					if i%5 == 0 {
						c, err := s.Context(t.Context(), a.ID, store.ContextOptions{})
						if err != nil {
							t.Error(err)
							continue
						}
						for _, err := range c.Messages() {
							if err != nil {
								t.Error(err)
							}
						}
					}
				}
			})
		}
		group.Wait()
		if got := len(d.Texts(s)); got != appenders*each {
			t.Errorf("%s: the model sees %d of %d: they are not one chain", level, got, appenders*each)
		}
		d.MemoryEqualsDisk(s)
	}
}

// Rewrites, forks, branches and renames between appends: each waits for the others, and nothing is lost.
func TestEverythingConcurrently(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever}})
	root := d.User(s, "root")
	var group sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[session.EntryID]bool{}
	for range 6 {
		group.Go(func() {
			for range 20 {
				a, err := s.AppendMessage(t.Context(), world.Message("user", "x"))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged[a.ID] = true
				mu.Unlock()
			}
		})
	}
	for _, do := range []func() error{
		func() error { return s.Rename(t.Context(), "name") },
		func() error { return s.Fork(t.Context()) },
		func() error { _, err := s.Branch(t.Context(), root, store.BranchOptions{Durable: true}); return err },
		func() error { _, err := s.Label(t.Context(), root, "l"); return err },
		func() error { return s.Flush(t.Context()) },
		func() error { return s.Move(t.Context(), "/other") },
		func() error {
			_, err := s.Compact(t.Context(), session.Compaction{Summary: "s", FirstKept: root})
			return err
		},
	} {
		group.Go(func() {
			for range 4 {
				if err := do(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	d.MemoryEqualsDisk(s)
	for id := range acknowledged {
		if !s.Tree().Has(id) {
			t.Errorf("entry %s is lost", id)
		}
	}
}

// Close waits for appends that have begun; later ones fail with ErrClosed.
func TestCloseDuringAppends(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever, Durability: store.DurabilityAlways}})
	var group sync.WaitGroup
	var mu sync.Mutex
	var ids []session.EntryID
	begun := make(chan struct{}, 100)
	for range 8 {
		group.Go(func() {
			for {
				a, err := s.AppendMessage(t.Context(), world.Message("user", "x"))
				if err != nil {
					if !errors.Is(err, store.ErrClosed) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				ids = append(ids, a.ID)
				mu.Unlock()
				select {
				case begun <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 20 {
		<-begun
	}
	d.Must(s.Close())
	group.Wait()
	d.Must(s.Close())
	r, err := d.Open(t.Context(), s.Path(), store.OpenOptions{})
	d.Must(err)
	defer r.Close()
	for _, id := range ids {
		if !r.Tree().Has(id) {
			t.Errorf("entry %s was acknowledged and is lost", id)
		}
	}
	if r.Tree().Len() != len(ids) {
		t.Errorf("%d entries, %d acknowledged", r.Tree().Len(), len(ids))
	}
}
