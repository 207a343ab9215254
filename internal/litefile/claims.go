package litefile

import (
	"os"
	"sync"

	"github.com/treeline-dev/treeline/internal/durable"
)

// fileID identifies a file, whatever its path.
type fileID struct{ dev, ino uint64 }

func idOf(info durable.Info) fileID { return fileID{info.Dev, info.Ino} }

// inUse holds the databases that this process writes or copies. It is global because file locks belong to the process.
var inUse = newClaims()

// claims keep writers and copiers of a database apart. Several connections may write, since SQLite coordinates them, but
// none while a copy is made. A waiting copier goes before new writers, or it would wait forever.
type claims struct {
	mu      sync.Mutex
	changed sync.Cond
	files   map[fileID]claim
	// late are files to close when no connection writes to them any more.
	late map[fileID][]*os.File
}

// claim is the use of a database. The map has no zero claims.
type claim struct {
	writers, waiting int
	copying          bool
}

func newClaims() *claims {
	c := &claims{files: map[fileID]claim{}, late: map[fileID][]*os.File{}}
	c.changed.L = &c.mu
	return c
}

// change updates a claim. The caller holds the lock.
func (c *claims) change(id fileID, f func(*claim)) {
	now := c.files[id]
	if f(&now); now == (claim{}) {
		delete(c.files, id)
	} else {
		c.files[id] = now
	}
}

// releaser returns the function that ends a claim and wakes all waiters.
func (c *claims) releaser(id fileID, f func(*claim)) func() {
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.change(id, f)
		if c.files[id].writers == 0 {
			for _, f := range c.late[id] {
				_ = f.Close()
			}
			delete(c.late, id)
		}
		c.changed.Broadcast()
	}
}

// write waits until no copy is made or waited for, and prevents copies until release.
func (c *claims) write(id fileID) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.files[id].copying || c.files[id].waiting > 0 {
		c.changed.Wait()
	}
	c.change(id, func(f *claim) { f.writers++ })
	return c.releaser(id, func(f *claim) { f.writers-- })
}

// written reports whether this process writes to the database.
func (c *claims) written(id fileID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files[id].writers > 0
}

// copy waits for other copies, and prevents writes until release. If the database is being written, it waits for that too, or
// returns false without wait.
func (c *claims) copy(id fileID, wait bool) (release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files[id].writers > 0 && !wait {
		return nil, false
	}
	c.change(id, func(f *claim) { f.waiting++ }) // from here on no write begins
	for c.files[id].copying || c.files[id].writers > 0 {
		c.changed.Wait()
	}
	c.change(id, func(f *claim) { f.waiting--; f.copying = true })
	return c.releaser(id, func(f *claim) { f.copying = false }), true
}

// closeFile closes a file that was opened beside SQLite, as soon as this process does not write to it.
func (c *claims) closeFile(id fileID, f *os.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files[id].writers > 0 {
		c.late[id] = append(c.late[id], f)
		return
	}
	_ = f.Close()
}
