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
func limits(b *bench) error {
	path, log, err := b.session()
	if err != nil {
		return err
	}
	// Larger buffers make no difference, smaller ones cost calls.
	buf := make([]byte, 1<<20)
	read, err := b.best(func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		for {
			if _, err := f.Read(buf); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
	if err != nil {
		return err
	}
	lines := 0
	newlines, err := b.best(func() error {
		lines = 0
		// IndexByte uses vectors: about the speed of memory.
		for rest := log; ; lines++ {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				return nil
			}
			rest = rest[i+1:]
		}
	})
	if err != nil {
		return err
	}
	// Measured once for all groups.
	std, err := b.encodingJSON()
	if err != nil {
		return err
	}
	size := fmt.Sprintf("%s, %d lines", mb(int64(len(log))), lines)
	b.add(row{what: "limit: read the file, 1 MB buffer", figure: ms(read), baseline: fmt.Sprintf("%s, %.1f GB/s", size, speed(len(log), read))})
	b.add(row{what: "limit: find newlines in memory", figure: ms(newlines), baseline: fmt.Sprintf("%s, %.1f GB/s", size, speed(len(log), newlines))})
	b.add(row{what: "encoding/json, RawMessage envelope", figure: ms(std), baseline: fmt.Sprintf("%s, %.0f MB/s", size, 1000*speed(len(log), std))})
	return nil
}

// scan decodes lines in memory into a tree. The target is a rate, given for this machine and for the one on which it was
// set.
func scan(b *bench) error {
	_, log, err := b.session()
	if err != nil {
		return err
	}
	std, err := b.encodingJSON()
	if err != nil {
		return err
	}
	d, err := b.best(func() error { return decode(pi.Omp, log) })
	if err != nil {
		return err
	}
	here := speed(len(log), d)
	b.add(row{what: "scan envelopes into a tree", figure: ms(d), baseline: "encoding/json " + ms(std), ratio: float64(std) / float64(d)})
	b.add(row{what: "  on this machine", figure: ms(d), ratio: here, unit: "GB/s", target: 1})
	b.add(row{what: "  where encoding/json does 86 MB/s", figure: ms(d), baseline: fmt.Sprintf("here %.0f MB/s", 1000*speed(len(log), std)),
		ratio: here * slowJSON / speed(len(log), std), unit: "GB/s", target: 1})
	return nil
}
