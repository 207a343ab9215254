package file

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
		return b.create(name, path, bytes.NewReader(records[0]), tailOf(records[0]))
	}
	return b.create(name, path, bufio.NewReaderSize(&pieces{records: records}, pieceSize), lastOf(records))
}

// pieceSize is how much of a new log is encoded at a time: a log may be large.
const pieceSize = 1 << 20

// pieces reads records as lines.
type pieces struct {
	records [][]byte
	at      int // in the first of them; its newline is at its length
}

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (n int, err error) {
	for n < len(b) && len(p.records) > 0 {
		r := p.records[0]
		k := copy(b[n:], r[p.at:])
		n, p.at = n+k, p.at+k
		if p.at == len(r) && n < len(b) {
			b[n] = '\n'
			n, p.records, p.at = n+1, p.records[1:], 0
		}
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// lastOf returns the tail of a log of lines.
func lastOf(records [][]byte) (tail []byte) {
	k, size := len(records), 0
	for ; k > 0 && size < tailSize; k-- {
		size += len(records[k-1]) + 1
	}
	for _, r := range records[k:] {
		tail = append(append(tail, r...), '\n')
	}
	return tailOf(tail)
}

// Restore implements backend.Restorer.
func (b *Backend) Restore(ctx context.Context, name string, content []byte) (backend.Log, error) {
	path, err := b.beginWrite(ctx, name)
	if err != nil {
		return backend.Log{}, err
	}
	return b.create(name, path, bytes.NewReader(content), tailOf(content))
}

// beginWrite makes the checks of Create.
func (b *Backend) beginWrite(ctx context.Context, name string) (path string, err error) {
	if err := b.ready(ctx); err != nil {
		return "", err
	}
	return b.writePath(name)
}

func (b *Backend) create(name, path string, content io.Reader, tail []byte) (backend.Log, error) {
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
	info, err := durable.Create(fsys, path, fileMode, content)
	if taken(err) {
		return backend.Log{}, fmt.Errorf("%s: %w", name, backend.ErrExist)
	}
	if err == nil && b.opt.Durability != backend.DurabilityNone {
		err = b.syncAbove(dir)
	}
	if err != nil {
		return backend.Log{}, failed(name, err)
	}
	return fullLogOf(name, info, tail), nil
}

// Sync implements backend.Syncer. It syncs at every level of durability.
func (b *Backend) Sync(ctx context.Context, at backend.Log) error {
	w, err := b.take(ctx, at.Name)
	if err != nil {
		return err
	}
	defer b.give(w)
	return b.syncLog(w)
}

// syncLog syncs the file that the log is now. It needs no lock: syncing the writes of others does no harm.
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
