package index_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/indextest"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/durable"
)

// counting is a file system that counts open files and mappings.
type counting struct {
	durable.FS
	open, mapped, maps int
}

func (c *counting) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := c.FS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	c.open++
	return &countedFile{f, c}, nil
}

type countedFile struct {
	durable.File
	c *counting
}

func (f *countedFile) Map(from, size int64) ([]byte, func() error, error) {
	m, ok := f.File.(durable.Mapper)
	if !ok {
		return nil, nil, fs.ErrInvalid
	}
	data, unmap, err := m.Map(from, size)
	if err != nil {
		return nil, nil, err
	}
	f.c.mapped++
	f.c.maps++
	return data, func() error { f.c.mapped--; return unmap() }, nil
}

func (f *countedFile) Close() error {
	f.c.open--
	return f.File.Close()
}

// TestClose: Close leaves neither files nor mappings, may be called twice, and a later call opens the files again.
func TestClose(t *testing.T) {
	t.Parallel()
	fsys := &counting{FS: durable.OS{}}
	x := index.Open(index.Options{Dir: t.TempDir(), FS: fsys, Notice: func(text string) { t.Error(text) }})
	x.Put(index.Update{Source: "s", Put: []index.Log{indextest.Log("a", 3), indextest.Log("b", 5)}})
	if err := x.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		c := x.Catalogue()
		chunks := 0
		for _, l := range c.Logs("s").All() {
			chunks += l.ChunkCount()
		}
		lost := x.EachChunk(places(c.Logs("s")), func(int, *index.Kept) { chunks-- })
		if chunks != 0 || len(lost) != 0 || c.Logs("s").Len() != 2 {
			t.Errorf("round %d: %d chunks missing, lost %v", round, chunks, lost)
		}
		if fsys.maps == 0 {
			t.Skip("files cannot be mapped here")
		}
		for range 2 {
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			if fsys.open != 0 || fsys.mapped != 0 {
				t.Errorf("round %d: %d files open, %d mapped", round, fsys.open, fsys.mapped)
			}
		}
	}
}

// TestRemembered: an index that is not kept on disk drops the signatures of logs that were replaced, and is still complete.
func TestRemembered(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]index.Options{
		"memory": {},
		"lost":   {Dir: "/dev/null/index"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := index.Open(opt)
			large := func(name string, n int) index.Log {
				l := indextest.Log(name, n)
				for i := range l.Chunks {
					l.Chunks[i].Sig = make([]byte, 1<<20)
				}
				return l
			}
			x.Put(index.Update{Source: "s", Put: []index.Log{large("stays", 2), indextest.Log("small", 3)}})
			for n := range 50 {
				x.Put(index.Update{Source: "s", Put: []index.Log{large("grows", 1+n%3)}})
				x.Put(index.Update{Source: "t", Put: []index.Log{{Name: "short"}}})
				if err := x.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				if most := 48 << 20; x.Pending() > most {
					t.Fatalf("after %d rounds %d bytes are pending", n, x.Pending())
				}
			}
			c := x.Catalogue()
			if n := c.Logs("s").Len() + c.Logs("t").Len(); n != 4 {
				t.Fatalf("%d logs, want 4", n)
			}
			chunks := 0
			for _, l := range c.Logs("s").All() {
				chunks += l.ChunkCount()
			}
			lost := x.EachChunk(places(c.Logs("s")), func(int, *index.Kept) { chunks-- })
			if chunks != 0 || len(lost) != 0 {
				t.Errorf("%d chunks missing, lost %v", chunks, lost)
			}
		})
	}
}

// TestLostAndFound: an index whose folder could not be written writes everything when the folder can be written again.
func TestLostAndFound(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "file", "cache")
	if err := os.WriteFile(filepath.Dir(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	x := index.Open(index.Options{Dir: dir, Notice: func(text string) { said = append(said, text) }})
	put := func(u index.Update) {
		x.Put(u)
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	large := indextest.Log("large", 2)
	for i := range large.Chunks {
		large.Chunks[i].Sig = make([]byte, 1<<20)
	}
	put(index.Update{Source: "s", Put: []index.Log{indextest.Log("a", 3), indextest.Log("gone", 3), indextest.Log("back", 1)}})
	put(index.Update{Source: "forgotten", Put: []index.Log{indextest.Log("a", 3)}})
	put(index.Update{Source: "s", Remove: []string{"gone", "back"}})
	put(index.Update{Source: "forgotten", Forget: true})
	put(index.Update{Source: "s", Put: []index.Log{indextest.Log("back", 2)}})
	for range 70 { // so much that it is joined in memory, and for so long that writing is tried again
		put(index.Update{Source: "s", Put: []index.Log{large}})
	}
	if len(said) != 1 {
		t.Errorf("said: %q", said)
	}
	if err := os.Remove(filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		put(index.Update{Source: "t", Put: []index.Log{indextest.Log("last", 1)}})
	}
	y := index.Open(index.Options{Dir: dir, Notice: func(text string) { t.Error(text) }})
	c := y.Catalogue()
	got := map[string]int{}
	for _, source := range []string{"s", "t", "forgotten"} {
		for _, l := range c.Logs(source).All() {
			got[source+" "+l.Name] = l.ChunkCount()
		}
	}
	want := map[string]int{"s a": 1, "s back": 3, "s large": 3, "t last": 2}
	if diff := difftest.Diff(want, got); diff != "" {
		t.Errorf("chunks of logs in the folder (-want +got):\n%s", diff)
	}
	n := 0
	if lost := y.EachChunk(places(c.Logs("s")), func(int, *index.Kept) { n++ }); n != 7 || len(lost) > 0 {
		t.Errorf("%d chunks, lost %v", n, lost)
	}
	if err := errors.Join(x.Close(), y.Close()); err != nil {
		t.Error(err)
	}
}
