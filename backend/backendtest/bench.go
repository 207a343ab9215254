package backendtest

import (
	"bytes"
	"slices"
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
	appends := func(name string, first int, records ...[]byte) { // after a first record of that many bytes
		b.Run("Append/"+name, func(b *testing.B) {
			be, at := start(b, bytes.Repeat([]byte("y"), first))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if at, err = be.Append(b.Context(), at, records...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	appends("records=1", 0, record)
	appends("records=100", 0, slices.Repeat([][]byte{record}, 100)...)
	appends("long", 100<<20, record)
	b.Run("Read", func(b *testing.B) {
		be, at := start(b, slices.Repeat([][]byte{record}, 20_000)...)
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
