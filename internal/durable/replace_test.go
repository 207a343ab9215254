package durable_test

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/crashfs"
)

// forgetful is a file system that accepts every write and keeps one byte less.
type forgetful struct{ *crashfs.FS }

func (f forgetful) Open(path string, flag int, perm fs.FileMode) (durable.File, error) {
	file, err := f.FS.Open(path, flag, perm)
	return forgetfulFile{file}, err
}

type forgetfulFile struct{ durable.File }

func (f forgetfulFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p[:len(p)-1])
	return n + 1, err
}

// noRename is a file system that cannot rename.
type noRename struct{ *crashfs.FS }

var errRename = errors.New("no renames here")

func (noRename) Rename(string, string) error { return errRename }

// lateFolder is a file system in which another process makes each folder first.
type lateFolder struct{ *crashfs.FS }

func (f lateFolder) Mkdir(path string, perm fs.FileMode) error {
	if err := f.FS.Mkdir(path, perm); err != nil {
		return err
	}
	return f.FS.Mkdir(path, perm)
}

// A replacement that fails leaves the old file and no temporary file.
func TestReplaceFailsClean(t *testing.T) {
	t.Parallel()
	inner := crashfs.New("/f")
	if _, err := durable.Create(inner, "/f/file", 0o600, content("old")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		fsys durable.FS
		want error
	}{
		"bytes are missing": {forgetful{inner}, io.ErrShortWrite},
		"no rename":         {noRename{inner}, errRename},
	} {
		if _, err := durable.Replace(test.fsys, "/f/file", 0o600, content("new")); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", name, err, test.want)
		}
		if got, err := read(t, inner, "/f/file"); err != nil || got != "old" {
			t.Errorf("%s: %q, %v; want the old file", name, got, err)
		}
		entries, err := inner.ReadDir("/f")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), durable.TempPrefix) {
				t.Errorf("%s: %s stays", name, e.Name())
			}
		}
	}
}

func TestMkdirAll(t *testing.T) {
	t.Parallel()
	fsys := crashfs.New("/f")
	if _, err := durable.Create(fsys, "/f/file", 0o600, content("x")); err != nil {
		t.Fatal(err)
	}
	if err := durable.MkdirAll(fsys, "/f/file", 0o700); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a file is there: error %v, want %v", err, syscall.ENOTDIR)
	}
	// The other process has not synced its folder. When MkdirAll returns, the folder is durable all the same.
	dir := filepath.Join("/f", "a", "b")
	if err := durable.MkdirAll(lateFolder{fsys}, dir, 0o700); err != nil {
		t.Fatalf("another process makes the folders: %v", err)
	}
	if info, err := fsys.Crash(crashfs.Lost).Stat(dir); err != nil || !info.Mode.IsDir() {
		t.Errorf("after a crash: %+v, %v; want the folder", info, err)
	}
}
