package durable

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// OS is the file system of the operating system.
type OS struct{}

// ReadDir implements FS. Unlike os.ReadDir it does not sort, since lists have their own order.
func (OS) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := os.Open(name)
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

// EvalSymlinks implements Resolver.
func (OS) EvalSymlinks(name string) (string, error) { return filepath.EvalSymlinks(name) }

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
