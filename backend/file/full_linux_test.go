package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/treeline-dev/treeline/backend/file"
)

// On a full disk the error is that of the system, no acknowledged record is lost, and the log goes on when there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		asRoot(t)
		return
	}
	root := t.TempDir()
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal("a small file system cannot be mounted here: ", err)
	}
	defer func() { _ = syscall.Unmount(root, syscall.MNT_DETACH) }()
	b := open(t, root, file.Options{})
	path := filepath.Join(root, "log.jsonl")
	at := create(t, b, "log.jsonl")
	var err error
	n := 0
	for want := ""; ; n++ {
		rec := fmt.Sprintf(`{"n":%d,"pad":"%s"}`, n, strings.Repeat("x", 9_000))
		next, aerr := b.Append(t.Context(), at, []byte(rec))
		if err = aerr; err != nil {
			if got := content(t, path); got != want {
				t.Errorf("the log has %d bytes, want %d", len(got), len(want))
			}
			break
		}
		at = next
		want += rec + "\n"
	}
	if !errors.Is(err, syscall.ENOSPC) || n < 10 {
		t.Errorf("after %d records: %v", n, err)
	}
	// There is no room for a second copy: the old log stays, and no temporary file is left.
	if at, err = b.Stat(t.Context(), "log.jsonl"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Replace(t.Context(), at, []byte(strings.Repeat("y", 100_000))); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("replaced on a full disk: %v", err)
	}
	if _, err := b.Create(t.Context(), "new.jsonl", []byte(strings.Repeat("y", 100_000))); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("created on a full disk: %v", err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "log.jsonl" {
			t.Errorf("left over: %s", e.Name())
		}
	}
	if now, err := b.Stat(t.Context(), "log.jsonl"); err != nil || !now.Same(at) {
		t.Errorf("was %+v, is %+v, %v", at, now, err)
	}
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Append(t.Context(), at, []byte(strings.Repeat("z", 100_000))); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// asRoot runs a test in a process that is root in namespaces of its own, where it may mount.
func asRoot(t *testing.T) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf(`%v: %s; want no error, bytes.Contains(out, []byte("--- PASS: "+t.Name()))`, err, out)
	}
}
