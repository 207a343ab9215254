// Package file keeps logs as files below a root folder. The name of a log is its path, and the bytes of the file are
// exactly those of the log. So the files of an agent are logs, and logs written here are files for that agent.
//
// # Reading
//
// Reading changes nothing, not even a time. Read and Open hold the file: a log that is replaced by a rename is read to its
// end as it was. If the file is truncated or rewritten in place, they return ErrChanged. They notice it by length, time and
// the last 64 bytes, after every chunk and before it is returned. A rewrite in place that keeps the length, within one tick
// of the file system's clock (up to 10 ms) of the first look, goes unnoticed. View maps the file and checks at the end.
//
// # Identity
//
// A generation is device, inode, modification time and a hash of the last 64 bytes. List leaves out the hash, since it
// would have to open every file. A Log from List is good for Read and Open; Append, Replace and Remove answer it with
// ErrConflict, so call Stat first. Without the hash a file that was rewritten in place between List and Read, and is not
// shorter, counts as grown.
//
// # Writing
//
// An append is one write(2) of whole lines. It holds the lock of the file (flock(2); LockFileEx on Windows), so several
// processes can write to one log in turn. Under the lock it follows the path again, since a rename may have put another
// file there, compares the file with what the caller saw, and checks its end. The end is read only if size, times or inode
// have changed since the last append, so the cost does not depend on the length of the log. After the write the file is
// checked once more.
//
// In a burst of appends the path is followed once per millisecond; in between only the open file is checked. On Linux the file's change
// time covers its names, so a replaced, renamed or removed file is noticed all the same. This is done only if two changes were seen with
// times closer together than the steps of a coarse clock. A change of a folder or a symbolic link on the path is noticed up to a
// millisecond late.
//
// A replaced, truncated, extended, rewritten or removed file is noticed before anything is written. A program that takes no
// lock and writes in the microseconds between the check and the write is not. If it appends, both records are whole, and
// the caller gets ErrInterleaved if the foreign bytes came first. If it replaces or truncates the file, the record is lost;
// the check after the write returns ErrConflict, unless the loss happens even later. An append never creates a file.
//
// # Replacing and removing beside other programs
//
// A log is replaced by a rename. A program that has the old file open would go on writing to it, and what it writes would be lost. So a log
// that another program has open for writing is not replaced or removed (ErrHeld), unless the caller forces it. Programs that open the file
// for every append may go on. Immediately before the rename the old file is compared once more; lines that arrived are carried over, and
// any other change is ErrConflict. After the rename the old file is watched until no program has it open for writing, for a second, or for
// up to ten while a program writes to it. What arrived there is appended to the new file, or returned if the log was removed. If this
// process is killed while it watches, a record is lost that a program wrote to the old file through a handle from before the rename.
//
// On Linux a lease and /proc tell which programs have a file open; writers of this package, which notice a replaced file, are recognised by
// the flags of their open files. /proc does not show processes of other users or containers, and files of other users and some network file
// systems have no leases. Other systems do not tell at all: there a program that keeps the file open loses what it writes later than 50 ms
// after the rename. Close the agent first.
//
// # Compressed logs
//
// A file whose name ends in ".jsonl.zst" is a log of lines, compressed with zstd. It is read like any other log: sizes and offsets are
// those of its content, and its name keeps the ending. Open expands it, into memory or, if it is long, into a temporary file. Nothing
// writes such a file: mutations return ErrCompressed, and Expand turns it into a plain one first. If there is a plain file of the same name
// without ".zst", List leaves the compressed one out. A file that is damaged, or that expands to about a thousand times its size, is
// refused with a DamageError.
//
// # Names
//
// Names are slash paths that cannot leave the root: "..", empty elements and absolute paths are invalid (fs.ValidPath).
// Symbolic links below the root are followed. List follows a link only if its target is not listed under another name.
// Elements that begin with ".treeline-" are temporary files and never logs.
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
	"github.com/treeline-dev/treeline/internal/jsonl"
)

// ownPrefix begins the names of temporary files.
const ownPrefix = ".treeline-"

// Options change how a Backend works. The zero value is ready for use.
type Options struct {
	// ReadOnly makes every mutation fail with backend.ErrReadOnly.
	ReadOnly bool
	// Durability says what an append survives when it returns; "" is backend.DurabilityFlush. Replace is durable at
	// every level.
	Durability backend.Durability
	// Mended, if set, is called when Append had to mend the end of a log first. It must not call the Backend.
	Mended func(backend.Mended)
	// LockWait is how long a mutation waits for the lock of a log before it returns backend.ErrLocked; 0 means 10 seconds.
	LockWait time.Duration
	// TornWait is how long a torn record must have been unchanged before it is moved, since its writer may only be slow;
	// 0 means 2 seconds.
	TornWait time.Duration
	// LongestLine is the length in bytes of the longest line that is read, or ended by an append; 0 means jsonl.Longest.
	LongestLine int
	// FS is the file system; nil means that of the operating system.
	FS durable.FS
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time
	// Wait returns after that time, or with the cause of ctx when it is cancelled; nil means durable.Wait.
	Wait func(ctx context.Context, d time.Duration) error
}

// fill sets the defaults.
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
	o.LongestLine = cmp.Or(o.LongestLine, jsonl.Longest)
	if o.FS == nil {
		o.FS = durable.OS{}
	}
	if o.Clock == nil {
		o.Clock = time.Now
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
	uses    int64               // counts calls of take, to find the least recently used writer
	lasting map[string]struct{} // folders whose names, up to the root, are known to be durable
	late    map[string]error    // the errors of logs that were closed to make room for others, for Sync or Close: the system reports an error once
	watches []*watch
	sizes   map[fileID]int64 // sizes of compressed files whose headers do not contain them
}

// New returns a Backend for the files below root. The folder need not exist: until a log is created, there are no logs.
func New(root string, options Options) (*Backend, error) {
	if root == "" {
		return nil, errors.New("file backend: the root folder has no name")
	}
	// A change of the working directory must not move the logs.
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

// Driver returns the driver of folders of files. It claims every folder, so it comes last in a list. options has what backend.OpenOptions
// lacks.
func Driver(options Options) backend.Driver {
	return backend.Driver{Name: "file", Open: func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		options := options
		options.ReadOnly, options.Durability, options.Mended = opt.ReadOnly, opt.Durability, opt.Mended
		return New(root, options)
	}}
}

// Path returns the path of the file for a log of that name, or ErrName.
func (b *Backend) Path(name string) (string, error) {
	if err := backend.CheckName(name); err != nil {
		return "", err
	}
	if strings.HasPrefix(name, ownPrefix) || strings.Contains(name, "/"+ownPrefix) {
		return "", fmt.Errorf("%q: %w: elements that begin with %s are reserved", name, backend.ErrName, ownPrefix)
	}
	// Localize refuses backslashes, drives and devices on Windows.
	local, err := filepath.Localize(name)
	if err != nil {
		return "", fmt.Errorf("%q: %w: not a file name on this system", name, backend.ErrName)
	}
	return b.root + string(filepath.Separator) + local, nil
}

// ready returns an error if the Backend is closed or ctx is done.
func (b *Backend) ready(ctx context.Context) error {
	if b.closed.Load() {
		return backend.ErrClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// begin makes the checks of every method that reads.
func (b *Backend) begin(ctx context.Context, name string) (path string, err error) {
	if err := b.ready(ctx); err != nil {
		return "", err
	}
	return b.Path(name)
}

// gone reports whether an error means that there is no such file. That includes a path through something that is not a
// folder.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// failed adds the name of the log, which the root has not, to an error of the file system, and translates it to one of package backend.
// It returns nil for nil.
func failed(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case gone(err):
		err = backend.ErrNotExist
	}
	if name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// notRegular returns the error for a folder, pipe or device that has the name of a log.
func notRegular(name string, info durable.Info) error {
	err := notRegularError("it is not a regular file")
	if info.Mode.IsDir() {
		err = "it is a folder"
	}
	return fmt.Errorf("%s: %w", name, err)
}

// notRegularError is a backend.ErrNotExist that says what is there instead.
type notRegularError string

func (e notRegularError) Error() string { return string(e) }

// Is implements the interface of errors.Is.
func (notRegularError) Is(target error) bool { return target == backend.ErrNotExist }

// writePath is Path for mutations.
func (b *Backend) writePath(name string) (path string, err error) {
	path, err = b.Path(name)
	switch {
	case err != nil:
	case b.opt.ReadOnly:
		err = fmt.Errorf("%s: %w", name, backend.ErrReadOnly)
	case b.Compressed(name):
		err = fmt.Errorf("%s: %w", name, backend.ErrCompressed)
	}
	return path, err
}

// conflict returns the error for a log that is not what the caller saw.
func conflict(name string) error { return fmt.Errorf("%s: %w", name, backend.ErrConflict) }

// Close implements backend.Backend. With DurabilityFlush it syncs what was written. Readers from Open stay open. After an
// error it goes on, and returns the first one.
func (b *Backend) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.mu.Lock()
	writers := b.writers
	b.writers = map[string]*writer{}
	late, watches := b.late, b.watches
	b.mu.Unlock()
	var first error
	for _, name := range slices.Sorted(maps.Keys(late)) {
		first = cmp.Or(first, late[name])
	}
	for _, w := range watches {
		first = cmp.Or(first, w.Close())
	}
	for _, name := range slices.Sorted(maps.Keys(writers)) {
		w := writers[name]
		w.turn <- struct{}{} // a running mutation finishes
		first = cmp.Or(first, w.retire())
		<-w.turn
	}
	return first
}
