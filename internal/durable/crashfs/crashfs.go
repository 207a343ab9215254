// Package crashfs is a file system in memory that forgets, as a real one does when the power fails.
//
// It keeps beside every file what of it is lasting, with the list of changes since, and beside every folder the names that
// are lasting. Crash makes a new file system of what a crash could leave behind at this moment:
//
//   - of the changes to a file since its last sync each is lost, made, or made in part: the first bytes of a write without
//     the others, or its length without its bytes (zeros). A change may be made though an earlier one is lost.
//   - of the names that changed in a folder since its last sync each is the old or the new one, independent of the others
//     and of the bytes behind it: a file can have its name and no content.
//
// That is more than most file systems do, and no less than what POSIX allows, with one promise that all keep: a rename
// that replaces is one step.
//
// Every operation is recorded as a line of text; OnOp is called after each, which is where tests crash.
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

// Lost is the crash after which nothing is left but what was synced.
func Lost(int) int { return 0 }

// Kept is the crash that loses nothing: all had reached the disk by chance.
func Kept(n int) int { return n - 1 }

// Mixed is a crash that loses this and keeps that, the same for the same seed.
func Mixed(seed uint64) Fate { return rand.New(rand.NewPCG(seed, 0)).IntN }

// FS is the file system. Make one with New.
// One lock for everything: operations are short, and tests want them in one order.
type FS struct {
	mu    sync.Mutex
	root  *node
	nodes uint64
	nanos int64
	ops   []string
	onOp  func(op string)
}

// node is a file or a folder.
// data is what every process sees now; lasting and lastingNames are what the disk is sure of. A crash chooses
// between the two.
type node struct {
	ino   uint64
	mode  fs.FileMode
	nanos int64
	links uint32 // how many names a file has

	data    []byte   // a file's bytes
	lasting []byte   // those that a crash leaves
	changes []change // what happened to the file since lasting

	names        map[string]*node // a folder's names; nil for a file
	lastingNames map[string]*node

	holder *file // who has the lock
}

// change is a write at an offset, or a truncation (bytes is nil).
type change struct {
	at    int64
	bytes []byte
}

// epoch is the time of the first change; each operation is a millisecond.
// Any fixed moment will do. Time moves with operations only, so that a test sees the same Infos each time.
const epoch = 1_767_323_045_000_000_000

// New returns an empty file system that has the folders above and including root.
// The folders are lasting from the beginning: a test begins where a home folder is.
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

// folder makes a folder that has no name yet.
func (f *FS) folder() *node {
	f.nodes++
	return &node{ino: f.nodes, mode: fs.ModeDir | 0o700, names: map[string]*node{}, lastingNames: map[string]*node{}}
}

// OnOp sets the function that is called after each operation that can matter to a crash.
func (f *FS) OnOp(call func(op string)) { f.onOp = call }

// Ops returns the operations so far, and forgets them.
func (f *FS) Ops() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ops := f.ops
	f.ops = nil
	return ops
}

// Volume names are cut off, so that the paths of Windows work as well.
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

// parent finds the folder that a name is in.
func (f *FS) parent(path string) (*node, string, error) {
	dir, err := f.walk(filepath.Dir(path))
	if err == nil && dir.names == nil {
		err = syscall.ENOTDIR
	}
	return dir, filepath.Base(path), err
}

// do runs one operation and records it. Failed ones are recorded too: they are part of what a program does.
// The callback is called without the lock: it makes a crash, which takes it.
func (f *FS) do(op, path string, run func() error) error {
	f.mu.Lock()
	f.nanos += 1_000_000
	err := run()
	line := op
	if path != "" {
		line += " " + path
	}
	// the end of a file is how reading ends, not something that failed
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

// Crash returns the file system as it might be found after a crash at this moment. The old one goes on undisturbed.
// Locks and open files do not survive: the copies have no holder, as after a restart.
func (f *FS) Crash(fate Fate) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := &FS{nanos: f.nanos, nodes: f.nodes}
	copies := map[*node]*node{}
	next.root = f.root.crash(fate, copies)
	return next
}

// crash copies what is left of a node; a node with two names is copied once.
func (n *node) crash(fate Fate, copies map[*node]*node) *node {
	// The copy is put into the map before its contents are made, so links within it find it.
	if c := copies[n]; c != nil {
		return c
	}
	c := &node{ino: n.ino, mode: n.mode, nanos: n.nanos}
	copies[n] = c
	if n.names == nil {
		c.data = slices.Clone(n.lasting)
		for _, ch := range n.changes {
			c.data = ch.apply(c.data, fate)
		}
		c.lasting = slices.Clone(c.data)
		return c
	}
	c.names = map[string]*node{}
	// Sorted, so that the same seed gives the same crash: the order of maps is random.
	for _, name := range slices.Sorted(maps.Keys(union(n.names, n.lastingNames))) {
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

func union(a, b map[string]*node) map[string]*node {
	u := maps.Clone(a)
	maps.Copy(u, b)
	return u
}

// apply makes the change, or the part of it that fate leaves.
// Changes are applied in their order; that a later one may be kept though an earlier one is lost is what makes
// holes.
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
	case 2: // the first bytes
		data = put(data, ch.at, ch.bytes[:fate(len(ch.bytes)+1)])
	default:
		data = put(data, ch.at, ch.bytes)
	}
	return data
}

// resize gives data that length, filled up with zeros, as a file system does.
func resize(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size:size]
	}
	return append(data, make([]byte, size-int64(len(data)))...)
}

func put(data []byte, at int64, bytes []byte) []byte {
	data = resize(data, max(int64(len(data)), at+int64(len(bytes))))
	copy(data[at:], bytes)
	return data
}

// All files are on one device.
func (n *node) info() durable.Info {
	return durable.Info{Dev: 1, Ino: n.ino, Links: n.links, Mode: n.mode, Size: int64(len(n.data)), Nanos: n.nanos}
}

// flags that are not about reading or writing, by name, for the record.
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
