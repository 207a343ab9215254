package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/server/feed"
	"github.com/treeline-dev/treeline/watch"
)

// watching is the one watch of the server, which fills the feed of events.
type watching struct {
	starts sync.Once
	ready  chan struct{} // closed when begun
	reads  chan string   // paths of sessions that the watch reads beforehand

	mu    sync.Mutex
	begun bool // the watch has begun, or failed to
	live  bool // the watch tells of changes
}

// watch begins to follow the sessions of the store with the first call, waits until it does, and reports whether it does.
func (s *Server) watch(ctx context.Context) bool {
	w := &s.watching
	w.starts.Do(func() {
		s.tasks.Go(func() {
			for s.ctx.Err() == nil {
				err := s.follow()
				w.begin(false)
				if err == nil || errors.Is(err, backend.ErrClosed) {
					return
				}
				s.log.Warn("the watch of sessions ended and begins again", "error", err)
				select {
				case <-s.ctx.Done():
				case <-time.After(10 * time.Second):
				}
			}
		})
	})
	select {
	case <-w.ready:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live
}

// begin notes whether the watch tells of changes, and releases the requests that wait for it. A watch that cannot begin releases
// them, too: the list of sessions works without it. again: it had begun before.
func (w *watching) begin(live bool) (again bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live = live
	if again = w.begun; !again {
		w.begun = true
		close(w.ready)
	}
	return again
}

// follow tells what is written until the server is closed.
func (s *Server) follow() error {
	for c, err := range s.store.Watch(s.ctx, watch.Options{Read: s.watching.reads}) {
		if err != nil {
			return err
		}
		s.counts.changes.Add(1)
		switch {
		case c.Kind == watch.KindStart:
			s.list.Spoil() // what was written before is unknown
			if again := s.watching.begin(true); again {
				s.feed.Add(feed.Event{Kind: feed.Reload, Data: feed.ReloadJSON})
			}
			continue
		case c.Kind == watch.KindProblem:
			s.log.Warn("watch", "path", c.Path, "error", c.Err)
		}
		s.list.Spoil()
		data, err := feed.JSON(s.ctx, c)
		if err != nil {
			s.log.Warn("an event was left out", "path", c.Path, "error", err)
			continue
		}
		e := feed.Event{Kind: c.Kind, Path: c.Path, Data: data, Project: c.Header.CWD}
		if e.Project == "" {
			e.Project = s.projectOf(c.Path)
		}
		s.feed.Add(e)
	}
	return nil
}
