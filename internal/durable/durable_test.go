package durable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/crashfs"
	"github.com/treeline-dev/treeline/internal/durable/faultfs"
)

func read(t *testing.T, fsys durable.FS, path string) (string, error) {
	t.Helper()
	f, err := fsys.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

func content(s string) io.Reader { return bytes.NewReader([]byte(s)) }

// fates returns the crashes to check after each operation.
func fates() []crashfs.Fate {
	all := []crashfs.Fate{crashfs.Lost, crashfs.Kept}
	for seed := range uint64(20) {
		all = append(all, crashfs.Mixed(seed))
	}
	return all
}

// The file system of the operating system and the one in memory return the same.
func TestBothFileSystems(t *testing.T) {
	t.Parallel()
	for name, fsys := range map[string]durable.FS{"os": durable.OS{}, "crashfs": nil} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if fsys == nil {
				fsys = crashfs.New(root)
			}
			at := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
			check := func(err, want error) {
				t.Helper()
				if !errors.Is(err, want) {
					t.Errorf("error %v, want %v", err, want)
				}
			}
			check(durable.MkdirAll(fsys, at("a/b"), 0o700), nil)
			check(durable.MkdirAll(fsys, at("a/b"), 0o700), nil)
			info, err := durable.Create(fsys, at("a/b/f"), 0o600, content("one"))
			check(err, nil)
			now, err := fsys.Stat(at("a/b/f"))
			check(err, nil)
			now.Changed = 0
			if info != now || info.Mode != 0o600 || info.Size != 3 {
				t.Errorf("created as %+v, is %+v", info, now)
			}
			_, err = durable.Create(fsys, at("a/b/f"), 0o600, content("two"))
			check(err, fs.ErrExist)
			if s, err := read(t, fsys, at("a/b/f")); s != "one" || err != nil {
				t.Errorf(`%q, %v; want s == "one", no error`, s, err)
			}
			held, err := fsys.Open(at("a/b/f"), os.O_RDWR|os.O_APPEND, 0)
			check(err, nil)
			info, err = durable.Replace(fsys, at("a/b/f"), 0o644, content("other"))
			check(err, nil)
			now, _ = fsys.Stat(at("a/b/f"))
			now.Changed = 0
			if info != now || now.Mode != 0o600 {
				t.Errorf("replaced as %+v, is %+v; want the old mode", info, now)
			}
			if old, err := held.Stat(); err != nil || old.Links != 0 || old.SameFile(info) {
				t.Errorf("the old file: %+v, %v", old, err)
			}
			check(held.Close(), nil)
			_, err = durable.Replace(fsys, at("a/new"), 0o640, content(""))
			check(err, nil)
			if now, _ := fsys.Stat(at("a/new")); now.Mode != 0o640 {
				t.Errorf("new file has mode %v", now.Mode)
			}
			if err := durable.MkdirAll(fsys, at("a/new/x"), 0o700); err == nil {
				t.Error("a folder was made below a file")
			}
			entries, err := fsys.ReadDir(at("a"))
			check(err, nil)
			var names []string
			for _, e := range entries {
				names = append(names, fmt.Sprint(e.Name(), e.IsDir()))
			}
			slices.Sort(names)
			if want := []string{"btrue", "newfalse"}; !slices.Equal(names, want) {
				t.Errorf("left in the folder: %q, want %q", names, want)
			}
			_, err = fsys.Open(at("no/no"), os.O_RDONLY, 0)
			check(err, fs.ErrNotExist)
			testLock(t, fsys, at("a/new"))
			testWrites(t, fsys, at("a/w"))
		})
	}
}

func testLock(t *testing.T, fsys durable.FS, path string) {
	one, err := fsys.Open(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	two, err := fsys.Open(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	try := func(f durable.File, want bool) {
		t.Helper()
		if got, err := f.TryLock(); got != want || err != nil {
			t.Errorf("lock: %v, %v; want %v", got, err, want)
		}
	}
	try(one, true)
	try(two, false)
	if err := one.Unlock(); err != nil {
		t.Error(err)
	}
	try(two, true)
	try(one, false)
	if err := two.Close(); err != nil {
		t.Error(err)
	}
	try(one, true)
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if err := one.Close(); err == nil {
		t.Error("closed twice without an error")
	}
}

func testWrites(t *testing.T, fsys durable.FS, path string) {
	f, err := fsys.Open(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before, _ := f.Stat()
	for _, s := range []string{"one", "", "two"} {
		if n, err := f.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("%d, %v; want n == %v, no error", n, err, len(s))
		}
	}
	if err := errors.Join(f.Truncate(4), f.Sync(durable.Data), f.Sync(durable.All)); err != nil {
		t.Error(err)
	}
	if _, err := f.Write([]byte("!")); err != nil {
		t.Error(err)
	}
	if s, err := read(t, fsys, path); s != "onet!" || err != nil {
		t.Errorf(`%q, %v; want s == "onet!", no error`, s, err)
	}
	buf := make([]byte, 10)
	if n, err := f.ReadAt(buf, 3); n != 2 || !errors.Is(err, io.EOF) {
		t.Errorf("%d, %v; want n == 2, the error io.EOF", n, err)
	}
	if after, _ := f.Stat(); !after.SameFile(before) || after == before || after.Size != 5 {
		t.Errorf("was %+v, is %+v", before, after)
	}
}

// After a crash during Replace the file is the old one or the new one; after success the new one.
func TestReplaceCrash(t *testing.T) {
	t.Parallel()
	const path = "/f/file"
	old, next := strings.Repeat("old", 50), strings.Repeat("new", 70)
	live := crashfs.New("/f")
	if _, err := durable.Create(live, path, 0o600, content(old)); err != nil {
		t.Fatal(err)
	}
	look := func(when string, want ...string) {
		for i, fate := range fates() {
			if got, err := read(t, live.Crash(fate), path); err != nil || !slices.Contains(want, got) {
				t.Errorf("%s, crash %d: %.20q, %v", when, i, got, err)
			}
		}
	}
	look("before", old)
	live.OnOp(func(op string) { look(op, old, next) })
	if _, err := durable.Replace(live, path, 0o600, content(next)); err != nil {
		t.Fatal(err)
	}
	look("after", next)
}

// After a crash during Create the file is whole or missing; after success whole.
func TestCreateCrash(t *testing.T) {
	t.Parallel()
	const path = "/r/a/b/file"
	text := strings.Repeat("text", 50)
	live := crashfs.New("/r")
	done := false
	look := func(when string) {
		for i, fate := range fates() {
			got, err := read(t, live.Crash(fate), path)
			if got != text && (done || !errors.Is(err, fs.ErrNotExist)) {
				t.Errorf("%s, crash %d: %.20q, %v", when, i, got, err)
			}
		}
	}
	live.OnOp(look)
	if err := durable.MkdirAll(live, "/r/a/b", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := durable.Create(live, path, 0o600, content(text)); err != nil {
		t.Fatal(err)
	}
	done = true
	look("after")
}

// The simulated crashes find a missing sync.
func TestCrashFindsForgottenSyncs(t *testing.T) {
	t.Parallel()
	live := crashfs.New("/f")
	if _, err := durable.Create(live, "/f/file", 0o600, content("old")); err != nil {
		t.Fatal(err)
	}
	if _, err := durable.Replace(durable.Unsynced(live), "/f/file", 0o600, content("new")); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, fate := range fates() {
		got, _ := read(t, live.Crash(fate), "/f/file")
		found[got] = true
	}
	if !found["old"] || !found["new"] || !found[""] || !found["\x00\x00\x00"] {
		t.Errorf("found only %q", slices.Sorted(maps.Keys(found)))
	}
}

// If an operation fails, Replace returns an error or the file has the new content.
func TestReplaceFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range faultfs.Faults {
		for n := 1; ; n++ {
			inner := crashfs.New("/f")
			if _, err := durable.Create(inner, "/f/file", 0o600, content("old")); err != nil {
				t.Fatal(err)
			}
			fsys := faultfs.New(inner, n, fault)
			_, rerr := durable.Replace(fsys, "/f/file", 0o600, content("new"))
			_, cerr := durable.Create(fsys, "/f/file2", 0o600, content("new"))
			if fsys.Count() < n {
				break
			}
			got, err := read(t, inner, "/f/file")
			if err != nil || got != "new" && (rerr == nil || got != "old") {
				t.Errorf("%s at %d: %q, %v; Replace said %v", fault.Name, n, got, err, rerr)
			}
			got, err = read(t, inner, "/f/file2")
			if got != "new" && (cerr == nil || !errors.Is(err, fs.ErrNotExist)) {
				t.Errorf("%s at %d: %q, %v; Create said %v", fault.Name, n, got, err, cerr)
			}
		}
	}
}

// Without links a file is still created, and no file is overwritten.
func TestCreateWithoutLinks(t *testing.T) {
	t.Parallel()
	fsys := noLinks{crashfs.New("/f")}
	if _, err := durable.Create(fsys, "/f/file", 0o600, content("one")); err != nil {
		t.Fatal(err)
	}
	if _, err := durable.Create(fsys, "/f/file", 0o600, content("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created twice: %v", err)
	}
	entries, _ := fsys.ReadDir("/f")
	if got, err := read(t, fsys, "/f/file"); got != "one" || err != nil || len(entries) != 1 {
		t.Errorf("%q, %v, %d files", got, err, len(entries))
	}
}

type noLinks struct{ *crashfs.FS }

func (noLinks) Link(from, to string) error {
	return &os.LinkError{Op: "link", Old: from, New: to, Err: errors.ErrUnsupported}
}

// Every operation on a closed file fails and names the file.
func TestClosedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	f, err := durable.OS{}.Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func() error{
		"read":  func() error { _, err := f.ReadAt(make([]byte, 1), 0); return err },
		"write": func() error { _, err := f.Write([]byte("x")); return err },
		"stat":  func() error { _, err := f.Stat(); return err },
		"lock":  func() error { _, err := f.TryLock(); return err },
		"map":   func() error { _, _, err := f.(durable.Mapper).Map(0, 1); return err },
		"close": f.Close,
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v; want an error, strings.Contains(err.Error(), path)", what, err)
		}
	}
}

func TestUnsynced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fsys := durable.Unsynced(durable.OS{})
	if _, err := fsys.Open(filepath.Join(dir, "none"), os.O_RDONLY, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := fsys.SyncDir(filepath.Join(dir, "none")); err != nil {
		t.Errorf("it synced a folder: %v", err)
	}
	path := filepath.Join(dir, "f")
	if _, err := durable.Replace(fsys, path, 0o600, content("text")); err != nil {
		t.Fatal(err)
	}
	f, err := fsys.Open(path, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, unmap, err := f.(durable.Mapper).Map(0, 4)
	if err != nil || string(data) != "text" {
		t.Fatalf("mapped %q, %v", data, err)
	}
	if err := unmap(); err != nil {
		t.Error(err)
	}
	inMemory, err := durable.Unsynced(crashfs.New(dir)).Open(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := inMemory.(durable.Mapper).Map(0, 4); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("mapped a file that is not one of the system: %v", err)
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	if err := durable.Wait(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if err := durable.Wait(ctx, time.Hour); !errors.Is(err, enough) {
		t.Error(err)
	}
}
