package file_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/backendtest"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable"
)

func BenchmarkFile(b *testing.B) {
	for _, level := range []backend.Durability{backend.DurabilityNone, backend.DurabilityAlways} {
		b.Run(string(level), func(b *testing.B) {
			backendtest.Bench(b, func(b *testing.B) backendtest.Place {
				root := b.TempDir()
				return backendtest.Place{Open: func() (backend.Backend, error) {
					return file.New(root, file.Options{Durability: level})
				}}
			})
		})
	}
	// The baseline of an append: a loop that only writes the same bytes, and syncs.
	for name, sync := range map[string]bool{"none": false, "always": true} {
		b.Run(name+"/limit=write", func(b *testing.B) {
			f, err := durable.OS{}.Open(filepath.Join(b.TempDir(), "log"), os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_RDWR, 0o600)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			line := append(bytes.Repeat([]byte("x"), 500), '\n')
			for b.Loop() {
				if _, err := f.Write(line); err != nil {
					b.Fatal(err)
				}
				if sync {
					if err := f.Sync(durable.Data); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkAppendAgainstWrite measures an append at level none in multiples of a bare write. Both alternate in small blocks,
// so that a busy machine slows down both; the median of the blocks counts.
func BenchmarkAppendAgainstWrite(b *testing.B) {
	const block = 500
	root := b.TempDir()
	be := open(b, root, file.Options{Durability: backend.DurabilityNone})
	at, err := be.Create(b.Context(), "folder/log.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	f, err := durable.OS{}.Open(filepath.Join(root, "folder", "bare"), os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := append(bytes.Repeat([]byte("x"), 500), '\n')
	var ratios []float64
	for b.Loop() {
		start := time.Now()
		for range block {
			if _, err := f.Write(line); err != nil {
				b.Fatal(err)
			}
		}
		bare := time.Since(start)
		start = time.Now()
		for range block {
			if at, err = be.Append(b.Context(), at, line[:500]); err != nil {
				b.Fatal(err)
			}
		}
		ratios = append(ratios, float64(time.Since(start))/float64(bare))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x/write")
	b.ReportMetric(0, "ns/op")
}
