package file_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable"
)

// Where files cannot be mapped View says so, looks at nothing, and the log is read as it always was.
func TestViewUnsupported(t *testing.T) {
	root := t.TempDir()
	if err := put(root, "log.jsonl", []byte(strings.Repeat("record\n", 300_000))); err != nil {
		t.Fatal(err)
	}
	b := open(t, root, file.Options{ReadOnly: true, FS: durable.Unsynced(durable.OS{})}) // whose files are no Mappers
	at, err := b.Stat(t.Context(), "log.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	err = b.View(t.Context(), at, func([]byte) error { t.Error("it was looked at"); return nil })
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
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
