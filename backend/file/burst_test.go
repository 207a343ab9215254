package file_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable"
)

// dated is a file system with chosen change times, since those of the machine may be precise or not. It counts how often the path of the
// log is followed.
type dated struct {
	durable.OS
	step    int64 // between two changes, in nanoseconds
	changed int64 // time of the last change
	follows int
}

func (d *dated) Stat(name string) (durable.Info, error) {
	info, err := d.OS.Stat(name)
	if strings.HasSuffix(name, ".jsonl") {
		d.follows++
	}
	info.Changed = d.changed
	return info, err
}

func (d *dated) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := d.OS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return datedFile{f, d}, nil
}

type datedFile struct {
	durable.File
	d *dated
}

func (f datedFile) Stat() (durable.Info, error) {
	info, err := f.File.Stat()
	info.Changed = f.d.changed
	return info, err
}

func (f datedFile) Write(p []byte) (int, error) {
	f.d.changed += f.d.step
	return f.File.Write(p)
}

// burst appends n records, one right after the other.
func burst(t *testing.T, b *file.Backend, at backend.Log, n int) backend.Log {
	t.Helper()
	for range n {
		var err error
		if at, err = b.Append(t.Context(), at, []byte(`{"a":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// In a burst of appends the path is followed once per millisecond if times are precise, otherwise for each append.
func TestBurst(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		step   int64
		follow bool // the path is followed each time
	}{
		"a precise clock":        {step: 2000},
		"a clock in steps":       {step: 0, follow: true},
		"steps of a millisecond": {step: 1_000_000, follow: true},
	} {
		t.Run(what, func(t *testing.T) {
			const n = 50
			now := fixed
			d := &dated{step: tc.step, changed: 1}
			b := open(t, t.TempDir(), file.Options{FS: d, Clock: func() time.Time { return now }})
			at := burst(t, b, create(t, b, "log.jsonl", "{}"), 2)
			d.follows = 0
			at = burst(t, b, at, n)
			if want := map[bool]int{true: n}[tc.follow]; d.follows != want {
				t.Errorf("the path was followed %d times in %d appends, want %d", d.follows, n, want)
			}
			d.follows = 0
			now = now.Add(time.Millisecond)
			at = burst(t, b, at, 1)
			if d.follows != 1 {
				t.Errorf("a moment later the path was followed %d times, want once", d.follows)
			}
			d.follows = 0
			now = now.Add(-time.Hour)
			if burst(t, b, at, 1); d.follows != 1 {
				t.Errorf("with the clock set back the path was followed %d times, want once", d.follows)
			}
		})
	}
}

// others are the changes of a file during a burst.
var others = map[string]struct {
	act  func(path string) error
	fine bool // the log is unchanged
}{
	"appended": {act: func(path string) error {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString("foreign\n")
		return errors.Join(err, f.Close())
	}},
	"cut":        {act: func(path string) error { return os.Truncate(path, 4) }},
	"removed":    {act: os.Remove},
	"moved away": {act: func(path string) error { return os.Rename(path, path+".old") }},
	"moved away and back": {fine: true, act: func(path string) error {
		return errors.Join(os.Rename(path, path+".old"), os.Rename(path+".old", path))
	}},
	"moved away and another put there": {act: func(path string) error {
		return errors.Join(os.Rename(path, path+".old"), copyFile(path+".old", path))
	}},
	"replaced by its copy": {act: func(path string) error {
		return errors.Join(copyFile(path, path+".new"), os.Rename(path+".new", path))
	}},
	"replaced, with a second name": {act: func(path string) error {
		return errors.Join(os.Link(path, path+".old"), copyFile(path, path+".new"), os.Rename(path+".new", path))
	}},
	"given a second name": {fine: true, act: func(path string) error { return os.Link(path, path+".link") }},
	"rewritten in place": {act: func(path string) error {
		text, err := os.ReadFile(path)
		err = errors.Join(err, os.WriteFile(path, bytes.ReplaceAll(text, []byte("a"), []byte("b")), 0o600))
		return errors.Join(err, os.Chtimes(path, fixed, fixed)) // another moment, on a clock in steps too
	}},
	"another mode": {fine: true, act: func(path string) error { return os.Chmod(path, 0o640) }},
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	return errors.Join(err, os.WriteFile(to, text, 0o600))
}

// A change during a burst is noticed before anything is written, although the path is not followed.
func TestOthersInABurst(t *testing.T) {
	t.Parallel()
	for what, other := range others {
		for where, fsys := range map[string]durable.FS{"dated": &dated{step: 2000, changed: 1}, "as it is": durable.OS{}} {
			t.Run(what+"/"+where, func(t *testing.T) {
				root := t.TempDir()
				path := filepath.Join(root, "log.jsonl")
				b := open(t, root, file.Options{FS: fsys, Clock: func() time.Time { return fixed }})
				at := burst(t, b, create(t, b, "log.jsonl", "{}"), 20)
				if err := other.act(path); err != nil {
					t.Fatal(err)
				}
				if d, ok := fsys.(*dated); ok {
					d.changed += d.step
				}
				before, _ := os.ReadFile(path)
				_, err := b.Append(t.Context(), at, []byte("last"))
				if other.fine {
					before = append(before, "last\n"...)
				} else if !errors.Is(err, backend.ErrConflict) {
					t.Errorf("error is %v, want a conflict", err)
				}
				if other.fine && err != nil {
					t.Error(err)
				}
				if after, _ := os.ReadFile(path); string(before) != string(after) {
					t.Errorf("was %q, is %q", before, after)
				}
			})
		}
	}
}

// A change of a folder is noticed the next time that the path is followed.
func TestFolderMovedInABurst(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	now := fixed
	b := open(t, root, file.Options{FS: &dated{step: 2000, changed: 1}, Clock: func() time.Time { return now }})
	at := burst(t, b, create(t, b, "folder/log.jsonl", "{}"), 20)
	if err := os.Rename(filepath.Join(root, "folder"), filepath.Join(root, "other")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Millisecond)
	if _, err := b.Append(context.Background(), at, []byte("{}")); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("%v, want a conflict", err)
	}
}
