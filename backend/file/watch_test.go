package file

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/treeline-dev/treeline/internal/durable"
)

// When the limit of the system is reached, told gets one error, and existing watches go on.
func TestWatchLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []error{syscall.ENOSPC, syscall.EMFILE} {
		root := t.TempDir()
		b, err := New(root, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range []string{"a", "b", "c"} {
			if err := os.Mkdir(filepath.Join(root, folder), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		var told []error
		closer, err := b.Watch(func(_ string, err error) { told = append(told, err) })
		if err != nil {
			t.Fatal(err)
		}
		tries := 0
		w := closer.(*watch)
		add := w.watchFolder
		w.watchFolder = func(events *fsnotify.Watcher, dir string) error {
			if tries++; tries > 2 {
				return &os.PathError{Op: "inotify_add_watch", Path: dir, Err: limit}
			}
			return add(events, dir)
		}
		for range 2 {
			for _, err := range b.List(t.Context(), "") {
				if err != nil {
					t.Error(err)
				}
			}
		}
		folders := len(w.folders)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if len(told) != 1 || !errors.Is(told[0], limit) || tries != 3 || folders != 2 {
			t.Errorf("%d tries, %d folders watched, told %v", tries, folders, told)
		}
	}
}

// Lost events are reported as a change of everything, other errors as they are.
func TestWatchSystemErrors(t *testing.T) {
	t.Parallel()
	b, err := New(t.TempDir(), Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	type told struct {
		name string
		err  error
	}
	list := make(chan told)
	closer, err := b.Watch(func(name string, err error) { list <- told{name, err} })
	if err != nil {
		t.Fatal(err)
	}
	w := closer.(*watch)
	w.system = &system{} // its errors reach no other test
	if w.add(filepath.Join(b.root, "missing")); w.system.events != nil {
		t.Error("the system watches for a folder that does not exist")
	}
	for _, err := range b.List(t.Context(), "") {
		t.Errorf("an empty folder gives a log, or %v", err)
	}
	w.system.events.Errors <- fsnotify.ErrEventOverflow
	if got := <-list; got.name != "" || got.err != nil {
		t.Errorf("told %+v", got)
	}
	w.system.events.Errors <- io.ErrUnexpectedEOF
	if got := <-list; got.name != "" || !errors.Is(got.err, io.ErrUnexpectedEOF) {
		t.Errorf("told %+v", got)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// odd is a file system that is not that of the machine.
type odd struct{ durable.OS }

func TestWatchOtherFileSystem(t *testing.T) {
	t.Parallel()
	b, err := New(t.TempDir(), Options{FS: odd{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Watch(func(string, error) {}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}

// All watches of a process share one system watch, and each is told of its own folders: also of a folder that it knows by another path,
// that another watch has as well, and that was replaced.
func TestWatchesShareTheSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.MkdirAll(filepath.Join(target, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err) // Windows asks for a privilege
	}
	var shared system
	type watcher struct {
		*watch
		names chan string
	}
	open := func(root string) watcher {
		b, err := New(root, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		names := make(chan string, 100)
		closer, err := b.Watch(func(name string, err error) {
			if err != nil {
				t.Error(err)
			}
			names <- name
		})
		if err != nil {
			t.Fatal(err)
		}
		w := watcher{closer.(*watch), names}
		w.system = &shared
		return w
	}
	list := func(w watcher) {
		for range w.b.List(t.Context(), "") {
		}
	}
	write := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(target, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(target, name), []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(w watcher, name string) {
		t.Helper()
		late := time.After(time.Minute)
		for {
			select {
			case got := <-w.names:
				if got == name {
					return
				}
			case <-late:
				t.Fatalf("%s is not told", name)
			}
		}
	}
	a, b, above := open(target), open(link), open(dir)
	all := []watcher{a, b, above}
	for _, w := range all {
		list(w)
	}
	write("in/x.jsonl")
	hear(a, "in/x.jsonl")
	hear(b, "in/x.jsonl")
	hear(above, "real/in/x.jsonl")
	if err := os.RemoveAll(filepath.Join(target, "in")); err != nil {
		t.Fatal(err)
	}
	hear(a, "in/")
	hear(b, "in/")
	hear(above, "real/in/")
	write("in/y.jsonl")
	for _, w := range all {
		list(w)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	write("in/z.jsonl")
	hear(b, "in/z.jsonl")
	hear(above, "real/in/z.jsonl")
	a.add(filepath.Join(target, "in"))
	if len(a.names) > 0 && <-a.names == "in/z.jsonl" || len(a.folders) > 0 {
		t.Error("told after the end")
	}
	for _, w := range []watcher{b, above} {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if shared.events != nil || len(shared.folders) > 0 {
		t.Errorf("left: %v", shared.folders)
	}
}

// TestWatchOneInstance: many backends use one instance of inotify.
func TestWatchOneInstance(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	count := func() (n int) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && target == "anon_inode:inotify" {
				n++
			}
		}
		return n
	}
	before := count()
	for range 5 {
		b, err := New(t.TempDir(), Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, err := b.Watch(func(string, error) {}); err != nil {
			t.Fatal(err)
		}
		for range b.List(t.Context(), "") {
		}
	}
	if n := count() - before; n > 1 {
		t.Errorf("5 watches take %d instances", n)
	}
}

// Watches that begin and end at the same time are told of what is written while they last.
func TestWatchesComeAndGo(t *testing.T) {
	t.Parallel()
	var shared system
	var all sync.WaitGroup
	for range 2 {
		b, err := New(t.TempDir(), Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range 100 {
				told := make(chan bool, 1)
				closer, err := b.Watch(func(name string, err error) {
					if err != nil {
						t.Error(err)
					}
					if name == "x.jsonl" {
						select {
						case told <- true:
						default:
						}
					}
				})
				if err != nil {
					t.Error(err)
					return
				}
				w := closer.(*watch)
				w.system = &shared
				w.add(b.root)
				for _, name := range []string{"x.jsonl", "a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl"} { // some are reported during Close
					if err := os.WriteFile(filepath.Join(b.root, name), []byte("{}\n"), 0o600); err != nil {
						t.Error(err)
					}
				}
				select {
				case <-told:
				case <-time.After(time.Minute):
					t.Error("what was written is not told")
					return
				}
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if shared.events != nil || len(shared.folders) > 0 {
		t.Errorf("left: %v", shared.folders)
	}
}
