package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
)

// writable fails if the log cannot be written, or cannot hold these records.
func (b *Backend) writable(ctx context.Context, name string, records [][]byte) error {
	if err := backend.Begin(ctx, b.closed.Load(), name); err != nil {
		return err
	}
	if b.readOnly {
		return fmt.Errorf("%s: %w", name, backend.ErrReadOnly)
	}
	return backend.Check(name, true, records...)
}

// current gives the log if it is the one that the caller saw.
func (b *Backend) current(ctx context.Context, at backend.Log) (*log, error) {
	l, err := b.load(ctx, at.Name)
	if err != nil && !errors.Is(err, backend.ErrNotExist) {
		return nil, err
	}
	if err != nil || b.at(at.Name, l).Generation != at.Generation {
		return nil, fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	return l, nil
}

// Create implements backend.Backend.
func (b *Backend) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	if err := b.writable(ctx, name, records); err != nil {
		return backend.Log{}, err
	}
	id, ok := strings.CutSuffix(name, b.ext)
	if !ok {
		return backend.Log{}, fmt.Errorf("%s: %w: it does not end in %s", name, backend.ErrName, b.ext)
	}
	s, err := b.schema.Parse(id, records)
	if err == nil {
		err = b.schema.Save(ctx, s)
	}
	switch {
	case errors.Is(err, backend.ErrConflict):
		return backend.Log{}, fmt.Errorf("%s: %w", name, backend.ErrExist)
	case err != nil:
		return backend.Log{}, fmt.Errorf("%s: %w", name, err)
	}
	return b.Stat(context.WithoutCancel(ctx), name) // it is done
}

// Append implements backend.Backend.
func (b *Backend) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	if err := b.writable(ctx, at.Name, records); err != nil {
		return backend.Log{}, err
	}
	l, err := b.current(ctx, at)
	if err != nil {
		return backend.Log{}, err
	}
	if len(records) == 0 {
		return at, nil
	}
	s := l.Session
	s.text, s.kept = nil, len(s.Messages)
	s.Header = b.schema.Touch(s.Header)
	moves := len(s.Header) != len(l.Header)
	// A header of another length would move the messages under readers. So it is saved alone first, and the caller looks
	// again. This happens once, to sessions whose time is not spelled as the schema spells it.
	if !moves {
		s.Messages = slices.Concat(s.Messages, records)
	}
	if err := b.schema.Save(ctx, s); err != nil {
		return backend.Log{}, fmt.Errorf("%s: %w", at.Name, err)
	}
	if moves {
		return backend.Log{}, fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	grown, err := b.load(context.WithoutCancel(ctx), at.Name) // it is saved
	if err != nil {
		return backend.Log{}, err
	}
	// The agent's own program takes no lock and saves whole conversations. If the old messages are gone, it just did.
	if !bytes.HasPrefix(grown.text[min(l.start, len(grown.text)):], l.text[l.start:]) {
		err = fmt.Errorf("%s: %w", at.Name, backend.ErrInterleaved)
	}
	return b.at(at.Name, grown), err
}

// Replace implements backend.Backend.
func (b *Backend) Replace(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	if err := b.writable(ctx, at.Name, records); err != nil {
		return backend.Log{}, err
	}
	l, err := b.current(ctx, at)
	if err != nil {
		return backend.Log{}, err
	}
	s, err := b.schema.Parse(l.ID, records)
	if err == nil {
		s.Version = l.Version
		err = b.schema.Save(ctx, s)
	}
	if err != nil {
		return backend.Log{}, fmt.Errorf("%s: %w", at.Name, err)
	}
	return b.Stat(context.WithoutCancel(ctx), at.Name) // it is done
}

// Remove implements backend.Backend.
func (b *Backend) Remove(ctx context.Context, at backend.Log) error {
	if err := b.writable(ctx, at.Name, nil); err != nil {
		return err
	}
	l, err := b.current(ctx, at)
	if err != nil {
		return err
	}
	err = b.schema.Remove(ctx, l.ID, l.Version)
	if errors.Is(err, backend.ErrNotExist) {
		err = backend.ErrConflict
	}
	if err != nil {
		return fmt.Errorf("%s: %w", at.Name, err)
	}
	return nil
}

// Close implements backend.Backend.
func (b *Backend) Close() error {
	if c, ok := b.schema.(io.Closer); ok && !b.closed.Swap(true) {
		return c.Close()
	}
	b.closed.Store(true)
	return nil
}
