package file

import (
	"context"
	"io"
	"os"

	"github.com/treeline-dev/treeline/backend"
)

// Ends implements backend.EndReader with half of the system calls of Open. It opens the path, not the file of at, and
// notices only that the file is too short.
func (b *Backend) Ends(ctx context.Context, at backend.Log, head, tail []byte) (inHead, inTail int, err error) {
	path, err := b.begin(ctx, at.Name)
	if err != nil {
		return 0, 0, err
	}
	if b.Compressed(at.Name) {
		e, err := b.holdCompressed(ctx, at, path, false)
		if err != nil {
			return 0, 0, err
		}
		defer e.Close()
		return backend.ReadEnds(e, at, head, tail)
	}
	f, err := b.fs.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return 0, 0, failed(at.Name, err)
	}
	defer f.Close()
	return backend.ReadEnds(f, at, head, tail)
}

// Glimpse implements backend.Glimpser. Together with Names it saves a stat of every file.
func (b *Backend) Glimpse(ctx context.Context, name string, room []byte, tail int) (at backend.Log, head, end []byte, err error) {
	at = backend.Log{Name: name}
	path, err := b.begin(ctx, name)
	if err != nil {
		return at, nil, nil, err
	}
	if b.Compressed(name) {
		return b.glimpseCompressed(ctx, name, path, room, tail)
	}
	f, err := b.fs.Open(path, os.O_RDONLY, 0)
	if err != nil {
		if info, serr := b.fs.Stat(path); serr == nil {
			at = logOf(name, info)
		}
		return at, nil, nil, failed(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return at, nil, nil, failed(name, err)
	}
	if !info.Mode.IsRegular() {
		return at, nil, nil, notRegular(name, info)
	}
	at = logOf(name, info)
	head, end, err = divide(f, at, room, tail)
	return at, head, end, err
}

// divide reads both ends of a log into room.
func divide(r io.ReaderAt, at backend.Log, room []byte, tail int) (head, end []byte, err error) {
	head = room
	if at.Size > int64(len(room)) {
		head, end = room[:len(room)-tail], room[len(room)-tail:]
	}
	inHead, inEnd, err := backend.ReadEnds(r, at, head, end)
	return head[:inHead], end[:inEnd], err
}

// glimpseCompressed is Glimpse of a compressed log. All of it is expanded: its end cannot be read otherwise.
func (b *Backend) glimpseCompressed(ctx context.Context, name, path string, room []byte, tail int) (at backend.Log, head, end []byte, err error) {
	at, e, err := b.expandNow(ctx, name, path)
	if err != nil {
		at = backend.Log{Name: name}
		if info, serr := b.fs.Stat(path); serr == nil {
			at = logOf(name, info)
		}
		return at, nil, nil, err
	}
	defer e.Close()
	at.Generation = at.Generation[:shortWidth] // as List returns it
	head, end, err = divide(e, at, room, tail)
	return at, head, end, err
}
