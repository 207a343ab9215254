package rows

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/treeline-dev/treeline/backend"
)

// Backend shows the sessions of a Schema as logs.
type Backend struct {
	schema   Schema
	ext      string
	readOnly bool
	closed   atomic.Bool
}

// New gives the backend of a schema. The names of its logs end in ext.
func New(s Schema, ext string, readOnly bool) *Backend {
	return &Backend{schema: s, ext: ext, readOnly: readOnly}
}

// Lines reports that a log consists of lines, which every log of this backend does.
func (b *Backend) Lines(string) bool { return true }

// log is a session and its text.
type log struct {
	Session
	text []byte
	// start is where the messages begin.
	start int
}

func newLog(s Session) *log {
	l := &log{Session: s}
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
	return l
}

// at is the identity of the log.
func (l *log) at(name string) backend.Log {
	size := int64(len(l.text))
	return backend.Log{Name: name, Generation: l.prefix(size) + l.Version, Size: size, Time: l.Time}
}

// prefix is the part of a generation that stays the same while the log grows. It stands for the first size bytes except
// the content of the header.
func (l *log) prefix(size int64) string {
	h := sha256.Sum256(l.text[min(int64(l.start), size):size])
	return strconv.Itoa(l.start) + "-" + hex.EncodeToString(h[:12]) + "-"
}

// load gives the log of a name. A name that the schema cannot keep does not exist.
func (b *Backend) load(ctx context.Context, name string) (*log, error) {
	if err := backend.Begin(ctx, b.closed.Load(), name); err != nil {
		return nil, err
	}
	id, ok := strings.CutSuffix(name, b.ext)
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, backend.ErrNotExist)
	}
	s, err := b.schema.Load(ctx, id)
	switch {
	case errors.Is(err, backend.ErrNotExist), errors.Is(err, backend.ErrName):
		return nil, fmt.Errorf("%s: %w", name, backend.ErrNotExist)
	case err != nil:
		return nil, err
	}
	return newLog(s), nil
}

// Stat implements backend.Backend.
func (b *Backend) Stat(ctx context.Context, name string) (backend.Log, error) {
	l, err := b.load(ctx, name)
	if err != nil {
		return backend.Log{}, err
	}
	return l.at(name), nil
}

// List implements backend.Backend.
func (b *Backend) List(ctx context.Context, prefix string) iter.Seq2[backend.Log, error] {
	return func(yield func(backend.Log, error) bool) {
		err := backend.Begin(ctx, b.closed.Load(), "list")
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
			at, err := b.Stat(ctx, name)
			if errors.Is(err, backend.ErrNotExist) {
				continue // removed since it was listed
			}
			if !yield(at, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// text gives the bytes that the caller saw. The log may have grown since.
func (b *Backend) text(ctx context.Context, at backend.Log) ([]byte, error) {
	l, err := b.load(ctx, at.Name)
	if err != nil {
		return nil, err
	}
	if int64(len(l.text)) < at.Size || !strings.HasPrefix(at.Generation, l.prefix(at.Size)) {
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
			end := offset + int64(bytes.IndexByte(text[offset:], '\n')) // newLog terminates every record
			if !yield(backend.Record{Offset: offset, Data: text[offset:end:end], End: end + 1}, nil) {
				return
			}
			offset = end + 1
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
		}
		if err != nil {
			yield(backend.Record{}, err)
		}
	}
}
