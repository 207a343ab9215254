package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/session"
)

// piSeconds is the time of pi 1.5.0 for a session of 100 MB on the machine of slowJSON.
const piSeconds = 1.35

// open opens a session and computes the context at its leaf. Without messages, as for a list or a tree, no bodies are read;
// with them it is what an agent needs.
func open(b *bench) error {
	path, log, err := b.session()
	if err != nil {
		return err
	}
	std, err := b.encodingJSON()
	if err != nil {
		return err
	}
	s, err := b.newStore()
	if err != nil {
		return err
	}
	short, err := b.best(func() error { return openContext(s, path, false) })
	if err != nil {
		return err
	}
	full, err := b.best(func() error { return openContext(s, path, true) })
	if err != nil {
		return err
	}
	// The time of pi, scaled to this machine and this many bytes.
	pi := time.Duration(piSeconds * 1e9 * float64(len(log)) / 1e8 * slowJSON / speed(len(log), std))
	ratio := func(base, d time.Duration) float64 { return float64(base) / float64(d) }
	b.add(row{what: "open + context", figure: ms(short), baseline: "encoding/json " + ms(std), ratio: ratio(std, short), target: 20})
	b.add(row{what: "open + context", figure: ms(short), baseline: "pi 1.5.0, scaled, " + ms(pi), ratio: ratio(pi, short), target: 10})
	b.add(row{what: "  and all its messages", figure: ms(full), baseline: "encoding/json " + ms(std), ratio: ratio(std, full)})
	b.add(row{what: "  and all its messages", figure: ms(full), baseline: "pi 1.5.0, scaled, " + ms(pi), ratio: ratio(pi, full), target: 10})
	return nil
}

// openContext opens a session and computes its context; with messages it reads each of them.
func openContext(s *treeline.Store, path string, messages bool) error {
	ctx := context.Background()
	sess, err := s.Open(ctx, path, treeline.OpenOptions{})
	if err != nil {
		return err
	}
	defer sess.Close()
	c, err := sess.Context(ctx, sess.Tree().LeafID(), treeline.ContextOptions{})
	if err != nil || !messages {
		return err
	}
	for _, err := range c.Messages() {
		if err != nil {
			return err
		}
	}
	return nil
}

// heap measures the memory of an open session: it must depend on the number of entries and not on their size. There are
// three logs: many entries, few, and few large ones.
func heap(b *bench) error {
	entries := 58_000
	if b.quick {
		entries /= 10
	}
	few := entries / 10
	for _, c := range []struct {
		what string
		gen.Options
	}{
		{"live heap of an entry", gen.Options{Seed: 1, Entries: entries}},
		{"  fewer entries", gen.Options{Seed: 1, Entries: few}},
		// One entry in four has an image: ten times the bytes.
		{"  as few, ten times as large", gen.Options{Seed: 1, Entries: few, Images: few / 4}},
	} {
		path, err := b.write("heap.jsonl", c.Options)
		if err != nil {
			return err
		}
		perEntry, size, err := b.liveHeap(path, c.Entries)
		if err != nil {
			return err
		}
		b.add(row{what: c.what, figure: fmt.Sprintf("%.0f bytes", perEntry),
			baseline: fmt.Sprintf("%d entries, %s", c.Entries, mb(size)), ratio: perEntry, unit: "B", target: 200, most: true})
	}
	return nil
}

func (b *bench) openSession(path string) (*treeline.Session, error) {
	s, err := b.newStore()
	if err != nil {
		return nil, err
	}
	return s.Open(context.Background(), path, treeline.OpenOptions{})
}

// liveHeap returns the HeapAlloc of an open session after several collections.
func (b *bench) liveHeap(path string, entries int) (perEntry float64, size int64, err error) {
	before := live()
	sess, err := b.openSession(path)
	if err != nil {
		return 0, 0, err
	}
	defer sess.Close()
	after := live()
	if n := sess.Tree().Len(); n != entries {
		return 0, 0, fmt.Errorf("%s has %d entries, not %d", path, n, entries)
	}
	return float64(after-before) / float64(entries), sess.Log().Size, nil
}

// live returns the bytes in use. Only the second collection empties pools.
func live() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// contexts measures the context of an open session, without the bytes of its messages. It is linear in the length of the
// path, as the chain of a million shows.
func contexts(b *bench) error {
	large, sizes := 100_000, []int{10_000, 100_000, 1_000_000}
	if b.quick {
		large, sizes = 10_000, sizes[:2]
	}
	path, err := b.write("context.jsonl", gen.Options{Seed: 2, Entries: large, CompactEvery: -1})
	if err != nil {
		return err
	}
	d, err := b.contextTime(path)
	if err != nil {
		return err
	}
	b.add(row{what: fmt.Sprintf("context of %d open entries", large), figure: ms(d), ratio: float64(d) / 1e6, unit: "ms", target: 5, most: true})
	var first time.Duration
	for i, n := range sizes {
		if path, err = b.chain(n); err != nil {
			return err
		}
		if d, err = b.contextTime(path); err != nil {
			return err
		}
		// Ten times the entries need slower caches: twice the time for each is still linear.
		r := row{what: fmt.Sprintf("  a chain of %d", n), figure: fmt.Sprintf("%.1f ns each", float64(d)/float64(n))}
		if i == 0 {
			first = d
		} else {
			r.baseline = fmt.Sprintf("a chain of %d, %.1f ns each", sizes[0], float64(first)/float64(sizes[0]))
			r.ratio, r.target, r.most = float64(d)/float64(n)/(float64(first)/float64(sizes[0])), 2, true
		}
		b.add(r)
	}
	return nil
}

// contextTime returns the time of one context. Short ones are measured many at a time, since the clock is too coarse.
func (b *bench) contextTime(path string) (time.Duration, error) {
	ctx := context.Background()
	sess, err := b.openSession(path)
	if err != nil {
		return 0, err
	}
	defer sess.Close()
	times := max(1, 1_000_000/sess.Tree().Len())
	var last *session.Context
	d, err := b.best(func() error {
		for range times {
			if last, err = sess.Context(ctx, sess.Tree().LeafID(), treeline.ContextOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	runtime.KeepAlive(last)
	return d / time.Duration(times), err
}
