// Package faultfs is a file system whose nth operation fails.
//
// A test counts the operations of a run without faults, then repeats the run for each operation and each kind of fault. Each
// time, either an error is returned or nothing is lost.
package faultfs

import (
	"errors"
	"io/fs"
	"sync/atomic"
	"syscall"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Fault is a kind of failure.
type Fault struct {
	// Name is the name in messages of the test.
	Name string
	// Err is the error that the operation returns.
	Err error
	// Done: the operation is done all the same; of a write, half is done.
	Done bool
	// Lasting: all later writes fail too, as on a disk that stays full.
	Lasting bool
}

// Faults are the failures of disks.
var Faults = []Fault{
	{Name: "full", Err: syscall.ENOSPC},
	{Name: "full for good", Err: syscall.ENOSPC, Lasting: true},
	{Name: "short", Err: syscall.ENOSPC, Done: true},
	{Name: "broken", Err: syscall.EIO},
	{Name: "broken late", Err: syscall.EIO, Done: true},
	{Name: "broken for good", Err: syscall.EIO, Done: true, Lasting: true},
}

// FS passes all operations on to another file system, except the one that fails.
type FS struct {
	durable.FS
	fault Fault
	nth   int64
	count atomic.Int64
}

// New returns a file system whose nth operation, counted from 1 over all files, fails. With nth 0 none does.
func New(inner durable.FS, nth int, fault Fault) *FS {
	return &FS{FS: inner, nth: int64(nth), fault: fault}
}

// Count returns the number of operations.
func (f *FS) Count() int { return int(f.count.Load()) }

// fails counts an operation and reports whether it fails.
func (f *FS) fails(writes bool) bool {
	n := f.count.Add(1)
	return f.nth != 0 && (n == f.nth || n > f.nth && f.fault.Lasting && writes)
}

// do runs an operation unless it fails.
func (f *FS) do(writes bool, run func() error) error {
	switch {
	case !f.fails(writes):
		return run()
	case f.fault.Done:
		return errors.Join(f.fault.Err, run())
	}
	return f.fault.Err
}

// Open implements durable.FS.
func (f *FS) Open(name string, flag int, perm fs.FileMode) (file durable.File, err error) {
	inner := durable.File(nil)
	if err := f.do(false, func() (err error) { inner, err = f.FS.Open(name, flag, perm); return err }); err != nil {
		if inner != nil {
			_ = inner.Close() // it was opened, but the caller does not know
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &faultFile{inner, f}, nil
}

// Stat implements durable.FS.
func (f *FS) Stat(name string) (info durable.Info, err error) {
	err = f.do(false, func() (err error) { info, err = f.FS.Stat(name); return err })
	return info, err
}

// ReadDir implements durable.FS.
func (f *FS) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = f.do(false, func() (err error) { entries, err = f.FS.ReadDir(name); return err })
	return entries, err
}

// Mkdir implements durable.FS.
func (f *FS) Mkdir(name string, perm fs.FileMode) error {
	return f.do(true, func() error { return f.FS.Mkdir(name, perm) })
}

// Rename implements durable.FS.
func (f *FS) Rename(from, to string) error {
	return f.do(true, func() error { return f.FS.Rename(from, to) })
}

// Link implements durable.FS.
func (f *FS) Link(from, to string) error {
	return f.do(true, func() error { return f.FS.Link(from, to) })
}

// Remove implements durable.FS. It is not a write: it works on a full disk.
func (f *FS) Remove(name string) error {
	return f.do(false, func() error { return f.FS.Remove(name) })
}

// SyncDir implements durable.FS.
func (f *FS) SyncDir(name string) error {
	return f.do(true, func() error { return f.FS.SyncDir(name) })
}

// faultFile is an open file of an FS.
type faultFile struct {
	durable.File
	fs *FS
}

func (h *faultFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = h.fs.do(false, func() (err error) { n, err = h.File.ReadAt(p, off); return err })
	return n, err
}

// Write writes half of p if it fails with Done.
func (h *faultFile) Write(p []byte) (int, error) {
	switch {
	case !h.fs.fails(true):
		return h.File.Write(p)
	case h.fs.fault.Done:
		n, err := h.File.Write(p[:len(p)/2])
		return n, errors.Join(h.fs.fault.Err, err)
	}
	return 0, h.fs.fault.Err
}

func (h *faultFile) Stat() (info durable.Info, err error) {
	err = h.fs.do(false, func() (err error) { info, err = h.File.Stat(); return err })
	return info, err
}

// Truncate is not a write: it works on a full disk.
func (h *faultFile) Truncate(size int64) error {
	return h.fs.do(false, func() error { return h.File.Truncate(size) })
}

func (h *faultFile) Sync(what durable.Scope) error {
	return h.fs.do(true, func() error { return h.File.Sync(what) })
}

func (h *faultFile) TryLock() (got bool, err error) {
	err = h.fs.do(false, func() (err error) { got, err = h.File.TryLock(); return err })
	return got, err
}

func (h *faultFile) Unlock() error { return h.fs.do(false, h.File.Unlock) }

// Close is always done, even if it fails.
func (h *faultFile) Close() error {
	fails := h.fs.fails(false)
	err := h.File.Close()
	if fails {
		return h.fs.fault.Err
	}
	return err
}
