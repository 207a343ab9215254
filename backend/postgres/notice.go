package postgres

import (
	"context"
	"strings"
	"sync"
	"time"
)

// A notice takes a lock of the whole server until it is committed. So it is never part of an append, and does not wait for the disk.
const sqlNotify = `select set_config('synchronous_commit', 'off', true), pg_notify('treeline', $1)`

// quiet is the shortest time between two notices of a process. A notice says only that something changed, so one is enough for many
// appends.
const quiet = 50 * time.Millisecond

// notices tells other processes that logs changed. The payload of a notice is their origin, or "" for several.
type notices struct {
	c    *core
	news chan struct{} // holds one
	quit chan struct{} // closed by stop
	done chan struct{}
	once sync.Once

	mu     sync.Mutex
	closed bool
	origin string // the origin of the changes since the last notice
	due    bool
}

func (n *notices) start(c *core) {
	n.c, n.news, n.quit, n.done = c, make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
}

// originOf returns the origin of a log, from its name in the database.
func originOf(name string) string {
	origin, _, _ := strings.Cut(name, "/")
	return origin
}

// changed is called after a mutation, with the log's name in the database.
func (n *notices) changed(name string) {
	n.c.feed.wake()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	if origin := originOf(name); !n.due {
		n.due, n.origin = true, origin
	} else if n.origin != origin {
		n.origin = ""
	}
	n.once.Do(func() { go n.run() })
	select {
	case n.news <- struct{}{}:
	default: // a notice is due already
	}
}

// run sends notices until the database is closed.
func (n *notices) run() {
	defer close(n.done)
	for range n.news {
		n.mu.Lock()
		payload := n.origin
		n.due = false
		n.mu.Unlock()
		if p := n.c.db.Reached(); p != nil {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			_, _ = p.Exec(ctx, sqlNotify, payload) // without a notice watchers see the change when they poll
			cancel()
		}
		select {
		case <-n.quit:
		case <-time.After(quiet):
		}
	}
}

// stop sends a notice that is due, and ends run.
func (n *notices) stop() {
	n.mu.Lock()
	n.closed = true
	close(n.news)
	close(n.quit)
	n.mu.Unlock()
	n.once.Do(func() { close(n.done) }) // nothing was changed
	<-n.done
}
