// Package memory keeps logs in memory: for tests, for sessions that shall leave no trace, and as the oracle that the
// other backends are compared with. It is the shortest complete reading of the contract in package backend.
//
// A log is one byte slice, exactly what its file would hold. Appending never changes bytes that are there already, so a
// reader needs no lock and no copy: it holds the slice as it was when it began.
package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/jsonl"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Backend keeps logs in memory.
type Backend struct {
	place  *place
	closed atomic.Bool
}

// place is what outlives a Backend: the logs.
type place struct {
	mu     sync.RWMutex
	logs   map[string]log
	births int64 // how many contents were ever made: the source of generations
	clock  func() time.Time
	told   map[*watch]func(name string, err error)
}

// log is one log. Its bytes grow at the end only; other changes give it a new birth.
type log struct {
	bytes []byte
	birth int64
	time  time.Time
}

// Option changes a new Backend.
type Option func(*place)

// Clock gives the times of logs another source than time.Now.
func Clock(now func() time.Time) Option { return func(p *place) { p.clock = now } }

// New returns an empty Backend.
func New(options ...Option) *Backend {
	p := &place{logs: map[string]log{}, clock: time.Now}
	for _, o := range options {
		o(p)
	}
	return &Backend{place: p}
}

// Reopen returns a Backend with the same logs, as if the process had begun anew. The old one may be closed or not.
func (b *Backend) Reopen() *Backend { return &Backend{place: b.place} }

// Put sets the bytes of a log, as a program would that knows nothing of us: whatever they are.
func (b *Backend) Put(name string, content []byte) {
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	b.place.put(name, bytes.Clone(content))
}

// put makes a new content, one that no token of an earlier one fits.
func (p *place) put(name string, content []byte) backend.Log {
	p.births++
	l := log{content, p.births, p.clock()}
	p.logs[name] = l
	p.tell(name)
	return l.at(name)
}

// at gives the token. Growing keeps the generation: the size tells that.
func (l log) at(name string) backend.Log {
	return backend.Log{Name: name, Generation: strconv.FormatInt(l.birth, 10), Size: int64(len(l.bytes)), Time: l.time}
}

// ready is asked first by every method.
func (b *Backend) ready(ctx context.Context, name string) error {
	switch {
	case b.closed.Load():
		return backend.ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return backend.CheckName(name)
}

// Create implements backend.Backend.
func (b *Backend) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	if err := b.ready(ctx, name); err != nil {
		return backend.Log{}, err
	}
	content, err := backend.Encode([]byte{}, name, records...)
	if err != nil {
		return backend.Log{}, err
	}
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	if err := b.place.free(name); err != nil {
		return backend.Log{}, err
	}
	return b.place.put(name, content), nil
}

// free checks that the name can be given to a new log. Folders do not exist here, but a name below another log, or
// above one, is refused as a file system would: what works in a test must work on disk.
func (p *place) free(name string) error {
	if _, ok := p.logs[name]; ok {
		return fmt.Errorf("%s: %w", name, backend.ErrExist)
	}
	for i, c := range name {
		if c == '/' {
			if _, ok := p.logs[name[:i]]; ok {
				return fmt.Errorf("%s: %w: %s is a log, not a folder", name, backend.ErrName, name[:i])
			}
		}
	}
	for other := range p.logs {
		if strings.HasPrefix(other, name) && other[len(name)] == '/' {
			return fmt.Errorf("%s: %w: it is a folder", name, backend.ErrExist)
		}
	}
	return nil
}

// current returns the log if it is still what the caller saw. The place is locked.
func (p *place) current(at backend.Log) (log, error) {
	l, ok := p.logs[at.Name]
	if now := l.at(at.Name); !ok || now.Generation != at.Generation || now.Size != at.Size {
		return log{}, fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	return l, nil
}

// Append implements backend.Backend. A last line that is torn, not just without newline, is moved to a log of its own,
// see backend.TornName: only Put can have brought it here.
func (b *Backend) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	if err := b.ready(ctx, at.Name); err != nil {
		return backend.Log{}, err
	}
	if !backend.IsText(at.Name) {
		return backend.Log{}, fmt.Errorf("%s: %w: only a .jsonl log can be appended to", at.Name, backend.ErrRecord)
	}
	more, err := backend.Encode([]byte{}, at.Name, records...)
	if err != nil {
		return backend.Log{}, err
	}
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	l, err := b.place.current(at)
	if err != nil {
		return backend.Log{}, err
	}
	if len(records) == 0 {
		return l.at(at.Name), nil
	}
	if n := len(l.bytes); n > 0 && l.bytes[n-1] != '\n' {
		begin := bytes.LastIndexByte(l.bytes, '\n') + 1
		if rawjson.Valid(l.bytes[begin:]) {
			l.bytes = append(l.bytes, '\n')
		} else {
			b.place.keepTorn(at.Name, bytes.Clone(l.bytes[begin:]))
			// A reader may hold the torn bytes: what stays goes to new memory, and is a new content.
			b.place.births++
			l.bytes, l.birth = bytes.Clone(l.bytes[:begin]), b.place.births
		}
	}
	l.bytes = append(l.bytes, more...)
	l.time = b.place.clock()
	b.place.logs[at.Name] = l
	b.place.tell(at.Name)
	return l.at(at.Name), nil
}

// keepTorn saves the torn end of a log under a name of its own.
func (p *place) keepTorn(name string, torn []byte) {
	now := p.clock()
	for try := 0; ; try++ {
		side := backend.TornName(name, now, try)
		if p.free(side) == nil {
			p.put(side, torn)
			return
		}
	}
}

// Replace implements backend.Backend.
func (b *Backend) Replace(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	if err := b.ready(ctx, at.Name); err != nil {
		return backend.Log{}, err
	}
	content, err := backend.Encode([]byte{}, at.Name, records...)
	if err != nil {
		return backend.Log{}, err
	}
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	if _, err := b.place.current(at); err != nil {
		return backend.Log{}, err
	}
	return b.place.put(at.Name, content), nil
}

// Remove implements backend.Backend.
func (b *Backend) Remove(ctx context.Context, at backend.Log) error {
	if err := b.ready(ctx, at.Name); err != nil {
		return err
	}
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	if _, err := b.place.current(at); err != nil {
		return err
	}
	delete(b.place.logs, at.Name)
	b.place.tell(at.Name)
	return nil
}

// snapshot returns the bytes that the caller saw.
func (b *Backend) snapshot(ctx context.Context, at backend.Log) ([]byte, error) {
	if err := b.ready(ctx, at.Name); err != nil {
		return nil, err
	}
	b.place.mu.RLock()
	defer b.place.mu.RUnlock()
	l, ok := b.place.logs[at.Name]
	switch {
	case !ok || at.Generation == "":
		return nil, fmt.Errorf("%s: %w", at.Name, backend.ErrNotExist)
	case l.at(at.Name).Generation != at.Generation || int64(len(l.bytes)) < at.Size:
		return nil, fmt.Errorf("%s: %w", at.Name, backend.ErrChanged)
	}
	// Capped, so that nobody who appends to the slice writes into the log.
	return l.bytes[:at.Size:at.Size], nil
}

// Read implements backend.Backend.
func (b *Backend) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		content, err := b.snapshot(ctx, at)
		if err == nil && (offset < 0 || offset > at.Size) {
			err = fmt.Errorf("%s: offset %d is outside of the log's %d bytes", at.Name, offset, at.Size)
		}
		if err != nil {
			yield(backend.Record{}, err)
			return
		}
		if !backend.IsText(at.Name) {
			if offset == 0 {
				yield(backend.Record{Data: content, End: at.Size}, nil)
			}
			return
		}
		s := jsonl.NewSplitter(bytes.NewReader(content[offset:]), offset)
		for {
			r, err := s.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(backend.Record{}, err)
				return
			}
			if !yield(backend.Record{Offset: r.Offset, Data: r.Data, End: r.End, Torn: r.Torn}, nil) {
				return
			}
		}
	}
}

// Stat implements backend.Backend.
func (b *Backend) Stat(ctx context.Context, name string) (backend.Log, error) {
	if err := b.ready(ctx, name); err != nil {
		return backend.Log{}, err
	}
	b.place.mu.RLock()
	defer b.place.mu.RUnlock()
	l, ok := b.place.logs[name]
	if !ok {
		return backend.Log{}, fmt.Errorf("%s: %w", name, backend.ErrNotExist)
	}
	return l.at(name), nil
}

// List implements backend.Backend.
func (b *Backend) List(ctx context.Context, prefix string) iter.Seq2[backend.Log, error] {
	return func(yield func(backend.Log, error) bool) {
		if b.closed.Load() {
			yield(backend.Log{}, backend.ErrClosed)
			return
		}
		// Collected first: the caller may do as he likes with the logs while he goes through the list.
		b.place.mu.RLock()
		var found []backend.Log
		for name, l := range b.place.logs {
			if strings.HasPrefix(name, prefix) {
				found = append(found, l.at(name))
			}
		}
		b.place.mu.RUnlock()
		slices.SortFunc(found, func(a, b backend.Log) int { return strings.Compare(a.Name, b.Name) })
		for _, at := range found {
			if ctx.Err() != nil {
				yield(backend.Log{}, context.Cause(ctx))
				return
			}
			if !yield(at, nil) {
				return
			}
		}
	}
}

// Open implements backend.Opener.
func (b *Backend) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	content, err := b.snapshot(ctx, at)
	if err != nil {
		return nil, err
	}
	return reader{bytes.NewReader(content)}, nil
}

// reader needs nothing to be closed: memory is given back by the collector.
type reader struct{ *bytes.Reader }

func (reader) Close() error { return nil }

// Close implements backend.Backend.
func (b *Backend) Close() error {
	b.closed.Store(true)
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	for w := range b.place.told {
		if w.b == b {
			delete(b.place.told, w)
		}
	}
	return nil
}
