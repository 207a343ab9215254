package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// A Line is a line of input, or the error that ended it.
type Line struct {
	Number int
	Text   []byte
	Err    error
}

// InputLines yields the lines of a stream until it ends or ctx does. A read from a pipe cannot be interrupted, so it has a goroutine, which
// may stay blocked in the read until the process ends.
func InputLines(ctx context.Context, r io.Reader) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		lines := make(chan Line)
		go func() {
			defer close(lines)
			in := bufio.NewReaderSize(r, 64<<10)
			for number := 1; ; number++ {
				text, err := readLine(in, store.MaxRecord)
				// A last line without a newline counts.
				if len(text) == 0 && errors.Is(err, io.EOF) {
					return
				}
				l := Line{number, text, err}
				if errors.Is(err, io.EOF) {
					l.Err = nil
				}
				select {
				case lines <- l:
				case <-ctx.Done():
					return
				}
				if err != nil {
					return
				}
			}
		}()
		for {
			select {
			case l, more := <-lines:
				if !more || !yield(l) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// readLine reads a line of at most most bytes. The buffer for a long line grows eightfold: pages that are not written to take no memory,
// and few old buffers are left behind.
func readLine(in *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		size := len(line) + len(part)
		if size > most {
			return nil, fmt.Errorf("longer than the %s that an entry can have", wire.Size(int64(most)))
		}
		more := errors.Is(err, bufio.ErrBufferFull)
		if (more || line != nil) && size > cap(line) {
			line = append(make([]byte, 0, min(8*size, most)), line...)
		}
		if line = append(line, part...); !more {
			return bytes.TrimSuffix(line, []byte("\n")), err
		}
	}
}
