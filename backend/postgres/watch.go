package postgres

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

const (
	// pollDirect is how often the feed is read even without a notice: one may be lost with a connection.
	pollDirect = 5 * time.Second
	// pollPooled is how often it is read behind a pooler, where there are no notices.
	pollPooled = 500 * time.Millisecond

	// The feed: logs that were written by transactions from a mark on. All transactions before the new mark have ended, so what they wrote
	// is in this answer or was in an earlier one. $1 are the origins that are watched, or null for all.
	sqlFeed = `with mark as (select pg_snapshot_xmin(pg_current_snapshot()) as xid)
		select mark.xid::text, coalesce(l.name, ''), coalesce(l.xid::text, '') from mark
		left join treeline.log l on l.xid >= $2::text::xid8 and ($1::text[] is null or split_part(l.name, '/', 1) = any($1))`
)

// feed reports to the watchers of one database what changed, whichever process changed it. For all watchers together it has one connection
// and one position. It runs while there are watchers.
type feed struct {
	c    *core
	news chan struct{} // holds one

	gate sync.Mutex // held while run is started or stopped
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex // held during reports to watchers
	watchers map[*watcher]struct{}
	joined   int // number of watchers so far

	mark uint64            // all transactions before it were reported
	seen map[string]uint64 // logs that were reported for transactions from the mark on
}

// watcher is one call of Watch.
type watcher struct {
	b    *Backend
	told func(name string, err error)
}

func (f *feed) start(c *core) {
	f.c, f.news, f.watchers = c, make(chan struct{}, 1), map[*watcher]struct{}{}
}

// Watch implements backend.Watcher. It reports all logs of the view.
func (b *Backend) Watch(told func(name string, err error)) (io.Closer, error) {
	f := &b.feed
	f.gate.Lock()
	defer f.gate.Unlock()
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	if f.stop == nil {
		f.mark, f.seen = 0, nil
		if _, err := f.next(b.ctx, []string{}); err != nil && !errors.Is(err, pgdb.ErrEmpty) { // so that changes from now on are reported
			return nil, b.plain(err)
		}
	}
	w := &watcher{b, told}
	f.mu.Lock()
	f.watchers[w] = struct{}{}
	f.joined++
	f.mu.Unlock()
	if f.stop == nil {
		var ctx context.Context
		ctx, f.stop = context.WithCancel(f.c.db.Context())
		f.done.Go(func() { f.run(ctx) })
		f.done.Go(func() { f.listen(ctx) })
	}
	return w, nil
}

// Close ends the watch. A second call does nothing.
func (w *watcher) Close() error {
	w.b.feed.leave(func(other *watcher) bool { return other == w })
	return nil
}

// leave ends the watches for which these reports true.
func (f *feed) leave(these func(*watcher) bool) {
	f.gate.Lock()
	defer f.gate.Unlock()
	f.mu.Lock()
	for w := range f.watchers {
		if these(w) {
			delete(f.watchers, w)
		}
	}
	last := len(f.watchers) == 0
	f.mu.Unlock()
	if last && f.stop != nil {
		f.stop()
		f.done.Wait()
		f.stop = nil
	}
}

// wake makes run read the feed.
func (f *feed) wake() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// run reads the feed after each notice, and now and then.
func (f *feed) run(ctx context.Context) {
	failed := false
	for {
		every := pollPooled
		if f.c.db.Direct() && !failed {
			every = pollDirect
		}
		select {
		case <-ctx.Done():
			return
		case <-f.news:
		case <-time.After(every):
		}
		names, err := f.changes(ctx)
		if ctx.Err() != nil {
			return
		}
		if failed = err != nil && !errors.Is(err, pgdb.ErrEmpty); failed {
			f.tell("", err)
		}
		for _, name := range names {
			f.tell(name, nil)
		}
	}
}

// tell reports a log to the watchers, by its name in the database; "" is all logs.
func (f *feed) tell(name string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		if rest, ok := strings.CutPrefix(name, w.b.prefix); ok {
			w.told(rest, err)
		} else if name == "" {
			w.told("", err)
		}
	}
}

// origins returns the origins that are watched, nil for all.
func (f *feed) origins() (list []string, joined int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list = []string{}
	for w := range f.watchers {
		if w.b.prefix == "" {
			return nil, f.joined
		}
		list = append(list, originOf(w.b.prefix))
	}
	slices.Sort(list)
	return slices.Compact(list), f.joined
}

// changes reads what changed. It reads again if another watcher came meanwhile, because the answer may lack what that one needs.
func (f *feed) changes(ctx context.Context) (names []string, err error) {
	for {
		list, joined := f.origins()
		mark, seen := f.mark, f.seen
		names, err = f.next(ctx, list)
		if _, now := f.origins(); now == joined || err != nil {
			return names, err
		}
		f.mark, f.seen = mark, seen
	}
}

// next returns the logs of these origins that changed since the last call.
func (f *feed) next(ctx context.Context, origins []string) (names []string, err error) {
	var mark uint64
	seen := map[string]uint64{}
	err = f.c.db.Read(ctx, func(p *pgdb.Pool) error {
		names = nil
		clear(seen)
		found, err := p.Query(ctx, sqlFeed, origins, strconv.FormatUint(f.mark, 10))
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
			if f.seen[name] != xid {
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
	if mark < f.mark { // this is another server, restored from a copy: its transaction ids differ
		names = []string{""}
	}
	f.mark, f.seen = mark, seen
	return names, nil
}

// listen waits for notices on a connection of its own. Behind a pooler there would be none.
func (f *feed) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if f.c.db.Direct() {
			_ = f.c.db.Listen(ctx, "treeline", f.wake, func(payload string) { // without it the poll goes on
				if list, _ := f.origins(); list == nil || payload == "" || slices.Contains(list, payload) {
					f.wake()
				}
			})
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollPooled):
		}
	}
}
