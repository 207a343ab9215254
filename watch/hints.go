package watch

import (
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/backend"
)

// source is a place with logs that is watched.
type source struct {
	b    backend.Backend
	dir  string
	path func(name string) string
	owns func(name string) bool
	// inSource returns the name of a log in its source; see place.Shelf.
	inSource func(name string) string
	only     string // the one log to watch, "" for all
	logs     map[string]*followed
	empty    bool // the last list of all logs was empty

	hints  hints
	hinted bool      // the backend reports changes
	failed bool      // the backend reported that it misses some changes
	watch  io.Closer // nil if the backend reports none
}

// listenAgain asks the backend for changes again after a failure: the system's limit that caused it may no longer be reached. All logs must
// be listed afterwards.
func (src *source) listenAgain() {
	if src.watch != nil {
		_ = src.watch.Close() // nothing depends on it any more
	}
	src.hints.take()
	src.watch, src.failed = nil, false
	src.listen()
}

// listen makes the backend report changes, if it can.
func (src *source) listen() {
	b, ok := src.b.(backend.Watcher)
	if !ok {
		return
	}
	watch, err := b.Watch(src.hints.told)
	switch {
	case err == nil:
		src.watch, src.hinted = watch, true
	case !errors.Is(err, errors.ErrUnsupported):
		src.hints.told("", err)
	}
}

// hints are the names that a backend reported, each once.
type hints struct {
	wake  chan<- struct{}
	mu    sync.Mutex
	names map[string]struct{}
	errs  []error
}

// told is called by the backend, on goroutines of its own. It does not wait for the watcher.
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
	default: // a wake-up is pending
	}
}

// take returns the names that were reported since the last call, sorted, so that equal changes are reported in equal order.
func (h *hints) take() (names []string, errs []error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	names, errs = slices.Sorted(maps.Keys(h.names)), h.errs
	h.names, h.errs = nil, nil
	return names, errs
}
