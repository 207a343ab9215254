package view

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/place"
)

// Catalogue is the list of sessions as it was last read. It is read again after the watch told of a change. Reading takes at most a
// tenth of the time, and at most another tenth for requests whose session is not in the list.
type Catalogue struct {
	// Read reads the list. It is not cancelled with a request, since others wait for it.
	Read func() (rows []place.Row, problems []string, err error)
	// Live reports whether changes are told with Spoil. It may wait until they are.
	Live  func(context.Context) bool
	Clock func() time.Time

	changes atomic.Uint64

	mu    sync.Mutex // held while it is read
	now   *List      // nil: not read yet
	seen  uint64     // changes when it was read
	rest  time.Time  // it is not read again before
	doubt time.Time  // nor before this for a session that it does not have
}

// Spoil has the list read again.
func (c *Catalogue) Spoil() { c.changes.Add(1) }

// Changes counts what could have changed the list.
func (c *Catalogue) Changes() uint64 { return c.changes.Load() }

// Force has the list read again at once: the server itself changed something.
func (c *Catalogue) Force() { c.Tire(time.Time{}) }

// Tire has the list read again after a time, if it has changed.
func (c *Catalogue) Tire(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = until
	c.changes.Add(1)
}

// Again is in how many seconds a list that changed is read again; 0 if it did not.
func (c *Catalogue) Again() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes.Load() == c.seen {
		return 0
	}
	return 1 + max(0, int(c.rest.Sub(c.Clock())/time.Second))
}

// withoutWatch is how long a list is used if nothing tells of changes.
const withoutWatch = 2 * time.Second

// Get gives the list.
func (c *Catalogue) Get(ctx context.Context) (*List, error) {
	live := c.Live(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.now == nil:
	case c.changes.Load() == c.seen && live:
		return c.now, nil
	case c.Clock().Before(c.rest):
		return c.now, nil
	}
	err := c.read(ctx, live)
	return c.now, err
}

// Missing gives the list to a request that did not find a session in it: another program may just have made the session.
func (c *Catalogue) Missing(ctx context.Context) (*List, error) {
	live := c.Live(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	began := c.Clock()
	if began.Before(c.doubt) {
		return c.now, nil
	}
	c.changes.Add(1) // the new list has a tag of its own
	err := c.read(ctx, live)
	c.doubt = began.Add(10 * c.Clock().Sub(began))
	return c.now, err
}

// read reads the list. The caller holds the lock.
func (c *Catalogue) read(ctx context.Context, live bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	began, changes := c.Clock(), c.changes.Load()
	rows, problems, err := c.Read()
	if err != nil {
		return err
	}
	took := c.Clock().Sub(began)
	c.now, c.seen, c.rest = newList(strconv.FormatUint(changes+1, 10), rows, problems), changes, began.Add(10*took)
	if !live {
		c.rest = began.Add(max(withoutWatch, 10*took))
	}
	return nil
}

// ProjectOf is the project of the session at a path, "" if the list as it was last read does not have it.
func (c *Catalogue) ProjectOf(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		return ""
	}
	if i, ok := c.now.ByPath[path]; ok {
		return c.now.Rows[i].CWD
	}
	return ""
}
