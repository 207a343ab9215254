package file_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/backendtest"
	"github.com/treeline-dev/treeline/backend/file"
)

func BenchmarkFile(b *testing.B) {
	for _, level := range []file.Level{file.None, file.Always} {
		b.Run(level.String(), func(b *testing.B) {
			backendtest.Bench(b, func(b *testing.B) backendtest.Place {
				root := b.TempDir()
				return backendtest.Place{Open: func() (backend.Backend, error) {
					return file.New(root, file.Options{Level: level})
				}}
			})
		})
	}
	// What an append is measured against: the same bytes by a loop that does nothing but write, and sync.
	for name, sync := range map[string]bool{"none": false, "always": true} {
		b.Run(name+"/limit=write", func(b *testing.B) {
			f, err := os.OpenFile(filepath.Join(b.TempDir(), "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			line := append(bytes.Repeat([]byte("x"), 500), '\n')
			for b.Loop() {
				if _, err := f.Write(line); err != nil {
					b.Fatal(err)
				}
				if sync {
					if err := f.Sync(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
