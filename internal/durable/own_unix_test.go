//go:build unix

package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/treeline-dev/treeline/internal/durable"
)

// A pipe, a device or a folder in the place of a file is an error at once.
func TestOpenRegular(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, link, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("/dev/zero", link), os.WriteFile(file, []byte("text"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, dir} {
		if text, err := durable.ReadRegular(path); !errors.Is(err, durable.ErrNotRegular) {
			t.Errorf("%s: %q, %v; want ErrNotRegular", path, text, err)
		}
	}
	if text, err := durable.ReadRegular(file); string(text) != "text" || err != nil {
		t.Errorf("a file: %q, %v; want its text", text, err)
	}
	if _, err := (durable.OS{}).ReadDir(pipe); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a pipe read as a folder: %v, want %v", err, syscall.ENOTDIR)
	}
}

// A lock or another file of our own is not opened through a link, and a link does not prevent its creation.
func TestOpenOwn(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(victim, path string) error{
		"nothing":  func(string, string) error { return nil },
		"symbolic": os.Symlink,
		"dangling": func(victim, path string) error { return os.Symlink(victim+"-missing", path) },
		"hard":     os.Link,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "own")
			if err := errors.Join(os.WriteFile(victim, []byte("precious"), 0o600), plant(victim, path)); err != nil {
				t.Fatal(err)
			}
			f, err := durable.OpenOwn(durable.OS{}, path, os.O_RDWR|os.O_APPEND)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Write([]byte("ours"))
			if err := errors.Join(err, f.Truncate(0), f.Close()); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(victim); string(text) != "precious" {
				t.Errorf("the victim is %q, %v", text, err)
			}
			if _, err := os.Lstat(victim + "-missing"); !errors.Is(err, fs.ErrNotExist) {
				t.Error("a file was made where the link leads")
			}
			if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v; want no error, info.Mode().IsRegular(), info.Mode().Perm() == 0o600", info, err)
			}
			again, err := durable.OpenOwn(durable.OS{}, path, os.O_RDWR)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Planted names do not prevent the replacement of a file, and are not followed.
func TestTempNamesTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	for i := range 200 {
		if err := os.Symlink(victim, filepath.Join(dir, durable.TempPrefix+strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := durable.Replace(durable.OS{}, filepath.Join(dir, "file"), 0o600, strings.NewReader("content")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(victim); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a link was followed")
	}
}
