package place

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/treeline-dev/treeline/backend"
)

// Location is where a log is.
type Location struct {
	Backend backend.Backend
	// Name is the log's name in the backend.
	Name string
	// Path is the log's path for people: as it was given, or Join of the backend's root and Name.
	Path string
}

// Expand returns the location of a log that can be written. A compressed log is first stored plainly, under another name.
func (l Location) Expand(ctx context.Context) (Location, error) {
	name, err := backend.Expand(ctx, l.Backend, l.Name)
	if err != nil || name == l.Name {
		return l, err
	}
	l.Name, l.Path = name, Join(Dir(l.Path), path.Base(name))
	return l, nil
}

// Locate returns the location of a log by its path, for reading. The log need not exist.
func (m *Machine) Locate(path string) (Location, error) {
	path = m.Shown(path)
	root, name, err := m.split(path)
	if err != nil {
		return Location{}, err
	}
	b, err := m.Open(root)
	return Location{b, name, path}, err
}

// Open returns the backend at a root, a folder or a URL, for reading.
func (m *Machine) Open(root string) (backend.Backend, error) {
	if err := m.checkDriver(root); err != nil {
		return nil, err
	}
	return m.get(root, backend.OpenOptions{ReadOnly: true})
}

// LocateWriting is Locate for writing. mended, if not nil, is called when an append repairs the end of this log, until release is called;
// release also releases what the backend holds for the log.
func (m *Machine) LocateWriting(path string, d backend.Durability, mended func(backend.Mended)) (l Location, release func() error, err error) {
	return m.LocateAs(backend.Writer{}, path, d, mended)
}

// LocateAs is LocateWriting for a writer; see OpenAs.
func (m *Machine) LocateAs(writer backend.Writer, path string, d backend.Durability, mended func(backend.Mended)) (l Location, release func() error, err error) {
	path = m.Shown(path)
	root, name, err := m.split(path)
	if err != nil {
		return Location{}, nil, err
	}
	b, err := m.OpenAs(writer, root, d)
	if err != nil {
		return Location{}, nil, err
	}
	forget := m.backends.listen(Clean(root), name, mended)
	return Location{b, name, path}, func() error {
		forget()
		return backend.Release(b, name)
	}, nil
}

// openFolder opens the backend that a folder lies in. below is the prefix of the names of logs in the folder: "" for files, the folder and
// a slash for URLs.
func (m *Machine) openFolder(dir string) (b backend.Backend, root, below string, err error) {
	root = dir
	if isURL(dir) {
		if at, name, err := m.split(Join(dir, "x")); err == nil {
			root, below = at, strings.TrimSuffix(name, "x")
		}
	}
	b, err = m.Open(root)
	return b, root, below, err
}

// OpenWriting returns the backend at a root for writing.
func (m *Machine) OpenWriting(root string, d backend.Durability) (backend.Backend, error) {
	return m.openWriting(root, backend.OpenOptions{Durability: d})
}

func (m *Machine) openWriting(root string, opt backend.OpenOptions) (backend.Backend, error) {
	if m.opt.ReadOnly {
		return nil, fmt.Errorf("%s: %w", root, backend.ErrReadOnly)
	}
	if opt.Durability == "" {
		opt.Durability = backend.DurabilityFlush
	}
	if err := m.checkDriver(root); err != nil {
		return nil, err
	}
	return m.get(root, opt)
}

// get opens a root. For a root in an archive it opens the URL that was given for the archive.
func (m *Machine) get(root string, opt backend.OpenOptions) (backend.Backend, error) {
	root = Clean(root)
	given := root
	if a, below, ok := m.inArchive(root); ok {
		given, opt.Below = a.given, below
	} else if d, err := backend.FindDriver(m.opt.Drivers, root); err == nil && d.Archive {
		return nil, m.outside(root)
	}
	return m.backends.get(root, given, opt)
}

// outside returns the error for a URL below none of the roots.
func (m *Machine) outside(url string) error {
	return fmt.Errorf("%s: %w: it lies in none of the roots that are open", m.Shown(url), backend.ErrNoDriver)
}

// split takes a path apart into the root of its backend and the name of the log. A file's root is its folder; a URL's is
// the root of Options that it lies in, or the source of an archive.
func (m *Machine) split(path string) (root, name string, err error) {
	if path == "" {
		return "", "", errors.New("the path of the log is empty")
	}
	if src, name, ok := m.sourceOf(path); ok && name != "" {
		return src.Root.Sessions, name, nil
	}
	if backend.Scheme(path) != "" {
		if a, _, ok := m.inArchive(path); ok {
			return "", "", fmt.Errorf("%s: %w: a log is called %s/ORIGIN/SOURCE/NAME", path, backend.ErrName, a.shown)
		}
		for _, root := range m.opt.Roots {
			if name, ok := Below(root, path); ok && name != "" {
				return Clean(root), name, nil
			}
		}
		return "", "", m.outside(path)
	}
	abs, err := Abs(path)
	if err != nil {
		return "", "", err
	}
	return Dir(abs), Base(abs), nil
}

// backends opens each root once and keeps it open.
type backends struct {
	drivers []backend.Driver

	mu        sync.Mutex
	open      map[opened]backend.Backend
	listeners map[*listener]bool
	closed    bool
}

// listener is called when an append repairs the end of one log.
type listener struct {
	root, name string
	tell       func(backend.Mended)
}

// opened is the key of an open backend: a root may be open in several ways.
type opened struct {
	root       string
	readOnly   bool
	durability backend.Durability
	writer     backend.Writer
}

// get returns the backend of a root, and opens it by the given URL or path if it is not open yet.
func (s *backends) get(root, given string, opt backend.OpenOptions) (backend.Backend, error) {
	key := opened{root, opt.ReadOnly, opt.Durability, opt.Writer}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, backend.ErrClosed
	}
	if b, ok := s.open[key]; ok {
		return b, nil
	}
	d, err := backend.FindDriver(s.drivers, given)
	if err != nil {
		return nil, err
	}
	opt.Mended = func(e backend.Mended) { s.tell(root, e) }
	b, err := d.Open(given, opt)
	if err != nil {
		return nil, err
	}
	if s.open == nil {
		s.open = map[opened]backend.Backend{}
	}
	s.open[key] = b
	return b, nil
}

// listen calls f with the repairs that appends make in a log, until forget is called.
func (s *backends) listen(root, name string, f func(backend.Mended)) (forget func()) {
	if f == nil {
		return func() {}
	}
	l := &listener{root, name, f}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listeners == nil {
		s.listeners = map[*listener]bool{}
	}
	s.listeners[l] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, l)
	}
}

func (s *backends) tell(root string, e backend.Mended) {
	s.mu.Lock()
	var list []*listener
	for l := range s.listeners {
		if l.root == root && l.name == e.Log {
			list = append(list, l)
		}
	}
	s.mu.Unlock()
	for _, l := range list {
		l.tell(e)
	}
}

func (s *backends) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, b := range s.open {
		errs = append(errs, b.Close())
	}
	s.open = nil
	return errors.Join(errs...)
}
