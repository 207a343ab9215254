package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/jsonl"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

const (
	sqlRow = `select generation, size, torn, changed, removed is not null from treeline.log where log = $1`

	// The rows of a span, including the row in which the span begins.
	sqlFetch = `select position, data from treeline.record where log = $1 and generation = $2 and position < $4
		and position >= coalesce((select max(position) from treeline.record where log = $1 and generation = $2 and position <= $3), $3)
		order by position`

	sqlList = `select name, generation, size, changed from treeline.log where removed is null`
)

// row is the row of a log.
type row struct {
	generation, size int64
	torn, removed    bool
	changed          time.Time
}

// row reads the row of a log; errUnmatched if there is none. A removed log still has a row.
func (b *Backend) row(ctx context.Context, p *pgdb.Pool, log key) (r row, err error) {
	err = p.QueryRow(ctx, sqlRow, log).Scan(&r.generation, &r.size, &r.torn, &r.changed, &r.removed)
	if errors.Is(err, pgdb.ErrNoRows) {
		err = errUnmatched
	}
	return r, err
}

func (r row) log(name string) backend.Log {
	return backend.Log{Name: name, Generation: strconv.FormatInt(r.generation, 10), Size: r.size, Time: r.changed.UTC()}
}

// current reads the row of a log that exists.
func (b *Backend) current(ctx context.Context, name string) (r row, err error) {
	err = b.read(ctx, func(p *pgdb.Pool) error {
		r, err = b.row(ctx, p, b.key(name))
		return err
	})
	if errors.Is(err, errUnmatched) || errors.Is(err, pgdb.ErrEmpty) || err == nil && r.removed {
		err = fmt.Errorf("%s: %w", name, backend.ErrNotExist)
	}
	return r, err
}

// Stat implements backend.Backend.
func (b *Backend) Stat(ctx context.Context, name string) (backend.Log, error) {
	if err := b.begin(ctx, name); err != nil {
		return backend.Log{}, err
	}
	r, err := b.current(ctx, name)
	if err != nil {
		return backend.Log{}, err
	}
	return r.log(name), nil
}

// check checks that the log is still what the caller saw, or has grown.
func (b *Backend) check(ctx context.Context, at backend.Log) error {
	if err := b.begin(ctx, at.Name); err != nil {
		return err
	}
	r, err := b.current(ctx, at.Name)
	switch {
	case err != nil:
		return err
	case at.Generation == "":
		return fmt.Errorf("%s: %w", at.Name, backend.ErrNotExist)
	case r.generation != token(at) || r.size < at.Size:
		return fmt.Errorf("%s: %w", at.Name, backend.ErrChanged)
	}
	return nil
}

// span is some bytes of a log.
type span struct {
	log        key
	generation int64
	from, to   int64
}

// errGap: some of the bytes are gone.
var errGap = errors.New("records are missing")

// fetch reads a span, and the rest of its last row.
func fetch(ctx context.Context, p *pgdb.Pool, s span) ([]byte, error) {
	found, err := p.Query(ctx, sqlFetch, s.log, s.generation, s.from, s.to)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	out := make([]byte, 0, s.to-s.from)
	var position int64
	var data pgdb.RawBytes
	for found.Next() {
		if err := found.Scan(&position, &data); err != nil {
			return nil, err
		}
		skip := int64(0)
		if len(out) == 0 {
			skip = s.from - position
		}
		if skip < 0 || skip > int64(len(data)) || position+skip != s.from+int64(len(out)) {
			return nil, errGap
		}
		out = append(out, data[skip:]...)
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	if int64(len(out)) < s.to-s.from {
		return nil, errGap
	}
	return out, nil
}

// held is a log as a caller saw it. Its rows are never changed, so nothing has to be held in the database.
type held struct {
	b   *Backend
	at  backend.Log
	log key

	mu     sync.Mutex
	window []byte // read last, for the next ReadAt
	begin  int64
}

func (b *Backend) hold(at backend.Log) *held { return &held{b: b, at: at, log: b.key(at.Name)} }

// fetch reads bytes of the log, possibly more than asked for.
func (h *held) fetch(ctx context.Context, from, to int64) (data []byte, err error) {
	err = h.b.read(ctx, func(p *pgdb.Pool) error {
		data, err = fetch(ctx, p, span{h.log, token(h.at), from, to})
		return err
	})
	if errors.Is(err, errGap) || errors.Is(err, pgdb.ErrEmpty) { // the generation was purged
		err = fmt.Errorf("%s: %w", h.at.Name, backend.ErrChanged)
	}
	if over := from + int64(len(data)) - h.at.Size; over > 0 {
		data = data[:int64(len(data))-over] // bytes appended since
	}
	return data, err
}

const (
	// firstChunk is small because lists read only the first records of many logs.
	firstChunk = 64 << 10
	chunk      = 1 << 20
)

// stream reads a log from an offset on, in chunks: no connection is held between them.
type stream struct {
	*held
	ctx  context.Context
	off  int64
	left []byte
	step int64
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		if s.off == s.at.Size {
			return 0, io.EOF
		}
		var err error
		if s.left, err = s.fetch(s.ctx, s.off, min(s.off+s.step, s.at.Size)); err != nil {
			return 0, err
		}
		s.off += int64(len(s.left))
		s.step = chunk
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}

// Read implements backend.Backend.
func (b *Backend) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		if err := b.check(ctx, at); err != nil {
			yield(backend.Record{}, err)
			return
		}
		b.hold(at).Records(ctx, offset)(yield)
	}
}

// Records implements backend.RecordReader.
func (h *held) Records(ctx context.Context, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		if err := backend.CheckOffset(h.at.Name, offset, h.at.Size); err != nil {
			yield(backend.Record{}, err)
			return
		}
		s := &stream{held: h, ctx: ctx, off: offset, step: firstChunk}
		if !backend.IsText(h.at.Name) {
			if offset == 0 {
				data := make([]byte, h.at.Size)
				_, err := io.ReadFull(s, data)
				yield(backend.Record{Data: data, End: h.at.Size}, err)
			}
			return
		}
		for r, err := range jsonl.NewSplitter(s, offset).All(ctx) {
			if !yield(backend.Record(r), backend.LongLine(h.at.Name, err)) {
				return
			}
		}
	}
}

// Open implements backend.Opener.
func (b *Backend) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	if err := b.check(ctx, at); err != nil {
		return nil, err
	}
	return b.hold(at), nil
}

// OpenNow implements backend.NowOpener.
func (b *Backend) OpenNow(ctx context.Context, name string) (backend.Log, backend.Reader, error) {
	at, err := b.Stat(ctx, name)
	if err != nil {
		return at, nil, err
	}
	return at, b.hold(at), nil
}

// ReadAt implements io.ReaderAt. It reads a little more than it was asked for, since callers read neighbouring parts.
func (h *held) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("%s: offset %d is negative", h.at.Name, off)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for n < len(p) {
		at := off + int64(n)
		if at >= h.at.Size {
			return n, io.EOF
		}
		if at < h.begin || at >= h.begin+int64(len(h.window)) {
			want := min(max(int64(len(p)-n), firstChunk), chunk)
			data, err := h.fetch(h.b.ctx, at, min(at+want, h.at.Size))
			if err != nil {
				return n, err
			}
			h.window, h.begin = data, at
		}
		n += copy(p[n:], h.window[at-h.begin:])
	}
	return n, nil
}

// Close implements io.Closer.
func (h *held) Close() error { return nil }

// List implements backend.Backend.
func (b *Backend) List(ctx context.Context, prefix string) iter.Seq2[backend.Log, error] {
	return pages(b, ctx, prefix, sqlList, func(found pgdb.Row) (_ backend.Log, name string, err error) {
		var r row
		err = found.Scan(&name, &r.generation, &r.size, &r.changed)
		return r.log(strings.TrimPrefix(name, b.prefix)), name, err
	})
}

// item is a row of a list, with its name in the database.
type item[T any] struct {
	name  string
	value T
}

// pages yields the rows of a query whose name begins with prefix. It reads page by page, from the last name on, so that no connection is
// held between them. sql ends in a condition.
func pages[T any](b *Backend, ctx context.Context, prefix, sql string, scan func(pgdb.Row) (T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if b.closed.Load() {
			yield(none, backend.ErrClosed)
			return
		}
		if !utf8.ValidString(prefix) || strings.IndexByte(prefix, 0) >= 0 {
			return // no name begins with it
		}
		prefix := b.prefix + prefix
		sql, args := sql+" and name >= $1", []any{prefix, 100}
		if end := after(prefix); end != "" {
			sql, args = sql+" and name < $3", append(args, end)
		}
		sql += " order by name limit $2"
		for {
			page, err := onePage(b, ctx, scan, sql, args...)
			if errors.Is(err, pgdb.ErrEmpty) {
				return
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, i := range page {
				if ctx.Err() != nil {
					yield(none, context.Cause(ctx))
					return
				}
				if !yield(i.value, nil) {
					return
				}
			}
			if len(page) < args[1].(int) {
				return
			}
			args[0], args[1] = page[len(page)-1].name+"\x01", 1000
		}
	}
}

// after returns the first text behind all those that begin with prefix; "" if there is none.
func after(prefix string) string {
	all := []rune(prefix)
	for i := len(all) - 1; i >= 0; i-- {
		if next := all[i] + 1; next <= utf8.MaxRune {
			if next == 0xD800 { // surrogates are not characters
				next = 0xE000
			}
			return string(append(all[:i], next))
		}
	}
	return ""
}

// onePage reads some rows.
func onePage[T any](b *Backend, ctx context.Context, scan func(pgdb.Row) (T, string, error), sql string, args ...any) (list []item[T], err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	err = b.read(ctx, func(p *pgdb.Pool) error {
		found, err := p.Query(ctx, sql, args...)
		if err == nil {
			list, err = pgdb.CollectRows(found, func(found pgdb.Row) (i item[T], err error) {
				i.value, i.name, err = scan(found)
				return i, err
			})
		}
		return err
	})
	return list, err
}
