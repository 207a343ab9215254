package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

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
	std := b.encodingJSON()
	size := fmt.Sprintf("%s, %d lines", mb(int64(len(log))), lines)
	b.add(row{what: "limit: read the file, 1 MB buffer", figure: ms(read), baseline: fmt.Sprintf("%s, %.1f GB/s", size, speed(len(log), read))})
	b.add(row{what: "limit: find newlines in memory", figure: ms(newlines), baseline: fmt.Sprintf("%s, %.1f GB/s", size, speed(len(log), newlines))})
	b.add(row{what: "encoding/json, RawMessage envelope", figure: ms(std), baseline: fmt.Sprintf("%s, %.0f MB/s", size, 1000*speed(len(log), std))})
}

// scan decodes lines in memory into a tree. The target is a rate, given for this machine and for the one on which it was
// set.
func scan(b *bench) {
	_, log := b.session()
	std := b.encodingJSON()
	d := b.best(func() { decode(pi.Omp, log) })
	here := speed(len(log), d)
	b.add(row{what: "scan envelopes into a tree", figure: ms(d), baseline: "encoding/json " + ms(std), ratio: times(std, d)})
	b.add(row{what: "  on this machine", figure: ms(d), ratio: here, unit: "GB/s", target: 1})
	b.add(row{what: "  where encoding/json does 86 MB/s", figure: ms(d), baseline: fmt.Sprintf("here %.0f MB/s", 1000*speed(len(log), std)),
		ratio: here / b.scale(), unit: "GB/s", target: 1})
}
