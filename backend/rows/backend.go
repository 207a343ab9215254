package rows

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/treeline-dev/treeline/backend"
)

// Backend shows the sessions of a Schema as logs.
type Backend struct {
	schema   Schema
	stamper  Stamper // nil: the schema is none
	keeper   Keeper  // nil: the schema is none
	ext      string
	readOnly bool
	closed   atomic.Bool

	mu     sync.Mutex
	seed   maphash.Seed
	seen   map[string]content // by name and version
	listed map[string]Stamp   // by name, as Names last saw them
}

// content is what a log of a Stamper held.
type content struct {
	start int
	sum   uint64 // of the messages
}

// New returns the backend of a schema. The names of its logs end in ext.
func New(s Schema, ext string, readOnly bool) *Backend {
	stamper, _ := s.(Stamper)
	keeper, _ := s.(Keeper)
	return &Backend{schema: s, stamper: stamper, keeper: keeper, ext: ext, readOnly: readOnly, seed: maphash.MakeSeed(), seen: map[string]content{}}
}

// Lines reports whether a log consists of lines, which every session does.
func (b *Backend) Lines(name string) bool { return strings.HasSuffix(name, b.ext) }

// log is a session and its text.
type log struct {
	Session
	text []byte
	// start is where the messages begin.
	start int
}

func newLog(s Session) *log {
	l := &log{Session: s}
	if s.text != nil {
		l.text, l.start = s.text, s.start
		return l
	}
	size := len(s.Header) + 1
	for _, m := range s.Messages {
		size += len(m) + 1
	}
	l.text = make([]byte, 0, size)
	if s.Header != nil {
		l.text = append(append(l.text, s.Header...), '\n')
	}
	l.start = len(l.text)
	for _, m := range s.Messages {
		l.text = append(append(l.text, m...), '\n')
	}
	if s.Torn {
		l.text = l.text[:len(l.text)-1]
	}
	return l
}

// at returns the identity of the log.
func (b *Backend) at(name string, l *log) backend.Log {
	size := int64(len(l.text))
	at := backend.Log{Name: name, Generation: l.Version, Size: size, Time: l.Time}
	if b.stamper == nil {
		at.Generation = l.prefix(size) + l.Version
	}
	return at
}

// prefix returns the part of a generation that stays the same while the log grows. It identifies the first size bytes except the content of
// the header.
func (l *log) prefix(size int64) string {
	h := sha256.Sum256(l.text[min(int64(l.start), size):size])
	return strconv.Itoa(l.start) + "-" + hex.EncodeToString(h[:12]) + "-"
}

// mostSeen is how many contents are remembered.
const mostSeen = 4096

// see remembers the content of a log of a Stamper.
func (b *Backend) see(name string, l *log) {
	if b.stamper == nil {
		return
	}
	key := name + "\x00" + l.Version
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.seen[key]; ok {
		return
	}
	if len(b.seen) >= mostSeen {
		clear(b.seen)
	}
	b.seen[key] = content{l.start, maphash.Bytes(b.seed, l.text[l.start:])}
}

// grown reports whether the log holds what the caller saw, with or without more after it.
func (b *Backend) grown(at backend.Log, l *log) bool {
	if int64(len(l.text)) < at.Size {
		return false
	}
	if b.stamper == nil {
		return strings.HasPrefix(at.Generation, l.prefix(at.Size))
	}
	if l.Version == at.Generation {
		return true
	}
	b.mu.Lock()
	c, ok := b.seen[at.Name+"\x00"+at.Generation]
	b.mu.Unlock()
	return ok && c.start == l.start && at.Size >= int64(l.start) && c.sum == maphash.Bytes(b.seed, l.text[l.start:at.Size])
}

// load returns the log of a name. A name that the schema cannot keep does not exist.
func (b *Backend) load(ctx context.Context, name string) (*log, error) {
	if err := backend.Begin(ctx, b.closed.Load(), name); err != nil {
		return nil, err
	}
	id, ok := strings.CutSuffix(name, b.ext)
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, backend.ErrNotExist)
	}
	l, err := b.find(ctx, id)
	if errors.Is(err, backend.ErrNotExist) || errors.Is(err, backend.ErrName) {
		err = fmt.Errorf("%s: %w", name, backend.ErrNotExist)
	}
	return l, err
}

// find returns the log of a session.
func (b *Backend) find(ctx context.Context, id string) (*log, error) {
	s, err := b.schema.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	l := newLog(s)
	b.see(id+b.ext, l)
	return l, nil
}

// Stat implements backend.Backend.
func (b *Backend) Stat(ctx context.Context, name string) (backend.Log, error) {
	l, err := b.load(ctx, name)
	if err != nil {
		return backend.Log{}, err
	}
	return b.at(name, l), nil
}

// List implements backend.Backend.
func (b *Backend) List(ctx context.Context, prefix string) iter.Seq2[backend.Log, error] {
	return func(yield func(backend.Log, error) bool) {
		err := backend.Begin(ctx, b.closed.Load(), "list")
		if b.stamper != nil && err == nil {
			b.listStamps(ctx, prefix, yield)
			return
		}
		var ids []string
		if err == nil {
			ids, err = b.schema.List(ctx)
		}
		if err != nil {
			yield(backend.Log{}, err)
			return
		}
		for i := range ids {
			ids[i] += b.ext
		}
		slices.Sort(ids)
		for _, name := range ids {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			var at backend.Log
			l, err := b.find(ctx, strings.TrimSuffix(name, b.ext))
			if errors.Is(err, backend.ErrNotExist) {
				continue // removed since it was listed
			}
			if err == nil {
				at = b.at(name, l)
			}
			if !yield(at, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// Absent implements backend.Scattered.
func (b *Backend) Absent(ctx context.Context) (prefixes []string, err error) {
	s, ok := b.schema.(Scattered)
	if err = backend.Begin(ctx, b.closed.Load(), "list"); ok && err == nil {
		prefixes, err = s.Absent(ctx)
	}
	return prefixes, err
}

// text returns the bytes that the caller saw. The log may have grown since.
func (b *Backend) text(ctx context.Context, at backend.Log) ([]byte, error) {
	l, err := b.load(ctx, at.Name)
	if err != nil {
		return nil, err
	}
	if !b.grown(at, l) {
		return nil, fmt.Errorf("%s: %w", at.Name, backend.ErrChanged)
	}
	return l.text[:at.Size:at.Size], nil
}

// Read implements backend.Backend.
func (b *Backend) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		text, err := b.text(ctx, at)
		if err == nil {
			err = backend.CheckOffset(at.Name, offset, at.Size)
		}
		for err == nil && offset < at.Size {
			r := backend.Record{Offset: offset, Data: text[offset:], End: at.Size, Torn: true}
			if n := bytes.IndexByte(r.Data, '\n'); n >= 0 {
				r.Data, r.End, r.Torn = r.Data[:n:n], offset+int64(n)+1, false
			}
			if !yield(r, nil) {
				return
			}
			offset = r.End
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
		}
		if err != nil {
			yield(backend.Record{}, err)
		}
	}
}
