package durable

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// OS is the file system of the operating system.
type OS struct{}

// ReadDir implements FS. Unlike os.ReadDir it does not sort, since lists have their own order.
func (OS) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// Mkdir implements FS.
func (OS) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Link implements FS.
func (OS) Link(from, to string) error { return os.Link(from, to) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// SetModified implements Dater.
func (OS) SetModified(name string, at time.Time) error { return os.Chtimes(name, time.Time{}, at) }

// EvalSymlinks implements Resolver.
func (OS) EvalSymlinks(name string) (string, error) { return filepath.EvalSymlinks(name) }

// open opens a file or folder for reading. Unlike os.Open it does not wait for the writer of a pipe.
func open(name string) (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) }

// OpenRegular opens a file of another program for reading. It fails with ErrNotRegular for anything but a regular file: a
// pipe could block for ever, and a device may have no end.
func OpenRegular(name string) (*os.File, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ErrNotRegular is the error for a folder, pipe, socket or device where a file is expected.
var ErrNotRegular = errors.New("it is not a regular file")

// ReadRegular reads a whole file, which it opens with OpenRegular.
func ReadRegular(name string) ([]byte, error) {
	f, err := OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Wait returns after that time, or with the cause of ctx when it ends. It is for polling a lock or a file that changes.
func Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
