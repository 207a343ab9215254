// Package durable is where every write that must survive a crash goes through: a small file system interface, its
// implementation by the operating system, and the few sequences of operations that are right in every order of events.
//
// # What a crash may do
//
// Until Sync returns, bytes that were written may be lost, all or some, and a file may have its new length without its
// new content. Until SyncDir returns, a name that was made, renamed or removed may be as it was before. Nothing orders
// one file against another, or a name against the bytes behind it, but these two calls. A rename that replaces is all or
// nothing: the name stands for the old file or for the new one. Package crashfs beside this one is that paragraph as a
// program.
//
// # Why an interface
//
// Because lost syncs do not show in ordinary tests. Through crashfs a test stops the world after each operation and looks
// at all that may be left; through faultfs each operation fails once; and the list of operations is compared with a
// recorded one, so that a forgotten sync is a difference in a review.
package durable

import (
	"io"
	"io/fs"
	"unsafe"
)

// FS is the file system, as far as we use it. Paths are those of the operating system. Errors are *fs.PathError, or
// *os.LinkError, so that errors.Is with fs.ErrNotExist and fs.ErrExist works.
type FS interface {
	// Open opens or makes a file; flag as for os.OpenFile. With os.O_CREATE|os.O_EXCL the new file has exactly the
	// mode perm, whatever the umask is. A file opened with os.O_APPEND is written at its end, each Write in one piece.
	// Opening never blocks, not on a pipe either: look at Stat before use.
	Open(name string, flag int, perm fs.FileMode) (File, error)
	// Stat follows symbolic links.
	Stat(name string) (Info, error)
	// ReadDir returns the entries of a folder in no particular order.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Mkdir makes one folder; its name is lasting after SyncDir of the folder above.
	Mkdir(name string, perm fs.FileMode) error
	// Rename moves a file onto a name, which from then on stands for it and not for what was there before.
	Rename(from, to string) error
	// Link gives a file a second name and fails with fs.ErrExist where the name is taken. Some file systems cannot.
	Link(from, to string) error
	// Remove takes a name away.
	Remove(name string) error
	// SyncDir returns when the names in a folder are lasting.
	SyncDir(name string) error
}

// File is an open file. It is not for several goroutines at once, except ReadAt and Stat.
type File interface {
	io.ReaderAt
	// Write writes all of p or says how much it wrote and why not more.
	io.Writer
	Stat() (Info, error)
	Truncate(size int64) error
	// Sync returns when what was written is lasting: the bytes and the length with Data, times and mode too with All.
	Sync(what Scope) error
	// TryLock takes the exclusive lock of the file if it is free. The lock is advisory, belongs to this opening of the
	// file (not to the process), and is given up by Unlock, by Close and by the end of the process.
	TryLock() (bool, error)
	Unlock() error
	io.Closer
}

// Mapper is a File whose bytes can be had without copying them.
type Mapper interface {
	// Map gives size bytes of the file, from an offset on, as they are at any moment: another's writes show in them. To look at
	// bytes that were cut off meanwhile is a fault that ends the program, unless debug.SetPanicOnFault makes a panic of
	// it; see FaultIn. After unmap, to look at any of them is one. whole says that all of them will be looked at: then they are
	// brought in at once, which costs less than page by page. Where files cannot be mapped it says ErrUnsupported.
	Map(from, size int64, whole bool) (data []byte, unmap func() error, err error)
}

// FaultIn says whether a panic comes of looking at a byte of data.
func FaultIn(cause any, data []byte) bool {
	fault, ok := cause.(interface{ Addr() uintptr })
	if !ok {
		return false
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	return fault.Addr() >= start && fault.Addr()-start < uintptr(len(data))
}

// Scope says how much Sync waits for.
type Scope bool

// The scopes.
const (
	Data Scope = false
	All  Scope = true
)

// Info is what is known of a file. Two equal Infos mean the same file, unchanged, as far as the system can tell: its
// clock moves in steps of up to 10 ms, so two writes of equal length within a step look like one.
type Info struct {
	// Dev and Ino identify the file. On Windows, where asking for them needs an open file, Dev is 0 and Ino is the time
	// of creation.
	Dev, Ino uint64
	// Links is how many names the file has; an open file without a name was removed or replaced. On Windows it is 1.
	Links uint32
	// Mode is type and permissions.
	Mode fs.FileMode
	// Size is the length in bytes.
	Size int64
	// Nanos is the time of the last modification in nanoseconds since 1970.
	Nanos int64
	// Changed is when anything about the file last changed, its bytes, its names or its mode, in nanoseconds since 1970;
	// nobody can set it back. 0 where the system does not tell, or does not count names among it for certain.
	Changed int64
}

// SameFile says whether both are the same file, changed or not.
func (i Info) SameFile(j Info) bool { return i.Dev == j.Dev && i.Ino == j.Ino }

// Resolver is an FS that knows symbolic links.
type Resolver interface {
	// EvalSymlinks returns the path without symbolic links, as filepath.EvalSymlinks does.
	EvalSymlinks(name string) (string, error)
}

// Lister is an FS that looks at all files of a folder in fewer steps than ReadDir and Stat take.
type Lister interface {
	// ListDir adds the entries of a folder to a list, in no particular order. What was found before an error is given, too.
	ListDir(list []Listed, name string) ([]Listed, error)
}

// Listed is an entry of a folder.
type Listed struct {
	Name string
	// Mode is the type alone.
	Mode fs.FileMode
	// Info is that of a regular file; empty where it could not be looked at, and for all else.
	Info Info
}
