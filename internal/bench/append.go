package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/durable"
)

// said is a message of 500 bytes of text, as an agent passes it.
var said = []byte(`{"role":"user","content":"` + strings.Repeat("x", 500) + `"}`)

// appends measures appends to sessions, locks included, beside loops that only write.
func appends(b *bench) {
	b.appendNone()
	b.appendAlways()
}

// fresh creates a session in a folder of its own, because the number of files in a folder affects the next creation. Creation
// is not deferred.
func (b *bench) fresh(level treeline.Durability) *treeline.Session {
	home := must(os.MkdirTemp(b.dir, "append-"))
	st := must(treeline.New(treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }}))
	return must(st.Create(context.Background(), treeline.CreateOptions{
		CWD: "/work", Write: treeline.WriteOptions{Durability: level, Defer: dialect.DeferNever},
	}))
}

// say appends n messages.
func say(s *treeline.Session, n int) error {
	for range n {
		if _, err := s.AppendMessage(context.Background(), said); err != nil {
			return err
		}
	}
	return nil
}

// bareFile is opened as a log is, without anything else.
func (b *bench) bareFile() durable.File {
	path := filepath.Join(b.dir, "bare")
	check(os.RemoveAll(path))
	return must(durable.OS{}.Open(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600))
}

// bare writes n records, and syncs each if sync is set. The record is one of a session, so both sides write the same bytes.
func bare(f durable.File, record []byte, n int, sync bool) {
	for range n {
		must(f.Write(record))
		if sync {
			check(f.Sync(durable.Data))
		}
	}
}

// appendNone measures CPU time at level none, where nothing waits for a disk.
func (b *bench) appendNone() {
	// In pieces of a thousand: see bestPieces.
	const n, pieces, enough = 10_000, 10, 200 * time.Millisecond
	s := b.fresh(treeline.DurabilityNone)
	record := lastRecord(s)
	// Creating the session or the file is not measured.
	var f durable.File
	plain := b.bestPieces(enough, func() { f = b.bareFile(); runtime.GC() }, pieces, func(k int) {
		bare(f, record, n/pieces, false)
		if k == pieces-1 {
			check(f.Close())
		}
	})
	var empty *treeline.Session
	ours := b.bestPieces(enough, func() { empty = b.fresh(treeline.DurabilityNone); runtime.GC() }, pieces, func(k int) {
		check(say(empty, n/pieces))
		if k == pieces-1 {
			check(empty.Close())
		}
	})
	// A lock, a stat, a check of the message and a tree entry may cost four bare writes.
	b.slower("append 10,000 messages, level none", ours, "write(2)", plain, 5)
	// The same into a log that is ten times as long by then.
	check(say(s, 9*n))
	later := b.bestPieces(enough, runtime.GC, pieces, func(int) { check(say(s, n/pieces)) })
	// The cost of an append must not depend on the length of the log; a third more leaves room for growing memory.
	b.slower("the same behind 90,000 others", later, "at the beginning", ours, 1.3)
	check(s.Close())
}

// lastRecord appends messages and returns the line of the last. There are two, so that the record has a parent.
func lastRecord(s *treeline.Session) []byte {
	check(say(s, 2))
	e, ok := s.Tree().Leaf()
	if !ok {
		check(fmt.Errorf("%s has no entry", s.Path()))
	}
	return append(must(e.Raw()), '\n')
}

// appendAlways measures elapsed time, since it waits for the disk: by turns in small blocks, so that a busy disk affects
// both sides.
func (b *bench) appendAlways() {
	// Twenty at a time: long enough to measure, short enough that the disk is equally busy for the other side.
	const n, appenders, shared = 20, 64, 10 * 64
	s := b.fresh(treeline.DurabilityAlways)
	defer s.Close()
	record, f := lastRecord(s), b.bareFile()
	defer f.Close()
	one := func() { check(say(s, n)) }
	rate, base, ratio := b.byTurns(one, n, func() { bare(f, record, n, true) }, n)
	// 0.8: a durable append may cost a quarter more than the sync alone.
	b.add(row{what: "append, level always", figure: rate, baseline: "write+fdatasync " + base, ratio: ratio, target: 0.8})
	rate, base, ratio = b.byTurns(func() { together(s, appenders, shared) }, shared, one, n)
	// Many appenders share one sync: group commit.
	b.add(row{what: "64 appenders, level always", figure: rate, baseline: "one " + base, ratio: ratio, target: 8})
}

// byTurns runs two functions of n and m steps by turns, and returns the steps per second of both and their ratio: the median
// pair, since both sides wait for the same disk.
func (b *bench) byTurns(f func(), n int, base func(), m int) (rate, baseRate string, ratio float64) {
	type pair struct{ f, base float64 } // steps per second
	var pairs []pair
	for range 8 * b.rounds {
		start := time.Now()
		base()
		middle := time.Now()
		f()
		pairs = append(pairs, pair{float64(n) / time.Since(middle).Seconds(), float64(m) / middle.Sub(start).Seconds()})
	}
	slices.SortFunc(pairs, func(x, y pair) int { return cmp.Compare(x.f/x.base, y.f/y.base) })
	p := pairs[len(pairs)/2]
	return fmt.Sprintf("%.0f/s", p.f), fmt.Sprintf("%.0f/s", p.base), p.f / p.base
}

// together lets appenders share n messages equally.
func together(s *treeline.Session, appenders, n int) {
	var group sync.WaitGroup
	errs := make([]error, appenders)
	for i := range errs {
		group.Go(func() { errs[i] = say(s, n/appenders) })
	}
	group.Wait()
	check(errors.Join(errs...))
}
