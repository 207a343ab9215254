package watch

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/place"
)

// Listener hears that sessions changed, and not how. It lists and reads nothing itself, so it costs nothing while nothing
// happens, however many sessions there are. A list of sessions that is read again after each signal stays true.
type Listener struct {
	sources []*source
	wake    chan struct{}
	silent  int // places that give no signals
}

// Listen begins to listen. Only folders that are listed afterwards are covered; see backend.Watcher. Close ends it.
func Listen(ctx context.Context, m *place.Machine) (*Listener, error) {
	shelves, err := m.Shelves(ctx)
	if err != nil {
		return nil, err
	}
	l := &Listener{wake: make(chan struct{}, 1)}
	for _, s := range shelves {
		src := &source{b: s.Backend, dir: s.Dir, path: s.Path, owns: s.Owns}
		src.hints.wake = l.wake
		l.sources = append(l.sources, src)
		if src.listen(); !src.hinted {
			l.silent++
		}
	}
	return l, nil
}

// Changed gets a value when Take has something to give.
func (l *Listener) Changed() <-chan struct{} { return l.wake }

// Silent is how many places give no signals, or not all any more. Their sessions must be listed again from time to time. A place
// that does not exist yet gives none either, whether it counts here or not. Take may find more of them.
func (l *Listener) Silent() int { return l.silent }

// Take returns the paths of the sessions that may have changed since the last call, sorted. all says that others may have
// changed, too, or that some changes are not told any more.
func (l *Listener) Take() (paths []string, all bool) {
	for _, src := range l.sources {
		names, errs := src.hints.take()
		if len(errs) > 0 {
			all = true
			if src.hinted {
				src.hinted = false
				l.silent++
			}
		}
		for _, name := range names {
			switch {
			case name == "" || strings.HasSuffix(name, "/"):
				all = true
			case src.owns(name):
				paths = append(paths, src.path(name))
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), all
}

// Close ends it.
func (l *Listener) Close() error {
	var errs []error
	for _, src := range l.sources {
		if src.watch != nil {
			errs = append(errs, src.watch.Close())
		}
	}
	return errors.Join(errs...)
}
