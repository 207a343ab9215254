package store_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store"
)

// bare returns a file that is written without any safeguards: the baseline for appends.
func bare(b *testing.B) durable.File {
	b.Helper()
	f, err := durable.OS{}.Open(filepath.Join(b.TempDir(), "bare"), os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f
}

func benched(b *testing.B, level store.Durability) *store.Session {
	b.Helper()
	home := b.TempDir()
	opt := store.CreateOptions{CWD: "/w", Write: store.WriteOptions{Durability: level, Defer: dialect.DeferNever}}
	s, err := world.Store(home).Create(context.Background(), opt)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// BenchmarkAppend reports how many times a bare write an append costs, lock included. Both take turns in small blocks, so that a busy
// machine slows both; the median of the blocks counts.
func BenchmarkAppend(b *testing.B) {
	for _, level := range []store.Durability{store.DurabilityNone, store.DurabilityAlways} {
		b.Run(string(level), func(b *testing.B) {
			block := 500
			if level == store.DurabilityAlways {
				block = 20
			}
			s, f := benched(b, level), bare(b)
			m := world.Message("user", strings.Repeat("x", 500))
			line := append(slices.Clone(m), strings.Repeat(" ", 107)...)
			var ratios []float64
			for b.Loop() {
				start := time.Now()
				for range block {
					if _, err := f.Write(line); err != nil {
						b.Fatal(err)
					}
					if level == store.DurabilityAlways {
						if err := f.Sync(durable.Data); err != nil {
							b.Fatal(err)
						}
					}
				}
				plain := time.Since(start)
				start = time.Now()
				for range block {
					if _, err := s.AppendMessage(b.Context(), m); err != nil {
						b.Fatal(err)
					}
				}
				ratios = append(ratios, float64(time.Since(start))/float64(plain))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "x/write")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2*block), "ns/append")
		})
	}
}

// BenchmarkAppenders measures many appenders of one session, which share the wait for the disk.
func BenchmarkAppenders(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(map[int]string{1: "one", 64: "sixty-four"}[n], func(b *testing.B) {
			s := benched(b, store.DurabilityAlways)
			m := world.Message("user", strings.Repeat("x", 500))
			var group sync.WaitGroup
			each := (b.N + n - 1) / n
			b.ResetTimer()
			for range n {
				group.Go(func() {
					for range each {
						if _, err := s.AppendMessage(b.Context(), m); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(n*each)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}
