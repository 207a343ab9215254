package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Row is a session as a list shows it. It comes from the two ends of the log alone.
type Row struct {
	Source  Source
	Dialect dialect.Dialect
	// Path is the file; Log the log as it was.
	Path string
	Log  backend.Log
	dialect.Summary
	// Err says why nothing is known of the log; the other fields are then empty.
	Err error
}

// ListOptions narrow a list.
type ListOptions struct {
	// CWD, if set, keeps the sessions of that working directory: the header decides, not the folder.
	CWD string
	// Dialect, if set, reads every log.
	Dialect dialect.Dialect
	// Problem, if set, is told of folders that could not be read.
	Problem func(error)
}

// List gives the sessions of all sources, newest first.
func (s *Store) List(ctx context.Context, opt ListOptions) ([]Row, error) {
	var rows []Row
	for _, src := range s.Sources() {
		part, err := s.listSource(ctx, src, opt)
		if err != nil {
			return nil, err
		}
		rows = append(rows, part...)
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return b.Log.Time.Compare(a.Log.Time) })
	return rows, nil
}

func (s *Store) listSource(ctx context.Context, src Source, opt ListOptions) ([]Row, error) {
	b, err := s.opt.OpenDir(src.Root.Sessions)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	var rows []Row
	for log, err := range b.List(ctx, "") {
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if opt.Problem != nil {
				opt.Problem(err)
			}
			continue
		}
		if src.Dialect.Layout().Owns(log.Name) {
			rows = append(rows, Row{Source: src, Path: filepath.Join(src.Root.Sessions, filepath.FromSlash(log.Name)), Log: log})
		}
	}
	s.peekAll(ctx, b, rows, opt)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if opt.CWD == "" {
		return rows, nil
	}
	want := s.canonical(opt.CWD)
	return slices.DeleteFunc(rows, func(r Row) bool {
		return r.Err != nil || r.CWD == "" || r.CWD != opt.CWD && s.canonical(r.CWD) != want
	}), nil
}

// canonical makes two spellings of one directory equal.
func (s *Store) canonical(dir string) string {
	if real, err := s.opt.Env.Realpath(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// peekAll reads the ends of all logs, several at a time: the work is mostly waiting.
func (s *Store) peekAll(ctx context.Context, b backend.Backend, rows []Row, opt ListOptions) {
	const batch = 32
	var wg sync.WaitGroup
	next := make(chan []Row)
	for range min(2*runtime.GOMAXPROCS(0), len(rows)/batch+1) {
		wg.Go(func() {
			var buf peekBuffer
			for part := range next {
				for i := range part {
					s.peek(ctx, b, &part[i], opt, &buf)
				}
			}
		})
	}
	for part := range slices.Chunk(rows, batch) {
		if ctx.Err() != nil {
			break
		}
		next <- part
	}
	close(next)
	wg.Wait()
}

type peekBuffer struct{ head, tail []byte }

const (
	headSize = 4 << 10
	tailSize = 4 << 10
	headMost = 1 << 20 // a header may be longer than a page: a system prompt in it, say
)

// peek fills in a row.
func (s *Store) peek(ctx context.Context, b backend.Backend, row *Row, opt ListOptions, buf *peekBuffer) {
	o, ok := b.(backend.Opener)
	if !ok {
		row.Err = errors.New("the backend gives no random access")
		return
	}
	f, err := o.Open(ctx, row.Log)
	if err != nil {
		row.Err = err
		return
	}
	defer f.Close()
	for size := int64(headSize); ; size *= 16 {
		head, tail, err := buf.read(f, row.Log.Size, size)
		if err != nil {
			row.Err = err
			return
		}
		whole := size >= row.Log.Size
		row.Dialect = opt.Dialect
		if row.Dialect == nil {
			row.Dialect, _ = s.detect(row.Path, leading(head, whole))
		}
		row.Summary = row.Dialect.Peek(head, tail, whole)
		if row.OK || whole || size >= headMost {
			break
		}
	}
	if !row.OK && row.Log.Size > 0 {
		row.Err = ErrNotSession
	}
}

// read gives the first bytes of a log and, where they do not reach them, the last ones.
func (buf *peekBuffer) read(f io.ReaderAt, length, size int64) (head, tail []byte, err error) {
	get := func(b *[]byte, offset, n int64) error {
		if int64(cap(*b)) < n {
			*b = make([]byte, n)
		}
		*b = (*b)[:n]
		k, err := f.ReadAt(*b, offset)
		if int64(k) == n {
			return nil
		}
		return cmp.Or(err, error(backend.ErrChanged))
	}
	if err = get(&buf.head, 0, min(size, length)); err != nil || size >= length {
		return buf.head, nil, err
	}
	n := min(tailSize, length-size)
	err = get(&buf.tail, length-n, n)
	return buf.head, buf.tail, err
}

// leading gives the records that begin a log, as far as they are whole.
func leading(head []byte, whole bool) []dialect.Record {
	var first []dialect.Record
	offset := 0
	for line := 1; offset < len(head) && len(first) < 8; line++ {
		end := slices.Index(head[offset:], '\n')
		if end < 0 {
			if !whole {
				break
			}
			end = len(head) - offset
		}
		if data := head[offset : offset+end]; len(strings.TrimSpace(string(data[:min(len(data), 64)]))) > 0 {
			first = append(first, dialect.Record{Data: data, Offset: int64(offset), Line: line})
		}
		offset += end + 1
	}
	return first
}

// AmbiguousError says that several sessions fit.
type AmbiguousError struct {
	Ref  string
	Rows []Row
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q fits %d sessions", e.Ref, len(e.Rows))
}

// ErrNoSession is wrapped by the error for a reference that no session fits.
var ErrNoSession = errors.New("no such session")

// Find gives the file of a session that someone named: "@last" (the newest of the working directory), an id, or the
// beginning of one. A path is for Open.
func (s *Store) Find(ctx context.Context, ref string) (Row, error) {
	if ref == "@last" {
		rows, err := s.List(ctx, ListOptions{CWD: s.opt.Env.WorkDir})
		if err != nil {
			return Row{}, err
		}
		if len(rows) == 0 {
			return Row{}, fmt.Errorf("@last: %w for %s", ErrNoSession, s.opt.Env.WorkDir)
		}
		return rows[0], nil
	}
	if ref == "" {
		return Row{}, fmt.Errorf("%w: the name is empty", ErrNoSession)
	}
	rows, err := s.List(ctx, ListOptions{})
	if err != nil {
		return Row{}, err
	}
	var exact, begin []Row
	for _, r := range rows {
		switch {
		case r.OK && r.ID == session.ID(ref) || fileID(r.Log.Name) == ref:
			exact = append(exact, r)
		case hasPrefixFold(string(r.ID), ref), hasPrefixFold(fileID(r.Log.Name), ref), hasPrefixFold(path.Base(r.Log.Name), ref):
			begin = append(begin, r)
		}
	}
	if len(exact) == 0 {
		exact = begin
	}
	switch len(exact) {
	case 0:
		return Row{}, fmt.Errorf("%q: %w; 'treeline ls --all' lists them", ref, ErrNoSession)
	case 1:
		return exact[0], nil
	}
	return Row{}, &AmbiguousError{Ref: ref, Rows: exact}
}

// fileID is the id in a file's name: what stands behind the last underscore.
func fileID(name string) string {
	base := strings.TrimSuffix(path.Base(name), path.Ext(name))
	return base[strings.LastIndexByte(base, '_')+1:]
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
