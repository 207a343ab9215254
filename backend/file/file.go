// Package file keeps logs as files below a root folder: the name of a log is its path, and the bytes of the file are
// those of the log, nothing before, between or behind them. So the files of an agent that knows nothing of us are logs,
// and our logs are files for that agent.
//
// # Reading
//
// Reading changes nothing, not even a time. Read and Open hold the file: what a rename replaces meanwhile is read to its
// end as it was. A file that is cut or rewritten in place under a reader gives ErrChanged. That is noticed by length,
// time and the last 64 bytes after every chunk, before the chunk is handed on; what cannot be noticed is a rewrite in
// place that keeps the length within one tick of the file system's clock (up to 10 ms) of our first look. View maps the
// file and looks in the end.
//
// # Identity
//
// A generation is device, inode, time of change and a hash of the last 64 bytes. List leaves the hash out, because it
// would have to open every file for it: a Log from List is good for Read and for Open; Append, Replace and Remove answer
// it with ErrConflict, so call Stat first. Without the hash a file that was rewritten in place between List and Read, and
// is not shorter, passes for one that grew.
//
// # Writing
//
// An append is one write(2) of whole lines, under the lock of the file (flock(2); LockFileEx on Windows) that is taken for
// each append and not for longer, so that several processes can write to one log by turns. Under the lock the path is
// looked at again, since a rename may have put another file there; then the file is compared with what the caller saw, and
// its end is checked. While size, times and inode are what we left, the end need not be read: an append costs the same
// however long the log is. After writing the file is looked at once more.
//
// In a burst of appends the path is followed once in a millisecond. In between the open file is asked: on Linux the moment
// at which a file last changed counts what happens to its names too, so one that was replaced, renamed or removed is not
// what we left. That is relied on only where two changes have been seen to have moments closer together than the steps of
// a coarse clock. What happens to a folder above, or to a symbolic link on the way, is noticed up to a millisecond late.
//
// What is noticed, before anything is written: the file was replaced, cut, continued, rewritten or removed. What cannot be
// noticed: a program that takes no lock and writes between our look and our write, a few microseconds later. If it appends,
// both are whole; we see it after the fact and say ErrInterleaved where its bytes came before ours. If it replaces or cuts
// the file in that moment it destroys our record as it would destroy anybody's; we see that afterwards and answer
// ErrConflict, unless it happens still later, when the record was written, and lost, after it was acknowledged. A file
// that was removed is never made again by an append.
//
// # Names
//
// Names are slash paths and cannot leave the root: "..", empty elements and absolute paths are no names (fs.ValidPath).
// Symbolic links that a user put below the root are followed; List follows one only if what it leads to is not listed
// under another name already. Elements that begin with ".treeline-" are ours (files in the making) and never logs.
package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
)

// ownPrefix begins the names of files that are not logs but ours.
const ownPrefix = ".treeline-"

// Options change how a Backend works. The zero value is ready for use.
type Options struct {
	// ReadOnly makes every mutation fail with backend.ErrReadOnly.
	ReadOnly bool
	// Durability says what an append survives when it returns; "" is backend.DurabilityFlush. Replace is durable at
	// every level.
	Durability backend.Durability
	// Mended, if set, is told when Append had to mend the end of a log first. It must not call the Backend.
	Mended func(backend.Mended)
	// LockWait is how long a mutation waits for the lock of a log before it gives up with backend.ErrLocked; 0 means
	// 10 seconds.
	LockWait time.Duration
	// TornWait is how long a torn end must have stood still before it is moved away: its writer might just be slow;
	// 0 means 2 seconds.
	TornWait time.Duration
	// FS is the file system; nil means that of the operating system.
	FS durable.FS
	// Clock is the time; nil means time.Now.
	Clock func() time.Time
	// Wait returns after that time, or when ctx is cancelled, with its cause; nil means real waiting.
	Wait func(ctx context.Context, d time.Duration) error

	since func(time.Time) time.Duration // by Clock
}

// fill puts in what was left out.
func (o *Options) fill() {
	o.Durability = cmp.Or(o.Durability, backend.DurabilityFlush)
	if o.Mended == nil {
		o.Mended = func(backend.Mended) {}
	}
	if o.LockWait == 0 {
		o.LockWait = 10 * time.Second
	}
	if o.TornWait == 0 {
		o.TornWait = 2 * time.Second
	}
	if o.FS == nil {
		o.FS = durable.OS{}
	}
	if o.Clock == nil {
		o.Clock, o.since = time.Now, time.Since // which reads one clock, where Now reads two
	} else {
		clock := o.Clock
		o.since = func(t time.Time) time.Duration { return clock().Sub(t) }
	}
	if o.Wait == nil {
		o.Wait = durable.Wait
	}
}

// Backend keeps logs as files.
type Backend struct {
	root   string
	fs     durable.FS
	opt    Options
	closed atomic.Bool

	mu      sync.Mutex
	writers map[string]*writer  // by name of the log
	recent  *writer             // the one that was taken last, or nil
	uses    int64               // counts, to know which writer was used longest ago
	lasting map[string]struct{} // folders whose names, up to the root, are known to be lasting
	late    error               // what went wrong when logs were closed to make room for others
	watches []*watch
}

// New returns a Backend for the files below root. The folder need not exist yet: until something is created in it, it is
// a place without logs.
func New(root string, options Options) (*Backend, error) {
	if root == "" {
		return nil, errors.New("file backend: the root folder has no name")
	}
	// Absolute, so that a change of the working directory does not move the logs.
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	options.fill()
	if err := options.Durability.Check(); err != nil {
		return nil, err
	}
	return &Backend{
		root: abs, fs: options.FS, opt: options,
		writers: map[string]*writer{}, lasting: map[string]struct{}{},
	}, nil
}

// Driver returns the driver of folders of files. It claims every folder, so it comes last in a list. options hold what
// backend.OpenOptions do not.
func Driver(options Options) backend.Driver {
	return backend.Driver{Name: "file", Open: func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		options := options
		options.ReadOnly, options.Durability, options.Mended = opt.ReadOnly, opt.Durability, opt.Mended
		return New(root, options)
	}}
}

// Lines implements backend.Liner: logs of lines are files whose names end in ".jsonl".
func (b *Backend) Lines(name string) bool { return backend.IsText(name) }

// Path returns the path of the file that a log of that name is or would be; ErrName where there can be none.
func (b *Backend) Path(name string) (string, error) {
	if err := backend.CheckName(name); err != nil {
		return "", err
	}
	if strings.HasPrefix(name, ownPrefix) || strings.Contains(name, "/"+ownPrefix) {
		return "", fmt.Errorf("%q: %w: elements that begin with %s are reserved", name, backend.ErrName, ownPrefix)
	}
	// Localize refuses what is a path of another kind on this system: backslashes, drives and devices on Windows.
	local, err := filepath.Localize(name)
	if err != nil {
		return "", fmt.Errorf("%q: %w: not a file name on this system", name, backend.ErrName)
	}
	return b.root + string(filepath.Separator) + local, nil
}

// begin is what every method does first.
func (b *Backend) begin(ctx context.Context, name string) (path string, err error) {
	if b.closed.Load() {
		return "", backend.ErrClosed
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return b.Path(name)
}

// gone says that an error means: no such file. A file where a folder was expected is no folder, so nothing is in it.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// failed gives an error of the file system the name of the log, and the meaning that the contract has for it.
func failed(name string, err error) error {
	if gone(err) {
		return fmt.Errorf("%s: %w", name, backend.ErrNotExist)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// beginWrite is begin for mutations.
func (b *Backend) beginWrite(ctx context.Context, name string) (path string, err error) {
	if path, err = b.begin(ctx, name); err == nil && b.opt.ReadOnly {
		err = fmt.Errorf("%s: %w", name, backend.ErrReadOnly)
	}
	return path, err
}

// conflict is the answer to a mutation of what is not there any more.
func conflict(name string) error { return fmt.Errorf("%s: %w", name, backend.ErrConflict) }

// Close implements backend.Backend: at level Flush it waits until all is lasting. Readers that Open gave stay open. It
// does what it can and returns the first error.
func (b *Backend) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.mu.Lock()
	writers := b.writers
	b.writers, b.recent = map[string]*writer{}, nil
	first, watches := b.late, b.watches
	b.mu.Unlock()
	for _, w := range watches {
		if err := w.Close(); first == nil {
			first = err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(writers)) {
		w := writers[name]
		_ = w.turn.take(context.Background()) // whoever is at work finishes
		if err := w.retire(); first == nil {
			first = err
		}
		w.turn.give()
	}
	return first
}
