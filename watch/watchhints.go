package watch

import (
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/backend"
)

// watchedSource is a folder of logs that is watched.
type watchedSource struct {
	b     backend.Backend
	dir   string
	owns  func(name string) bool
	only  string // the one log that is watched, "" for all
	logs  map[string]*followed
	hints hints
	watch io.Closer // nil where nothing is told
}

// hints are the names that a backend told of, each once.
type hints struct {
	wake  chan<- struct{}
	mu    sync.Mutex
	names map[string]struct{}
	errs  []error
}

// told is called by the backend, on goroutines of its own; it must not wait for the watcher, and does not.
func (h *hints) told(name string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.names == nil {
		h.names = map[string]struct{}{}
	}
	h.names[name] = struct{}{}
	if err != nil {
		h.errs = append(h.errs, err)
	}
	select {
	case h.wake <- struct{}{}:
	default: // somebody is being woken already
	}
}

// take gives what was told since the last time. Sorted, so that the same changes are told in the same order.
func (h *hints) take() (names []string, errs []error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	names, errs = slices.Sorted(maps.Keys(h.names)), h.errs
	h.names, h.errs = nil, nil
	return names, errs
}
