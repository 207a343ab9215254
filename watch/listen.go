package watch

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/place"
)

// Listener reports that sessions changed, but not how. It lists and reads nothing itself, so it costs nothing while nothing happens,
// however many sessions there are. A caller that lists the sessions again after each signal stays up to date.
type Listener struct {
	sources []*source
	wake    chan struct{}
	silent  int // number of places that give no signals
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

// Changed returns a channel that gets a value when Take has something to return.
func (l *Listener) Changed() <-chan struct{} { return l.wake }

// Silent returns how many places give no signals, or no longer all of them. Their sessions must be listed again from time to time. A place
// that does not exist yet gives none either, whether it counts here or not. Take may find more of them.
func (l *Listener) Silent() int { return l.silent }

// Take returns the paths of the sessions that may have changed since the last call, sorted. all means that others may have changed, too, or
// that some changes are no longer reported.
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

// Close ends the Listener.
func (l *Listener) Close() error {
	var errs []error
	for _, src := range l.sources {
		if src.watch != nil {
			errs = append(errs, src.watch.Close())
		}
	}
	return errors.Join(errs...)
}
