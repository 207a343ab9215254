package postgres

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/treeline-dev/treeline/backend"
)

const (
	// quiet is the least time between two notices of a process. A notice says only that something changed, so one stands for
	// many appends.
	quiet = 20 * time.Millisecond
	// pollDirect is how often the feed is read although no notice came: one may be lost with a connection.
	pollDirect = 5 * time.Second
	// pollPooled is how often it is read behind a pooler, where no notices come.
	pollPooled = 500 * time.Millisecond

	// A notice takes a lock of the whole server until it is committed. So it is never part of an append, and does not wait for
	// the disk.
	sqlNotify = `select set_config('synchronous_commit', 'off', true), pg_notify('treeline', $1)`

	// The feed: logs that were written by transactions from a mark on. All transactions before the new mark are over, so what
	// they wrote is in this answer or was in an earlier one.
	sqlFeed = `with mark as (select pg_snapshot_xmin(pg_current_snapshot()) as xid)
		select mark.xid::text, coalesce(l.name, ''), coalesce(l.xid::text, '') from mark
		left join treeline.log l on l.origin = $1 and l.xid >= $2::text::xid8`
)

// notices tells other processes that something changed, and the watchers of this one.
type notices struct {
	b    *Backend
	news chan struct{} // holds one
	done chan struct{}
	once sync.Once

	mu       sync.Mutex
	watchers map[*watcher]struct{} // nil after stop
}

func (n *notices) start(b *Backend) {
	n.b, n.news, n.done, n.watchers = b, make(chan struct{}, 1), make(chan struct{}), map[*watcher]struct{}{}
}

// changed is called after a mutation.
func (n *notices) changed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.watchers == nil {
		return // closed meanwhile
	}
	n.once.Do(func() { go n.run() })
	select {
	case n.news <- struct{}{}:
	default: // one is due already
	}
	for w := range n.watchers {
		w.wake()
	}
}

// run sends notices until the backend is closed.
func (n *notices) run() {
	defer close(n.done)
	for range n.news {
		ctx, cancel := context.WithTimeout(context.Background(), pollDirect)
		if l := n.b.link.Load(); l != nil {
			_, _ = l.pool.Exec(ctx, sqlNotify, n.b.origin) // without it watchers see the change when they poll
		}
		cancel()
		select {
		case <-n.b.ctx.Done():
		case <-time.After(quiet):
		}
	}
}

// stop sends what is due and ends the watches.
func (n *notices) stop() {
	n.mu.Lock()
	all := n.watchers
	n.watchers = nil
	n.mu.Unlock()
	n.once.Do(func() { close(n.done) }) // nothing was changed
	close(n.news)
	n.b.cancel()
	<-n.done
	for w := range all {
		_ = w.Close()
	}
}

// watcher is one call of Watch.
type watcher struct {
	b      *Backend
	told   func(name string, err error)
	ctx    context.Context
	cancel context.CancelFunc
	news   chan struct{} // holds one
	done   chan struct{}

	mark uint64            // all transactions before it were told
	seen map[string]uint64 // logs that were told of transactions from the mark on
}

// Watch implements backend.Watcher. It reports all logs of the origin, whoever changes them.
func (b *Backend) Watch(told func(name string, err error)) (io.Closer, error) {
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	w := &watcher{b: b, told: told, news: make(chan struct{}, 1), done: make(chan struct{}), seen: map[string]uint64{}}
	w.ctx, w.cancel = context.WithCancel(b.ctx)
	if _, err := w.feed(); err != nil && !errors.Is(err, errEmpty) { // what is there already
		w.cancel()
		return nil, err
	}
	b.notices.mu.Lock()
	defer b.notices.mu.Unlock()
	if b.notices.watchers == nil {
		w.cancel()
		return nil, backend.ErrClosed
	}
	b.notices.watchers[w] = struct{}{}
	go w.listen()
	go w.run()
	return w, nil
}

// Close ends the watch. A second call does nothing.
func (w *watcher) Close() error {
	w.b.notices.mu.Lock()
	delete(w.b.notices.watchers, w)
	w.b.notices.mu.Unlock()
	w.cancel()
	<-w.done
	return nil
}

// wake makes the watcher read the feed.
func (w *watcher) wake() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// run reads the feed when there is news, and now and then.
func (w *watcher) run() {
	defer close(w.done)
	failed := false
	for {
		every := pollPooled
		if l := w.b.link.Load(); l != nil && l.direct && !failed {
			every = pollDirect
		}
		select {
		case <-w.ctx.Done():
			return
		case <-w.news:
		case <-time.After(every):
		}
		names, err := w.feed()
		if w.ctx.Err() != nil {
			return
		}
		if failed = err != nil && !errors.Is(err, errEmpty); failed {
			w.told("", err)
			continue
		}
		for _, name := range names {
			w.told(name, nil)
		}
	}
}

// feed returns the logs that changed since the last call.
func (w *watcher) feed() (names []string, err error) {
	var mark uint64
	seen := map[string]uint64{}
	err = w.b.read(w.ctx, func(p *pgxpool.Pool) error {
		names = nil
		clear(seen)
		found, err := p.Query(w.ctx, sqlFeed, w.b.origin, strconv.FormatUint(w.mark, 10))
		if err != nil {
			return err
		}
		defer found.Close()
		for found.Next() {
			var at, name, by string
			if err := found.Scan(&at, &name, &by); err != nil {
				return err
			}
			if mark, err = strconv.ParseUint(at, 10, 64); err != nil {
				return err
			}
			if name == "" {
				continue // nothing changed
			}
			xid, err := strconv.ParseUint(by, 10, 64)
			if err != nil {
				return err
			}
			if w.seen[name] != xid {
				names = append(names, name)
			}
			if xid >= mark {
				seen[name] = xid
			}
		}
		return found.Err()
	})
	if err != nil {
		return nil, err
	}
	if mark < w.mark { // another server, restored from a copy: its transactions count from elsewhere
		names = []string{""}
	}
	w.mark, w.seen = mark, seen
	return names, nil
}

// listen waits for notices on a connection of its own, as long as the watch lasts. Behind a pooler none would come.
func (w *watcher) listen() {
	for w.ctx.Err() == nil {
		if l := w.b.link.Load(); l != nil && l.direct {
			_ = w.hear() // the poll goes on without it
		}
		select {
		case <-w.ctx.Done():
		case <-time.After(pollPooled):
		}
	}
}

// hear wakes the watcher at each notice, until the connection is lost.
func (w *watcher) hear() error {
	c, err := pgx.ConnectConfig(w.ctx, w.b.config.ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(w.ctx)) }()
	if _, err := c.Exec(w.ctx, "listen treeline", pgx.QueryExecModeExec); err != nil {
		return err
	}
	w.wake() // for what happened before
	for {
		n, err := c.WaitForNotification(w.ctx)
		if err != nil {
			return err
		}
		if n.Payload == w.b.origin {
			w.wake()
		}
	}
}
