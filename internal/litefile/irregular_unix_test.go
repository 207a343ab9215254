//go:build unix

package litefile

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/treeline-dev/treeline/internal/durable"
)

// A pipe in the place of a database or its journal is an error at once.
func TestIrregular(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", "-wal", "-journal"} {
		path := filepath.Join(t.TempDir(), "x.db")
		if suffix != "" {
			if err := write(t, path, false).Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Mkfifo(path+suffix, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := StampOf(durable.OS{}, path); !errors.Is(err, durable.ErrNotRegular) {
			t.Errorf("x.db%s is a pipe: StampOf gives %v, want ErrNotRegular", suffix, err)
		}
		f := Follow(durable.OS{}, path)
		if err := f.Read(t.Context(), func(*Snapshot) error { return nil }); !errors.Is(err, durable.ErrNotRegular) {
			t.Errorf("x.db%s is a pipe: Read gives %v, want ErrNotRegular", suffix, err)
		}
		f.Close()
	}
}
