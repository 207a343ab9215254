package crashfs

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Open implements durable.FS.
func (f *FS) Open(path string, flag int, perm fs.FileMode) (durable.File, error) {
	var h *file
	err := f.do("open"+flagNames(flag), path, func() error {
		n, err := f.walk(path)
		switch {
		case err == syscall.ENOENT && flag&os.O_CREATE != 0:
			dir, name, err := f.parent(path)
			if err != nil {
				return err
			}
			f.nodes++
			// The name is visible at once, and durable after SyncDir.
			n = &node{ino: f.nodes, mode: perm, nanos: f.nanos, links: 1}
			dir.names[name] = n
		case err != nil:
			return err
		case flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
			return syscall.EEXIST
		case flag&os.O_TRUNC != 0:
			n.change(f.nanos, change{})
		}
		h = &file{fs: f, node: n, path: path, flag: flag}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Stat implements durable.FS.
func (f *FS) Stat(path string) (info durable.Info, err error) {
	err = f.do("stat", path, func() error {
		n, err := f.walk(path)
		if err == nil {
			info = n.info()
		}
		return err
	})
	return info, err
}

// ReadDir implements durable.FS.
func (f *FS) ReadDir(path string) (entries []fs.DirEntry, err error) {
	err = f.do("readdir", path, func() error {
		n, err := f.folderAt(path)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(n.names)) {
			entries = append(entries, entry{name, n.names[name]})
		}
		return nil
	})
	return entries, err
}

// entry is a name in a folder.
type entry struct {
	name string
	node *node
}

func (e entry) Name() string      { return e.name }
func (e entry) IsDir() bool       { return e.node.mode.IsDir() }
func (e entry) Type() fs.FileMode { return e.node.mode.Type() }

// Info is not used: durable.FS has Stat.
func (e entry) Info() (fs.FileInfo, error) { return nil, fs.ErrInvalid }

// Mkdir implements durable.FS.
func (f *FS) Mkdir(path string, perm fs.FileMode) error {
	return f.do(fmt.Sprintf("mkdir-%o", perm), path, func() error {
		dir, name, err := f.free(path)
		if err == nil {
			n := f.folder()
			n.mode = fs.ModeDir | perm
			dir.names[name] = n
		}
		return err
	})
}

// Rename implements durable.FS.
func (f *FS) Rename(from, to string) error {
	return f.do("rename", from+" "+to, func() error {
		n, err := f.walk(from)
		if err != nil {
			return err
		}
		source, old, _ := f.parent(from) // exists
		target, name, err := f.parent(to)
		if err != nil {
			return err
		}
		if have := target.names[name]; have != nil {
			if have.names != nil {
				return syscall.EISDIR
			}
			have.links-- // the replaced file loses a name, not its bytes
		}
		delete(source.names, old)
		target.names[name] = n
		return nil
	})
}

// Link implements durable.FS.
func (f *FS) Link(from, to string) error {
	return f.do("link", from+" "+to, func() error {
		n, err := f.walk(from)
		if err != nil {
			return err
		}
		dir, name, err := f.free(to)
		if err == nil {
			dir.names[name] = n
			n.links++
		}
		return err
	})
}

// Remove implements durable.FS.
func (f *FS) Remove(path string) error {
	return f.do("remove", path, func() error {
		n, err := f.walk(path)
		if err != nil {
			return err
		}
		if len(n.names) > 0 {
			return syscall.ENOTEMPTY
		}
		dir, name, err := f.parent(path)
		if err == nil {
			delete(dir.names, name)
			n.links--
		}
		return err
	})
}

// SyncDir implements durable.FS. As in POSIX, it syncs neither the name of the folder itself nor the bytes of its files.
func (f *FS) SyncDir(path string) error {
	return f.do("syncdir", path, func() error {
		n, err := f.walk(path)
		if err == nil {
			n.lastingNames = maps.Clone(n.names)
		}
		return err
	})
}

// file is an open file.
type file struct {
	fs     *FS
	node   *node
	path   string
	flag   int
	pos    int64
	closed bool
}

// do is FS.do for an open file.
func (h *file) do(op string, run func() error) error {
	return h.fs.do(op, h.path, func() error {
		if h.closed {
			return syscall.EBADF
		}
		return run()
	})
}

// ReadAt implements io.ReaderAt.
func (h *file) ReadAt(p []byte, off int64) (n int, err error) {
	err = h.do("read", func() error {
		if h.node.names != nil {
			return syscall.EISDIR
		}
		if off < int64(len(h.node.data)) {
			n = copy(p, h.node.data[off:])
		}
		if n < len(p) {
			return io.EOF
		}
		return nil
	})
	return n, err
}

// Write implements io.Writer.
func (h *file) Write(p []byte) (n int, err error) {
	err = h.do(fmt.Sprintf("write-%d", len(p)), func() error {
		if h.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
			return syscall.EBADF
		}
		if h.flag&os.O_APPEND != 0 {
			h.pos = int64(len(h.node.data))
		}
		if len(p) > 0 {
			// The caller may reuse its buffer before the crash.
			h.node.change(h.fs.nanos, change{h.pos, slices.Clone(p)})
		}
		h.pos += int64(len(p))
		n = len(p)
		return nil
	})
	return n, err
}

// change makes a change.
func (n *node) change(nanos int64, ch change) {
	n.data = ch.apply(n.data, Kept)
	n.changes = append(n.changes, ch)
	n.nanos = nanos
}

// Stat implements durable.File.
func (h *file) Stat() (info durable.Info, err error) {
	err = h.do("fstat", func() error {
		info = h.node.info()
		return nil
	})
	return info, err
}

// Truncate implements durable.File.
func (h *file) Truncate(size int64) error {
	return h.do(fmt.Sprintf("truncate-%d", size), func() error {
		h.node.change(h.fs.nanos, change{at: size})
		return nil
	})
}

// Sync implements durable.File. Data and All differ only in the record of operations.
func (h *file) Sync(what durable.Scope) error {
	op := "sync-data"
	if what == durable.All {
		op = "sync"
	}
	return h.do(op, func() error {
		h.node.lasting, h.node.changes = slices.Clip(h.node.data), nil
		return nil
	})
}

// TryLock implements durable.File. As with flock, the lock belongs to the open file.
func (h *file) TryLock() (got bool, err error) {
	err = h.do("lock", func() error {
		if h.node.holder == nil || h.node.holder == h {
			h.node.holder, got = h, true
		}
		return nil
	})
	return got, err
}

// Unlock implements durable.File.
func (h *file) Unlock() error {
	return h.do("unlock", h.unlock)
}

// unlock does nothing if h does not hold the lock.
func (h *file) unlock() error {
	if h.node.holder == h {
		h.node.holder = nil
	}
	return nil
}

// Close implements io.Closer.
func (h *file) Close() error {
	return h.do("close", func() error {
		h.closed = true
		return h.unlock()
	})
}
