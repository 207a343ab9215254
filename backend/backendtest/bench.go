package backendtest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/backend"
)

// Bench runs the benchmarks that all backends have, under the same names, so that their tables can be compared.
func Bench(b *testing.B, place func(b *testing.B) Place) {
	record := bytes.Repeat([]byte("x"), 500)
	start := func(b *testing.B, records ...[]byte) (backend.Backend, backend.Log) {
		be, err := place(b).Open()
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = be.Close() })
		at, err := be.Create(b.Context(), "log.jsonl", records...)
		if err != nil {
			b.Fatal(err)
		}
		return be, at
	}
	for _, batch := range []int{1, 100} {
		records := bytes.Split(bytes.TrimSuffix(bytes.Repeat(append(record, '\n'), batch), []byte("\n")), []byte("\n"))
		b.Run(fmt.Sprintf("Append/records=%d", batch), func(b *testing.B) {
			be, at := start(b)
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if at, err = be.Append(b.Context(), at, records...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("Append/long", func(b *testing.B) {
		be, at := start(b, bytes.Repeat([]byte("y"), 100<<20))
		b.ReportAllocs()
		for b.Loop() {
			var err error
			if at, err = be.Append(b.Context(), at, record); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Read", func(b *testing.B) {
		var records [][]byte
		for range 20_000 {
			records = append(records, record)
		}
		be, at := start(b, records...)
		b.SetBytes(at.Size)
		b.ReportAllocs()
		for b.Loop() {
			for _, err := range be.Read(b.Context(), at, 0) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("Stat", func(b *testing.B) {
		be, at := start(b, record)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := be.Stat(b.Context(), at.Name); err != nil {
				b.Fatal(err)
			}
		}
	})
}
