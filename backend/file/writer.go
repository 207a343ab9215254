package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
)

// maxWriters limits how many logs are kept open for writing. An agent has one or two, a server may have thousands.
const maxWriters = 64

// keepBuffer is the largest buffer that a writer keeps for its next append.
const keepBuffer = 1 << 20

// writer is what is kept of a log between two mutations: the open file and its state at the end of the last one.
type writer struct {
	b          *Backend
	name, path string

	turn chan struct{} // a lock that can be waited for with a context; it guards all fields up to lasting

	f    durable.File
	id   durable.Info // of f when it was opened, to compare with the path
	left durable.Info // of f at the last look under its lock; zero if unknown
	last backend.Log  // the Log of left
	tail []byte       // the last bytes of left
	buf  []byte       // for the lines of an append

	reading  bool      // f is for replacing or removing the log, and open for reading only
	followed time.Time // when the path last led to f
	precise  bool      // the file system gives different times to changes in quick succession
	dirty    bool      // written to since the last sync
	lasting  bool      // the name of f is durable

	users atomic.Int32 // mutations that hold or wait for the turn; increased under Backend.mu
	used  int64        // Backend.uses at the last take; guarded by Backend.mu
}

// take starts a mutation of a log: it makes the checks and waits until no other mutation of the log is running.
func (b *Backend) take(ctx context.Context, name string) (*writer, error) {
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	w, idle, err := b.writer(name)
	if err != nil {
		return nil, err
	}
	if idle != nil {
		if err := idle.retire(); err != nil {
			b.mu.Lock()
			if b.late == nil {
				b.late = map[string]error{}
			}
			b.late[idle.name] = err // no caller waits for this log now
			b.mu.Unlock()
		}
	}
	select {
	case w.turn <- struct{}{}: // the usual case: a select without waiting takes half the time
	default:
		select {
		case w.turn <- struct{}{}:
		case <-ctx.Done():
			w.users.Add(-1)
			return nil, context.Cause(ctx)
		}
	}
	if err := b.ready(ctx); err != nil {
		b.give(w)
		return nil, err
	}
	return w, nil
}

// writer returns the writer of a log. If it is new and too many files are open, idle is the least recently used writer, which must be
// retired.
func (b *Backend) writer(name string) (w, idle *writer, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w = b.writers[name]; w == nil {
		path, err := b.writePath(name)
		if err != nil {
			return nil, nil, err
		}
		w = &writer{b: b, name: name, path: path, turn: make(chan struct{}, 1)}
		if len(b.writers) >= maxWriters {
			for _, other := range b.writers {
				if other.users.Load() == 0 && (idle == nil || other.used < idle.used) {
					idle = other
				}
			}
			if idle != nil {
				delete(b.writers, idle.name)
			}
		}
		b.writers[name] = w
	}
	b.uses++
	w.users.Add(1)
	w.used = b.uses
	return w, idle, nil
}

// Release implements backend.Releaser: it closes the file of a log that no other goroutine is writing.
func (b *Backend) Release(name string) error {
	b.mu.Lock()
	w := b.writers[name]
	if w == nil || w.users.Load() != 0 {
		b.mu.Unlock()
		return nil
	}
	delete(b.writers, name)
	b.mu.Unlock()
	return w.retire()
}

// give ends a mutation.
func (b *Backend) give(w *writer) {
	if cap(w.buf) > keepBuffer {
		w.buf = nil
	}
	<-w.turn
	w.users.Add(-1)
}

// lock opens the log if necessary, takes the lock of its file and returns its state. ErrConflict if there is no log.
func (w *writer) lock(ctx context.Context) (durable.Info, error) {
	// A round fails only if the file was replaced between open and lock.
	for range patience {
		if w.f == nil {
			if err := w.open(); err != nil {
				return durable.Info{}, err
			}
		}
		if err := w.waitLock(ctx); err != nil {
			return durable.Info{}, err
		}
		if info, ok := w.unchanged(); ok {
			return info, nil
		}
		// The file may have been replaced since it was opened.
		began := w.b.opt.Clock()
		info, err := w.b.fs.Stat(w.path)
		if err == nil && info.SameFile(w.id) {
			w.followed = began
			return info, nil
		}
		w.drop()
		if gone(err) {
			return durable.Info{}, conflict(w.name)
		}
		if err != nil {
			return durable.Info{}, failed(w.name, err)
		}
	}
	return durable.Info{}, fmt.Errorf("%s: %w: it is replaced all the time", w.name, backend.ErrConflict)
}

// followEvery is how long an unchanged file is used without following its path again. To follow it for each append makes a
// burst of appends slower by a quarter.
const followEvery = time.Millisecond

// unchanged checks only the open file: whether it is as this writer left it. A rename or a removal changes the file's change time, so it is
// noticed if the times are precise. A change further up the path, of a folder or a symbolic link, is not; so the answer is used for
// followEvery only.
func (w *writer) unchanged() (durable.Info, bool) {
	if !w.precise || w.left.Changed == 0 {
		return durable.Info{}, false
	}
	if age := w.b.opt.Clock().Sub(w.followed); age < 0 || age >= followEvery {
		return durable.Info{}, false
	}
	info, err := w.f.Stat()
	return info, err == nil && info == w.left
}

// gauge learns from the times of two successive changes whether times are precise. A coarse clock gives equal times, or
// times at least a millisecond apart.
func (w *writer) gauge(before, after int64) {
	switch apart := after - before; {
	case before == 0 || after == 0 || apart <= 0:
		w.precise = false
	case apart < 900_000:
		w.precise = true
	}
}

// open opens the file. It never creates one.
func (w *writer) open() error {
	flag := os.O_RDWR | os.O_APPEND
	if w.reading {
		flag = os.O_RDONLY
	}
	f, err := w.b.fs.Open(w.path, flag, 0)
	if gone(err) || errors.Is(err, syscall.EISDIR) {
		return conflict(w.name)
	}
	if err != nil {
		return failed(w.name, err)
	}
	id, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return failed(w.name, err)
	}
	if !id.Mode.IsRegular() {
		_ = f.Close()
		return conflict(w.name)
	}
	w.f, w.id, w.left, w.lasting, w.precise = f, id, durable.Info{}, false, false
	return nil
}

// waitLock takes the lock of the file. It polls with backoff, because the system cannot wait with a context or a timeout.
// A lock is held for microseconds, or for a sync, so the first pauses are short.
func (w *writer) waitLock(ctx context.Context) error {
	var since time.Time
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 2*time.Millisecond) {
		got, err := w.f.TryLock()
		if err != nil {
			w.drop()
			return failed(w.name, err)
		}
		if got {
			return nil
		}
		now := w.b.opt.Clock()
		if since.IsZero() {
			since = now
		}
		if now.Sub(since) >= w.b.opt.LockWait {
			return fmt.Errorf("%s: %w%s", w.name, backend.ErrLocked, holder(w.id))
		}
		if err := w.b.opt.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// unlock releases the lock of the file.
func (w *writer) unlock() {
	if w.f != nil && w.f.Unlock() != nil {
		w.drop()
	}
}

// drop closes the file, which releases its lock, and forgets its state.
func (w *writer) drop() {
	if w.f != nil {
		_ = w.f.Close() // loses nothing: what had to be durable was synced
	}
	w.f, w.left, w.lasting = nil, durable.Info{}, false
}

// refresh looks at the locked file. It reads the tail only if the file changed since the last look.
func (w *writer) refresh(info durable.Info) error {
	if info == w.left && w.left != (durable.Info{}) {
		return nil
	}
	info, tail, err := look(w.f, w.name, -1)
	if err != nil {
		w.left = durable.Info{}
		return err
	}
	w.note(info, tail)
	return nil
}

// verify compares the locked file with what the caller saw.
func (w *writer) verify(at backend.Log, info durable.Info) error {
	if err := w.refresh(info); err != nil {
		return err
	}
	if at.Generation != w.last.Generation || at.Size != w.last.Size {
		return conflict(w.name)
	}
	return nil
}

// note remembers the state of the file.
func (w *writer) note(info durable.Info, tail []byte) {
	w.left = info
	w.tail = append(w.tail[:0], tail...)
	w.last = fullLogOf(w.name, info, w.tail)
}

// sync makes durable what was written, and the name of the file.
func (w *writer) sync() error {
	if err := w.f.Sync(durable.Data); err != nil {
		return err
	}
	w.dirty = false
	if w.lasting {
		return nil
	}
	// Another program may have created the file without a sync.
	dir := filepath.Dir(w.path)
	if err := w.b.fs.SyncDir(dir); err != nil {
		return err
	}
	if err := w.b.syncAbove(dir); err != nil {
		return err
	}
	w.lasting = true
	return nil
}

// syncAbove makes the names of the folder, and of those above it up to the root, durable; once per folder.
func (b *Backend) syncAbove(dir string) error {
	b.mu.Lock()
	_, known := b.lasting[dir]
	b.mu.Unlock()
	if known || dir == b.root {
		return nil
	}
	above := filepath.Dir(dir)
	if err := b.fs.SyncDir(above); err != nil {
		return err
	}
	if len(above) > len(b.root) {
		if err := b.syncAbove(above); err != nil {
			return err
		}
	}
	b.mu.Lock()
	b.lasting[dir] = struct{}{}
	b.mu.Unlock()
	return nil
}

// retire closes the file of a log. With DurabilityFlush it syncs first.
func (w *writer) retire() (err error) {
	if w.dirty && w.b.opt.Durability == backend.DurabilityFlush {
		err = w.b.syncLog(w)
	}
	if w.f != nil {
		if cerr := w.f.Close(); err == nil && cerr != nil {
			err = failed(w.name, cerr)
		}
		w.f = nil
	}
	return err
}
