package memory

import (
	"io"
	"strings"

	"github.com/treeline-dev/treeline/backend"
)

// watch is one call of Watch.
type watch struct{ b *Backend }

// Watch implements backend.Watcher. It reports all logs, at the moment of the change.
func (b *Backend) Watch(told func(name string, err error)) (io.Closer, error) {
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	w := &watch{b}
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	b.place.told[w] = func(name string, err error) {
		if own, ok := strings.CutPrefix(name, b.below); ok {
			told(own, err)
		}
	}
	return w, nil
}

// Close ends the watch. A second call does nothing.
func (w *watch) Close() error {
	w.b.place.mu.Lock()
	defer w.b.place.mu.Unlock()
	delete(w.b.place.told, w)
	return nil
}

// tell reports that a log changed. The caller holds the lock.
func (p *place) tell(name string) {
	for _, told := range p.told {
		told(name, nil)
	}
}
