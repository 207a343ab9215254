package file_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/backendtest"
	"github.com/treeline-dev/treeline/backend/file"
)

// put writes as a program does that rewrites its files in place.
func put(root, name string, content []byte) error {
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t *testing.T) backendtest.Place {
		root := t.TempDir()
		return backendtest.Place{
			Open: func() (backend.Backend, error) {
				return file.Driver(file.Options{}).Open(root, backend.OpenOptions{ReadOnly: true})
			},
			Put:      func(name string, content []byte) error { return put(root, name, content) },
			ReadOnly: true,
		}
	})
}

var fixed = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func TestFile(t *testing.T) {
	t.Parallel()
	for _, level := range []backend.Durability{backend.DurabilityNone, backend.DurabilityFlush, backend.DurabilityAlways} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			backendtest.Run(t, func(t *testing.T) backendtest.Place {
				root := t.TempDir()
				return backendtest.Place{
					Open: func() (backend.Backend, error) {
						d := file.Driver(file.Options{TornWait: time.Nanosecond})
						return d.Open(root, backend.OpenOptions{Durability: level})
					},
					Put: func(name string, content []byte) error { return put(root, name, content) },
				}
			})
		})
	}
}
