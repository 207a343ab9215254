//go:build unix

package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
)

// Pipes, folders and devices are no logs, and looking at them does not hang.
func TestNotRegular(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, "pipe.jsonl"), 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Mkdir(filepath.Join(root, "folder.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := open(t, root, file.Options{})
	for _, name := range []string{"pipe.jsonl", "folder.jsonl"} {
		if _, err := b.Stat(t.Context(), name); !errors.Is(err, backend.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := names(t, b, ""); len(got) > 0 {
		t.Errorf("listed: %q", got)
	}
}
