//go:build unix

package file_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
)

// Pipes, folders and devices are not logs, and opening them does not block.
func TestNotRegular(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, "pipe.jsonl"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "folder.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := open(t, root, file.Options{})
	for _, name := range []string{"pipe.jsonl", "folder.jsonl"} {
		if _, err := b.Stat(t.Context(), name); !errors.Is(err, backend.ErrNotExist) {
			t.Errorf("%s: %v; want the error backend.ErrNotExist", name, err)
		}
	}
	if got := names(t, b, ""); len(got) > 0 {
		t.Errorf("listed: %q", got)
	}
}

func TestSymbolicLinks(t *testing.T) {
	t.Parallel()
	outside, root := t.TempDir(), filepath.Join(t.TempDir(), "root")
	for _, err := range []error{
		put(root, "a/real.jsonl", []byte("r\n")),
		put(outside, "there/log.jsonl", []byte("r\n")),
		os.Symlink("..", filepath.Join(root, "a", "up")),                               // a loop
		os.Symlink("a", filepath.Join(root, "alias")),                                  // listed as a already
		os.Symlink("/", filepath.Join(root, "everything")),                             // above the root
		os.Symlink(filepath.Join(outside, "there"), filepath.Join(root, "link")),       // elsewhere: listed
		os.Symlink(outside, filepath.Join(outside, "there", "loop")),                   // a loop outside
		os.Symlink(filepath.Join(root, "nowhere"), filepath.Join(root, "gone.jsonl")),  // dangling
		os.Symlink(filepath.Join("a", "real.jsonl"), filepath.Join(root, "one.jsonl")), // a file by another name
		put(root, ".treeline-tmp-1", []byte("half")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	// Repeat it: some file systems list the newest name first.
	for i := range 9 {
		if err := os.Symlink(filepath.Join(outside, "there"), filepath.Join(root, fmt.Sprint("link", i))); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, root, file.Options{})
	if got, want := names(t, b, ""), []string{"a/real.jsonl", "link/log.jsonl", "one.jsonl"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := names(t, b, "alias/"), []string{"alias/real.jsonl"}; !slices.Equal(got, want) {
		t.Errorf("a link that is named: got %q, want %q", got, want)
	}
	if _, err := b.Stat(t.Context(), "link/log.jsonl"); err != nil {
		t.Error(err)
	}
	if _, err := b.Stat(t.Context(), ".treeline-tmp-1"); !errors.Is(err, backend.ErrName) {
		t.Errorf("a file in the making: %v", err)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "new", "root")
	b := open(t, root, file.Options{})
	create(t, b, "folder/log.jsonl", "one")
	mode := func(name string) fs.FileMode {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	if mode("folder/log.jsonl") != 0o600 || mode("folder") != 0o700 || mode("") != 0o700 {
		t.Errorf("modes %v %v %v", mode("folder/log.jsonl"), mode("folder"), mode(""))
	}
	path := filepath.Join(root, "folder", "log.jsonl")
	link := filepath.Join(root, "link.jsonl")
	if err := errors.Join(os.Chmod(path, 0o664), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	// Replace through a symbolic link keeps the link and the mode.
	at, err := b.Stat(t.Context(), "link.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if at, err = b.Replace(t.Context(), at, []byte("other")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if mode("folder/log.jsonl") != 0o664 || content(t, path) != "other\n" {
		t.Errorf("mode %v, content %q", mode("folder/log.jsonl"), content(t, path))
	}
	if _, err := b.Append(t.Context(), at, []byte("more")); err != nil {
		t.Error(err)
	}
}
