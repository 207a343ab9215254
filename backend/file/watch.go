package file

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
)

// watch reports changes in the folders that List visits. It needs one system watch per folder, whatever the number of files in it. Watches
// are scarce: on an older Linux a user has 8,192.
type watch struct {
	b *Backend
	// system watches folders, for all watches of the process. Its locks guard folders.
	system  *system
	folders map[string]string // the folders that are watched, and their real paths
	// watchFolder makes the system watch a folder.
	watchFolder func(w *fsnotify.Watcher, dir string) error

	mu     sync.Mutex
	told   func(name string, err error) // nil after Close
	isFull bool                         // the limit of the system is reached
}

// Watch implements backend.Watcher with inotify or the like. It does not report files that another machine changes on a
// network file system. When the limit of the system is reached, the remaining folders are not watched, and told gets the
// error once. Only the file system of the machine can be watched.
func (b *Backend) Watch(told func(name string, err error)) (io.Closer, error) {
	if _, ok := b.fs.(durable.OS); !ok {
		return nil, fmt.Errorf("watching %s: %w", b.root, errors.ErrUnsupported)
	}
	w := &watch{b: b, told: told, system: &machine, folders: map[string]string{}, watchFolder: (*fsnotify.Watcher).Add}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed.Load() { // checked under the lock: Close ends the watches that it finds
		return nil, backend.ErrClosed
	}
	b.watches = append(slices.Clip(b.watches), w) // walks may hold the old list
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
	w.told = nil
	w.mu.Unlock()
	return w.system.leave(w)
}

// tell reports a change, unless the watch is closed.
func (w *watch) tell(name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told != nil {
		w.told(name, err)
	}
}

// event reports what happened at a path. unwatched means that it was a folder that is no longer watched.
func (w *watch) event(path string, op fsnotify.Op, unwatched bool) {
	name, ok := w.name(path)
	if !ok {
		return
	}
	if unwatched { // There may be a new folder of that name. The caller's List will watch it.
		name = folderName(name)
	} else if op.Has(fsnotify.Create) {
		if info, err := w.b.fs.Stat(path); err == nil && info.Mode.IsDir() {
			name = folderName(name)
		}
	}
	w.tell(name, nil)
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

// folderName returns the name by which a folder is reported.
func folderName(name string) string {
	if name == "" {
		return ""
	}
	return name + "/"
}

// add watches a folder.
func (w *watch) add(dir string) {
	full, err := w.system.add(w, dir)
	if !full {
		return // List reports other errors of the folder
	}
	w.mu.Lock()
	first := !w.isFull
	// Not tried again: on some systems each attempt opens all files of the folder.
	w.isFull = true
	w.mu.Unlock()
	if first {
		w.tell("", fmt.Errorf("watching %s: %w%s", dir, err, remedy(err)))
	}
}

// idle reports whether no more folders are watched.
func (w *watch) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.isFull || w.told == nil
}

// outOfWatches reports whether an error means that a limit of the system is reached.
func outOfWatches(err error) bool {
	limits := []error{syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM}
	return slices.ContainsFunc(limits, func(limit error) bool { return errors.Is(err, limit) })
}

// remedy names the setting that raises the limit.
func remedy(err error) string {
	switch {
	case runtime.GOOS != "linux":
		return ""
	case errors.Is(err, syscall.ENOSPC):
		return "; fs.inotify.max_user_watches is the limit"
	case errors.Is(err, syscall.EMFILE):
		return "; fs.inotify.max_user_instances or the number of open files is the limit"
	}
	return ""
}
