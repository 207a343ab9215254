package view

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/place"
)

// Catalogue caches the list of sessions. It is read again after the watch has reported a change. Reading takes at most a tenth of the time,
// and at most another tenth for requests whose session is not in the list.
type Catalogue struct {
	// Read reads the list. It is not cancelled with a request, since other requests wait for it.
	Read func() (rows []place.Row, problems []string, err error)
	// Live reports whether changes are reported with Spoil. It may wait until the watch has begun.
	Live  func(context.Context) bool
	Clock func() time.Time

	changes atomic.Uint64

	mu    sync.Mutex // held while the list is read
	now   *List      // nil until the list is read
	seen  uint64     // changes at the time of the last reading
	rest  time.Time  // the list is not read again before this time
	doubt time.Time  // nor, for a session that it does not have, before this time
}

// Spoil marks the list as out of date.
func (c *Catalogue) Spoil() { c.changes.Add(1) }

// Changes returns the number of changes that could have changed the list.
func (c *Catalogue) Changes() uint64 { return c.changes.Load() }

// Force marks the list as out of date, and has the next request read it without a pause: the server itself changed something.
func (c *Catalogue) Force() { c.Tire(time.Time{}) }

// Tire prevents the list from being read again before a time.
func (c *Catalogue) Tire(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = until
	c.changes.Add(1)
}

// Again returns in how many seconds a list that is out of date may be read again, or 0 if it is up to date.
func (c *Catalogue) Again() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes.Load() == c.seen {
		return 0
	}
	return 1 + max(0, int(c.rest.Sub(c.Clock())/time.Second))
}

// withoutWatch is how long a list is used if no watch reports changes.
const withoutWatch = 2 * time.Second

// Get returns the list.
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

// Missing returns the list for a session that it does not have: another program may just have created the session.
func (c *Catalogue) Missing(ctx context.Context) (*List, error) {
	live := c.Live(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	began := c.Clock()
	if began.Before(c.doubt) {
		return c.now, nil
	}
	c.changes.Add(1) // so that the new list has a tag of its own
	err := c.read(ctx, live)
	c.doubt = began.Add(10 * c.Clock().Sub(began))
	return c.now, err
}

// read reads the list. The caller holds mu.
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

// ProjectOf returns the project of the session at a path, or "" if the list that was read last does not have the session.
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
