package index_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/indextest"
)

// together puts logs that share a signature: log i has words(i) from byte 10*i on.
func together(x *index.Index, source string, logs ...int) {
	s := index.Signer{Whole: true}
	u := index.Update{Source: source}
	for _, i := range logs {
		l := index.Log{Name: fmt.Sprint("log", i)}
		for _, w := range words(i) {
			s.Add([]byte(w), int64(10*i), int64(10*i+5))
		}
		if from, to, ok := s.Leave(); ok {
			l.Chunks = []index.Chunk{{From: from, To: to}}
		}
		u.Put = append(u.Put, l)
	}
	u.Put = append(u.Put, index.Log{Name: fmt.Sprintf("none%d", logs[0])}) // has no text
	u.Together = s.Together()
	x.Put(u)
}

// look checks that each log has one chunk, its own, in which its words may occur.
func look(t *testing.T, x *index.Index, want ...string) {
	t.Helper()
	logs := x.Catalogue().Logs("s")
	list := logs.All()
	var got []string
	again := 0
	unknown := x.EachChunk(places(logs), func(i int, c *index.Kept) {
		var n int
		fmt.Sscanf(list[i].Name, "log%d", &n)
		got = append(got, list[i].Name)
		if c.From != int64(10*n) || c.To != int64(10*n+5) {
			t.Errorf("%s is at %d to %d", list[i].Name, c.From, c.To)
		}
		if c.Again {
			again++
		}
		for _, w := range words(n) {
			if !parsed(t, w).May(c) {
				t.Fatalf("%s is hidden in %s", w, list[i].Name)
			}
		}
	})
	slices.Sort(got)
	if unknown != nil || !slices.Equal(got, want) {
		t.Fatalf("the signatures of %v are there and %v are lost; want those of %v", got, unknown, want)
	}
	if len(want) > 2 && again == 0 {
		t.Error("each log has a signature of its own")
	}
}

// TestSharedSignature: logs keep the signature that they share when others of them change or are removed, when all signatures are moved to
// another file, and in the next process.
func TestSharedSignature(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opt := index.Options{Dir: dir, Garbage: 1, Notice: func(text string) { t.Error(text) }}
	x := index.Open(opt)
	commit := func() {
		t.Helper()
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	together(x, "s", 1, 2, 3, 4)
	look(t, x, "log1", "log2", "log3", "log4")
	commit()
	look(t, x, "log1", "log2", "log3", "log4")
	size := signatureBytes(t, dir)
	// One changes and one is removed: the others keep what they share.
	together(x, "s", 2)
	x.Put(index.Update{Source: "s", Remove: []string{"log3"}})
	commit()
	look(t, x, "log1", "log2", "log4")
	// A shared piece is copied to another file only once.
	for n := 5; n < 13; n++ {
		if n > 5 {
			x.Put(index.Update{Source: "s", Remove: []string{fmt.Sprint("log", n-1)}})
		}
		together(x, "s", n)
		commit()
	}
	look(t, x, "log1", "log12", "log2", "log4")
	if names, err := filepath.Glob(filepath.Join(dir, "signatures-*")); err != nil || len(names) != 1 || names[0] == filepath.Join(dir, "signatures-0") {
		t.Errorf("the signatures were not moved: %v, %v", names, err)
	}
	if now := signatureBytes(t, dir); now > 4*size {
		t.Errorf("%d bytes of signatures, after %d", now, size)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = index.Open(opt)
	defer x.Close()
	look(t, x, "log1", "log12", "log2", "log4")
}

func signatureBytes(t *testing.T, dir string) (size int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "signatures-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}

// TestSharedOthers: a log whose catalogue entry names a shared signature of other logs does not get that signature.
func TestSharedOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, logs := range [][]int{{1, 2}, {3, 4}} {
		other := filepath.Join(dir, fmt.Sprint(logs[0]))
		x := index.Open(index.Options{Dir: other})
		together(x, "s", logs...)
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "1", "signatures-0"))
	if err != nil {
		t.Fatal(err)
	}
	was := signatureBytes(t, filepath.Join(dir, "3"))
	data = append(data, make([]byte, max(0, was-int64(len(data))))...)
	if err := os.WriteFile(filepath.Join(dir, "3", "signatures-0"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	x := index.Open(index.Options{Dir: filepath.Join(dir, "3")})
	defer x.Close()
	logs := x.Catalogue().Logs("s")
	if unknown := x.EachChunk(places(logs), func(i int, c *index.Kept) {
		t.Errorf("%s has the signature of another log", logs.At(i).Name)
	}); len(unknown) != 2 {
		t.Errorf("%v are lost, not two", unknown)
	}
}

// TestGone: frequent strings, which records share, are removed with the last log that has them.
func TestGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := index.Open(index.Options{Dir: dir, Notice: func(text string) { t.Error(text) }})
	defer x.Close()
	put := func(name, cwd, model string) index.Update {
		l := indextest.Log(name, 1)
		l.Summary.CWD, l.Summary.Models = cwd, []string{model}
		return index.Update{Source: "s", Put: []index.Log{l}}
	}
	for _, step := range []struct {
		update index.Update
		kept   []string
		gone   []string
	}{
		{put("folder-one/a", "/private", "model-x"), []string{"folder-one", "/private", "model-x"}, nil},
		{put("folder-two/b", "/other", "model-x"), []string{"folder-one", "/private", "/other"}, nil},
		{put("folder-one/a", "/moved", "model-x"), []string{"folder-one", "/moved", "/other"}, []string{"/private"}},
		{put("folder-one/a", "/moved", "model-y"), []string{"model-x", "model-y"}, nil},
		{index.Update{Source: "s", Remove: []string{"folder-one/a"}}, []string{"folder-two", "model-x"}, []string{"folder-one", "/moved", "model-y"}},
	} {
		x.Put(step.update)
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "catalogue"))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range step.kept {
			if !bytes.Contains(data, []byte(text)) {
				t.Errorf("%s is missing after %+v", text, step.update)
			}
		}
		for _, text := range step.gone {
			if bytes.Contains(data, []byte(text)) {
				t.Errorf("%s is there after %+v", text, step.update)
			}
		}
	}
}
