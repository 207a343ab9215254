package file_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable"
)

func open(t testing.TB, root string, options file.Options) *file.Backend {
	t.Helper()
	b, err := file.New(root, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func names(t *testing.T, b *file.Backend, prefix string) (got []string) {
	t.Helper()
	for at, err := range b.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, at.Name)
	}
	return got
}

// A log that is truncated or rewritten in place while it is read yields good records, then an error.
func TestChangedInPlaceWhileReading(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 99) + "\n"
	content := strings.Repeat(line, 20_000)
	for what, change := range map[string]func(path string) error{
		"cut":     func(path string) error { return os.Truncate(path, 1000) },
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"longer":  func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("y", 3_000_000)), 0o600) },
		"same length": func(path string) error {
			return os.WriteFile(path, []byte(strings.ReplaceAll(content, "x", "y")), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "log.jsonl")
			if err := put(root, "log.jsonl", []byte(content)); err != nil {
				t.Fatal(err)
			}
			// An old time, so that the change shows in the time.
			if err := os.Chtimes(path, fixed, fixed); err != nil {
				t.Fatal(err)
			}
			b := open(t, root, file.Options{})
			at, err := b.Stat(t.Context(), "log.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			r, err := b.Open(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			n := 0
			for rec, e := range b.Read(t.Context(), at, 0) {
				if err = e; err != nil {
					break
				}
				if string(rec.Data) != line[:99] {
					t.Fatalf("record %d is garbage: %.20q", n, rec.Data)
				}
				if n++; n == 10 {
					if err := change(path); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !errors.Is(err, backend.ErrChanged) || n >= 20_000 {
				t.Errorf("%d records, then %v", n, err)
			}
			if _, err := r.ReadAt(make([]byte, 10), 500_000); !errors.Is(err, backend.ErrChanged) {
				t.Errorf("the open reader: %v", err)
			}
		})
	}
}

// A file that grows while it is read is read up to its old end.
func TestGrowsWhileReading(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := put(root, "log.jsonl", []byte(strings.Repeat("0123456789\n", 100_000))); err != nil {
		t.Fatal(err)
	}
	b := open(t, root, file.Options{})
	at, err := b.Stat(t.Context(), "log.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(root, "log.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for _, err := range b.Read(t.Context(), at, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%1000 == 0 {
			if _, err := f.WriteString("more\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 100_000 {
		t.Errorf("%d records", n)
	}
}

// An error about one folder or name is yielded, and the list goes on.
func TestListGoesOn(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"a/1.jsonl", "b/2.jsonl", "c/3.jsonl"} {
		if err := put(root, name, []byte("r\n")); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, root, file.Options{FS: blind{durable.OS{}, filepath.Join(root, "b")}})
	var got []string
	for at, err := range b.List(t.Context(), "") {
		if err != nil {
			got = append(got, fmt.Sprintf("%s: %v", at.Name, errors.Is(err, fs.ErrPermission)))
			continue
		}
		got = append(got, at.Name)
	}
	if want := []string{"a/1.jsonl", "b: true", "c/3.jsonl"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := names(t, open(t, filepath.Join(root, "missing"), file.Options{}), ""); len(got) > 0 {
		t.Errorf("a root that does not exist lists %q", got)
	}
	if runtime.GOOS == "linux" {
		bad := filepath.Join(root, "\xff.jsonl")
		if err := os.WriteFile(bad, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		told := false
		for _, err := range open(t, root, file.Options{}).List(t.Context(), "") {
			told = told || errors.Is(err, backend.ErrName)
		}
		if !told {
			t.Error("a name that is not UTF-8 was passed over in silence")
		}
	}
}

// blind cannot read one folder.
type blind struct {
	durable.FS
	folder string
}

func (b blind) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == b.folder {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return b.FS.ReadDir(name)
}

// The error of a folder that cannot be read begins with its name; the root has none.
func TestBlindList(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := put(root, "sub/a.jsonl", []byte("r\n")); err != nil {
		t.Fatal(err)
	}
	for folder, prefix := range map[string]string{"": "", "sub": "sub: "} {
		dir := filepath.Join(root, folder)
		be := open(t, root, file.Options{ReadOnly: true, FS: blind{durable.OS{}, dir}})
		var got []string
		for _, err := range be.List(t.Context(), "") {
			if err != nil {
				got = append(got, err.Error())
			}
		}
		if want := prefix + "open " + dir + ": permission denied"; len(got) != 1 || got[0] != want {
			t.Errorf("%q: %q, want %q", folder, got, want)
		}
	}
}

// BenchmarkList lists 10,000 logs in 100 folders, compared with a walk that stats every file.
func BenchmarkList(b *testing.B) {
	root := b.TempDir()
	for i := range 10_000 {
		if err := put(root, fmt.Sprintf("--home-user-project-%d--/2026-01-02T03-04-05_%08x.jsonl", i%100, i*7919), []byte("r\n")); err != nil {
			b.Fatal(err)
		}
	}
	be := open(b, root, file.Options{ReadOnly: true})
	ctx := context.Background()
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for range be.List(ctx, "") {
				n++
			}
			if n != 10_000 {
				b.Fatal(n)
			}
		}
	})
	b.Run("limit=walk", func(b *testing.B) {
		for b.Loop() {
			_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, _ error) error {
				_, err := d.Info()
				return err
			})
		}
	})
	b.Run("first record", func(b *testing.B) {
		for b.Loop() {
			for at := range be.List(ctx, "") {
				for range be.Read(ctx, at, 0) {
					break
				}
			}
		}
	})
}

// Ends of a file that has grown are those of the log as it was listed.
func TestEndsGrown(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	b := open(t, root, file.Options{})
	at := create(t, b, "log.jsonl", "012345678")
	if err := put(root, "log.jsonl", []byte("012345678\nabc")); err != nil {
		t.Fatal(err)
	}
	head, tail := make([]byte, 2), make([]byte, 2)
	if _, _, err := b.Ends(t.Context(), at, head, tail); err != nil || string(head) != "01" || string(tail) != "8\n" {
		t.Errorf("%q and %q, %v", head, tail, err)
	}
}

// A log that cannot be read is still described.
func TestGlimpseUnreadable(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	b := open(t, root, file.Options{})
	create(t, b, "a/log.jsonl")
	for name, want := range map[string]error{"a": backend.ErrNotExist, "../log.jsonl": backend.ErrName} {
		if at, _, _, err := b.Glimpse(t.Context(), name, make([]byte, 4), 2); !errors.Is(err, want) || at.Generation != "" {
			t.Errorf(`%s: %+v, %v; want the error want, at.Generation == ""`, name, at, err)
		}
	}
	if err := os.Chmod(filepath.Join(root, "a", "log.jsonl"), 0); err != nil {
		t.Fatal(err)
	}
	// The super-user can read the log all the same.
	at, _, _, err := b.Glimpse(t.Context(), "a/log.jsonl", make([]byte, 4), 2)
	if at.Generation == "" || err != nil && !errors.Is(err, fs.ErrPermission) {
		t.Errorf(`%+v, %v; want at.Generation != "", not (err != nil && !errors.Is(err, fs.ErrPermission))`, at, err)
	}
}
