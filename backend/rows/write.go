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
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// writable fails if the log cannot be written, or cannot hold these records.
func (b *Backend) writable(ctx context.Context, name string, records [][]byte) error {
	if err := backend.Begin(ctx, b.closed.Load(), name); err != nil {
		return err
	}
	if b.readOnly {
		return fmt.Errorf("%s: %w", name, backend.ErrReadOnly)
	}
	return backend.Check(name, b.Lines(name), records...)
}

// current returns the log if it is still the one that the caller saw.
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
	switch {
	case ok:
	case b.keeper != nil && strings.Contains(name, b.ext+"."):
		if err := b.keeper.Keep(name, records[0]); err != nil {
			return backend.Log{}, fmt.Errorf("%s: %w", name, err)
		}
		return backend.Log{Name: name, Size: int64(len(records[0]))}, nil
	default:
		return backend.Log{}, fmt.Errorf("%s: %w: it does not end in %s", name, backend.ErrName, b.ext)
	}
	return b.create(ctx, name, id, false, false, records)
}

// Restore implements backend.Restorer.
func (b *Backend) Restore(ctx context.Context, name string, content []byte) (backend.Log, error) {
	id, ok := strings.CutSuffix(name, b.ext)
	if !ok {
		return b.Create(ctx, name, content)
	}
	var records [][]byte
	torn := false
	for line := range bytes.Lines(content) {
		record, whole := bytes.CutSuffix(line, []byte{'\n'})
		records = append(records, record)
		torn = !whole
	}
	// A whole record would be read back with a newline.
	if torn && (b.keeper == nil || len(records) < 2 || rawjson.Valid(records[len(records)-1])) {
		return backend.Log{}, fmt.Errorf("%s: restoring an unterminated line: %w", name, errors.ErrUnsupported)
	}
	if err := b.writable(ctx, name, records); err != nil {
		return backend.Log{}, err
	}
	return b.create(ctx, name, id, true, torn, records)
}

// create saves a session that does not exist.
func (b *Backend) create(ctx context.Context, name, id string, restored, torn bool, records [][]byte) (backend.Log, error) {
	s, err := b.schema.Parse(id, records)
	if err == nil {
		s.Restored, s.Torn = restored, torn
		err = b.schema.Save(ctx, s)
	}
	switch {
	case errors.Is(err, backend.ErrConflict):
		return backend.Log{}, fmt.Errorf("%s: %w", name, backend.ErrExist)
	case err != nil:
		return backend.Log{}, fmt.Errorf("%s: %w", name, err)
	}
	return b.Stat(context.WithoutCancel(ctx), name) // the session is saved
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
	s, old, side := l.Session, l.text[l.start:], ""
	if n := len(s.Messages) - 1; s.Torn {
		if side, err = b.keepTorn(at.Name, s.Messages[n]); err != nil {
			return backend.Log{}, fmt.Errorf("%s: %w", at.Name, err)
		}
		old = old[:len(old)-len(s.Messages[n])]
		s.Messages, s.Torn = s.Messages[:n:n], false
	}
	s.text, s.kept = nil, len(s.Messages)
	s.Header = b.schema.Touch(s.Header)
	moves := len(s.Header) != len(l.Header)
	// A header of another length would move the messages under readers. So it is first saved alone, and the caller reads again. This
	// happens once, to sessions whose time is not spelled as the schema spells it.
	if !moves {
		s.Messages = slices.Concat(s.Messages, records)
	}
	if err := b.schema.Save(ctx, s); err != nil {
		if side != "" {
			err = errors.Join(err, b.keeper.Discard(side))
		}
		return backend.Log{}, fmt.Errorf("%s: %w", at.Name, err)
	}
	if moves {
		return backend.Log{}, fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	grown, err := b.load(context.WithoutCancel(ctx), at.Name) // the session is saved
	if err != nil {
		return backend.Log{}, err
	}
	// The agent's own program takes no lock and saves whole conversations. If the old messages are gone, it has just done so.
	if !bytes.HasPrefix(grown.text[min(l.start, len(grown.text)):], old) {
		err = fmt.Errorf("%s: %w", at.Name, backend.ErrInterleaved)
	}
	return b.at(at.Name, grown), err
}

// keepTorn writes a torn message to a file of its own and returns its name.
func (b *Backend) keepTorn(name string, record []byte) (string, error) {
	if b.keeper == nil {
		return "", fmt.Errorf("%w: its last message is torn", backend.ErrReadOnly)
	}
	for try, now := 0, b.keeper.Now(); ; try++ {
		side := backend.TornName(name, now, try)
		if err := b.keeper.Keep(side, record); !errors.Is(err, backend.ErrExist) || try == 1000 {
			return side, err
		}
	}
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
	return b.Stat(context.WithoutCancel(ctx), at.Name) // the session is saved
}

// Remove implements backend.Backend.
func (b *Backend) Remove(ctx context.Context, at backend.Log) error {
	if err := b.writable(ctx, at.Name, nil); err != nil {
		return err
	}
	if b.keeper != nil && !b.Lines(at.Name) {
		return b.keeper.Discard(at.Name)
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
