package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/jsonl"
)

// patience is how often an operation on a file that keeps changing is tried.
const patience = 100

// look returns the state of an open file and the last bytes before size, both of the same moment. A negative size stands
// for the size of the file. ErrChanged if the file is shorter.
func look(f durable.File, name string, size int64) (durable.Info, []byte, error) {
	info, err := f.Stat()
	// Unless the file is the same before and after the read, the tail may be that of another moment.
	for range patience {
		if err != nil {
			return info, nil, failed(name, err)
		}
		if !info.Mode.IsRegular() {
			return info, nil, notRegular(name, info)
		}
		end := size
		if end < 0 {
			end = info.Size
		}
		if info.Size < end {
			return info, nil, fmt.Errorf("%s: %w", name, backend.ErrChanged)
		}
		tail := make([]byte, min(end, tailSize))
		_, readErr := f.ReadAt(tail, end-int64(len(tail)))
		before := info
		if info, err = f.Stat(); err == nil && info == before {
			if readErr != nil {
				return info, nil, failed(name, readErr)
			}
			return info, tail, nil
		}
	}
	return info, nil, fmt.Errorf("%s: %w: it changes all the time", name, backend.ErrChanged)
}

// Stat implements backend.Backend.
func (b *Backend) Stat(ctx context.Context, name string) (backend.Log, error) {
	if b.Compressed(name) {
		path, err := b.begin(ctx, name)
		if err != nil {
			return backend.Log{}, err
		}
		f, at, _, err := b.openCompressed(ctx, name, path)
		if err != nil {
			return backend.Log{}, err
		}
		return at, f.Close()
	}
	at, r, err := b.OpenNow(ctx, name)
	if err != nil {
		return backend.Log{}, err
	}
	return at, r.Close()
}

// OpenNow implements backend.NowOpener.
func (b *Backend) OpenNow(ctx context.Context, name string) (backend.Log, backend.Reader, error) {
	path, err := b.begin(ctx, name)
	if err != nil {
		return backend.Log{}, nil, err
	}
	if b.Compressed(name) {
		at, r, err := b.expandNow(ctx, name, path)
		if err != nil {
			return backend.Log{}, nil, err
		}
		return at, r, nil
	}
	s, err := b.snapshot(name, path, -1)
	if err != nil {
		return backend.Log{}, nil, err
	}
	at := fullLogOf(name, s.seen, s.tail)
	at.Changed = s.seen.Changed
	return at, s, nil
}

// snapshot opens a file and notes its state and the bytes before size. A negative size stands for the size of the file.
func (b *Backend) snapshot(name, path string, size int64) (*snapshot, error) {
	f, err := b.fs.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, failed(name, err)
	}
	info, tail, err := look(f, name, size)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	if size < 0 {
		size = info.Size
	}
	return &snapshot{f: f, name: name, isLines: backend.IsText(name), size: size, tail: tail, seen: info, most: b.opt.LongestLine}, nil
}

// snapshot is an open log as the caller saw it. Open returns it as a Reader.
type snapshot struct {
	f       durable.File
	name    string
	isLines bool
	size    int64
	most    int    // see Options.LongestLine
	tail    []byte // the last bytes before size

	// open is held for reading while the file is in use, so that Close cannot release a descriptor that a read is
	// about to use.
	open   sync.RWMutex
	closed bool

	mu   sync.Mutex
	seen durable.Info // of f when it last held what the caller saw
}

// hold opens the log that the caller saw, to read it from offset. The file may have grown since. Whether it only grew is
// decided by the bytes before the old end.
func (b *Backend) hold(ctx context.Context, at backend.Log, offset int64) (backend.RecordReader, error) {
	path, err := b.begin(ctx, at.Name)
	if err != nil {
		return nil, err
	}
	if at.Generation == "" {
		return nil, fmt.Errorf("%s: %w", at.Name, backend.ErrNotExist)
	}
	if b.Compressed(at.Name) {
		e, err := b.holdCompressed(ctx, at, path, offset == at.Size)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	want, ok := parseGeneration(at.Generation)
	if !ok || at.Size < 0 {
		return nil, fmt.Errorf("%s: %w: its generation is not from this backend", at.Name, backend.ErrChanged)
	}
	s, err := b.snapshot(at.Name, path, at.Size)
	if err != nil {
		return nil, err
	}
	if s.seen.Dev != want.dev || s.seen.Ino != want.ino || want.full && hashTail(s.tail) != want.tail {
		_ = s.Close()
		return nil, fmt.Errorf("%s: %w", at.Name, backend.ErrChanged)
	}
	return s, nil
}

// Open implements backend.Opener.
func (b *Backend) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	return b.hold(ctx, at, 0)
}

// ReadAt implements io.ReaderAt. The log ends where the caller saw its end.
func (s *snapshot) ReadAt(p []byte, off int64) (int, error) {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return 0, fmt.Errorf("%s: %w", s.name, fs.ErrClosed)
	}
	if off < 0 {
		return 0, fmt.Errorf("%s: negative offset", s.name)
	}
	if off >= s.size {
		return 0, io.EOF
	}
	end := error(nil)
	if left := s.size - off; int64(len(p)) > left {
		p, end = p[:left], io.EOF
	}
	if _, err := s.f.ReadAt(p, off); err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("%s: %w", s.name, err)
	}
	// Checked after the read: only then is it certain that these are the bytes that the caller saw.
	if err := s.check(); err != nil {
		return 0, err
	}
	return len(p), end
}

// Renew implements backend.Renewer.
func (s *snapshot) Renew() (size int64, grew bool, err error) {
	changed := s.check()
	if changed != nil && !errors.Is(changed, backend.ErrChanged) {
		return 0, false, changed
	}
	s.open.Lock() // no reads while the end moves
	defer s.open.Unlock()
	if s.closed {
		return 0, false, fmt.Errorf("%s: %w", s.name, fs.ErrClosed)
	}
	info, tail, err := look(s.f, s.name, -1)
	if err != nil {
		return 0, false, err
	}
	grew = changed == nil && info.Size >= s.size
	s.seen, s.size, s.tail = info, info.Size, tail
	return s.size, grew, nil
}

// check returns ErrChanged if the file may no longer hold what the caller saw.
func (s *snapshot) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := s.f.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if info == s.seen {
		return nil
	}
	info, tail, err := look(s.f, s.name, s.size)
	if err != nil {
		return err
	}
	if !bytes.Equal(tail, s.tail) {
		return fmt.Errorf("%s: %w", s.name, backend.ErrChanged)
	}
	s.seen = info
	return nil
}

// Close implements io.Closer. A second call does nothing.
func (s *snapshot) Close() error {
	s.open.Lock()
	defer s.open.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.f.Close()
}

// splitters are reused: allocating a buffer costs more than reading a small log.
var splitters = sync.Pool{New: func() any { return new(jsonl.Splitter) }}

// Read implements backend.Backend.
func (b *Backend) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		s, err := b.hold(ctx, at, offset)
		if err != nil {
			yield(backend.Record{}, err)
			return
		}
		defer s.Close()
		s.Records(ctx, offset)(yield)
	}
}

// begin returns the size of the log, or an error if no reading can begin at offset. At the end no bytes are read, so it
// checks the file itself.
func (s *snapshot) begin(offset int64) (size int64, err error) {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return 0, fmt.Errorf("%s: %w", s.name, fs.ErrClosed)
	}
	if offset == s.size {
		return s.size, s.check()
	}
	return s.size, backend.CheckOffset(s.name, offset, s.size)
}

// Records implements backend.RecordReader.
func (s *snapshot) Records(ctx context.Context, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		size, err := s.begin(offset)
		switch {
		case err != nil:
			yield(backend.Record{}, err)
		case s.isLines:
			splitLines(ctx, s, s.name, offset, size, s.most, yield)
		case offset == 0:
			s.whole(size, yield)
		}
	}
}

// splitLines yields the records of a log of lines.
func splitLines(ctx context.Context, r io.ReaderAt, name string, offset, size int64, most int, yield func(backend.Record, error) bool) {
	split := splitters.Get().(*jsonl.Splitter)
	defer func() {
		split.Reset(nil, 0) // releases the file, and the buffer of a very long line
		splitters.Put(split)
	}()
	split.Most = most
	split.ResetAt(r, offset, size)
	for r, err := range split.All(ctx) {
		if !yield(backend.Record(r), backend.LongLine(name, err)) {
			return
		}
	}
}

// whole yields the single record of a whole log.
func (s *snapshot) whole(size int64, yield func(backend.Record, error) bool) {
	if size > int64(s.most) {
		yield(backend.Record{}, &backend.LongLineError{File: s.name, Most: s.most})
		return
	}
	data := make([]byte, size)
	if _, err := s.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		yield(backend.Record{}, err)
		return
	}
	yield(backend.Record{Data: data, End: size}, nil)
}
