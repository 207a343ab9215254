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
	"sync/atomic"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable"
)

func create(t *testing.T, b *file.Backend, name string, records ...string) backend.Log {
	t.Helper()
	at, err := b.Create(t.Context(), name, data(records)...)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func data(records []string) (out [][]byte) {
	for _, r := range records {
		out = append(out, []byte(r))
	}
	return out
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A torn record is moved only after a wait. A change during the wait is a conflict.
func TestTornEndWaits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		age    time.Duration
		during func(path string) error
		waits  time.Duration
		want   error
		text   string
	}{
		{"old", time.Hour, nil, 0, nil, "{}\nnew\n"},
		{"fresh", 500 * time.Millisecond, nil, 1500 * time.Millisecond, nil, "{}\nnew\n"},
		{"from the future", -time.Hour, nil, 2 * time.Second, nil, "{}\nnew\n"},
		{"finished meanwhile", 0, func(path string) error { return os.WriteFile(path, []byte("{}\n{\"a\":1}\n"), 0o600) },
			2 * time.Second, backend.ErrConflict, "{}\n{\"a\":1}\n"},
		{"removed meanwhile", 0, os.Remove, 2 * time.Second, backend.ErrConflict, ""},
		{"cancelled", 0, func(string) error { return context.DeadlineExceeded }, 2 * time.Second, context.DeadlineExceeded, "{}\n{\"a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "log.jsonl")
			if err := errors.Join(put(root, "log.jsonl", []byte("{}\n{\"a")), os.Chtimes(path, fixed, fixed)); err != nil {
				t.Fatal(err)
			}
			var waited time.Duration
			var events []backend.Mended
			b := open(t, root, file.Options{
				Clock:  func() time.Time { return fixed.Add(tc.age) },
				Mended: func(e backend.Mended) { events = append(events, e) },
				Wait: func(_ context.Context, d time.Duration) error {
					waited += d
					if tc.during != nil {
						return tc.during(path)
					}
					return nil
				},
			})
			at, err := b.Stat(t.Context(), "log.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			at, err = b.Append(t.Context(), at, []byte("new"))
			if !errors.Is(err, tc.want) || waited != tc.waits {
				t.Errorf("waited %v, error %v; want %v, %v", waited, err, tc.waits, tc.want)
			}
			if text, _ := os.ReadFile(path); string(text) != tc.text {
				t.Errorf("the log is %q, want %q", text, tc.text)
			}
			torn, _ := filepath.Glob(path + ".torn-*")
			if tc.want != nil {
				if len(torn) > 0 || len(events) > 0 {
					t.Errorf("moved %q, told %v", torn, events)
				}
				return
			}
			if len(torn) != 1 || content(t, torn[0]) != `{"a` || len(events) != 1 {
				t.Fatalf("moved %q, told %v", torn, events)
			}
			e := events[0]
			if e.Log != "log.jsonl" || e.Offset != 3 || e.Size != 3 || e.To != filepath.Base(torn[0]) {
				t.Errorf("told %+v", e)
			}
			if now, _ := b.Stat(t.Context(), "log.jsonl"); !now.Same(at) {
				t.Errorf("Append returned %+v, Stat says %+v", at, now)
			}
		})
	}
}

// What another program writes while a torn record is moved is not cut off with it.
func TestTornEndIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "log.jsonl")
	if err := errors.Join(put(root, "log.jsonl", []byte("{}\n{\"a")), os.Chtimes(path, fixed, fixed)); err != nil {
		t.Fatal(err)
	}
	meanwhile := func() {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString("\":1}\n{\"b\":2}\n")
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}
	b := open(t, root, file.Options{
		FS:     &stagingFS{synced: meanwhile},
		Mended: func(e backend.Mended) { t.Errorf("told %+v", e) },
	})
	at, err := b.Stat(t.Context(), "log.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = b.Append(t.Context(), at, []byte("new")); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("error is %v, want a conflict", err)
	}
	if at, err = b.Stat(t.Context(), "log.jsonl"); err == nil {
		_, err = b.Append(t.Context(), at, []byte("new"))
	}
	if got, want := content(t, path), "{}\n{\"a\":1}\n{\"b\":2}\nnew\n"; err != nil || got != want {
		t.Errorf("the log is %q, want %q; %v", got, want, err)
	}
	if torn, _ := filepath.Glob(path + ".torn-*"); len(torn) > 0 {
		t.Errorf("moved %q, which is in the log", torn)
	}
}

func TestNewlineAdded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	whole := `{"text":"` + strings.Repeat("x", 200_000) + `"}`
	if err := put(root, "log.jsonl", []byte("{}\n"+whole)); err != nil {
		t.Fatal(err)
	}
	var events []backend.Mended
	b := open(t, root, file.Options{Mended: func(e backend.Mended) { events = append(events, e) }})
	at, err := b.Stat(t.Context(), "log.jsonl")
	if err == nil {
		_, err = b.Append(t.Context(), at, []byte("new"))
	}
	if err != nil || content(t, filepath.Join(root, "log.jsonl")) != "{}\n"+whole+"\nnew\n" {
		t.Errorf("error %v, or the wrong content", err)
	}
	if len(events) != 1 || events[0] != (backend.Mended{Log: "log.jsonl", Offset: 3, Size: at.Size - 3}) {
		t.Errorf("told %v", events)
	}
}

// A writer that waits for a lock too long gives up. On Linux the error names the process that holds it.
func TestLockedByOthers(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	now := fixed
	b := open(t, root, file.Options{
		Clock: func() time.Time { return now },
		Wait:  func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil },
	})
	at := create(t, b, "log.jsonl", "one")
	f, err := durable.OS{}.Open(filepath.Join(root, "log.jsonl"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.TryLock(); !got || err != nil {
		t.Fatal(got, err)
	}
	_, err = b.Append(t.Context(), at, []byte("two"))
	if !errors.Is(err, backend.ErrLocked) {
		t.Errorf("error is %v", err)
	}
	if runtime.GOOS == "linux" && !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("error %q does not name the process", err)
	}
	if waited := now.Sub(fixed); waited < 10*time.Second || waited > 11*time.Second {
		t.Errorf("gave up after %v", waited)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// The append really waits: a process that another test starts has the lock too, until it executes its program.
	if _, err := open(t, root, file.Options{}).Append(t.Context(), at, []byte("two")); err != nil {
		t.Error(err)
	}
}

// counted counts the files that are open for appending.
type counted struct {
	durable.OS
	open *atomic.Int32
}

func (c counted) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := c.OS.Open(name, flag, perm)
	if err != nil || flag&os.O_APPEND == 0 {
		return f, err
	}
	c.open.Add(1)
	return countedFile{f, c.open}, nil
}

type countedFile struct {
	durable.File
	open *atomic.Int32
}

func (f countedFile) Close() error { f.open.Add(-1); return f.File.Close() }

// Only some of many logs are kept open.
func TestManyLogs(t *testing.T) {
	t.Parallel()
	files := counted{open: new(atomic.Int32)}
	b := open(t, t.TempDir(), file.Options{FS: files})
	var logs []backend.Log
	for i := range 100 {
		logs = append(logs, create(t, b, fmt.Sprintf("%d.jsonl", i)))
	}
	for range 2 {
		for i := range logs {
			var err error
			if logs[i], err = b.Append(t.Context(), logs[i], []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := files.open.Load(); n == 0 || n > 64 {
		t.Errorf("%d logs are open", n)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if n := files.open.Load(); n != 0 {
		t.Errorf("%d logs are open after Close", n)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/.treeline-tmp-0":           "half",
		"a/.treeline-tmp-1":           "young",
		"a/log.jsonl":                 "{}\n",
		".treeline-log.jsonl.writers": "an older version made it",
	} {
		if err := put(root, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if text != "young" {
			if err := os.Chtimes(filepath.Join(root, name), fixed, fixed); err != nil {
				t.Fatal(err)
			}
		}
	}
	b := open(t, root, file.Options{})
	if n, err := b.Sweep(t.Context(), fixed.Add(time.Hour), false); n != 2 || err != nil {
		t.Errorf("%d would be removed, %v", n, err)
	}
	if n, err := b.Sweep(t.Context(), fixed.Add(time.Hour), true); n != 2 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	var left []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			left = append(left, d.Name())
		}
		return nil
	})
	if want := []string{".treeline-tmp-1", "log.jsonl"}; !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
}

// Restore makes a log of exact bytes, even with an unterminated last line, and overwrites nothing.
func TestRestore(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	b := open(t, root, file.Options{})
	const torn = "{}\r\n\n{\"half\":"
	at, err := b.Restore(t.Context(), "a/log.jsonl", []byte(torn))
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(root, "a", "log.jsonl")); got != torn {
		t.Errorf("it is %q", got)
	}
	if now, err := b.Stat(t.Context(), "a/log.jsonl"); err != nil || !now.Same(at) {
		t.Errorf("it is %+v, not %+v: %v", now, at, err)
	}
	if _, err := b.Restore(t.Context(), "a/log.jsonl", nil); !errors.Is(err, backend.ErrExist) {
		t.Errorf("restored over a log: %v", err)
	}
	if _, err := b.Restore(t.Context(), "../log.jsonl", nil); !errors.Is(err, backend.ErrName) {
		t.Errorf("restored outside of the root: %v", err)
	}
}

// An unterminated last line that is too long for memory stays where it is, and nothing is appended.
func TestAppendToLongLine(t *testing.T) {
	t.Parallel()
	const most = 1 << 19
	root := t.TempDir()
	if err := put(root, "log.jsonl", []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "log.jsonl")
	if err := os.Truncate(path, 3+most+1); err != nil {
		t.Fatal(err)
	}
	b := open(t, root, file.Options{LongestLine: most})
	at, err := b.Stat(t.Context(), "log.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Append(t.Context(), at, []byte("{}"))
	var long *backend.LongLineError
	if !errors.As(err, &long) || long.Offset != 3 {
		t.Errorf("%v; want a LongLineError at 3", err)
	}
	if now, err := b.Stat(t.Context(), "log.jsonl"); err != nil || !now.Same(at) {
		t.Errorf("the log was %v and is %v, %v", at, now, err)
	}
}
