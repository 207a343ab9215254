package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
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
func appends(b *bench) error {
	if err := b.appendNone(); err != nil {
		return err
	}
	return b.appendAlways()
}

// fresh creates a session in a folder of its own, because the number of files in a folder affects the next creation.
func (b *bench) fresh(level treeline.WriteOptions) (*treeline.Session, error) {
	home, err := os.MkdirTemp(b.dir, "append-")
	if err != nil {
		return nil, err
	}
	st, err := treeline.New(treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }})
	if err != nil {
		return nil, err
	}
	// No deferred creation.
	level.Defer = dialect.DeferNever
	return st.Create(context.Background(), treeline.CreateOptions{CWD: "/work", Write: level})
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
func (b *bench) bareFile() (durable.File, error) {
	path := filepath.Join(b.dir, "bare")
	if err := os.RemoveAll(path); err != nil {
		return nil, err
	}
	return durable.OS{}.Open(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
}

// bare writes n records, and syncs each if sync is set. The record is one of a session, so both sides write the same bytes.
func bare(f durable.File, record []byte, n int, sync bool) error {
	for range n {
		if _, err := f.Write(record); err != nil {
			return err
		}
		if sync {
			if err := f.Sync(durable.Data); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendNone measures CPU time at level none, where nothing waits for a disk.
func (b *bench) appendNone() error {
	// In pieces of a thousand: see bestPieces.
	const n, pieces = 10_000, 10
	level := treeline.WriteOptions{Durability: treeline.DurabilityNone}
	s, err := b.fresh(level)
	if err != nil {
		return err
	}
	record, err := lastRecord(s)
	if err != nil {
		return err
	}
	// Creating the session or the file is not measured.
	var f durable.File
	plain, err := b.bestPieces(func() (err error) {
		f, err = b.bareFile()
		return err
	}, pieces, func(k int) error {
		err := bare(f, record, n/pieces, false)
		if err == nil && k == pieces-1 {
			err = f.Close()
		}
		return err
	})
	if err != nil {
		return err
	}
	var empty *treeline.Session
	ours, err := b.bestPieces(func() (err error) {
		empty, err = b.fresh(level)
		return err
	}, pieces, func(k int) error {
		err := say(empty, n/pieces)
		if err == nil && k == pieces-1 {
			err = empty.Close()
		}
		return err
	})
	if err != nil {
		return err
	}
	// A lock, a stat, a check of the message and a tree entry may cost four bare writes.
	b.add(row{what: "append 10,000 messages, level none", figure: ms(ours), baseline: "write(2) " + ms(plain),
		ratio: float64(ours) / float64(plain), target: 5, most: true})
	// The same into a log that is ten times as long by then.
	if err := say(s, 9*n); err != nil {
		return err
	}
	later, err := b.bestPieces(func() error { return nil }, pieces, func(int) error { return say(s, n/pieces) })
	if err != nil {
		return err
	}
	// Appending must not depend on the length of the log; a third more leaves room for growing memory.
	b.add(row{what: "the same behind 90,000 others", figure: ms(later), baseline: "at the beginning " + ms(ours),
		ratio: float64(later) / float64(ours), target: 1.3, most: true})
	return s.Close()
}

// lastRecord appends messages and returns the line of the last.
func lastRecord(s *treeline.Session) ([]byte, error) {
	// Two, so that the record has a parent like all others.
	if err := say(s, 2); err != nil {
		return nil, err
	}
	e, ok := s.Tree().Leaf()
	if !ok {
		return nil, fmt.Errorf("%s: there is no entry", filepath.Base(s.Path()))
	}
	raw, err := e.Raw()
	return append(raw, '\n'), err
}

// appendAlways measures elapsed time, since it waits for the disk: by turns in small blocks, so that a busy disk affects
// both sides.
func (b *bench) appendAlways() error {
	const n, appenders, shared = 20, 64, 10 * 64
	s, err := b.fresh(treeline.WriteOptions{Durability: treeline.DurabilityAlways})
	if err != nil {
		return err
	}
	defer s.Close()
	record, err := lastRecord(s)
	if err != nil {
		return err
	}
	f, err := b.bareFile()
	if err != nil {
		return err
	}
	defer f.Close()
	// Twenty at a time: long enough to measure, short enough that the disk is equally busy for the other side.
	one := func() error { return say(s, n) }
	rate, base, ratio, err := b.byTurns(one, n, func() error { return bare(f, record, n, true) }, n)
	if err != nil {
		return err
	}
	// 0.8: a durable append may cost a quarter more than the sync alone.
	b.add(row{what: "append, level always", figure: rate, baseline: "write+fdatasync " + base, ratio: ratio, target: 0.8})
	rate, base, ratio, err = b.byTurns(func() error { return together(s, appenders, shared) }, shared, one, n)
	if err != nil {
		return err
	}
	// Many appenders share one sync: group commit.
	b.add(row{what: "64 appenders, level always", figure: rate, baseline: "one " + base, ratio: ratio, target: 8})
	return nil
}

// byTurns runs two functions of n and m steps by turns, and returns the steps per second of both and their ratio: the median
// pair, since both sides wait for the same disk.
func (b *bench) byTurns(f func() error, n int, base func() error, m int) (rate, baseRate string, ratio float64, err error) {
	type pair struct{ f, base float64 } // steps per second
	var pairs []pair
	for range 8 * b.rounds {
		start := time.Now()
		if err := base(); err != nil {
			return "", "", 0, err
		}
		middle := time.Now()
		if err := f(); err != nil {
			return "", "", 0, err
		}
		pairs = append(pairs, pair{float64(n) / time.Since(middle).Seconds(), float64(m) / middle.Sub(start).Seconds()})
	}
	slices.SortFunc(pairs, func(x, y pair) int { return cmp.Compare(x.f/x.base, y.f/y.base) })
	p := pairs[len(pairs)/2]
	return fmt.Sprintf("%.0f/s", p.f), fmt.Sprintf("%.0f/s", p.base), p.f / p.base, nil
}

// together lets many appenders share n messages. The first n%appenders take one more.
func together(s *treeline.Session, appenders, n int) error {
	var group sync.WaitGroup
	errs := make(chan error, appenders)
	for i := range appenders {
		share := n / appenders
		if i < n%appenders {
			share++
		}
		group.Go(func() { errs <- say(s, share) })
	}
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
