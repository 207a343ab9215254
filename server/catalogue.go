package server

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/server/view"
)

// catalogue is the list of sessions as it was last read. It is read again when the watch told of a change, and not more
// often than a tenth of the time.
type catalogue struct {
	s     *Server
	stale atomic.Uint64 // changes so far

	mu   sync.Mutex // held while it is read
	now  *view.List // nil: not read yet
	seen uint64     // changes when it was read
	rest time.Time  // it is not read again before
}

// spoil has the list read again.
func (c *catalogue) spoil() { c.stale.Add(1) }

// force has the list read again at once: the server itself changed something.
func (c *catalogue) force() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = time.Time{}
	c.stale.Add(1)
}

// again is in how many seconds a list that changed is read again; 0 if it did not.
func (c *catalogue) again() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stale.Load() == c.seen {
		return 0
	}
	return 1 + max(0, int(c.rest.Sub(c.s.opt.Clock())/time.Second))
}

// withoutWatch is how long a list is used if nothing tells of changes.
const withoutWatch = 2 * time.Second

// get gives the list. Reading it is not cancelled with the request: others wait for it, too.
func (c *catalogue) get(ctx context.Context) (*view.List, error) {
	c.s.watch(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	began := c.s.opt.Clock()
	stale := c.stale.Load()
	c.s.feed.mu.Lock()
	live := c.s.feed.live
	c.s.feed.mu.Unlock()
	switch {
	case c.now == nil:
	case stale == c.seen && live:
		return c.now, nil
	case began.Before(c.rest):
		return c.now, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var problems []string
	rows, err := c.s.store.Catalogue(c.s.ctx, treeline.RefreshOptions{Problem: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, err.Error())
	}})
	if err != nil {
		return nil, err
	}
	c.s.counts.refreshes.Add(1)
	l := view.NewList(strconv.FormatUint(stale+1, 10), rows, problems)
	took := c.s.opt.Clock().Sub(began)
	c.now, c.seen, c.rest = l, stale, began.Add(10*took)
	if !live {
		c.rest = began.Add(max(withoutWatch, 10*took))
	}
	return l, nil
}
