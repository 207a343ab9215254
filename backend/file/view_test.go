//go:build linux || darwin

package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
)

// viewed opens a log that is large enough to be mapped.
func viewed(t *testing.T) (r backend.ViewReader, path, content string) {
	t.Helper()
	root := t.TempDir()
	content = strings.Repeat(strings.Repeat("x", 99)+"\n", 20_000)
	if err := put(root, "log.jsonl", []byte(content)); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(root, "log.jsonl")
	// An old time, so that a change shows in the time.
	if err := os.Chtimes(path, fixed, fixed); err != nil {
		t.Fatal(err)
	}
	return openView(t, open(t, root, file.Options{ReadOnly: true}), "log.jsonl"), path, content
}

func TestView(t *testing.T) {
	t.Parallel()
	r, _, content := viewed(t)
	got := ""
	all := int64(len(content))
	if err := r.View(0, all, func(data []byte) error { got = string(data); return nil }); err != nil || got != content {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := r.View(5000, 7000, func(data []byte) error { got = string(data); return nil }); err != nil || got != content[5000:12000] {
		t.Errorf("a part: %d bytes, %v", len(got), err)
	}
	enough := errors.New("enough")
	if err := r.View(0, all, func([]byte) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("an error of look came back as %v", err)
	}
	b := open(t, t.TempDir(), file.Options{})
	if _, err := b.Create(t.Context(), "small.jsonl", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := openView(t, b, "small.jsonl").View(0, 3, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a small log: %v", err)
	}
}

// Access to a mapped page after a truncation is a fault. Without guard it ends the process.
func TestChangedWhileViewed(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(path, content string) error{
		"cut":     func(path, _ string) error { return os.Truncate(path, 5000) },
		"emptied": func(path, _ string) error { return os.Truncate(path, 0) },
		"longer":  func(path, _ string) error { return os.WriteFile(path, []byte(strings.Repeat("y", 3_000_000)), 0o600) },
		"same length": func(path, content string) error {
			return os.WriteFile(path, []byte(strings.ReplaceAll(content, "x", "y")), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			r, path, content := viewed(t)
			err := r.View(0, int64(len(content)), func(data []byte) error {
				if err := change(path, content); err != nil {
					t.Error(err)
				}
				if n := strings.Count(string(data), "\n"); n == 20_000 && what != "same length" {
					t.Errorf("all is still there")
				}
				return nil
			})
			if !errors.Is(err, backend.ErrChanged) {
				t.Errorf("%v, want ErrChanged", err)
			}
		})
	}
}

func TestPanicWhileViewed(t *testing.T) {
	t.Parallel()
	r, path, content := viewed(t)
	panicking := func(change func()) (cause any, err error) {
		defer func() { cause = recover() }()
		return nil, r.View(0, int64(len(content)), func([]byte) error { change(); panic("a mistake") })
	}
	if cause, _ := panicking(func() {}); cause != "a mistake" {
		t.Errorf("a panic without a change of the file: %v", cause)
	}
	cause, err := panicking(func() { _ = os.Truncate(path, 0) })
	if cause != nil || !errors.Is(err, backend.ErrChanged) {
		t.Errorf("a panic while the file changed: %v, %v", cause, err)
	}
}
