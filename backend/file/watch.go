package file

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
)

// watch reports changes in the folders that List visits. It needs one watch of the system per folder, whatever the number
// of files in it. Watches are scarce: a user of an older Linux has 8,192.
type watch struct {
	b     *Backend
	told  func(name string, err error)
	ended chan struct{} // closed after the last call of told
	// watchFolder makes the system watch a folder.
	watchFolder func(dir string) error

	mu      sync.Mutex
	system  *fsnotify.Watcher   // nil before the first folder: a user of Linux has 128
	folders map[string]struct{} // paths that the system watches
	full    bool                // the limit of the system is reached
	closed  bool
}

// Watch implements backend.Watcher with inotify or the like. It does not report files that another machine changes on a
// network file system. When the limit of the system is reached, the remaining folders are not watched, and told gets the
// error once. Only the file system of the machine can be watched.
func (b *Backend) Watch(told func(name string, err error)) (io.Closer, error) {
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	if _, ok := b.fs.(durable.OS); !ok {
		return nil, fmt.Errorf("watching %s: %w", b.root, errors.ErrUnsupported)
	}
	w := &watch{b: b, told: told, ended: make(chan struct{}), folders: map[string]struct{}{}}
	w.watchFolder = func(dir string) error { return w.system.Add(dir) }
	b.mu.Lock()
	b.watches = append(slices.Clip(b.watches), w) // walks may hold the old list
	b.mu.Unlock()
	return w, nil
}

// watching returns the open watches.
func (b *Backend) watching() []*watch {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.watches
}

// Close ends the watch. A second call does nothing.
func (w *watch) Close() error {
	w.b.mu.Lock()
	w.b.watches = slices.DeleteFunc(slices.Clone(w.b.watches), func(other *watch) bool { return other == w })
	w.b.mu.Unlock()
	w.mu.Lock()
	w.closed = true
	system := w.system
	w.mu.Unlock()
	if system == nil {
		return nil
	}
	err := system.Close()
	<-w.ended
	return err
}

// begin opens the system's watch, once.
func (w *watch) begin() error {
	if w.system != nil {
		return nil
	}
	system, err := fsnotify.NewWatcher()
	if err == nil {
		w.system = system
		go w.run(system)
	}
	return err
}

// run passes on events until the watch is closed.
func (w *watch) run(system *fsnotify.Watcher) {
	defer close(w.ended)
	for {
		select {
		case e, ok := <-system.Events:
			if !ok {
				return
			}
			w.event(e)
		case err, ok := <-system.Errors:
			switch {
			case !ok:
				return
			case errors.Is(err, fsnotify.ErrEventOverflow):
				w.told("", nil) // events were lost
			default:
				w.told("", fmt.Errorf("watching %s: %w", w.b.root, err))
			}
		}
	}
}

// event passes on one event.
func (w *watch) event(e fsnotify.Event) {
	if e.Op == fsnotify.Chmod { // of times or permissions
		return
	}
	name, ok := w.name(e.Name)
	switch {
	case !ok:
	case e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename):
		if w.forget(e.Name) {
			// There may be a new folder of that name. The caller's List will watch it.
			w.told(folderName(name), nil)
			return
		}
		w.told(name, nil)
	default:
		if e.Has(fsnotify.Create) {
			if info, err := w.b.fs.Stat(e.Name); err == nil && info.Mode.IsDir() {
				name = folderName(name)
			}
		}
		w.told(name, nil)
	}
}

// name returns the name of the log or folder at a path; "" is the root. ok is false for temporary files.
func (w *watch) name(path string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(path, w.b.root)
	if !ok {
		return "", false
	}
	name = filepath.ToSlash(strings.TrimPrefix(rest, string(filepath.Separator)))
	return name, !strings.HasPrefix(name, ownPrefix) && !strings.Contains(name, "/"+ownPrefix)
}

// folderName is how a folder is reported.
func folderName(name string) string {
	if name == "" {
		return ""
	}
	return name + "/"
}

// add watches a folder.
func (w *watch) add(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.folders[dir]; ok || w.full || w.closed {
		return
	}
	if w.system == nil {
		if _, err := w.b.fs.Stat(dir); err != nil {
			return // most agents' folders do not exist
		}
	}
	begun := w.begin()
	err := begun
	if begun == nil {
		err = w.watchFolder(dir)
	}
	switch {
	case err == nil:
		w.folders[dir] = struct{}{}
	case begun != nil || outOfWatches(err):
		// Not tried again: on some systems each attempt opens all files of the folder.
		w.full = true
		w.told("", fmt.Errorf("watching %s: %w", dir, err))
	}
	// List reports other errors of the folder.
}

// forget ends the watch of a folder, and reports whether there was one.
func (w *watch) forget(dir string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.folders[dir]; !ok {
		return false
	}
	delete(w.folders, dir)
	_ = w.system.Remove(dir) // mostly the system has done it already
	return true
}

// outOfWatches reports whether an error means that a limit of the system is reached.
func outOfWatches(err error) bool {
	limits := []error{syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM}
	return slices.ContainsFunc(limits, func(limit error) bool { return errors.Is(err, limit) })
}
