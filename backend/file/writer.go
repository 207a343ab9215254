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

// maxWriters is how many logs are kept open for writing. An agent has one or two; a server may have thousands, and
// descriptors are few.
const maxWriters = 64

// keepBuffer is the largest buffer that a writer keeps for its next append.
const keepBuffer = 1 << 20

// writer is what we keep of a log between two appends: the open file, and what it was when we left it.
type writer struct {
	b          *Backend
	name, path string

	turn turn // who has it has everything below

	f    durable.File
	id   durable.Info // which file f is
	left durable.Info // what the file was when we last looked, under its lock; zero: look again
	last backend.Log  // the same as a Log
	tail []byte       // its last bytes
	buf  []byte       // for the lines of an append

	followed time.Time // when the path last led to f
	precise  bool      // the file system tells apart changes that come right after each other

	dirty   bool // written to, and not synced since
	lasting bool // the name of f is known to be lasting

	users atomic.Int32 // who has or waits for the turn; counted up under Backend.mu only
	used  int64        // when it was last taken; guarded by Backend.mu
}

// take is what every mutation of a log that is there does first: it checks, and gets the writer of the log and its turn.
func (b *Backend) take(ctx context.Context, name string) (*writer, error) {
	b.mu.Lock()
	w := b.recent
	if w == nil || w.name != name {
		w = b.writers[name]
		b.recent = w
	}
	if w != nil { // its name was checked when it was made
		b.use(w)
		b.mu.Unlock()
	} else {
		b.mu.Unlock()
		path, err := b.beginWrite(ctx, name)
		if err != nil {
			return nil, err
		}
		w = b.newWriter(name, path)
	}
	if err := w.turn.take(ctx); err != nil {
		w.users.Add(-1)
		return nil, err
	}
	var err error
	if b.closed.Load() {
		err = backend.ErrClosed
	} else if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		b.give(w)
		return nil, err
	}
	return w, nil
}

// use notes that somebody wants the turn. The Backend is locked.
func (b *Backend) use(w *writer) {
	w.users.Add(1)
	b.uses++
	w.used = b.uses
}

// newWriter makes the writer of a log, unless somebody else just has. Where too many files are open the one that was used
// longest ago is closed.
func (b *Backend) newWriter(name, path string) *writer {
	b.mu.Lock()
	w := b.writers[name]
	if w == nil {
		w = &writer{b: b, name: name, path: path, turn: newTurn()}
		b.writers[name] = w
	}
	b.use(w)
	var idle *writer
	if len(b.writers) > maxWriters {
		for _, other := range b.writers {
			if other.users.Load() == 0 && (idle == nil || other.used < idle.used) {
				idle = other
			}
		}
		if idle != nil {
			delete(b.writers, idle.name)
			if b.recent == idle {
				b.recent = nil
			}
		}
	}
	b.mu.Unlock()
	if idle != nil {
		if err := idle.retire(); err != nil {
			b.mu.Lock()
			b.late = errors.Join(b.late, err) // for Close to tell: nobody waits for this log now
			b.mu.Unlock()
		}
	}
	return w
}

// give gives the turn back.
func (b *Backend) give(w *writer) {
	if cap(w.buf) > keepBuffer {
		w.buf = nil
	}
	w.turn.give()
	w.users.Add(-1)
}

// lock opens the log if need be, takes the lock of its file and returns what the file is. ErrConflict where there is none.
func (w *writer) lock(ctx context.Context) (durable.Info, error) {
	// Each round ends in success, in an error, or with a file that was replaced between open and lock.
	for range patience {
		if w.f == nil {
			if err := w.open(); err != nil {
				return durable.Info{}, err
			}
		}
		if err := w.waitLock(ctx); err != nil {
			return durable.Info{}, err
		}
		if info, ok := w.glance(); ok {
			return info, nil
		}
		// Who waited for the lock, or kept the file open, may hold a file that is not the log any more.
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

// glanceFor is for how long an unchanged file need not be looked for under its path again.
const glanceFor = time.Millisecond

// glance asks the open file alone whether it is what we left, for half of what it costs to follow the path: its names are
// part of what counts as a change, so a file that was replaced, renamed or removed is not what we left. That holds where
// the file system notes the moment of a change so precisely that no two are the same. What happens to the path further
// up, to a folder or a symbolic link, it cannot tell, so it is trusted for a moment only: it makes a burst of appends
// cheap, and whoever appends now and then follows the path each time.
func (w *writer) glance() (durable.Info, bool) {
	if !w.precise || w.left.Changed == 0 {
		return durable.Info{}, false
	}
	if age := w.b.opt.since(w.followed); age < 0 || age >= glanceFor {
		return durable.Info{}, false
	}
	info, err := w.f.Stat()
	return info, err == nil && info == w.left
}

// gauge compares the moments of two changes, the second of which was ours, made after the first was looked at. A clock
// that moves in steps gives the same moment twice, or moments a step apart; no step is shorter than a millisecond.
func (w *writer) gauge(before, after int64) {
	switch apart := after - before; {
	case before == 0 || after == 0 || apart <= 0:
		w.precise = false
	case apart < 900_000:
		w.precise = true
	}
}

// open opens the file and asks which one it is: only then can it be compared with the path. A new file is never made here.
func (w *writer) open() error {
	f, err := w.b.fs.Open(w.path, os.O_RDWR|os.O_APPEND, 0)
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

// waitLock takes the lock of the file. The system could wait for us, but not with a context and not for a limited time;
// so we ask again and again. A lock is held for microseconds, or a sync, so the first questions come soon.
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

// unlock gives the lock of the file up. Closing the file does so, too.
func (w *writer) unlock() {
	if w.f != nil && w.f.Unlock() != nil {
		w.drop()
	}
}

// drop closes the file, which gives up the lock, and forgets what was known of it.
func (w *writer) drop() {
	if w.f != nil {
		_ = w.f.Close() // nothing can be lost: what had to be lasting was synced
	}
	w.f, w.left, w.lasting = nil, durable.Info{}, false
}

// verify compares the locked file with what the caller saw. While the file is what we left there is nothing to read.
func (w *writer) verify(at backend.Log, info durable.Info) error {
	if info != w.left || w.left == (durable.Info{}) {
		// Others have been at it, or it is our first time. What changed does not matter here: the token tells whether
		// the caller knows of it.
		info, tail, err := look(w.f, w.name, -1)
		if err != nil {
			w.left = durable.Info{}
			return err
		}
		w.note(info, tail)
	}
	if at.Generation != w.last.Generation || at.Size != w.last.Size {
		return conflict(w.name)
	}
	return nil
}

// note remembers what the file is now.
func (w *writer) note(info durable.Info, tail []byte) {
	w.left = info
	w.tail = append(w.tail[:0], tail...)
	w.last = fullLogOf(w.name, info, w.tail)
}

// sync makes lasting what was written, and the name under which it can be found.
func (w *writer) sync() error {
	if err := w.f.Sync(durable.Data); err != nil {
		return err
	}
	w.dirty = false
	if w.lasting {
		return nil
	}
	// The file may have been made by a program that synced nothing.
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

// syncAbove makes the names of the folder, and of those above it up to the root, lasting; once for each folder.
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

// retire ends the work on a log: it does what Close promises.
func (w *writer) retire() (err error) {
	// At level Always nothing is left to do, and level None promised nothing.
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
