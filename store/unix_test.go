//go:build unix

package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/store"
)

// A symbolic link stays one, through appends and rewrites.
func TestSymbolicLink(t *testing.T) {
	d := newDesk(t)
	target := d.put("real/a.jsonl", log("s", "/w", said("a", "", "one")))
	link := filepath.Join(d.home, "link.jsonl")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	s := d.edit(link, store.WriteOptions{})
	d.user(s, "two")
	d.must(s.Rename(t.Context(), "name"))
	d.user(s, "three")
	d.memoryEqualsDisk(s)
	d.same(d.seen(target), []string{"one", "two", "three"})
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v", info, err)
	}
	if s.Header().Title != "name" {
		t.Errorf("%+v", s.Header())
	}
}
