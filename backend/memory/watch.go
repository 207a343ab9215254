package memory

import (
	"io"

	"github.com/treeline-dev/treeline/backend"
)

// watch is somebody who is told of changes.
type watch struct{ b *Backend }

// Watch implements backend.Watcher. All logs are told of, at the moment of the change.
func (b *Backend) Watch(told func(name string, err error)) (io.Closer, error) {
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	w := &watch{b}
	p := b.place
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told == nil {
		p.told = map[*watch]func(string, error){}
	}
	p.told[w] = told
	return w, nil
}

// Close ends the watch. A second call does nothing.
func (w *watch) Close() error {
	w.b.place.mu.Lock()
	defer w.b.place.mu.Unlock()
	delete(w.b.place.told, w)
	return nil
}

// tell says that a log changed. The place is locked.
func (p *place) tell(name string) {
	for _, told := range p.told {
		told(name, nil)
	}
}
