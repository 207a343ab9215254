//go:build unix

package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store"
)

// A symbolic link stays one, through appends and rewrites.
func TestSymbolicLink(t *testing.T) {
	d := newDesk(t)
	target := d.Put("real/a.jsonl", world.Log("s", "/w", world.Said("a", "", "one")))
	link := filepath.Join(d.Home, "link.jsonl")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	s := d.Edit(link, store.WriteOptions{})
	d.User(s, "two")
	d.Must(s.Rename(t.Context(), "name"))
	d.User(s, "three")
	d.MemoryEqualsDisk(s)
	d.Same(d.Seen(target), []string{"one", "two", "three"})
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v; want no error, info.Mode() & os.ModeSymlink != 0", info, err)
	}
	if s.Header().Title != "name" {
		t.Errorf(`%+v; want s.Header().Title == "name"`, s.Header())
	}
}
