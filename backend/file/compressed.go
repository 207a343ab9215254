package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/jsonl"
	"github.com/treeline-dev/treeline/internal/spill"
)

// zstSuffix is the end of the names of compressed logs of lines.
const zstSuffix = ".zst"

// plainName returns the name of a log without the ending of compressed ones; ok is false for a log that is not compressed.
func plainName(name string) (plain string, ok bool) {
	plain, ok = strings.CutSuffix(name, zstSuffix)
	return plain, ok && backend.IsText(plain)
}

// Lines implements backend.Liner: compressed logs consist of lines, too.
func (b *Backend) Lines(name string) bool {
	if plain, ok := plainName(name); ok {
		name = plain
	}
	return backend.IsText(name)
}

// Compressed implements backend.Expander.
func (b *Backend) Compressed(name string) bool {
	_, ok := plainName(name)
	return ok
}

// fileID tells one content of a compressed file from another.
type fileID struct {
	dev, ino    uint64
	nanos, size int64
}

func idOf(i durable.Info) fileID { return fileID{i.Dev, i.Ino, i.Nanos, i.Size} }

// mostSizes bounds the sizes that are remembered.
const mostSizes = 4096

// contentLog makes the Log of an open compressed file. Its size is that of the content.
func (b *Backend) contentLog(ctx context.Context, f durable.File, name, path string) (backend.Log, durable.Info, error) {
	info, tail, err := look(f, name, -1)
	if err != nil {
		return backend.Log{}, info, err
	}
	at := fullLogOf(name, info, tail)
	at.Changed = info.Changed
	at.Size, err = b.contentSize(ctx, f, path, info)
	return at, info, err
}

// contentSize returns the length of the content of a compressed file. A length that only decoding tells is remembered.
func (b *Backend) contentSize(ctx context.Context, f durable.File, path string, info durable.Info) (int64, error) {
	size, known, err := contentSize(f, info.Size)
	if err != nil {
		return 0, err
	}
	if known {
		if size > mostContent(info.Size) {
			return 0, tooLong(path, info.Size)
		}
		return size, nil
	}
	b.mu.Lock()
	size, known = b.sizes[idOf(info)]
	b.mu.Unlock()
	if known {
		return size, nil
	}
	if size, err = expand(ctx, f, path, info.Size, io.Discard); err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sizes == nil || len(b.sizes) >= mostSizes {
		b.sizes = map[fileID]int64{}
	}
	b.sizes[idOf(info)] = size
	return size, nil
}

// listedSize is contentSize for List, which has not opened the file.
func (b *Backend) listedSize(ctx context.Context, path string, info durable.Info) (int64, error) {
	f, err := b.fs.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return b.contentSize(ctx, f, path, info)
}

// openCompressed opens a compressed file and returns its Log.
func (b *Backend) openCompressed(ctx context.Context, name, path string) (durable.File, backend.Log, durable.Info, error) {
	f, err := b.fs.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, backend.Log{}, durable.Info{}, failed(name, err)
	}
	at, info, err := b.contentLog(ctx, f, name, path)
	if err != nil {
		_ = f.Close()
		return nil, backend.Log{}, info, failed(name, err)
	}
	return f, at, info, nil
}

// expandNow is OpenNow for a compressed log.
func (b *Backend) expandNow(ctx context.Context, name, path string) (backend.Log, *expanded, error) {
	f, at, info, err := b.openCompressed(ctx, name, path)
	if err != nil {
		return backend.Log{}, nil, err
	}
	defer f.Close()
	r, err := expandLog(ctx, f, path, at, info)
	return at, r, err
}

// expandLog opens the content of a compressed file for random access.
func expandLog(ctx context.Context, f durable.File, path string, at backend.Log, info durable.Info) (*expanded, error) {
	c, err := openContent(ctx, f, path, info.Size)
	if err != nil {
		return nil, failed(at.Name, err)
	}
	// Checked after the read: only then is it certain that these are the bytes that the caller saw.
	if now, err := f.Stat(); err != nil || idOf(now) != idOf(info) || c.Size() != at.Size {
		return nil, errors.Join(fmt.Errorf("%s: %w", at.Name, backend.ErrChanged), c.Close())
	}
	return &expanded{content: c, name: at.Name, size: at.Size, file: info}, nil
}

// holdCompressed opens the compressed log that the caller saw; end means that nothing of it will be read. A compressed file does not grow:
// one that was written to is another log.
func (b *Backend) holdCompressed(ctx context.Context, at backend.Log, path string, end bool) (*expanded, error) {
	f, now, info, err := b.openCompressed(ctx, at.Name, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A Log from List has a shorter generation: it lacks the tail.
	if at.Size != now.Size || len(at.Generation) < shortWidth || !strings.HasPrefix(now.Generation, at.Generation) {
		return nil, fmt.Errorf("%s: %w", at.Name, backend.ErrChanged)
	}
	if end {
		return &expanded{content: &spill.Bytes{}, name: at.Name, size: now.Size}, nil
	}
	return expandLog(ctx, f, path, now, info)
}

// expanded is a compressed log that was opened. It reads a copy, so changes of the file do not matter.
type expanded struct {
	content *spill.Bytes
	name    string
	size    int64
	file    durable.Info // of the compressed file

	mu     sync.RWMutex // held for reading while content is in use
	closed bool
}

// ReadAt implements io.ReaderAt.
func (e *expanded) ReadAt(p []byte, off int64) (int, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	switch {
	case e.closed:
		return 0, fmt.Errorf("%s: %w", e.name, fs.ErrClosed)
	case off < 0:
		return 0, fmt.Errorf("%s: negative offset", e.name)
	case off >= e.size:
		return 0, io.EOF
	}
	end := error(nil)
	if left := e.size - off; int64(len(p)) > left {
		p, end = p[:left], io.EOF
	}
	n, err := e.content.ReadAt(p, off)
	if n == len(p) {
		err = end
	}
	return n, err
}

// Records implements backend.RecordReader.
func (e *expanded) Records(ctx context.Context, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		if err := backend.CheckOffset(e.name, offset, e.size); err != nil {
			yield(backend.Record{}, err)
			return
		}
		splitLines(ctx, e, e.name, offset, e.size, jsonl.Longest, yield)
	}
}

// View implements backend.ViewReader.
func (e *expanded) View(from, size int64, look func(data []byte) error) (err error) {
	if size > jsonl.Longest {
		return fmt.Errorf("%s: a view of so many bytes: %w", e.name, errors.ErrUnsupported)
	}
	data, unmap, err := e.content.Map(from, size)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", e.name, errors.ErrUnsupported, err)
	}
	defer func() { err = errors.Join(err, unmap()) }()
	return look(data)
}

// Close implements io.Closer. A second call does nothing.
func (e *expanded) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	return e.content.Close()
}

// Expand implements backend.Expander: the content becomes a file beside the compressed one, which is then removed. After a
// crash in between there are both, and the plain one counts.
func (b *Backend) Expand(ctx context.Context, at backend.Log) (backend.Log, error) {
	path, err := b.begin(ctx, at.Name)
	if err != nil {
		return backend.Log{}, err
	}
	name, ok := plainName(at.Name)
	if !ok {
		return backend.Log{}, fmt.Errorf("%s: %w: it is not compressed", at.Name, backend.ErrName)
	}
	plain, err := b.writePath(name)
	if err != nil {
		return backend.Log{}, err
	}
	r, err := b.holdCompressed(ctx, at, path, false)
	if err != nil {
		return backend.Log{}, changedIsConflict(at.Name, err)
	}
	defer r.Close()
	made, err := durable.CreateDated(b.fs, plain, r.file.Mode.Perm()|0o600, io.NewSectionReader(r, 0, r.size), time.Unix(0, r.file.Nanos))
	if taken(err) {
		return backend.Log{}, fmt.Errorf("%s: %w", name, backend.ErrExist)
	}
	if err != nil {
		return backend.Log{}, failed(name, err)
	}
	tail := make([]byte, min(r.size, tailSize))
	if _, err := r.ReadAt(tail, r.size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return backend.Log{}, err
	}
	// The copy is durable. Only now may the compressed file go.
	if now, err := b.fs.Stat(path); err != nil || idOf(now) != idOf(r.file) {
		// Another program was faster. The copy would hide what that program wrote.
		if now, err := b.fs.Stat(plain); err == nil && idOf(now) == idOf(made) {
			_ = b.fs.Remove(plain)
		}
		return backend.Log{}, conflict(at.Name)
	}
	if err := b.fs.Remove(path); err != nil && !gone(err) {
		return backend.Log{}, failed(at.Name, err)
	}
	return fullLogOf(name, made, tail), failed(name, b.fs.SyncDir(filepath.Dir(path)))
}

// changedIsConflict turns ErrChanged, the error of a reader, into ErrConflict, that of a writer.
func changedIsConflict(name string, err error) error {
	if errors.Is(err, backend.ErrChanged) || errors.Is(err, backend.ErrNotExist) {
		return conflict(name)
	}
	return err
}

// hideCompressed drops compressed files from the items of a folder that also has the plain file.
func (l *lister) hideCompressed(begin int) {
	var names map[string]bool
	kept := l.items[:begin]
	for _, it := range l.items[begin:] {
		plain, ok := plainName(it.key)
		if ok && names == nil {
			names = map[string]bool{}
			for i := range l.listed {
				names[l.listed[i].Name] = true
			}
		}
		if !ok || !names[plain] {
			kept = append(kept, it)
		}
	}
	l.items = kept
}

// compressed yields a compressed log; dir ends in a separator.
func (l *lister) compressed(name, dir string, it item) bool {
	path := dir + it.key
	info := it.info
	if info == (durable.Info{}) {
		var err error
		if info, err = l.fs.Stat(path); gone(err) {
			return true
		} else if err != nil {
			return l.yield(backend.Log{Name: name}, failed(name, err))
		}
	}
	size, err := l.listedSize(l.ctx, path, info)
	if gone(err) {
		return true
	}
	at := backend.Log{Name: name, Generation: string(appendGeneration(nil, info)), Size: size, Time: time.Unix(0, info.Nanos), Changed: info.Changed}
	return l.yield(at, failed(name, err))
}
