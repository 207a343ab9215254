// Package durable has every write that must survive a crash: a small file system interface, its implementation by the operating system, and
// a few sequences of operations that are safe at any moment of a crash.
//
// # What a crash can do
//
// Until Sync returns, written bytes may be lost, all or some of them, and a file may have its new length without its new
// content. Until SyncDir returns, a name that was created, renamed or removed may be as before. Only these two calls order
// one file against another, or a name against the bytes of its file. A rename that replaces a file is atomic. Package
// crashfs implements this paragraph.
//
// # Why an interface
//
// Missing syncs do not show in ordinary tests. With crashfs a test crashes after each operation and checks everything that
// may be left. With faultfs each operation fails once. The list of operations is compared with a golden file, so that a
// missing sync is visible in a review.
package durable

import (
	"io"
	"io/fs"
	"time"
	"unsafe"
)

// FS is the part of a file system that is used here. Paths are those of the operating system. Errors are *fs.PathError, or
// *os.LinkError, so that errors.Is with fs.ErrNotExist and fs.ErrExist works.
type FS interface {
	// Open opens or creates a file; flag as for os.OpenFile. With os.O_CREATE|os.O_EXCL the new file has exactly the
	// mode perm, whatever the umask is. With os.O_APPEND each Write goes to the end, in one piece. Open never blocks,
	// even on a pipe: check Stat before use.
	Open(name string, flag int, perm fs.FileMode) (File, error)
	// Stat follows symbolic links.
	Stat(name string) (Info, error)
	// ReadDir returns the entries of a folder in no particular order.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Mkdir makes one folder. Its name is durable after SyncDir of the folder above.
	Mkdir(name string, perm fs.FileMode) error
	// Rename gives a file a new name, and replaces the file that had it.
	Rename(from, to string) error
	// Link gives a file a second name; fs.ErrExist if the name is taken. Some file systems have no links.
	Link(from, to string) error
	// Remove removes a name.
	Remove(name string) error
	// SyncDir returns when the names in a folder are durable.
	SyncDir(name string) error
}

// File is an open file. Only ReadAt and Stat may be called from several goroutines at once.
type File interface {
	io.ReaderAt
	// Write writes all of p, or returns how much it wrote and why not more.
	io.Writer
	Stat() (Info, error)
	Truncate(size int64) error
	// Sync returns when the file is durable: bytes and length with Data, also times and mode with All.
	Sync(what Scope) error
	// TryLock takes the exclusive lock of the file if it is free. The lock is advisory and belongs to this open file,
	// not to the process. Unlock, Close and the end of the process release it.
	TryLock() (bool, error)
	Unlock() error
	io.Closer
}

// Mapper is a File that can be mapped into memory.
type Mapper interface {
	// Map maps size bytes of the file from an offset. Later writes show in them. Access to bytes that were truncated
	// meanwhile, or to any byte after unmap, is a fault that ends the program, unless debug.SetPanicOnFault turns it
	// into a panic; see FaultIn. The error is ErrUnsupported if files cannot be mapped.
	Map(from, size int64) (data []byte, unmap func() error, err error)
}

// Shared is a File that other processes can have open at the same time.
type Shared interface {
	// Writers lists the other open files, of any process, that can write to this file. On Linux it lists those of processes that this one
	// may inspect, and detects others, if this File is open for reading only and belongs to the user. Other systems do not tell: the error
	// is ErrUnsupported.
	Writers() ([]Writer, error)
}

// Writer is an open file that can write to a file.
type Writer struct {
	// Process is its process, such as "process 4711 (omp)".
	Process string
	// Own: this package opened it for appending. Such a writer takes the lock, and then checks whether the path leads to another file.
	Own bool
}

// FaultIn reports whether a panic was caused by access to a byte of data.
func FaultIn(cause any, data []byte) bool {
	fault, ok := cause.(interface{ Addr() uintptr })
	if !ok {
		return false
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	return fault.Addr() >= start && fault.Addr()-start < uintptr(len(data))
}

// Scope is what Sync makes durable.
type Scope bool

// The scopes.
const (
	Data Scope = false
	All  Scope = true
)

// Info is the state of a file. Equal Infos mean the same file, unchanged, as far as the system can tell: its clock moves in
// steps of up to 10 ms, so two writes of equal length within a step look like one.
type Info struct {
	// Dev and Ino identify the file. On Windows, where they need an open file, Dev is 0 and Ino is the time of creation.
	Dev, Ino uint64
	// Links is the number of names; an open file with none was removed or replaced. On Windows it is 1.
	Links uint32
	// Mode is the type and the permissions.
	Mode fs.FileMode
	// Size is the length in bytes.
	Size int64
	// Nanos is the time of the last modification in nanoseconds since 1970.
	Nanos int64
	// Changed is when the bytes, names or mode of the file last changed, in nanoseconds since 1970. No program can set
	// it. It is 0 if the system does not tell, or may leave out changes of names.
	Changed int64
}

// SameFile reports whether both are the same file, changed or not.
func (i Info) SameFile(j Info) bool { return i.Dev == j.Dev && i.Ino == j.Ino }

// Resolver is an FS that knows symbolic links.
type Resolver interface {
	// EvalSymlinks returns the path without symbolic links, as filepath.EvalSymlinks does.
	EvalSymlinks(name string) (string, error)
}

// Dater is an FS that can change the time at which a file was last modified.
type Dater interface {
	SetModified(name string, at time.Time) error
}

// Lister is an FS that stats all files of a folder at less cost than ReadDir and Stat.
type Lister interface {
	// ListDir appends the entries of a folder to a list, in no particular order. After an error the list has the
	// entries found so far.
	ListDir(list []Listed, name string) ([]Listed, error)
}

// Listed is an entry of a folder.
type Listed struct {
	Name string
	// Mode is only the type.
	Mode fs.FileMode
	// Info is the Info of a regular file. It is zero for everything else, and if the stat failed.
	Info Info
}
