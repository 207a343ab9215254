// Package crashfs is a file system in memory that loses what was not synced, as a real one does when the power fails.
//
// For every file it keeps the durable content and the changes since, and for every folder the durable names. Crash returns
// a new file system with what a crash at this moment could leave:
//
//   - Each change to a file since its last sync is lost, done, or done in part: only the first bytes of a write, or its
//     length with zeros. A change may be done although an earlier one is lost.
//   - Each name that changed in a folder since its last sync is the old one or the new one, independent of the others and of
//     the bytes of the file: a file can have its name and no content.
//
// That is worse than most file systems, and everything that POSIX allows, except that a rename that replaces a file is atomic.
//
// Every operation is recorded as a line of text. OnOp is called after each one; that is where tests crash.
package crashfs

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Fate decides what a crash leaves: it picks one of n possibilities, ordered from lost to kept.
type Fate func(n int) int

// Lost keeps only what was synced.
func Lost(int) int { return 0 }

// Kept loses nothing.
func Kept(n int) int { return n - 1 }

// Mixed loses some changes at random, the same for the same seed.
func Mixed(seed uint64) Fate { return rand.New(rand.NewPCG(seed, 0)).IntN }

// FS is the file system. Make one with New.
type FS struct {
	mu    sync.Mutex
	root  *node
	nodes uint64
	nanos int64
	ops   []string
	onOp  func(op string)
}

// node is a file or a folder. data and names are what processes see now, lasting and lastingNames what is durable.
// Files before and after a crash share their bytes, which are therefore never overwritten. Only data has room to grow into.
type node struct {
	ino   uint64
	mode  fs.FileMode
	nanos int64
	links uint32 // number of names of a file

	data    []byte   // a file's bytes
	lasting []byte   // the durable bytes
	changes []change // changes since lasting

	names        map[string]*node // a folder's names; nil for a file
	lastingNames map[string]*node

	holder *file // holder of the lock
}

// change is a write at an offset, or a truncation (bytes is nil).
type change struct {
	at    int64
	bytes []byte
}

// epoch is when time begins. Each operation takes a millisecond, so that a test always sees the same Infos.
const epoch = 1_767_323_045_000_000_000

// New returns a file system that has only the folder root and those above it. They are durable.
func New(root string) *FS {
	f := &FS{nanos: epoch}
	f.root = f.folder()
	at := f.root
	for _, name := range split(root) {
		next := f.folder()
		at.names[name], at.lastingNames[name] = next, next
		at = next
	}
	return f
}

// folder makes a folder without a name.
func (f *FS) folder() *node {
	f.nodes++
	return &node{ino: f.nodes, mode: fs.ModeDir | 0o700, names: map[string]*node{}, lastingNames: map[string]*node{}}
}

// OnOp sets the function that is called after each operation.
func (f *FS) OnOp(call func(op string)) { f.onOp = call }

// Ops returns the operations since the last call.
func (f *FS) Ops() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ops := f.ops
	f.ops = nil
	return ops
}

// split drops volume names, so that paths of Windows work too.
func split(path string) []string {
	path = filepath.ToSlash(strings.TrimPrefix(filepath.Clean(path), filepath.VolumeName(path)))
	if path = strings.Trim(path, "/"); path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// walk finds a node.
func (f *FS) walk(path string) (*node, error) {
	at := f.root
	for _, name := range split(path) {
		if at.names == nil {
			return nil, syscall.ENOTDIR
		}
		if at = at.names[name]; at == nil {
			return nil, syscall.ENOENT
		}
	}
	return at, nil
}

// folderAt finds a folder.
func (f *FS) folderAt(path string) (*node, error) {
	dir, err := f.walk(path)
	if err == nil && dir.names == nil {
		err = syscall.ENOTDIR
	}
	return dir, err
}

// parent finds the folder of a name.
func (f *FS) parent(path string) (*node, string, error) {
	dir, err := f.folderAt(filepath.Dir(path))
	return dir, filepath.Base(path), err
}

// free finds the folder of a name that must not be in use.
func (f *FS) free(path string) (*node, string, error) {
	dir, name, err := f.parent(path)
	if err == nil && dir.names[name] != nil {
		err = syscall.EEXIST
	}
	return dir, name, err
}

// do runs one operation and records it, even if it fails. It calls onOp without the lock, since onOp calls Crash.
func (f *FS) do(op, path string, run func() error) error {
	f.mu.Lock()
	f.nanos += 1_000_000
	err := run()
	line := op + " " + path
	// The end of a file is not a failure.
	if err != nil && err != io.EOF {
		line += fmt.Sprintf(": %v", err)
		err = &fs.PathError{Op: op, Path: path, Err: err}
	}
	f.ops = append(f.ops, line)
	call := f.onOp
	f.mu.Unlock()
	if call != nil {
		call(line)
	}
	return err
}

// Crash returns the file system as a crash at this moment may leave it, without locks. The old one can be used further.
func (f *FS) Crash(fate Fate) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &FS{nanos: f.nanos, nodes: f.nodes, root: f.root.crash(fate, map[*node]*node{})}
}

// crash copies what is left of a node. A node with two names is copied once.
func (n *node) crash(fate Fate, copies map[*node]*node) *node {
	if c := copies[n]; c != nil {
		return c
	}
	c := &node{ino: n.ino, mode: n.mode, nanos: n.nanos}
	copies[n] = c
	if n.names == nil {
		c.data = n.lasting
		for _, ch := range n.changes {
			c.data = ch.apply(c.data, fate)
		}
		c.lasting = slices.Clip(c.data)
		return c
	}
	c.names = map[string]*node{}
	// Sorted, so that the same seed gives the same crash.
	all := maps.Clone(n.names)
	maps.Copy(all, n.lastingNames)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		entry := n.lastingNames[name]
		if now := n.names[name]; now != entry && fate(2) == 1 {
			entry = now
		}
		if entry != nil {
			c.names[name] = entry.crash(fate, copies)
			c.names[name].links++
		}
	}
	c.lastingNames = maps.Clone(c.names)
	return c
}

// apply makes the change, or the part of it that fate leaves.
func (ch change) apply(data []byte, fate Fate) []byte {
	if ch.bytes == nil {
		if fate(2) == 1 {
			data = resize(data, ch.at)
		}
		return data
	}
	switch fate(4) {
	case 0: // lost
	case 1: // the length, and zeros
		data = resize(data, max(int64(len(data)), ch.at+int64(len(ch.bytes))))
	case 2: // only the first bytes
		data = put(data, ch.at, ch.bytes[:fate(len(ch.bytes)+1)])
	default:
		data = put(data, ch.at, ch.bytes)
	}
	return data
}

// resize cuts data to a length, or fills it up with zeros. It does not change the bytes of data.
func resize(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size:size]
	}
	return append(data, make([]byte, size-int64(len(data)))...)
}

// put writes at an offset. It overwrites bytes in a copy only.
func put(data []byte, at int64, bytes []byte) []byte {
	if at < int64(len(data)) && len(bytes) > 0 {
		data = slices.Clone(data)
	}
	data = resize(data, max(int64(len(data)), at+int64(len(bytes))))
	copy(data[at:], bytes)
	return data
}

func (n *node) info() durable.Info {
	return durable.Info{Dev: 1, Ino: n.ino, Links: n.links, Mode: n.mode, Size: int64(len(n.data)), Nanos: n.nanos}
}

// flagNames names the flags other than those for reading and writing.
func flagNames(flag int) string {
	out := ""
	for _, fl := range []struct {
		bit  int
		name string
	}{{os.O_CREATE, "create"}, {os.O_EXCL, "excl"}, {os.O_TRUNC, "trunc"}, {os.O_APPEND, "append"}} {
		if flag&fl.bit != 0 {
			out += "-" + fl.name
		}
	}
	return out
}
