package index_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/indextest"
	"github.com/treeline-dev/treeline/index/query"
)

// signed makes an index of logs with one or more chunks each, which contain words(i), and of three more that share a signature.
func signed(t *testing.T, dir string, logs int) {
	t.Helper()
	x := index.Open(index.Options{Dir: dir})
	defer x.Close()
	for i := range logs {
		var s index.Signer
		at := int64(0)
		for k, w := range words(i) {
			s.Add([]byte(w), at, at+1000)
			at += 1000
			if k%100 == 99 {
				at += 100_000 // another chunk
			}
		}
		x.Put(index.Update{Source: "s", Put: []index.Log{{Name: fmt.Sprint("log", i), Chunks: s.Finish()}}})
	}
	together(x, "s", logs, logs+1, logs+2)
	if err := x.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// words returns the words of a log.
func words(log int) []string {
	list := make([]string, 50+150*(log%3))
	for k := range list {
		list[k] = fmt.Sprintf("word%dx%d", log, k)
	}
	return list
}

var queries sync.Map // by word

// parsed is parse with a cache.
func parsed(t *testing.T, w string) *query.Query {
	q, ok := queries.Load(w)
	if !ok {
		q, _ = queries.LoadOrStore(w, parse(t, w))
	}
	return q.(*query.Query)
}

// hidden returns the words that an index does not find in logs that it claims to know, and how many logs are unknown.
func hidden(t *testing.T, dir string) (list []string, lost int) {
	t.Helper()
	x := index.Open(index.Options{Dir: dir, Notice: func(string) {}})
	defer x.Close()
	known := x.Catalogue().Logs("s")
	logs := known.All()
	found := make([]map[string]bool, len(logs))
	unknown := x.EachChunk(places(known), func(i int, c *index.Kept) {
		if found[i] == nil {
			found[i] = map[string]bool{}
		}
		var n int
		fmt.Sscanf(logs[i].Name, "log%d", &n)
		for _, w := range words(n) {
			if !found[i][w] && parsed(t, w).May(c) {
				found[i][w] = true
			}
		}
	})
	for i, l := range logs {
		var n int
		if _, err := fmt.Sscanf(l.Name, "log%d", &n); err != nil {
			continue // this log has no text
		}
		for _, w := range words(n) {
			if !found[i][w] && !slices.Contains(unknown, i) {
				list = append(list, w)
			}
		}
	}
	return list, len(unknown)
}

// places returns the places of all logs.
func places(logs *index.Logs) (list []index.Place) {
	for i := range logs.Len() {
		list = append(list, index.Place{Logs: logs, At: i})
	}
	return list
}

// rounds returns how often a random test runs: many times if TREELINE_SOAK is set.
func rounds(usual, many int) int {
	if os.Getenv("TREELINE_SOAK") != "" {
		return many
	}
	return usual
}

// TestDamagedSignatures: whichever byte of the signatures is damaged, no word is hidden: it is found, or its log is unknown.
func TestDamagedSignatures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	signed(t, dir, 6)
	path := filepath.Join(dir, "signatures-0")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if list, lost := hidden(t, dir); len(list) > 0 || lost > 0 {
		t.Fatalf("undamaged, %d words are hidden and %d logs lost", len(list), lost)
	}
	r := rand.New(rand.NewPCG(1, 2))
	noticed := 0
	for range rounds(120, 1000) {
		broken := slices.Clone(data)
		at, n := r.IntN(len(data)), 1+r.IntN(200)
		switch r.IntN(3) {
		case 0: // one bit
			broken[at] ^= 1 << r.IntN(8)
		case 1: // zeros, as if never written
			clear(broken[at:min(at+n, len(broken))])
		case 2: // bytes of another program
			copy(broken[at:min(at+n, len(broken))], data[r.IntN(len(data)):])
		}
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		list, lost := hidden(t, dir)
		if len(list) > 0 {
			t.Fatalf("%d words are hidden, %s among them, by damage at %d", len(list), list[0], at)
		}
		noticed += lost
	}
	if noticed == 0 {
		t.Error("no damage was noticed at all")
	}
}

// TestCutSignatures: another program truncates the file while it is read, which is a fault if it is mapped.
func TestCutSignatures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	signed(t, dir, 9)
	x := index.Open(index.Options{Dir: dir, Notice: func(string) {}})
	defer x.Close()
	logs := x.Catalogue().Logs("s")
	cut := false
	unknown := x.EachChunk(places(logs), func(_ int, c *index.Kept) {
		if !cut {
			cut = true
			if err := os.Truncate(filepath.Join(dir, "signatures-0"), 0); err != nil {
				t.Fatal(err)
			}
		}
		c.Sound()
	})
	if len(unknown) == 0 {
		t.Error("no signatures are lost")
	}
}

// TestOverwrittenSignatures: another program overwrites the file while it is read. Bytes are not read again after they were checked.
func TestOverwrittenSignatures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	signed(t, dir, 9)
	path := filepath.Join(dir, "signatures-0")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var places []int64
	for _, other := range []int{-1, 0xff, 0x00, 0x01} { // in the first round nothing is overwritten
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		x := index.Open(index.Options{Dir: dir, Notice: func(string) {}})
		at, _ := x.Catalogue().PlaceOf("s", "log2")
		n := 0
		unknown := x.EachChunk([]index.Place{at}, func(_ int, c *index.Kept) {
			if n++; other < 0 {
				places = append(places, c.From, c.To)
			} else if n == 1 {
				f, err := os.OpenFile(path, os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if _, err := f.WriteAt(bytes.Repeat([]byte{byte(other)}, len(data)), 0); err != nil {
					t.Fatal(err)
				}
				return
			}
			if c.From != places[2*n-2] || c.To != places[2*n-1] {
				t.Errorf("with %#x all over it, chunk %d is at %d to %d", other, n, c.From, c.To)
			}
			c.Sound()
		})
		if n < 2 || other >= 0 && len(unknown) != 1 {
			t.Errorf("with %#x all over it, %d logs are unknown, after %d chunks", other, len(unknown), n)
		}
		x.Close()
	}
}

// TestOldCatalogue: EachChunk reports the signatures that an old catalogue names and that no longer exist. They are not damage, and cause
// no notice.
func TestOldCatalogue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var said []string
	x := index.Open(index.Options{Dir: dir, Garbage: 1, Notice: func(text string) { said = append(said, text) }})
	defer x.Close()
	put := func(n int) {
		for k := range 5 {
			x.Put(index.Update{Source: "s", Put: []index.Log{indextest.Log(fmt.Sprint("log", k), n+7*k)}})
		}
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look := func(logs *index.Logs) (lost int) {
		return len(x.EachChunk(places(logs), func(_ int, c *index.Kept) { c.Sound() }))
	}
	put(1)
	old := x.Catalogue().Logs("s")
	for n := range 4 {
		put(10 * n)
	}
	if lost := look(old); lost == 0 || len(said) > 0 {
		t.Errorf("%d logs are lost, said: %q", lost, said)
	}
	if lost := look(x.Catalogue().Logs("s")); lost > 0 {
		t.Errorf("%d of the logs that are there now are lost", lost)
	}
	for i, l := range x.Catalogue().Logs("s").All() {
		if !x.Current(l) || x.Current(old.At(i)) {
			t.Errorf("%s: what is current is not told from what was", l.Name)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "signatures-*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.Truncate(files[0], 0); err != nil {
		t.Fatal(err)
	}
	if lost := look(x.Catalogue().Logs("s")); lost != 5 || len(said) != 1 {
		t.Errorf("of damaged signatures %d logs are lost, said: %q", lost, said)
	}
}
