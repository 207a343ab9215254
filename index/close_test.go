package index_test

import (
	"io/fs"
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/indextest"
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

func (f *countedFile) Map(from, size int64, whole bool) ([]byte, func() error, error) {
	m, ok := f.File.(durable.Mapper)
	if !ok {
		return nil, nil, fs.ErrInvalid
	}
	data, unmap, err := m.Map(from, size, whole)
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
