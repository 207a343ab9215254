// Package memory keeps logs in memory: for tests, for sessions that leave no trace, and as the oracle that other backends
// are compared with. It is the shortest complete implementation of the contract in package backend.
//
// A log is one byte slice, exactly what its file would hold. An append never changes existing bytes, so a reader needs
// neither a lock nor a copy: it holds the slice as it was when it began.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/jsonl"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/sorting"
)

// Backend keeps logs in memory.
type Backend struct {
	place  *place
	opt    backend.OpenOptions
	below  string // begins the names of its logs in the place; "" or a folder with a slash
	closed atomic.Bool
}

// place holds the logs. It outlives a Backend.
type place struct {
	mu     sync.RWMutex
	logs   map[string]log
	blobs  map[blob.Ref][]byte
	claims map[string]*claims // by log
	births int64              // number of contents made so far: the source of generations
	clock  func() time.Time
	lines  func(name string) bool
	gone   map[string]backend.Marked // logs that were removed
	told   map[*watch]func(name string, err error)
}

// log is one log. Its bytes only grow at the end; any other change gives it a new birth.
type log struct {
	bytes []byte
	birth int64
	time  time.Time
	mark  string // see backend.Mirror
}

// Option changes a new Backend.
type Option func(*place)

// Clock sets the source of the times of logs; the default is time.Now.
func Clock(now func() time.Time) Option { return func(p *place) { p.clock = now } }

// LinesIf sets the rule for which logs consist of lines; the default is backend.IsText.
func LinesIf(rule func(name string) bool) Option { return func(p *place) { p.lines = rule } }

// New returns an empty Backend.
func New(options ...Option) *Backend {
	p := &place{
		logs: map[string]log{}, blobs: map[blob.Ref][]byte{}, claims: map[string]*claims{}, clock: time.Now, lines: backend.IsText,
		gone: map[string]backend.Marked{}, told: map[*watch]func(string, error){},
	}
	for _, o := range options {
		o(p)
	}
	return &Backend{place: p}
}

// Driver returns a driver for the URLs of a scheme. Each root is a place of its own, which lives as long as the driver:
// a root that is opened again has its logs.
func Driver(scheme string, options ...Option) backend.Driver { return driver(scheme, false, options) }

func driver(scheme string, archive bool, options []Option) backend.Driver {
	var mu sync.Mutex
	places := map[string]*place{}
	return backend.Driver{Name: "memory", Scheme: scheme, Archive: archive, Open: func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		if err := opt.Durability.Check(); err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if places[root] == nil {
			places[root] = New(options...).place
		}
		b := &Backend{place: places[root], opt: opt}
		if opt.Below != "" {
			b.below = opt.Below + "/"
		}
		return b, nil
	}}
}

// Reopen returns a Backend with the same logs, as a new process would see them. The old one may be open or closed.
func (b *Backend) Reopen() *Backend { return &Backend{place: b.place, opt: b.opt, below: b.below} }

// Lines implements backend.Liner.
func (b *Backend) Lines(name string) bool { return b.place.lines(name) }

// Put sets the bytes of a log, whatever they are, as a foreign program would.
func (b *Backend) Put(name string, content []byte) {
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	b.place.put(b.below+name, bytes.Clone(content))
}

// put stores new content, which no earlier token matches.
func (p *place) put(name string, content []byte) backend.Log {
	p.births++
	return p.set(name, log{bytes: content, birth: p.births, mark: p.logs[name].mark})
}

// set makes a changed log the current one.
func (p *place) set(name string, l log) backend.Log {
	l.time = p.clock()
	p.logs[name] = l
	delete(p.gone, name)
	p.tell(name)
	return l.at(name)
}

// at returns the token. Growth keeps the generation, since the size shows it.
func (l log) at(name string) backend.Log {
	return backend.Log{Name: name, Generation: strconv.FormatInt(l.birth, 10), Size: int64(len(l.bytes)), Time: l.time}
}

// seen returns a log of the place under its name in the Backend.
func (b *Backend) seen(l backend.Log) backend.Log {
	l.Name = l.Name[len(b.below):]
	return l
}

// encode makes the checks of every mutation and returns the bytes of its records.
func (b *Backend) encode(ctx context.Context, name string, records [][]byte) ([]byte, error) {
	if err := b.writable(ctx, name); err != nil {
		return nil, err
	}
	content, err := backend.Encode([]byte{}, name, b.Lines(name), records...)
	if err == nil {
		b.limit(name)
	}
	return content, err
}

func (b *Backend) writable(ctx context.Context, name string) error {
	err := backend.Begin(ctx, b.closed.Load(), name)
	if err == nil && b.opt.ReadOnly {
		err = fmt.Errorf("%s: %w", name, backend.ErrReadOnly)
	}
	return err
}

// Create implements backend.Backend.
func (b *Backend) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	content, err := b.encode(ctx, name, records)
	if err != nil {
		return backend.Log{}, err
	}
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	if err := b.place.free(b.below + name); err != nil {
		return backend.Log{}, fmt.Errorf("%s: %w", name, err)
	}
	return b.seen(b.place.put(b.below+name, content)), nil
}

// free checks that a new log can have the name. There are no folders here, but a name below another log, or above one, is
// refused as a file system would refuse it: what works in a test must work on disk.
func (p *place) free(name string) error {
	if _, ok := p.logs[name]; ok {
		return backend.ErrExist
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := p.logs[dir]; ok {
			return fmt.Errorf("%w: %s is a log, not a folder", backend.ErrName, path.Base(dir))
		}
	}
	for other := range p.logs {
		if strings.HasPrefix(other, name) && other[len(name)] == '/' {
			return fmt.Errorf("%w: it is a folder", backend.ErrExist)
		}
	}
	return nil
}

// current returns the log if it is still what the caller saw. The caller holds the lock.
func (b *Backend) current(at backend.Log) (log, error) {
	l, ok := b.place.logs[b.below+at.Name]
	if now := l.at(at.Name); !ok || now.Generation != at.Generation || now.Size != at.Size {
		return log{}, fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	return l, nil
}

// Append implements backend.Backend. Only Put can have left a torn record.
func (b *Backend) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	more, err := b.encode(ctx, at.Name, records)
	if err != nil {
		return backend.Log{}, err
	}
	if !b.Lines(at.Name) {
		return backend.Log{}, fmt.Errorf("%s: %w: only a log of lines can be appended to", at.Name, backend.ErrRecord)
	}
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	l, err := b.current(at)
	if err != nil {
		return backend.Log{}, err
	}
	if len(records) == 0 {
		return l.at(at.Name), nil
	}
	if n := len(l.bytes); n > 0 && l.bytes[n-1] != '\n' {
		l = b.mend(l, at.Name)
	}
	l.bytes = append(l.bytes, more...)
	return b.seen(b.place.set(b.below+at.Name, l)), nil
}

// mend terminates the last line, or moves it to a log of its own if it is torn.
func (b *Backend) mend(l log, name string) log {
	begin := bytes.LastIndexByte(l.bytes, '\n') + 1
	line := l.bytes[begin:]
	mended := backend.Mended{Log: name, Offset: int64(begin), Size: int64(len(line))}
	if rawjson.Valid(line) {
		l.bytes = append(l.bytes, '\n')
	} else {
		mended.To = b.place.keepTorn(b.below+name, bytes.Clone(line))[len(b.below):]
		// A reader may hold the torn bytes, so the rest is copied, as a new content.
		b.place.births++
		l.bytes, l.birth = bytes.Clone(l.bytes[:begin]), b.place.births
	}
	if b.opt.Mended != nil {
		b.opt.Mended(mended)
	}
	return l
}

// keepTorn saves a torn record under a name of its own.
func (p *place) keepTorn(name string, torn []byte) string {
	now := p.clock()
	for try := 0; ; try++ {
		if side := backend.TornName(name, now, try); p.free(side) == nil {
			return p.put(side, torn).Name
		}
	}
}

// Replace implements backend.Backend.
func (b *Backend) Replace(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	content, err := b.encode(ctx, at.Name, records)
	if err != nil {
		return backend.Log{}, err
	}
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	if _, err := b.current(at); err != nil {
		return backend.Log{}, err
	}
	return b.seen(b.place.put(b.below+at.Name, content)), nil
}

// Remove implements backend.Backend.
func (b *Backend) Remove(ctx context.Context, at backend.Log) error {
	if err := b.writable(ctx, at.Name); err != nil {
		return err
	}
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	l, err := b.current(at)
	if err != nil {
		return err
	}
	name := b.below + at.Name
	delete(b.place.logs, name)
	delete(b.place.claims, name)
	b.place.gone[name] = backend.Marked{Log: l.at(name), Mark: l.mark, Removed: b.place.clock()}
	b.place.tell(name)
	return nil
}

// snapshot returns the bytes that the caller saw.
func (b *Backend) snapshot(ctx context.Context, at backend.Log) ([]byte, error) {
	if err := backend.Begin(ctx, b.closed.Load(), at.Name); err != nil {
		return nil, err
	}
	b.place.mu.RLock()
	defer b.place.mu.RUnlock()
	l, ok := b.place.logs[b.below+at.Name]
	switch {
	case !ok || at.Generation == "":
		return nil, fmt.Errorf("%s: %w", at.Name, backend.ErrNotExist)
	case l.at(at.Name).Generation != at.Generation || int64(len(l.bytes)) < at.Size:
		return nil, fmt.Errorf("%s: %w", at.Name, backend.ErrChanged)
	}
	// Capped, so that an append to the slice does not write into the log.
	return l.bytes[:at.Size:at.Size], nil
}

// Read implements backend.Backend.
func (b *Backend) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		content, err := b.snapshot(ctx, at)
		if err == nil {
			err = backend.CheckOffset(at.Name, offset, at.Size)
		}
		if err != nil {
			yield(backend.Record{}, err)
			return
		}
		if !b.Lines(at.Name) {
			if offset == 0 {
				yield(backend.Record{Data: content, End: at.Size}, nil)
			}
			return
		}
		for r, err := range jsonl.NewSplitter(bytes.NewReader(content[offset:]), offset).All(ctx) {
			if !yield(backend.Record(r), backend.LongLine(at.Name, err)) {
				return
			}
		}
	}
}

// Stat implements backend.Backend.
func (b *Backend) Stat(ctx context.Context, name string) (backend.Log, error) {
	if err := backend.Begin(ctx, b.closed.Load(), name); err != nil {
		return backend.Log{}, err
	}
	b.place.mu.RLock()
	defer b.place.mu.RUnlock()
	l, ok := b.place.logs[b.below+name]
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
		// Collected first, since the caller may change logs while it walks the list.
		b.place.mu.RLock()
		var found []backend.Log
		for name, l := range b.place.logs {
			if strings.HasPrefix(name, b.below+prefix) {
				found = append(found, b.seen(l.at(name)))
			}
		}
		b.place.mu.RUnlock()
		sorting.By(found, func(a, b backend.Log) int { return strings.Compare(a.Name, b.Name) })
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
	return backend.NewReader(content), nil
}

// Close implements backend.Backend.
func (b *Backend) Close() error {
	b.closed.Store(true)
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	maps.DeleteFunc(b.place.told, func(w *watch, _ func(string, error)) bool { return w.b == b })
	return nil
}
