// Package file keeps logs as files below a root folder: the name of a log is its path, and the bytes of the file are
// those of the log, nothing before, between or behind them. So the files of an agent that knows nothing of us are logs,
// and our logs are files for that agent.
//
// # Reading
//
// Reading changes nothing, not even a time. Read and Open hold the file: what a rename replaces meanwhile is read to its
// end as it was. A file that is cut or rewritten in place under a reader gives ErrChanged. That is noticed by length,
// time and the last 64 bytes after every chunk, before the chunk is handed on; what cannot be noticed is a rewrite in
// place that keeps the length within one tick of the file system's clock (up to 10 ms) of our first look.
//
// # Identity
//
// A generation is device, inode, time of change and a hash of the last 64 bytes. List leaves the hash out, because it
// would have to open every file for it: a Log from List is good for Read and for Open; Append, Replace and Remove answer
// it with ErrConflict, so call Stat first.
//
// # Names
//
// Names are slash paths and cannot leave the root: "..", empty elements and absolute paths are no names (fs.ValidPath).
// Symbolic links that a user put below the root are followed; List follows one only if what it leads to is not listed
// under another name already. Elements that begin with ".treeline-" are ours (files in the making) and never logs.
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
)

// ownPrefix begins the names of files that are not logs but ours.
const ownPrefix = ".treeline-"

// Options change how a Backend works. The zero value is ready for use.
type Options struct {
	// ReadOnly makes every mutation fail with backend.ErrReadOnly.
	ReadOnly bool
	// FS is the file system; nil means that of the operating system.
	FS durable.FS
}

// Backend keeps logs as files.
type Backend struct {
	root   string
	fs     durable.FS
	opt    Options
	closed atomic.Bool
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
	if options.FS == nil {
		options.FS = durable.OS{}
	}
	return &Backend{root: abs, fs: options.FS, opt: options}, nil
}

// Root returns the absolute path of the folder.
func (b *Backend) Root() string { return b.root }

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

// Close implements backend.Backend. Readers that Open gave stay open.
func (b *Backend) Close() error {
	b.closed.Store(true)
	return nil
}
