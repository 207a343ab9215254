package file_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable"
)

// viewless is a file system whose files are not Mappers.
type viewless struct{ durable.FS }

func (v viewless) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := v.FS.Open(name, flag, perm)
	return struct{ durable.File }{f}, err
}

// openView opens a log that can be shown.
func openView(t *testing.T, b *file.Backend, name string) backend.ViewReader {
	t.Helper()
	_, r, err := b.OpenNow(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r.(backend.ViewReader)
}

// If files cannot be mapped, View returns ErrUnsupported without calling look, and the log can be read.
func TestViewUnsupported(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := put(root, "log.jsonl", []byte(strings.Repeat("record\n", 300_000))); err != nil {
		t.Fatal(err)
	}
	b := open(t, root, file.Options{ReadOnly: true, FS: viewless{durable.OS{}}})
	at, err := b.Stat(t.Context(), "log.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	err = openView(t, b, "log.jsonl").View(0, at.Size, func([]byte) error { t.Error("look was called"); return nil })
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v; want the error errors.ErrUnsupported", err)
	}
	n := 0
	for _, err := range b.Read(t.Context(), at, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 300_000 {
		t.Errorf("%d records", n)
	}
}
