package file

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/treeline-dev/treeline/backend"
)

// Ends reads the beginning and the end of a log: as many bytes as head and tail have room for, the tail only of what the
// head does not reach. It gives how many there are of each. It is for lists, and costs half of the system calls of Open:
// a file that was written to meanwhile is not noticed unless it became shorter, because a list is old anyway when it is
// read.
func (b *Backend) Ends(ctx context.Context, at backend.Log, head, tail []byte) (inHead, inTail int, err error) {
	path, err := b.begin(ctx, at.Name)
	if err != nil {
		return 0, 0, err
	}
	inHead = int(min(int64(len(head)), at.Size))
	inTail = int(min(int64(len(tail)), at.Size-int64(inHead)))
	f, err := b.fs.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return 0, 0, failed(at.Name, err)
	}
	defer f.Close()
	if err := readEnds(f, at.Size, head[:inHead], tail[:inTail]); err != nil {
		return 0, 0, failed(at.Name, err)
	}
	return inHead, inTail, nil
}

func readEnds(r io.ReaderAt, size int64, head, tail []byte) error {
	for _, part := range []struct {
		b  []byte
		at int64
	}{{head, 0}, {tail, size - int64(len(tail))}} {
		if len(part.b) == 0 {
			continue
		}
		if n, err := r.ReadAt(part.b, part.at); n < len(part.b) {
			if err == nil || errors.Is(err, io.EOF) {
				err = backend.ErrChanged
			}
			return err
		}
	}
	return nil
}
