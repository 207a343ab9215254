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
	reads  chan string   // paths of sessions that the watch reads before they change

	mu    sync.Mutex
	begun bool // the watch has begun, or failed to
	live  bool // the watch tells of changes
}

// watch starts the watch of the store's sessions with its first call. It waits until the watch has begun, and reports whether it runs.
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

// begin notes whether the watch runs, and releases the requests that wait for it. A watch that cannot begin releases them, too, since the
// list of sessions works without it. again reports whether it had begun before.
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

// follow adds changes of the store to the feed until the server is closed.
func (s *Server) follow() error {
	for c, err := range s.store.Watch(s.ctx, watch.Options{Read: s.watching.reads}) {
		if err != nil {
			return err
		}
		s.counts.changes.Add(1)
		switch {
		case c.Kind == watch.KindStart:
			s.list.Spoil() // changes before the start are unknown
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
