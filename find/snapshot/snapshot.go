// Package snapshot reads a short log of a database or a server in one step, for a search that reads several parts of it.
package snapshot

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/treeline-dev/treeline/backend"
)

// snapshot is a Backend that has one log in memory, as it was. What a search reads of the log (the chunk, the header, the tree) then costs
// one round trip to a database.
type snapshot struct {
	backend.Backend
	at   backend.Log
	data []byte
}

// most is the largest size of logs that are read as a whole. Of longer ones a search reads the parts that it needs.
const most = 512 << 10

// Of reads a log into memory. If it is long, or its Backend does not read both ends in one step, it returns b.
func Of(ctx context.Context, b backend.Backend, at backend.Log) (backend.Backend, error) {
	ends, ok := b.(backend.EndReader)
	if _, liner := b.(backend.Liner); !ok || liner || at.Size > most {
		return b, nil
	}
	data := make([]byte, at.Size)
	n, _, err := ends.Ends(ctx, at, data, nil)
	if errors.Is(err, backend.ErrChanged) {
		return b, nil // an older generation can still be read; otherwise the caller gets the error
	}
	return &snapshot{Backend: b, at: at, data: data[:n]}, err
}

// Whole returns the Backend that Of read from, and any other Backend as it is.
func Whole(b backend.Backend) backend.Backend {
	if s, ok := b.(*snapshot); ok {
		return s.Backend
	}
	return b
}

// Most is the largest size of logs that the index reads in one step. Of a longer log the first read, of this size, is wasted.
const Most = 128 << 10

// Now reads a log as it is now into memory, in the given room. If the log is long, Now returns b, from which it can be read.
func Now(ctx context.Context, b backend.Backend, name string, room []byte) (backend.Backend, error) {
	g, ok := b.(backend.Glimpser)
	if _, liner := b.(backend.Liner); !ok || liner {
		return b, nil
	}
	at, data, _, err := g.Glimpse(ctx, name, room, 0)
	if err != nil || at.Size > int64(len(room)) {
		return b, err
	}
	return &snapshot{Backend: b, at: at, data: data}, nil
}

// Stat implements backend.Backend.
func (s *snapshot) Stat(ctx context.Context, name string) (backend.Log, error) {
	if name != s.at.Name {
		return s.Backend.Stat(ctx, name)
	}
	return s.at, nil
}

// Open implements backend.Opener.
func (s *snapshot) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	if at.Name != s.at.Name || at.Generation != s.at.Generation {
		return backend.OpenLog(ctx, s.Backend, at)
	}
	return backend.NewReader(s.data), nil
}

// Read implements backend.Backend.
func (s *snapshot) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	if at.Name != s.at.Name || at.Generation != s.at.Generation || !backend.IsText(at.Name) || at.Size > int64(len(s.data)) {
		return s.Backend.Read(ctx, at, offset)
	}
	return func(yield func(backend.Record, error) bool) {
		for rest := s.data[offset:at.Size]; len(rest) > 0; {
			line, after, whole := bytes.Cut(rest, []byte{'\n'})
			end := offset + int64(len(rest)-len(after))
			if whole {
				line = bytes.TrimSuffix(line, []byte{'\r'})
			}
			if !yield(backend.Record{Offset: offset, Data: line, End: end, Torn: !whole}, nil) {
				return
			}
			offset, rest = end, after
		}
	}
}
