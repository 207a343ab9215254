package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/treeline-dev/treeline/internal/durable/killtest"
)

// TestReader: reading leaves no trace, with and without a journal, and shows what is in the journal.
func TestReader(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	if _, err := openReader(t.Context(), path, dbOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	h := open(t, path)
	add(t, h, "one", "two")
	read := func(what string, list ...string) {
		t.Helper()
		before := listing(t, filepath.Dir(path))
		r, err := openReader(t.Context(), path, dbOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want(t, what, texts(t, r, Query{}), list...)
		if err := r.Add("three", ""); err != ErrReadOnly {
			t.Errorf("add: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if after := listing(t, filepath.Dir(path)); !reflect.DeepEqual(before, after) {
			t.Errorf("%s: before %v, after %v", what, before, after)
		}
	}
	read("with a journal", "two", "one")
	h.Close()
	read("without", "two", "one")

	r, err := openReader(t.Context(), path, dbOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h = open(t, path)
	add(t, h, "three")
	h.Close()
	want(t, "changed under the reader", texts(t, r, Query{}), "three", "two", "one")

	// A closed reader is not opened again.
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	h = open(t, path)
	add(t, h, "four")
	h.Close()
	if list, err := r.Search(t.Context(), Query{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed reader gives %v, %v", list, err)
	}
}

// TestReaderBesideWriter: a reader in the same process does not release the writer's locks. Another process that closes the database would
// otherwise see no other user, and remove the journal.
func TestReaderBesideWriter(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	h := open(t, path)
	add(t, h, "one")
	r, err := openReader(t.Context(), path, dbOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "read", texts(t, r, Query{}), "one")
	add(t, h, "two")
	want(t, "goes on", texts(t, r, Query{}), "two", "one")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := killtest.Command(path, "other", 3).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Errorf("the journal of an open database: %v", err)
	}
	add(t, h, "three")
	want(t, "all", texts(t, h, Query{}), "other 2", "other 1", "other 0", "three", "two", "one")
}

func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = fmt.Sprint(info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return files
}
