package file

import (
	"context"
	"errors"
	"fmt"
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

// Glimpse opens a log by its name and gives what it is, as List would, together with its beginning and its end: all of a
// log that room has place for, otherwise the last bytes of it in the last tail bytes of room, and the first in what is
// left. Who lists the names alone and then has a glimpse of each log saves a stat of every file. Of a log that cannot be
// read it gives, beside the error, what it is.
func (b *Backend) Glimpse(ctx context.Context, name string, room []byte, tail int) (at backend.Log, head, end []byte, err error) {
	path, err := b.begin(ctx, name)
	if err != nil {
		return backend.Log{Name: name}, nil, nil, err
	}
	f, err := b.fs.Open(path, os.O_RDONLY, 0)
	if err != nil {
		at = backend.Log{Name: name}
		if info, serr := b.fs.Stat(path); serr == nil {
			at = logOf(name, info)
		}
		return at, nil, nil, failed(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return backend.Log{Name: name}, nil, nil, failed(name, err)
	}
	if !info.Mode.IsRegular() {
		return backend.Log{Name: name}, nil, nil, fmt.Errorf("%s: %w: not a regular file", name, backend.ErrNotExist)
	}
	at = logOf(name, info)
	if at.Size <= int64(len(room)) {
		head = room[:at.Size]
	} else {
		head, end = room[:len(room)-tail], room[len(room)-tail:]
	}
	if err := readEnds(f, at.Size, head, end); err != nil {
		return at, nil, nil, failed(name, err)
	}
	return at, head, end, nil
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
