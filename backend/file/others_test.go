package file_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable"
)

// A change of the file between two appends is noticed before anything is written.
func TestOthersBetweenAppends(t *testing.T) {
	t.Parallel()
	for what, other := range map[string]func(path string) error{
		"appended": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("foreign\n")
			return errors.Join(err, f.Close())
		},
		"cut":        func(path string) error { return os.Truncate(path, 4) },
		"removed":    os.Remove,
		"moved away": func(path string) error { return os.Rename(path, path+".old") },
		"replaced by a rename": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("one\ntwo\n"), 0o600), os.Rename(path+".new", path))
		},
		"rewritten in place": func(path string) error { return os.WriteFile(path, []byte("ONE\nTWO\n"), 0o600) },
		"touched":            func(path string) error { return os.Chtimes(path, fixed, fixed) },
		"became a folder": func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		},
	} {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "log.jsonl")
			b := open(t, root, file.Options{})
			at, err := b.Append(t.Context(), create(t, b, "log.jsonl", "one"), []byte("two"))
			if err != nil {
				t.Fatal(err)
			}
			if err := other(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			if _, err := b.Append(t.Context(), at, []byte("three")); !errors.Is(err, backend.ErrConflict) {
				t.Errorf("error is %v, want a conflict", err)
			}
			after, _ := os.ReadFile(path)
			if string(before) != string(after) {
				t.Errorf("was %q, is %q", before, after)
			}
			// After Stat the log can be continued, if it still exists.
			if at, err = b.Stat(t.Context(), "log.jsonl"); err == nil {
				_, err = b.Append(t.Context(), at, []byte("{}"))
			}
			if gone := what == "removed" || what == "moved away" || what == "became a folder"; gone != errors.Is(err, backend.ErrNotExist) {
				t.Errorf("after a second look: %v", err)
			}
		})
	}
}

// meddler is a file system in which another program acts just before or after a write, without a lock.
type meddler struct {
	durable.OS
	before, after func()
}

func (m *meddler) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := m.OS.Open(name, flag, perm)
	if err != nil || !strings.HasSuffix(name, ".jsonl") {
		return f, err
	}
	return meddled{f, m}, nil
}

type meddled struct {
	durable.File
	m *meddler
}

func (f meddled) Write(p []byte) (int, error) {
	if f.m.before != nil {
		f.m.before()
	}
	n, err := f.File.Write(p)
	if f.m.after != nil {
		f.m.after()
	}
	return n, err
}

func TestOthersDuringAnAppend(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "log.jsonl")
	foreign := func() {
		f, _ := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		_, _ = f.WriteString("foreign\n")
		_ = f.Close()
	}
	m := &meddler{}
	b := open(t, root, file.Options{FS: m})
	at := create(t, b, "log.jsonl", "one")

	m.after = foreign
	at, err := b.Append(t.Context(), at, []byte("two"))
	if err != nil || at.Size != int64(len("one\ntwo\n")) {
		t.Fatalf("foreign bytes after ours: %+v, %v", at, err)
	}
	m.after = nil
	if _, err := b.Append(t.Context(), at, []byte("three")); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("the foreign bytes went unnoticed: %v", err)
	}
	if at, err = b.Stat(t.Context(), "log.jsonl"); err != nil {
		t.Fatal(err)
	}
	m.before = foreign
	if _, err = b.Append(t.Context(), at, []byte("three")); !errors.Is(err, backend.ErrInterleaved) {
		t.Errorf("foreign bytes before ours: %v", err)
	}
	m.before = nil
	if got, want := content(t, path), "one\ntwo\nforeign\nforeign\nthree\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if at, err = b.Stat(t.Context(), "log.jsonl"); err != nil {
		t.Fatal(err)
	}
	m.before = func() { _ = os.Remove(path) }
	if _, err = b.Append(t.Context(), at, []byte("four")); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("removed in the very moment: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed file was made again: %v", err)
	}
}

// stagingFS is a file system in which another program acts after a temporary file was synced.
type stagingFS struct {
	durable.OS
	synced func()
}

func (s *stagingFS) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := s.OS.Open(name, flag, perm)
	if err != nil || !strings.Contains(name, durable.TempPrefix) {
		return f, err
	}
	return stagedFile{f, s}, nil
}

type stagedFile struct {
	durable.File
	s *stagingFS
}

func (f stagedFile) Sync(what durable.Scope) error {
	err := f.File.Sync(what)
	f.s.synced()
	return err
}
