package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Two sessions with many appenders each, and a rewrite now and then: no entry is lost.
func TestTwoWritersAtOnce(t *testing.T) {
	t.Parallel()
	for _, policy := range []store.Policy{store.PolicyBranch, store.PolicyFollow} {
		d := newDesk(t)
		a, b, _ := d.two(policy)
		var group sync.WaitGroup
		var mu sync.Mutex
		acknowledged := map[session.EntryID]bool{}
		for _, s := range []*store.Session{a, b} {
			for k := range 4 {
				group.Go(func() {
					for i := range 15 {
						got, err := s.AppendMessage(t.Context(), world.Message("user", "x"))
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						acknowledged[got.ID] = true
						mu.Unlock()
						if k == 0 && i%5 == 0 {
							if err := s.Rename(t.Context(), "x"); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
		}
		group.Wait()
		r, err := d.Open(t.Context(), a.Path(), store.OpenOptions{})
		d.Must(err)
		for id := range acknowledged {
			if !r.Tree().Has(id) {
				t.Errorf("%s: entry %s is lost", policy, id)
			}
		}
		if r.Tree().Len() != len(acknowledged)+1 || len(r.Tree().Problems()) > 0 {
			t.Errorf("%s: %d entries of %d, %v", policy, r.Tree().Len(), len(acknowledged)+1, r.Tree().Problems())
		}
		d.Must(r.Close())
		d.User(a, "last")
		d.MemoryEqualsDisk(a)
	}
}

// interleaving lets a program that takes no lock write between the check and the write of an append.
type interleaving struct {
	backend.Backend
	before, after func()
}

func (b *interleaving) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	if b.before == nil {
		return b.Backend.Append(ctx, at, records...)
	}
	b.before()
	b.before = nil
	now, err := b.Stat(ctx, at.Name)
	if err != nil {
		return now, err
	}
	if _, err = b.Backend.Append(ctx, now, records...); err != nil {
		return now, err
	}
	b.after()
	return backend.Log{}, backend.ErrInterleaved
}

// Another process writes directly before and after our write: our entry is in the log once.
func TestInterleaved(t *testing.T) {
	d := newDesk(t)
	path := d.Put("x/a.jsonl", world.Log("s", "/w", world.Said("a", "", "one")))
	var inner *interleaving
	st := d.wrapping(func(b backend.Backend) backend.Backend {
		inner = &interleaving{Backend: b}
		return inner
	})
	s := d.Closing(st.OpenWrite(t.Context(), path, d.fill(store.CreateOptions{})))
	inner.before = func() { d.AppendPlain(path, world.Said("b", "a", "theirs")+"\n") }
	inner.after = func() { d.AppendPlain(path, world.Said("c", "b", "theirs too")+"\n") }
	got := d.Say(s, "user", "ours")
	if got.Foreign != 2 || got.Outcome != store.PolicyBranch || s.Leaf() != got.ID || d.parent(s, got.ID) != "a" {
		t.Errorf("%+v, leaf %s", got, s.Leaf())
	}
	d.MemoryEqualsDisk(s)
	if n := strings.Count(strings.Join(d.ReadLines(path), "\n"), "ours"); n != 1 {
		t.Errorf("it is there %d times", n)
	}
	d.User(s, "next")
	d.Same(d.Seen(path), []string{"one", "ours", "next"})
	d.MemoryEqualsDisk(s)
}

// A session that is opened while another process rewrites it is the old one or the new one.
func TestOpenAmongRewrites(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a, _, _ := d.two("")
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := a.Rename(context.Background(), "x"); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range 100 {
		r, err := d.Open(t.Context(), a.Path(), store.OpenOptions{})
		d.Must(err)
		d.Must(r.Close())
		w, err := d.OpenWrite(t.Context(), a.Path(), d.fill(store.CreateOptions{}))
		d.Must(err)
		d.Must(w.Close())
	}
	close(stop)
	group.Wait()
}

// locked is a backend whose log another process locks for a while.
type locked struct {
	backend.Backend
	times *int
}

func (b locked) busy() error {
	if *b.times == 0 {
		return nil
	}
	*b.times--
	return fmt.Errorf("%w: by a test", backend.ErrLocked)
}

func (b locked) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	if err := b.busy(); err != nil {
		return backend.Log{}, err
	}
	return b.Backend.Append(ctx, at, records...)
}

func (b locked) Replace(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	if err := b.busy(); err != nil {
		return backend.Log{}, err
	}
	return b.Backend.Replace(ctx, at, records...)
}

// A log that is locked for too long is not written; the session goes on when the lock is free again.
func TestLockedIsNotForever(t *testing.T) {
	d := newDesk(t)
	times := 0
	d.Store = d.wrapping(func(b backend.Backend) backend.Backend { return locked{b, &times} })
	s := d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever}})
	root := d.User(s, "root")
	before := d.ReadLines(s.Path())
	for range 2 {
		times = 1
		if _, err := s.AppendMessage(t.Context(), world.Message("user", "later")); !errors.Is(err, backend.ErrLocked) {
			t.Errorf("append: %v", err)
		}
		times = 1
		if err := s.Rename(t.Context(), "later"); !errors.Is(err, backend.ErrLocked) {
			t.Errorf("rename: %v", err)
		}
	}
	d.Same(d.ReadLines(s.Path()), before)
	if s.Leaf() != root || s.Tree().Len() != 1 {
		t.Errorf("leaf %s, %d entries", s.Leaf(), s.Tree().Len())
	}
	d.User(s, "now")
	d.Must(s.Rename(t.Context(), "now"))
	d.Same(d.Texts(s), []string{"root", "now"})
	d.MemoryEqualsDisk(s)
}

// stalled is a backend that waits with an append until its context ends.
type stalled struct {
	backend.Backend
	begun chan struct{} // nil: it does not wait
}

func (b *stalled) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	if begun := b.begun; begun != nil {
		b.begun = nil
		close(begun)
		<-ctx.Done()
		return backend.Log{}, context.Cause(ctx)
	}
	return b.Backend.Append(ctx, at, records...)
}

// telling returns a clock, and a channel that receives when the clock is read: an entry is proposed then.
func telling() (asked chan struct{}, clock func() time.Time) {
	asked = make(chan struct{}, 1)
	return asked, func() time.Time {
		select {
		case asked <- struct{}{}:
		default:
		}
		return time.Now()
	}
}

// An append that is cancelled while others wait behind it is left out: the next one follows the entry before it.
func TestCancelledIsSkipped(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	slow := &stalled{}
	d.Store = d.wrapping(func(b backend.Backend) backend.Backend {
		slow.Backend = b
		return slow
	})
	proposed, clock := telling()
	s, err := d.Create(t.Context(), store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever, Clock: clock}})
	d.Must(err)
	defer s.Close()
	root := d.User(s, "root")
	begun := make(chan struct{})
	slow.begun = begun
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := s.AppendMessage(ctx, world.Message("user", "cancelled")); !errors.Is(err, context.Canceled) {
			t.Errorf("append: %v", err)
		}
	})
	<-begun
	for len(proposed) > 0 {
		<-proposed
	}
	group.Go(func() {
		if _, err := s.AppendMessage(t.Context(), world.Message("user", "next")); err != nil {
			t.Errorf("append: %v", err)
		}
	})
	<-proposed // the next one holds the lock until it is queued
	s.Leaf()
	cancel()
	group.Wait()
	d.Same(d.Texts(s), []string{"root", "next"})
	if e, ok := s.Tree().Leaf(); !ok || e.Parent != root {
		t.Errorf("it follows %s, not %s", e.Parent, root)
	}
	d.MemoryEqualsDisk(s)
}

// keeping is a backend that keeps the lists of records of the appends that fail.
type keeping struct {
	locked
	kept *[][][]byte
}

func (b keeping) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	now, err := b.locked.Append(ctx, at, records...)
	if err != nil {
		*b.kept = append(*b.kept, records)
	}
	return now, err
}

// A list of records belongs to the backend after an append that failed: the session does not use its memory again.
func TestRecordsOfFailedAppend(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	times := 0
	var kept [][][]byte
	d.Store = d.wrapping(func(b backend.Backend) backend.Backend { return keeping{locked{b, &times}, &kept} })
	s := d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever}})
	d.User(s, "one")
	times = 1
	if _, err := s.AppendMessage(t.Context(), world.Message("user", "two")); !errors.Is(err, backend.ErrLocked) {
		t.Fatal(err)
	}
	d.User(s, "three")
	if len(kept) != 1 || len(kept[0]) != 1 || !bytes.Contains(kept[0][0], []byte("two")) {
		t.Errorf("the backend kept %q", kept)
	}
}
