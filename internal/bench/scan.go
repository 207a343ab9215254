package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/treeline-dev/treeline/dialect/pi"
)

// limits shows lower bounds: reading the bytes, and finding the lines. They have no targets.
func limits(b *bench) {
	path, log := b.session()
	// Larger buffers make no difference, smaller ones cost calls.
	buf := make([]byte, 1<<20)
	read := b.best(func() {
		f := must(os.Open(path))
		defer f.Close()
		_, err := f.Read(buf)
		for err == nil {
			_, err = f.Read(buf)
		}
		if !errors.Is(err, io.EOF) {
			check(err)
		}
	})
	lines := 0
	// IndexByte uses vectors: about the speed of memory.
	newlines := b.best(func() {
		lines = 0
		for rest := log; ; lines++ {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				return
			}
			rest = rest[i+1:]
		}
	})
	add := func(what string, d time.Duration) {
		rate := fmt.Sprintf("%.1f GB/s", speed(len(log), d))
		if speed(len(log), d) < 1 {
			rate = fmt.Sprintf("%.0f MB/s", 1000*speed(len(log), d))
		}
		b.add(row{what: what, figure: ms(d), baseline: fmt.Sprintf("%s, %d lines, %s", mb(int64(len(log))), lines, rate)})
	}
	add("limit: read the file, 1 MB buffer", read)
	add("limit: find newlines in memory", newlines)
	add("encoding/json, RawMessage envelope", b.encodingJSON())
}

// scan decodes lines in memory into a tree. The target is a rate, given for this machine and for the one on which it was
// set.
func scan(b *bench) {
	_, log := b.session()
	std := b.encodingJSON()
	d := b.best(func() { decode(pi.Omp, log) })
	here := speed(len(log), d)
	b.faster("scan envelopes into a tree", d, "encoding/json", std, 0)
	b.add(row{what: "  on this machine", figure: ms(d), ratio: here, unit: "GB/s", target: 1})
	b.add(row{what: "  where encoding/json does 86 MB/s", figure: ms(d),
		baseline: fmt.Sprintf("here %.0f MB/s", 1000*speed(len(log), std)), ratio: here / b.scale(), unit: "GB/s", target: 1})
}
