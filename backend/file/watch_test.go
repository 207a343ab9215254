package file

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

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
		w.watchFolder = func(dir string) error {
			if tries++; tries > 2 {
				return &os.PathError{Op: "inotify_add_watch", Path: dir, Err: limit}
			}
			return add(dir)
		}
		for range 2 {
			for _, err := range b.List(t.Context(), "") {
				if err != nil {
					t.Error(err)
				}
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if len(told) != 1 || !errors.Is(told[0], limit) || tries != 3 || len(w.folders) != 2 {
			t.Errorf("%d tries, %d folders watched, told %v", tries, len(w.folders), told)
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
	if w.system != nil {
		t.Error("the system watches before there is a folder")
	}
	if w.add(filepath.Join(b.root, "missing")); w.system != nil {
		t.Error("the system watches for a folder that does not exist")
	}
	for _, err := range b.List(t.Context(), "") {
		t.Errorf("an empty folder gives a log, or %v", err)
	}
	w.system.Errors <- fsnotify.ErrEventOverflow
	if got := <-list; got.name != "" || got.err != nil {
		t.Errorf("told %+v", got)
	}
	w.system.Errors <- io.ErrUnexpectedEOF
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
