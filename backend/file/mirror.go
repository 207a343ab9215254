package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/spill"
)

// Extend implements backend.Mirror. It keeps content in memory, since it is written in one piece, as by Append. A crash of
// the machine may leave a first part of it.
func (b *Backend) Extend(ctx context.Context, at backend.Log, _ string, content io.Reader) (backend.Log, error) {
	if _, err := b.beginWrite(ctx, at.Name); err != nil {
		return backend.Log{}, err
	}
	if !backend.IsText(at.Name) {
		return backend.Log{}, fmt.Errorf("%s: %w: only a log of lines can be extended", at.Name, backend.ErrRecord)
	}
	// Content may come slowly: it is read before the lock is taken.
	more, err := io.ReadAll(content)
	if err != nil {
		return backend.Log{}, err
	}
	w, err := b.take(ctx, at.Name)
	if err != nil {
		return backend.Log{}, err
	}
	defer b.give(w)
	info, err := w.lock(ctx)
	if err != nil {
		return backend.Log{}, err
	}
	defer w.unlock()
	if err := w.verify(at, info); err != nil {
		return backend.Log{}, err
	}
	if len(more) == 0 {
		return w.last, nil
	}
	before := w.left
	if err := w.write(before.Size, more); err != nil {
		return backend.Log{}, err
	}
	return w.settle(before, more)
}

// Overwrite implements backend.Mirror. Other programs are treated as by Replace; lines that they wrote meanwhile follow the
// new content.
func (b *Backend) Overwrite(ctx context.Context, at backend.Log, _ string, content io.Reader) (backend.Log, error) {
	source := &faulty{Reader: content}
	now, err := b.overwrite(ctx, at, source)
	if source.err != nil {
		return backend.Log{}, source.err
	}
	return now, err
}

func (b *Backend) overwrite(ctx context.Context, at backend.Log, content io.Reader) (now backend.Log, err error) {
	path, err := b.beginWrite(ctx, at.Name)
	if err != nil {
		return backend.Log{}, err
	}
	if at.Generation == "" {
		return b.create(at.Name, path, content, time.Time{})
	}
	var all spill.Bytes // content may come slowly: it is read before the lock is taken
	defer func() { err = errors.Join(err, all.Close()) }()
	if _, err := io.Copy(&all, content); err != nil {
		return backend.Log{}, err
	}
	w, err := b.take(ctx, at.Name)
	if err != nil {
		return backend.Log{}, err
	}
	defer b.give(w)
	now, _, err = w.replace(ctx, at, backend.RewriteOptions{}, io.NewSectionReader(&all, 0, all.Size()))
	return now, err
}

// faulty remembers the error of a reader, to tell it from those of files.
type faulty struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (f *faulty) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// Marks implements backend.Mirror. Files have no marks, and nothing is known of removed ones.
func (b *Backend) Marks(ctx context.Context, prefix string) iter.Seq2[backend.Marked, error] {
	return func(yield func(backend.Marked, error) bool) {
		for l, err := range b.List(ctx, prefix) {
			if !yield(backend.Marked{Log: l}, err) {
				return
			}
		}
	}
}
