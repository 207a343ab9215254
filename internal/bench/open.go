package main

import (
	"context"
	"fmt"
	"path/filepath"
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
func open(b *bench) {
	path, log := b.session()
	std, s := b.encodingJSON(), b.newStore()
	short := b.best(func() { openContext(s, path, false) })
	full := b.best(func() { openContext(s, path, true) })
	// The time of pi, scaled to this machine and this many bytes.
	pi := time.Duration(piSeconds * 1e9 * float64(len(log)) / 1e8 / b.scale())
	b.faster("open + context", short, "encoding/json", std, 20)
	b.faster("open + context", short, "pi 1.5.0, scaled,", pi, 10)
	b.faster("  and all its messages", full, "encoding/json", std, 0)
	b.faster("  and all its messages", full, "pi 1.5.0, scaled,", pi, 10)
}

// openContext opens a session and computes its context; with messages it reads each of them.
func openContext(s *treeline.Store, path string, messages bool) {
	ctx := context.Background()
	sess := must(s.Open(ctx, path, treeline.OpenOptions{}))
	defer sess.Close()
	c := must(sess.Context(ctx, sess.Tree().LeafID(), treeline.ContextOptions{}))
	if !messages {
		return
	}
	for _, err := range c.Messages() {
		check(err)
	}
}

// heap measures the memory of an open session: it must depend on the number of entries and not on their size. There are
// three logs: many entries, few, and few large ones.
func heap(b *bench) {
	entries := b.size(58_000)
	few := entries / 10
	path := filepath.Join(b.dir, "heap.jsonl")
	for _, c := range []struct {
		what string
		gen.Options
	}{
		{"live heap of an entry", gen.Options{Seed: 1, Entries: entries}},
		{"  fewer entries", gen.Options{Seed: 1, Entries: few}},
		// One entry in four has an image: ten times the bytes.
		{"  as few, ten times as large", gen.Options{Seed: 1, Entries: few, Images: few / 4}},
	} {
		write(path, c.Options)
		before := live()
		sess := must(b.newStore().Open(context.Background(), path, treeline.OpenOptions{}))
		perEntry := float64(live()-before) / float64(c.Entries)
		if n := sess.Tree().Len(); n != c.Entries {
			check(fmt.Errorf("%s has %d entries, not %d", path, n, c.Entries))
		}
		baseline := fmt.Sprintf("%d entries, %s", c.Entries, mb(sess.Log().Size))
		b.add(row{what: c.what, figure: fmt.Sprintf("%.0f bytes", perEntry), baseline: baseline, ratio: perEntry, unit: "B", target: 200, most: true})
		check(sess.Close())
	}
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
func contexts(b *bench) {
	large, sizes := b.size(100_000), []int{10_000, 100_000, 1_000_000}
	if b.quick {
		sizes = sizes[:2]
	}
	path := filepath.Join(b.dir, "context.jsonl")
	write(path, gen.Options{Seed: 2, Entries: large, CompactEvery: -1})
	d := b.contextTime(path)
	b.add(row{what: fmt.Sprintf("context of %d open entries", large), figure: ms(d), ratio: float64(d) / 1e6, unit: "ms", target: 5, most: true})
	first := 0.0 // ns per entry of the first chain
	for _, n := range sizes {
		each := float64(b.contextTime(b.chain(n))) / float64(n)
		r := row{what: fmt.Sprintf("  a chain of %d", n), figure: fmt.Sprintf("%.1f ns each", each)}
		if first == 0 {
			first = each
		} else { // Ten times the entries need slower caches: twice the time for each is still linear.
			r.baseline = fmt.Sprintf("a chain of %d, %.1f ns each", sizes[0], first)
			r.ratio, r.target, r.most = each/first, 2, true
		}
		b.add(r)
	}
}

// contextTime returns the time of one context. Short ones are measured many at a time, since the clock is too coarse.
func (b *bench) contextTime(path string) time.Duration {
	ctx := context.Background()
	sess := must(b.newStore().Open(ctx, path, treeline.OpenOptions{}))
	defer sess.Close()
	times := max(1, 1_000_000/sess.Tree().Len())
	var last *session.Context
	d := b.best(func() {
		for range times {
			last = must(sess.Context(ctx, sess.Tree().LeafID(), treeline.ContextOptions{}))
		}
	})
	runtime.KeepAlive(last)
	return d / time.Duration(times)
}
