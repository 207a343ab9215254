package file_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable"
)

// failingSync is a file system that fails to sync one file, and then says that it is synced, as Linux does.
type failingSync struct {
	durable.OS
	path   string
	failed *bool
}

func (f failingSync) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	file, err := f.OS.Open(name, flag, perm)
	if name != f.path || err != nil {
		return file, err
	}
	return failingSyncFile{file, f.failed}, nil
}

type failingSyncFile struct {
	durable.File
	failed *bool
}

func (f failingSyncFile) Sync(what durable.Scope) error {
	if !*f.failed {
		*f.failed = true
		return syscall.EIO
	}
	return f.File.Sync(what)
}

// The file of a log is closed to make room for others. If its sync then fails, the next Sync of that log returns the error; without one,
// Close of the backend does.
func TestSyncFailsOfClosedLog(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{true, false} {
		root := t.TempDir()
		b, err := file.New(root, file.Options{
			Durability: backend.DurabilityFlush, FS: failingSync{path: filepath.Join(root, "a.jsonl"), failed: new(bool)},
		})
		if err != nil {
			t.Fatal(err)
		}
		add := func(name string) backend.Log {
			at := create(t, b, name, "{}")
			if at, err = b.Append(t.Context(), at, []byte("more")); err != nil {
				t.Fatal(err)
			}
			return at
		}
		a := add("a.jsonl")
		for i := range 64 {
			add(fmt.Sprintf("%d.jsonl", i))
		}
		if asked {
			for _, want := range []error{syscall.EIO, nil} {
				if err := b.Sync(t.Context(), a); !errors.Is(err, want) {
					t.Errorf("Sync: %v; want %v", err, want)
				}
			}
		}
		if err := b.Close(); errors.Is(err, syscall.EIO) == asked {
			t.Errorf("Close: %v; asked before: %v", err, asked)
		}
	}
}
