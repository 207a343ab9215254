package litefile

import (
	"sync"

	"github.com/treeline-dev/treeline/internal/durable"
)

// fileID tells files apart, whatever they are called.
type fileID struct{ dev, ino uint64 }

// Dev and Ino, not the path: a database can be reached through a link.
func idOf(info durable.Info) fileID { return fileID{info.Dev, info.Ino} }

// inUse are the databases that this process writes or copies. It is of the whole process because locks of files are.
var inUse = newClaims()

// claims keep those who write and those who copy a database apart: several may write at once, since SQLite knows of all of
// them, but nobody writes while somebody copies. Who waits to copy goes before who wants to write, or would wait forever.
type claims struct {
	mu      sync.Mutex
	changed sync.Cond
	files   map[fileID]claim
}

// claim is how a database is used; one that is not used is not in the map.
type claim struct {
	writers, waiting int
	copying          bool
}

func newClaims() *claims {
	c := &claims{files: map[fileID]claim{}}
	c.changed.L = &c.mu
	return c
}

// change does something to a claim. The lock is held.
// A claim that says nothing any more is deleted, so the map does not grow with every database that was ever read.
func (c *claims) change(id fileID, f func(*claim)) {
	now := c.files[id]
	if f(&now); now == (claim{}) {
		delete(c.files, id)
	} else {
		c.files[id] = now
	}
}

// releaser gives the function that ends a claim and wakes those who wait for it.
func (c *claims) releaser(id fileID, f func(*claim)) func() {
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.change(id, f)
		c.changed.Broadcast()
	}
}

// write waits until nobody copies the database, and keeps those who want to from it until release.
// Writers do not exclude each other here: SQLite does that among connections.
func (c *claims) write(id fileID) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.files[id].copying || c.files[id].waiting > 0 {
		c.changed.Wait()
	}
	c.change(id, func(f *claim) { f.writers++ })
	return c.releaser(id, func(f *claim) { f.writers-- })
}

// written says whether somebody writes to the database.
func (c *claims) written(id fileID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files[id].writers > 0
}

// copy waits until nobody else copies the database, and keeps writers from it until release. Where somebody writes it waits
// for that too, or does nothing and says so.
func (c *claims) copy(id fileID, wait bool) (release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files[id].writers > 0 && !wait {
		return nil, false
	}
	c.change(id, func(f *claim) { f.waiting++ }) // from here on nobody begins to write
	for c.files[id].copying || c.files[id].writers > 0 {
		c.changed.Wait()
	}
	c.change(id, func(f *claim) { f.waiting--; f.copying = true })
	return c.releaser(id, func(f *claim) { f.copying = false }), true
}
