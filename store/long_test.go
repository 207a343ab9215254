package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// TestLongLine: a log that ends in a line that is too long is read up to that line and not written. The bytes stay as they are.
func TestLongLine(t *testing.T) {
	t.Parallel()
	const most = 1 << 19
	w := world.New(t, func(w *world.World) { w.Drivers = []backend.Driver{file.Driver(file.Options{LongestLine: most})} })
	log := world.Log("long", w.CWD, world.Said("a", "", "first"), world.Said("b", "a", "second"))
	path := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	reading, err := w.Store.Open(t.Context(), path, store.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	writing, err := w.Store.OpenWrite(t.Context(), path, store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer writing.Close()
	// Sparse, as it may be after a crash of the machine.
	if err := os.Truncate(path, int64(len(log))+4*most); err != nil {
		t.Fatal(err)
	}

	refused := func(what string, err error) {
		t.Helper()
		var p *session.Problem
		if !errors.As(err, &p) || p.File != path || p.Line != 4 || p.Offset != int64(len(log)) || !strings.Contains(p.Message, "longer than") {
			t.Errorf("%s: %v; want a Problem at line 4 of %s", what, err, path)
		}
	}
	_, err = writing.AppendUser(t.Context(), "third")
	refused("an append of an open session", err)
	_, err = w.Reopen().OpenWrite(t.Context(), path, store.CreateOptions{})
	refused("opening for writing", err)

	if _, err := reading.Renew(t.Context()); err != nil {
		t.Errorf("an open session renews with %v; want that it is opened again", err)
	}
	again, err := w.Reopen().Open(t.Context(), path, store.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if n, problems := again.Tree().Len(), again.Tree().Problems(); n != 2 || len(problems) != 1 {
		t.Errorf("%d entries and the problems %v, want 2 and 1", n, problems)
	} else {
		refused("reading", &problems[0])
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != int64(len(log))+4*most {
		t.Errorf("the file is %v, %v; want the same size", info, err)
	}
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(files) != 1 {
		t.Errorf("the folder has %v; want only the log", files)
	}
}
