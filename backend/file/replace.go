package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
)

// New files are private to their owner: sessions hold secrets.
const (
	fileMode   = 0o600
	folderMode = 0o700
)

func taken(err error) bool { return errors.Is(err, fs.ErrExist) }

// tailOf returns the tail of a content.
func tailOf(content []byte) []byte { return content[max(0, len(content)-tailSize):] }

// Create implements backend.Backend. It makes missing folders.
func (b *Backend) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	path, err := b.beginWrite(ctx, name)
	if err != nil {
		return backend.Log{}, err
	}
	lines := backend.IsText(name)
	if err := backend.Check(name, lines, records...); err != nil {
		return backend.Log{}, err
	}
	if !lines {
		return b.create(name, path, bytes.NewReader(records[0]), time.Time{})
	}
	return b.CreateFrom(ctx, name, func(yield func([]byte, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	})
}

// CreateFrom implements backend.Streamer, for logs of lines.
func (b *Backend) CreateFrom(ctx context.Context, name string, records iter.Seq2[[]byte, error]) (backend.Log, error) {
	path, err := b.beginWrite(ctx, name)
	if err != nil {
		return backend.Log{}, err
	}
	next, stop := iter.Pull2(records)
	defer stop()
	p := &pieces{name: name, next: next}
	log, err := b.create(name, path, p, time.Time{})
	if p.err != nil {
		return backend.Log{}, p.err // it names the log if it is about it
	}
	return log, err
}

// pieces reads records as lines. It fills what it reads into, so it needs no buffer.
type pieces struct {
	name   string // of the log
	next   func() ([]byte, error, bool)
	record []byte // the rest of the current one
	line   bool   // its newline is still to come
	err    error  // of a record
}

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if !p.line {
			record, err, ok := p.next()
			switch {
			case !ok && n == 0:
				return 0, io.EOF
			case !ok:
				return n, nil
			case err == nil:
				err = backend.Check(p.name, true, record)
			}
			if err != nil {
				p.err = err
				return n, err
			}
			p.record, p.line = record, true
		}
		k := copy(b[n:], p.record)
		n, p.record = n+k, p.record[k:]
		if len(p.record) == 0 && n < len(b) {
			b[n] = '\n'
			n, p.line = n+1, false
		}
	}
	return n, nil
}

// ending remembers the tail of what is read.
type ending struct {
	io.Reader
	tail []byte
}

// Read implements io.Reader.
func (e *ending) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	e.see(b[:n])
	return n, err
}

// see adds bytes to what was read.
func (e *ending) see(b []byte) {
	if len(b) >= tailSize {
		e.tail = append(e.tail[:0], tailOf(b)...)
	} else {
		e.tail = tailOf(append(e.tail, b...))
	}
}

// Restore implements backend.Restorer.
func (b *Backend) Restore(ctx context.Context, name string, content []byte) (backend.Log, error) {
	return b.RestoreAt(ctx, name, content, time.Time{})
}

// RestoreAt implements backend.Dater.
func (b *Backend) RestoreAt(ctx context.Context, name string, content []byte, at time.Time) (backend.Log, error) {
	path, err := b.beginWrite(ctx, name)
	if err != nil {
		return backend.Log{}, err
	}
	return b.create(name, path, bytes.NewReader(content), at)
}

// beginWrite makes the checks of Create.
func (b *Backend) beginWrite(ctx context.Context, name string) (path string, err error) {
	if err := b.ready(ctx); err != nil {
		return "", err
	}
	return b.writePath(name)
}

// create makes a file that was last changed at a time; zero is now.
func (b *Backend) create(name, path string, content io.Reader, at time.Time) (backend.Log, error) {
	// This check only saves work. The link decides.
	if _, err := b.fs.Stat(path); err == nil {
		return backend.Log{}, fmt.Errorf("%s: %w", name, backend.ErrExist)
	}
	fsys := b.fs
	if b.opt.Durability == backend.DurabilityNone {
		fsys = durable.Unsynced(fsys)
	}
	dir := filepath.Dir(path)
	if err := durable.MkdirAll(fsys, dir, folderMode); errors.Is(err, syscall.ENOTDIR) {
		return backend.Log{}, fmt.Errorf("%s: %w: it is below a file", name, backend.ErrName)
	} else if err != nil {
		return backend.Log{}, failed(name, err)
	}
	end := &ending{Reader: content}
	info, err := durable.CreateDated(fsys, path, fileMode, end, at)
	if taken(err) {
		return backend.Log{}, fmt.Errorf("%s: %w", name, backend.ErrExist)
	}
	if err == nil && b.opt.Durability != backend.DurabilityNone {
		err = b.syncAbove(dir)
	}
	if err != nil {
		return backend.Log{}, failed(name, err)
	}
	return fullLogOf(name, info, end.tail), nil
}

// Sync implements backend.Syncer. It syncs at every level of durability.
func (b *Backend) Sync(ctx context.Context, at backend.Log) error {
	w, err := b.take(ctx, at.Name)
	if err != nil {
		return err
	}
	defer b.give(w)
	b.mu.Lock()
	err = b.late[at.Name]
	delete(b.late, at.Name)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return b.syncLog(w)
}

// syncLog syncs the current file of the log. It needs no lock: syncing the writes of other programs does no harm.
func (b *Backend) syncLog(w *writer) error {
	// The file may have been replaced since it was opened.
	if w.f != nil {
		if info, err := b.fs.Stat(w.path); err != nil || !info.SameFile(w.id) {
			w.drop()
		}
	}
	if w.f == nil {
		if err := w.open(); err != nil {
			return err
		}
	}
	if err := w.sync(); err != nil {
		w.drop()
		return failed(w.name, err)
	}
	return nil
}

// Sweep implements backend.Sweeper: it finds temporary files that a crash left. It does not follow symbolic links.
func (b *Backend) Sweep(ctx context.Context, before time.Time, remove bool) (found int, err error) {
	if b.closed.Load() {
		return 0, backend.ErrClosed
	}
	if remove && b.opt.ReadOnly {
		return 0, backend.ErrReadOnly
	}
	return b.sweep(ctx, b.root, before, remove)
}

// sweep visits a folder and those below it.
func (b *Backend) sweep(ctx context.Context, dir string, before time.Time, remove bool) (found int, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	entries, err := b.fs.ReadDir(dir)
	if gone(err) {
		return 0, nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			n, serr := b.sweep(ctx, path, before, remove)
			found, err = found+n, errors.Join(err, serr)
			continue
		}
		if !strings.HasPrefix(e.Name(), ownPrefix) {
			continue
		}
		info, serr := b.fs.Stat(path)
		if serr != nil || !time.Unix(0, info.Nanos).Before(before) {
			continue
		}
		if remove {
			if rerr := b.fs.Remove(path); rerr != nil && !gone(rerr) {
				err = errors.Join(err, rerr)
				continue
			}
		}
		found++
	}
	return found, err
}
