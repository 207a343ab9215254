//go:build unix

package transcript_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/transcript"
)

// BenchmarkPage measures what a page of a session of 100,000 entries takes: the first one with opening, the skeleton alone,
// and later pages.
func BenchmarkPage(b *testing.B) {
	pi := gen.Session(gen.Options{Seed: 1, Entries: 100_000, Branches: 200})
	for _, l := range []struct {
		name string
		log  func() []byte
	}{
		{"omp", func() []byte { return pi }},
		{"claude", func() []byte { return gen.Claude(pi) }},
		{"codex", func() []byte { return gen.Codex(pi) }},
	} {
		b.Run(l.name, func(b *testing.B) {
			dir := b.TempDir()
			file := filepath.Join(dir, "log.jsonl")
			if err := os.WriteFile(file, l.log(), 0o600); err != nil {
				b.Fatal(err)
			}
			st := world.Store(dir)
			defer st.Close()
			b.Run("first", func(b *testing.B) {
				defer cpu(b)()
				for b.Loop() {
					s := mustOpen(b, st, file)
					pageOf(b, transcript.New(s, nil), transcript.Request{})
					s.Close()
				}
			})
			s := mustOpen(b, st, file)
			defer s.Close()
			b.Run("open", func(b *testing.B) {
				defer cpu(b)()
				for b.Loop() {
					mustOpen(b, st, file).Close()
				}
			})
			b.Run("skeleton", func(b *testing.B) {
				b.ReportAllocs()
				defer cpu(b)()
				for b.Loop() {
					transcript.NewSkeleton(s.Tree())
				}
				b.ReportMetric(float64(s.Tree().Len()), "entries")
			})
			d := transcript.New(s, nil)
			mid := s.Tree().At(s.Tree().Len() / 2).ID
			leaf, err := d.Skeleton().Through(mid)
			if err != nil {
				b.Fatal(err)
			}
			b.Run("again", func(b *testing.B) {
				defer cpu(b)()
				for b.Loop() {
					pageOf(b, d, transcript.Request{})
				}
			})
			b.Run("middle", func(b *testing.B) {
				defer cpu(b)()
				for b.Loop() {
					pageOf(b, d, transcript.Request{Leaf: &leaf, Around: mid})
				}
			})
			b.Run("focused", func(b *testing.B) {
				defer cpu(b)()
				for b.Loop() {
					pageOf(b, d, transcript.Request{Mode: transcript.Focused})
				}
			})
			b.Run("model", func(b *testing.B) {
				defer cpu(b)()
				for b.Loop() {
					pageOf(b, d, transcript.Request{Mode: transcript.Model})
				}
			})
			b.Run("changes", func(b *testing.B) {
				defer cpu(b)()
				for b.Loop() {
					if _, err := d.Changes(b.Context(), nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// cpu reports the processor time of an operation, so that other programs do not count.
func cpu(b *testing.B) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64((used()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op") }
}

func mustOpen(b *testing.B, st *store.Store, file string) *store.Session {
	b.Helper()
	s, err := st.Open(b.Context(), file, store.OpenOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// pageOf makes the content of a page: a window and the rail.
func pageOf(b *testing.B, d *transcript.Document, r transcript.Request) {
	b.Helper()
	w, err := d.Window(b.Context(), r)
	if err != nil {
		b.Fatal(err)
	}
	if len(w.Blocks) == 0 {
		b.Fatal("no blocks")
	}
	if _, err := d.Rail(b.Context(), transcript.RailRequest{Leaf: r.Leaf, Here: w.Last}); err != nil {
		b.Fatal(err)
	}
}
