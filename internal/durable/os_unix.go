//go:build linux || darwin

package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// unixFile makes system calls directly. With os.File an append costs a third more: each call takes a lock, and Stat
// allocates.
type unixFile struct {
	fd   int
	name string
}

// Open implements FS.
func (OS) Open(name string, flag int, perm fs.FileMode) (File, error) {
	// O_NONBLOCK does nothing for a regular file; it keeps a pipe from blocking for ever.
	flags := flag | syscall.O_CLOEXEC | syscall.O_NONBLOCK
	if flag&ownAccess == ownAccess {
		flags |= ownMark
	}
	var fd int
	for tries := 0; ; tries++ {
		err := retry(func() (err error) { fd, err = syscall.Open(name, flags, uint32(perm.Perm())); return err })
		if err == nil {
			break
		}
		switch {
		case err == syscall.EPERM && flags&ownMark != 0:
			flags &^= ownMark // the file belongs to another user
			continue
		// Another process holds a lease, which Writers does for a moment.
		case err == syscall.EAGAIN && tries < 100:
			time.Sleep(100 * time.Microsecond)
			continue
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	const exclusive = os.O_CREATE | os.O_EXCL
	if flag&exclusive == exclusive {
		// The umask removed bits. It belongs to the process, so it cannot be changed for a moment.
		if err := syscall.Fchmod(fd, uint32(perm.Perm())); err != nil {
			_ = syscall.Close(fd)
			return nil, &fs.PathError{Op: "chmod", Path: name, Err: err}
		}
	}
	return &unixFile{fd: fd, name: name}, nil
}

// NoFollow is a flag of Open: a symbolic link is an error. Links above the file are followed.
const NoFollow = syscall.O_NOFOLLOW

// isLink reports whether NoFollow is why a file was not opened.
func isLink(err error) bool { return errors.Is(err, syscall.ELOOP) }

// ownAccess is how files are opened for appending. On Linux such files are also opened with ownMark, by which Writers
// recognizes them.
const ownAccess = os.O_RDWR | os.O_APPEND

// Stat implements FS.
func (OS) Stat(name string) (Info, error) {
	for {
		var st syscall.Stat_t
		// Not with retry, whose closure would move st to the heap for every file of a list.
		switch err := syscall.Stat(name, &st); err {
		case nil:
			return info(&st), nil
		case syscall.EINTR:
		default:
			return Info{}, &fs.PathError{Op: "stat", Path: name, Err: err}
		}
	}
}

// SyncDir implements FS.
func (OS) SyncDir(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.Sync()
	// Some file systems cannot sync a folder. Nothing can be done about that.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// info translates a stat. Pipes, devices and sockets are all irregular: none of them is a log.
func info(st *syscall.Stat_t) Info {
	mode := fs.FileMode(st.Mode & 0o777)
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
	case syscall.S_IFDIR:
		mode |= fs.ModeDir
	default:
		mode |= fs.ModeIrregular
	}
	return Info{
		Dev: uint64(st.Dev), Ino: st.Ino, Links: uint32(st.Nlink), Mode: mode, Size: st.Size, Nanos: mtime(st),
		Changed: changed(st),
	}
}

// retry repeats a call that a signal interrupted. Go's scheduler sends such signals.
func retry(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}

func (f *unixFile) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// ReadAt implements io.ReaderAt. A short read is not the end of the file, so it reads on.
func (f *unixFile) ReadAt(p []byte, off int64) (done int, err error) {
	for done < len(p) {
		n, err := syscall.Pread(f.fd, p[done:], off+int64(done))
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return done, f.fail("read", err)
		case n == 0:
			return done, io.EOF
		default:
			done += n
		}
	}
	return done, nil
}

// Write implements io.Writer with one write(2), unless the system takes less than all (Linux takes at most 2 GB). Bytes of
// a writer without a lock may then come between the pieces.
func (f *unixFile) Write(p []byte) (done int, err error) {
	for done < len(p) {
		n, err := syscall.Write(f.fd, p[done:])
		if n > 0 {
			done += n
		}
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return done, f.fail("write", err)
		case n == 0:
			return done, f.fail("write", io.ErrShortWrite)
		}
	}
	return done, nil
}

// Stat implements File.
func (f *unixFile) Stat() (Info, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(f.fd, &st); err != nil {
		return Info{}, f.fail("stat", err)
	}
	return info(&st), nil
}

// Truncate implements File.
func (f *unixFile) Truncate(size int64) error {
	return f.fail("truncate", retry(func() error { return syscall.Ftruncate(f.fd, size) }))
}

// Sync implements File.
func (f *unixFile) Sync(what Scope) error {
	return f.fail("sync", retry(func() error { return syncFile(f.fd, what) }))
}

// TryLock implements File with flock(2), which belongs to the open file. A lock by fcntl(2) would belong to the process and
// be lost as soon as any part of it closes the same file.
func (f *unixFile) TryLock() (bool, error) {
	err := retry(func() error { return syscall.Flock(f.fd, syscall.LOCK_EX|syscall.LOCK_NB) })
	if err == syscall.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, f.fail("lock", err)
}

// Unlock implements File.
func (f *unixFile) Unlock() error {
	return f.fail("unlock", retry(func() error { return syscall.Flock(f.fd, syscall.LOCK_UN) }))
}

// Close implements io.Closer. A second call fails: the descriptor may already be that of another file.
func (f *unixFile) Close() error {
	fd := f.fd
	if f.fd = -1; fd < 0 {
		return f.fail("close", fs.ErrClosed)
	}
	// Not repeated after EINTR: on Linux the descriptor is released anyway.
	return f.fail("close", syscall.Close(fd))
}
