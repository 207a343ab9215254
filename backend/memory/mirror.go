package memory

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/sorting"
)

// Extend implements backend.Mirror.
func (b *Backend) Extend(ctx context.Context, at backend.Log, mark string, content io.Reader) (backend.Log, error) {
	if err := b.writable(ctx, at.Name); err != nil {
		return backend.Log{}, err
	}
	if !b.Lines(at.Name) {
		return backend.Log{}, fmt.Errorf("%s: %w: only a log of lines can be extended", at.Name, backend.ErrRecord)
	}
	more, err := io.ReadAll(content)
	if err != nil {
		return backend.Log{}, err
	}
	b.limit(at.Name)
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	l, err := b.current(at)
	if err != nil {
		return backend.Log{}, err
	}
	l.mark = mark
	if len(more) == 0 {
		b.place.logs[b.below+at.Name] = l
		return l.at(at.Name), nil
	}
	l.bytes = append(l.bytes, more...)
	return b.seen(b.place.set(b.below+at.Name, l)), nil
}

// Overwrite implements backend.Mirror.
func (b *Backend) Overwrite(ctx context.Context, at backend.Log, mark string, content io.Reader) (backend.Log, error) {
	if err := b.writable(ctx, at.Name); err != nil {
		return backend.Log{}, err
	}
	all, err := io.ReadAll(content)
	if err != nil {
		return backend.Log{}, err
	}
	b.limit(at.Name)
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	if at.Generation == "" {
		if err = b.place.free(b.below + at.Name); err != nil {
			err = fmt.Errorf("%s: %w", at.Name, err)
		}
	} else {
		_, err = b.current(at)
	}
	if err != nil {
		return backend.Log{}, err
	}
	b.place.births++
	return b.seen(b.place.set(b.below+at.Name, log{bytes: all, birth: b.place.births, mark: mark})), nil
}

// Marks implements backend.Mirror. It remembers every log that was removed.
func (b *Backend) Marks(ctx context.Context, prefix string) iter.Seq2[backend.Marked, error] {
	return func(yield func(backend.Marked, error) bool) {
		if b.closed.Load() {
			yield(backend.Marked{}, backend.ErrClosed)
			return
		}
		b.place.mu.RLock()
		var found []backend.Marked
		for name, l := range b.place.logs {
			if strings.HasPrefix(name, b.below+prefix) {
				found = append(found, backend.Marked{Log: b.seen(l.at(name)), Mark: l.mark})
			}
		}
		for name, m := range b.place.gone {
			if strings.HasPrefix(name, b.below+prefix) {
				m.Log = b.seen(m.Log)
				found = append(found, m)
			}
		}
		b.place.mu.RUnlock()
		sorting.By(found, func(a, b backend.Marked) int { return strings.Compare(a.Name, b.Name) })
		for _, m := range found {
			if ctx.Err() != nil {
				yield(backend.Marked{}, context.Cause(ctx))
				return
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

// Identity implements backend.Identified. It lasts as long as the process, like the logs.
func (b *Backend) Identity(ctx context.Context) (string, error) {
	if err := backend.Begin(ctx, b.closed.Load(), "x"); err != nil {
		return "", err
	}
	b.place.mu.RLock()
	defer b.place.mu.RUnlock()
	if b.place.births == 0 {
		return "", nil
	}
	return fmt.Sprintf("memory %p", b.place), nil
}
