package file

import (
	"context"
	"fmt"
	"iter"
	"os"

	"github.com/treeline-dev/treeline/backend"
)

// Snapshot implements backend.Snapshotter.
func (b *Backend) Snapshot(ctx context.Context, name string) (backend.Log, backend.Snapshot, error) {
	path, err := b.begin(ctx, name)
	if err != nil {
		return backend.Log{}, nil, err
	}
	f, err := b.fs.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return backend.Log{}, nil, failed(name, err)
	}
	info, tail, err := look(f, name, -1)
	if err != nil {
		_ = f.Close()
		return backend.Log{}, nil, err
	}
	return fullLogOf(name, info, tail), &snapshot{f: f, name: name, text: b.Lines(name), size: info.Size, tail: tail, seen: info}, nil
}

// Records implements backend.Snapshot.
func (s *snapshot) Records(ctx context.Context, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) { s.records(ctx, offset, yield) }
}

func (s *snapshot) records(ctx context.Context, offset int64, yield func(backend.Record, error) bool) {
	switch {
	case offset < 0 || offset > s.size:
		yield(backend.Record{}, fmt.Errorf("%s: offset %d is outside of the log's %d bytes", s.name, offset, s.size))
	case s.text:
		s.lines(ctx, offset, yield)
	case offset == 0:
		s.whole(yield)
	}
}
