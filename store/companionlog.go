package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// companionLogs shows the states of a companion as logs, so that all that works on logs works on them: the state without its
// messages is the first record, each message another one, whatever the name. A record that is appended is saved with the
// state as a whole.
//
// The first record holds the time of the last save, which an append changes: the rest stays where it is.
type companionLogs struct {
	c   Companion
	ext string // of the names
	// readOnly is set for those who only look: a reader never writes.
	readOnly bool
	closed   atomic.Bool
}

// withCompanions lets folders that hold an agent's states be opened as logs. It is done once, when the store is made: all
// code behind it opens folders and does not know of companions.
func (o *Options) withCompanions() {
	open, openDir, writeDir := o.OpenCompanion, o.OpenDir, o.WriteDir
	if open == nil {
		return
	}
	o.OpenDir = func(dir string) (backend.Backend, error) {
		if c, ext, ok := open(dir); ok {
			return &companionLogs{c: c, ext: ext, readOnly: true}, nil
		}
		return openDir(dir)
	}
	if writeDir == nil {
		return
	}
	o.WriteDir = func(dir string, level Durability, repaired func(session.Problem)) (backend.Backend, error) {
		if c, ext, ok := open(dir); ok {
			return &companionLogs{c: c, ext: ext}, nil
		}
		return writeDir(dir, level, repaired)
	}
}

// id is the session of a log's name. Names with a folder in them are none: states lie flat.
func (b *companionLogs) id(name string) (session.ID, error) {
	id, ok := strings.CutSuffix(name, b.ext)
	if !ok || id == "" || path.Base(name) != name {
		return "", fmt.Errorf("%s: %w", name, backend.ErrNotExist)
	}
	return session.ID(id), nil
}

// load gives a state and its log.
func (b *companionLogs) load(ctx context.Context, name string) (s State, text []byte, at backend.Log, err error) {
	switch {
	case b.closed.Load():
		return s, nil, at, backend.ErrClosed
	case ctx.Err() != nil:
		return s, nil, at, context.Cause(ctx)
	}
	id, err := b.id(name)
	if err != nil {
		return s, nil, at, err
	}
	s, err = b.c.Load(ctx, id)
	if errors.Is(err, ErrNoSession) {
		return s, nil, at, fmt.Errorf("%s: %w", name, backend.ErrNotExist)
	}
	if err != nil {
		return s, nil, at, err
	}
	text, start := s.content()
	// A state whose time cannot be read has the zero time.
	at = backend.Log{Name: name, Size: int64(len(text)), Generation: generation(text, start, int64(len(text)))}
	at.Time, _ = time.Parse(time.RFC3339Nano, s.UpdatedAt)
	return s, text, at, nil
}

// Stat implements backend.Backend.
func (b *companionLogs) Stat(ctx context.Context, name string) (backend.Log, error) {
	_, _, at, err := b.load(ctx, name)
	return at, err
}

// List implements backend.Backend.
func (b *companionLogs) List(ctx context.Context, prefix string) iter.Seq2[backend.Log, error] {
	return func(yield func(backend.Log, error) bool) {
		if b.closed.Load() {
			yield(backend.Log{}, backend.ErrClosed)
			return
		}
		list, err := b.c.List(ctx)
		if err != nil {
			yield(backend.Log{}, err)
			return
		}
		// Lists of logs are in the order of names; a companion's are not.
		names := make([]string, len(list))
		for i := range list {
			names[i] = string(list[i].ID) + b.ext
		}
		slices.Sort(names)
		for _, name := range names {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			at, err := b.Stat(ctx, name)
			// It was removed since it was listed.
			if errors.Is(err, backend.ErrNotExist) {
				continue
			}
			if !yield(at, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// text gives the bytes that the caller saw, or why they are not to be had. The log may have grown, like that of a file:
// what the caller saw is then its beginning, since messages are only ever added behind it.
func (b *companionLogs) text(ctx context.Context, at backend.Log) ([]byte, error) {
	s, text, _, err := b.load(ctx, at.Name)
	if err != nil {
		return nil, err
	}
	_, start := s.content()
	if int64(len(text)) < at.Size || generation(text, start, at.Size) != at.Generation {
		return nil, fmt.Errorf("%s: %w", at.Name, backend.ErrChanged)
	}
	return text[:at.Size:at.Size], nil
}

// Open implements backend.Opener.
func (b *companionLogs) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	text, err := b.text(ctx, at)
	if err != nil {
		return nil, err
	}
	return nothingToClose{bytes.NewReader(text)}, nil
}

type nothingToClose struct{ io.ReaderAt }

func (nothingToClose) Close() error { return nil }

// Read implements backend.Backend.
func (b *companionLogs) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		text, err := b.text(ctx, at)
		if err == nil && (offset < 0 || offset > at.Size) {
			err = fmt.Errorf("%s: offset %d is outside of the log's %d bytes", at.Name, offset, at.Size)
		}
		if err != nil {
			yield(backend.Record{}, err)
			return
		}
		for offset < at.Size {
			// Every record has its newline: content made it.
			end := offset + int64(bytes.IndexByte(text[offset:], '\n'))
			if !yield(backend.Record{Offset: offset, Data: text[offset:end], End: end + 1}, nil) {
				return
			}
			offset = end + 1
		}
	}
}

// change saves a changed state, if it is still what the caller saw. The companion compares the state's version itself,
// under its lock, so that nothing is overwritten that was saved between our look and the save.
func (b *companionLogs) change(ctx context.Context, at backend.Log, f func(*State) error) (backend.Log, error) {
	if b.readOnly {
		return backend.Log{}, backend.ErrReadOnly
	}
	for {
		s, text, now, err := b.load(ctx, at.Name)
		if err != nil && !errors.Is(err, backend.ErrNotExist) {
			return backend.Log{}, err
		}
		if err != nil || now.Generation != at.Generation || now.Size != at.Size {
			return backend.Log{}, fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
		}
		_, start := s.content()
		if err := f(&s); err != nil {
			return backend.Log{}, err
		}
		err = b.c.Save(ctx, s)
		if errors.Is(err, ErrStateChanged) {
			continue // perhaps only what the caller does not look at
		}
		if err != nil {
			return backend.Log{}, err
		}
		_, grown, now, err := b.load(ctx, at.Name)
		// The agent's own program takes no lock and saves whole conversations: where what was there before us is gone, it
		// did so just now.
		if err == nil && (len(grown) < start || !bytes.HasPrefix(grown[start:], text[start:])) {
			err = fmt.Errorf("%s: %w", at.Name, backend.ErrInterleaved)
		}
		return now, err
	}
}

// Append implements backend.Backend.
func (b *companionLogs) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	if err := checkRecords(records); err != nil {
		return backend.Log{}, fmt.Errorf("%s: %w", at.Name, err)
	}
	// Nothing to save, but the promise of Append stays: an error where the log is not what the caller saw.
	if len(records) == 0 {
		_, _, now, err := b.load(ctx, at.Name)
		if err != nil || now != at {
			return now, errors.Join(err, backend.ErrConflict)
		}
		return now, nil
	}
	// Whether the time has its usual length; see timeForm.
	spelled := true
	now, err := b.change(ctx, at, func(s *State) error {
		// The new time must not move the messages. What is no time gives way to one first, and the caller looks again.
		spelled = len(usualTime(s.UpdatedAt)) == len(timeForm)
		s.UpdatedAt = ""
		if spelled {
			for _, r := range records {
				s.Messages = append(s.Messages, slices.Clone(r))
			}
		}
		return nil
	})
	// The state has a new time and no new message yet; the first record is of another length, so the caller must look
	// again.
	if err == nil && !spelled {
		err = fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	return now, err
}

func checkRecords(records [][]byte) error {
	for _, r := range records {
		if bytes.IndexByte(r, '\n') >= 0 || !rawjson.IsObject(r) || !rawjson.Valid(r) {
			return fmt.Errorf("%w: it is no JSON object on one line", backend.ErrRecord)
		}
	}
	return nil
}

// Replace implements backend.Backend.
func (b *companionLogs) Replace(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	if err := checkRecords(records); err != nil {
		return backend.Log{}, fmt.Errorf("%s: %w", at.Name, err)
	}
	next, err := stateOf(records)
	if err != nil {
		return backend.Log{}, fmt.Errorf("%s: %w", at.Name, err)
	}
	if b.readOnly {
		return backend.Log{}, backend.ErrReadOnly
	}
	s, _, now, err := b.load(ctx, at.Name)
	if err != nil && !errors.Is(err, backend.ErrNotExist) {
		return backend.Log{}, err
	}
	if err != nil || now.Generation != at.Generation || now.Size != at.Size || next.ID != s.ID {
		return backend.Log{}, fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	// From here on the companion sees to it that nobody saves in between.
	next.Version = s.Version
	if err := b.c.Save(ctx, next); err != nil {
		if errors.Is(err, ErrStateChanged) {
			err = fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
		}
		return backend.Log{}, err
	}
	return b.Stat(ctx, at.Name)
}

// Create implements backend.Backend.
func (b *companionLogs) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	id, err := b.id(name)
	if err == nil {
		err = checkRecords(records)
	}
	if err != nil {
		return backend.Log{}, fmt.Errorf("%s: %w", name, err)
	}
	if b.readOnly {
		return backend.Log{}, backend.ErrReadOnly
	}
	s, err := stateOf(records)
	if err == nil && s.ID != id {
		err = fmt.Errorf("%w: it is the state of %s", backend.ErrName, s.ID)
	}
	if err != nil {
		return backend.Log{}, fmt.Errorf("%s: %w", name, err)
	}
	// It must not be there yet, which the companion checks under its lock.
	s.Version = NewState
	if err := b.c.Save(ctx, s); err != nil {
		if errors.Is(err, ErrStateChanged) {
			err = fmt.Errorf("%s: %w", name, backend.ErrExist)
		}
		return backend.Log{}, err
	}
	return b.Stat(ctx, name)
}

// Remove implements backend.Backend. Somebody who saves between the comparison and the removal loses what he saved.
func (b *companionLogs) Remove(ctx context.Context, at backend.Log) error {
	if b.readOnly {
		return backend.ErrReadOnly
	}
	s, _, now, err := b.load(ctx, at.Name)
	if err != nil && !errors.Is(err, backend.ErrNotExist) {
		return err
	}
	if err != nil || now.Generation != at.Generation || now.Size != at.Size {
		return fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	return b.c.Remove(ctx, s.ID)
}

// Restore implements backend.Restorer.
func (b *companionLogs) Restore(ctx context.Context, name string, content []byte) (backend.Log, error) {
	return b.Create(ctx, name, bytes.Split(bytes.TrimSuffix(content, []byte("\n")), []byte("\n"))...)
}

// Close implements backend.Backend.
func (b *companionLogs) Close() error {
	b.closed.Store(true)
	return nil
}
