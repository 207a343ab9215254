package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

// windowsFile is an os.File that other processes may rename and remove while it is open, as on Unix.
type windowsFile struct{ *os.File }

// Open implements FS. os.OpenFile does not share deletion, so an agent could not rename a file that is open here.
func (OS) Open(name string, flag int, perm fs.FileMode) (File, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	access, how := uint32(syscall.GENERIC_READ), uint32(syscall.OPEN_EXISTING)
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		access |= syscall.GENERIC_WRITE
	}
	// CreateFile has no flag for O_APPEND.
	if flag&os.O_APPEND != 0 {
		// Without the right to write data elsewhere the system appends, each write in one piece. Truncate needs that
		// right, so it opens the file again.
		access = access&^syscall.GENERIC_WRITE | syscall.FILE_APPEND_DATA | syscall.FILE_WRITE_ATTRIBUTES
	}
	switch {
	case flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		how = syscall.CREATE_NEW
	case flag&os.O_CREATE != 0:
		how = syscall.OPEN_ALWAYS
	}
	const share = syscall.FILE_SHARE_READ | syscall.FILE_SHARE_WRITE | syscall.FILE_SHARE_DELETE
	h, err := syscall.CreateFile(path, access, share, nil, how, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &windowsFile{os.NewFile(uintptr(h), name)}, nil
}

// Stat implements FS.
func (OS) Stat(name string) (Info, error) {
	fi, err := os.Stat(name)
	if err != nil {
		return Info{}, err
	}
	return info(fi), nil
}

// SyncDir implements FS. Windows has no such call; its file system journals names.
func (OS) SyncDir(string) error { return nil }

// info uses the creation time as the inode: a file that was replaced has another one.
func info(fi fs.FileInfo) Info {
	i := Info{Links: 1, Size: fi.Size(), Nanos: fi.ModTime().UnixNano(), Mode: fi.Mode()}
	if d, ok := fi.Sys().(*syscall.Win32FileAttributeData); ok {
		i.Ino = uint64(d.CreationTime.Nanoseconds())
	}
	return i
}

// Stat implements File.
func (f *windowsFile) Stat() (Info, error) {
	fi, err := f.File.Stat()
	if err != nil {
		return Info{}, err
	}
	return info(fi), nil
}

// Truncate implements File. It goes by name, since a file open for appending cannot be truncated; see Open.
func (f *windowsFile) Truncate(size int64) error { return os.Truncate(f.Name(), size) }

// Sync implements File.
func (f *windowsFile) Sync(Scope) error { return f.File.Sync() }

var (
	kernel32     = syscall.NewLazyDLL("kernel32.dll")
	lockFileEx   = kernel32.NewProc("LockFileEx")
	unlockFileEx = kernel32.NewProc("UnlockFileEx")
)

const (
	lockFailImmediately = 1
	lockExclusive       = 2
	errLockViolation    = syscall.Errno(33)
	// lockHigh puts the locked byte 2^62 bytes into the file: locks are mandatory on Windows, and one on existing bytes
	// would prevent reading them.
	lockHigh = 1 << 30
)

// TryLock implements File.
func (f *windowsFile) TryLock() (bool, error) {
	where := &syscall.Overlapped{OffsetHigh: lockHigh}
	ok, _, err := lockFileEx.Call(f.Fd(), lockFailImmediately|lockExclusive, 0, 1, 0, uintptr(unsafe.Pointer(where)))
	switch {
	case ok != 0:
		return true, nil
	case errors.Is(err, errLockViolation) || errors.Is(err, syscall.ERROR_IO_PENDING):
		return false, nil
	}
	return false, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
}

// Unlock implements File.
func (f *windowsFile) Unlock() error {
	where := &syscall.Overlapped{OffsetHigh: lockHigh}
	if ok, _, err := unlockFileEx.Call(f.Fd(), 0, 1, 0, uintptr(unsafe.Pointer(where))); ok == 0 {
		return &fs.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return nil
}

// Writers implements Shared.
func (f *windowsFile) Writers() ([]Writer, error) {
	return nil, &fs.PathError{Op: "writers", Path: f.Name(), Err: errors.ErrUnsupported}
}

// NoFollow does nothing on Windows, where making a symbolic link is a privilege.
const NoFollow = 0

func isLink(error) bool { return false }
