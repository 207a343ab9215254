package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// machine is the system watch that all watches of the process share: a user of Linux has 128 of them, and there is a Backend for each
// agent.
var machine system

// system passes the events of watched folders on to the watches that asked for them. It is open while there is such a watch.
type system struct {
	// changing is held while folders are added and removed. On some systems such a change waits until pending events are taken, so the
	// goroutine that takes them does not wait for changing, except to remove a folder.
	changing sync.Mutex
	events   *fsnotify.Watcher // nil while no folder is watched
	ended    chan struct{}     // closed when the last event was passed on

	mu sync.Mutex // guards folders here and in the watches; changes of folders hold changing, too
	// folders maps each folder to its watches, and to the path under which each watch knows it. A folder is identified by its real path:
	// the system reports a folder that has several paths under only one of them.
	folders map[string]map[*watch]string
}

// add watches a folder for a watch, if it exists: most agents' folders do not. full means that no more folders can be watched.
func (s *system) add(w *watch, dir string) (full bool, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if _, ok := w.folders[dir]; ok || w.idle() {
		return false, nil
	}
	if _, err := os.Stat(dir); err != nil {
		return false, err
	}
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		target = dir
	}
	if s.events == nil {
		if s.events, err = fsnotify.NewWatcher(); err != nil {
			s.events = nil
			return true, err
		}
		s.ended = make(chan struct{})
		go s.run(s.events, s.ended)
	}
	s.mu.Lock()
	if s.folders == nil {
		s.folders = map[string]map[*watch]string{}
	}
	if s.folders[target] == nil {
		s.folders[target] = map[*watch]string{}
	}
	s.folders[target][w], w.folders[dir] = dir, target
	s.mu.Unlock()
	// Also if it is watched already: by now there may be another folder at that path.
	if err = w.watchFolder(s.events, target); err != nil {
		s.drop(w, dir)
	}
	return outOfWatches(err), err
}

// drop removes a folder from a watch. last: no other watch has it.
func (s *system) drop(w *watch, dir string) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	target := w.folders[dir]
	delete(w.folders, dir)
	delete(s.folders[target], w)
	if last = len(s.folders[target]) == 0; last {
		delete(s.folders, target)
	}
	return last
}

// leave ends a watch.
func (s *system) leave(w *watch) error {
	s.changing.Lock()
	var unused []string
	for dir, target := range w.folders {
		if s.drop(w, dir) {
			unused = append(unused, target)
		}
	}
	if s.events == nil || len(s.folders) == 0 {
		events, ended := s.events, s.ended
		s.events = nil
		s.changing.Unlock()
		if events == nil {
			return nil
		}
		err := events.Close()
		<-ended
		return err
	}
	defer s.changing.Unlock()
	for _, target := range unused {
		_ = s.events.Remove(target) // it may be gone
	}
	return nil
}

// run passes on events until events is closed.
func (s *system) run(events *fsnotify.Watcher, ended chan<- struct{}) {
	defer close(ended)
	for {
		select {
		case e, ok := <-events.Events:
			if !ok {
				return
			}
			if e.Op != fsnotify.Chmod { // of times or permissions
				s.event(events, e)
			}
		case err, ok := <-events.Errors:
			switch {
			case !ok:
				return
			case errors.Is(err, fsnotify.ErrEventOverflow):
				s.tellAll(nil) // events were lost
			default:
				s.tellAll(err)
			}
		}
	}
}

// event passes on one event to the watches of the folder that it is about, and to those of the folder that it happened in.
func (s *system) event(events *fsnotify.Watcher, e fsnotify.Event) {
	paths := map[*watch]string{}
	s.mu.Lock()
	for w, dir := range s.folders[filepath.Dir(e.Name)] {
		paths[w] = dir + string(filepath.Separator) + filepath.Base(e.Name)
	}
	isFolder := s.folders[e.Name] != nil
	for w, dir := range s.folders[e.Name] {
		paths[w] = dir
	}
	s.mu.Unlock()
	removed := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	var unwatched map[*watch]bool
	if removed && isFolder {
		unwatched = s.forget(events, e.Name)
	}
	for w, path := range paths {
		w.event(path, e.Op, unwatched[w])
	}
}

// forget ends the watching of a folder that is gone, and returns the watches that had it.
func (s *system) forget(events *fsnotify.Watcher, target string) map[*watch]bool {
	s.changing.Lock()
	defer s.changing.Unlock()
	had := map[*watch]bool{}
	if s.events != events {
		return had // closed meanwhile
	}
	s.mu.Lock()
	for w, dir := range s.folders[target] {
		had[w] = true
		delete(w.folders, dir)
	}
	delete(s.folders, target)
	s.mu.Unlock()
	_ = events.Remove(target) // usually the system has done it already
	return had
}

// tellAll tells every watch that anything may have changed, or, with an error, what is no longer reported.
func (s *system) tellAll(err error) {
	all := map[*watch]bool{}
	s.mu.Lock()
	for _, watches := range s.folders {
		for w := range watches {
			all[w] = true
		}
	}
	s.mu.Unlock()
	for w := range all {
		if err == nil {
			w.tell("", nil)
		} else {
			w.tell("", fmt.Errorf("watching %s: %w", w.b.root, err))
		}
	}
}
