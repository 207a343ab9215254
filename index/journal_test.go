package index_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/indextest"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/durable/crashfs"
)

// grown returns a log of indextest that has grown, with the same texts as before.
func grown(name string, n, messages int) index.Log {
	l := indextest.Log(name, n)
	l.Summary.Messages = messages
	return l
}

// additions begins a catalogue and adds to it: logs that have grown, new logs, and a log of a new source.
func additions(x *index.Index) error {
	var begin []index.Log
	for k := range 5 {
		begin = append(begin, indextest.Log(fmt.Sprint("log", k), k))
	}
	x.Put(index.Update{Source: "s", Put: begin})
	err := x.Commit(context.Background())
	for k := 0; k < 3 && err == nil; k++ {
		x.Put(index.Update{Source: "s", Put: []index.Log{grown("log4", 4, 4), indextest.Log(fmt.Sprint("new", k), 20+k)}})
		x.Put(index.Update{Source: fmt.Sprint("t", k), Put: []index.Log{indextest.Log("first", k)}})
		err = x.Commit(context.Background())
	}
	return err
}

// TestAddedCrash: after a crash at any moment of additions nothing is mixed up, and the index is usable.
func TestAddedCrash(t *testing.T) {
	t.Parallel()
	fsys := crashfs.New("/")
	ops := 0
	fsys.OnOp(func(op string) {
		ops++
		for i, fate := range []crashfs.Fate{crashfs.Lost, crashfs.Kept, crashfs.Mixed(uint64(ops)), crashfs.Mixed(uint64(ops) << 20)} {
			if err := usable(fsys.Crash(fate)); err != nil {
				t.Fatalf("a crash (%d) after operation %d, %s: %v", i, ops, op, err)
			}
		}
	})
	if err := additions(openOn(fsys)); err != nil {
		t.Fatal(err)
	}
	replaced := 0
	for _, op := range fsys.Ops() {
		if strings.HasPrefix(op, "rename") && strings.HasSuffix(op, "/catalogue") {
			replaced++
		}
	}
	if replaced != 1 {
		t.Errorf("the catalogue was replaced %d times, want once: %q", replaced, fsys.Ops())
	}
}

// TestAddedFaults: whichever operation of additions fails, the open index is complete, and the next one is usable.
func TestAddedFaults(t *testing.T) {
	t.Parallel()
	everyFault(t, additions)
}

// TestAddedDamage: an addition that is cut off or damaged at any byte is ignored, and so are those after it. The rest is not mixed up, no
// notice is sent, and the next commit makes the file whole.
func TestAddedDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "catalogue")
	open := func() *index.Index {
		return index.Open(index.Options{Dir: dir, Whole: 1, Notice: func(text string) { t.Error(text) }})
	}
	var sizes []int64
	x := open()
	note := func() {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, info.Size())
	}
	for k := range 4 {
		x.Put(index.Update{Source: "s", Put: []index.Log{indextest.Log(fmt.Sprint("log", k), k)}})
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		note()
	}
	x.Close()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	signatures, err := os.ReadFile(filepath.Join(dir, "signatures-0"))
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(sizes); sizes[0] < int64(len(content))/8 || len(slices.Compact(slices.Clone(sizes))) != 4 {
		t.Fatalf("the catalogue had %d bytes; it did not grow as it should", sizes)
	}
	for at := sizes[0]; at < sizes[3]; at += 3 {
		for what, damaged := range map[string][]byte{
			"cut":     content[:at],
			"zero":    slices.Concat(content[:at], make([]byte, len(content)-int(at))),
			"changed": slices.Concat(content[:at], []byte{content[at] ^ 0x10}, content[at+1:]),
		} {
			if err := os.WriteFile(file, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "signatures-0"), signatures, 0o600); err != nil {
				t.Fatal(err)
			}
			x := open()
			complete := 1 // number of commits that end before the damage
			for complete < 4 && sizes[complete] <= at {
				complete++
			}
			if got := len(messages(x)); got != complete {
				t.Fatalf("%s at %d of %d: %d logs, want %d", what, at, sizes, got, complete)
			}
			if err := whole(x); err != nil {
				t.Fatalf("%s at %d: %v", what, at, err)
			}
			x.Put(index.Update{Source: "s", Put: []index.Log{indextest.Log("again", 9)}})
			if err := x.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			x.Close()
			x = open()
			if err := whole(x); err != nil || len(messages(x)) != complete+1 {
				t.Fatalf("%s at %d, and then a commit: %v, and %d logs, want %d", what, at, err, len(messages(x)), complete+1)
			}
			x.Close()
		}
	}
}

// TestAddedOracle: a catalogue that is added to equals one in memory, whatever is put and removed, and however often it is opened again.
// Two indexes use it by turns. It does not grow without end.
func TestAddedOracle(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), rand.New(rand.NewPCG(7, 8))
	open := func() *index.Index {
		return index.Open(index.Options{Dir: dir, Whole: 1, Notice: func(text string) { t.Error(text) }})
	}
	oracle, both := index.Open(index.Options{}), []*index.Index{open(), open()}
	wholes, last := 0, int64(0)
	for round := range 300 {
		u := index.Update{Source: fmt.Sprint("s", r.IntN(3))}
		for range 1 + r.IntN(3) {
			name := fmt.Sprint("log", r.IntN(60))
			u.Put = append(u.Put, grown(name, len(name)+r.IntN(2), r.IntN(1000)))
		}
		switch r.IntN(25) {
		case 0:
			u.Remove = []string{fmt.Sprint("log", r.IntN(60))}
		case 1:
			u.Forget = true
		}
		k := r.IntN(2)
		if r.IntN(5) == 0 {
			both[k].Close()
			both[k] = open()
		}
		for _, x := range []*index.Index{oracle, both[k]} {
			copied := u
			copied.Put = slices.Clone(u.Put)
			x.Put(copied)
			if err := x.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want := messages(oracle)
		if got := messages(both[k]); !maps.Equal(want, got) {
			t.Fatalf("round %d: %s", round, difftest.Diff(want, got))
		}
		fresh := open()
		if got := messages(fresh); !maps.Equal(want, got) {
			t.Fatalf("round %d, opened again: %s", round, difftest.Diff(want, got))
		}
		fresh.Close()
		info, err := os.Stat(filepath.Join(dir, "catalogue"))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() < last {
			wholes++
		}
		if last = info.Size(); last > 200<<10 {
			t.Fatalf("round %d: the catalogue has %d bytes", round, last)
		}
	}
	if wholes == 0 || wholes > 200 {
		t.Errorf("the catalogue was written as a whole %d times in 300 rounds, want some and not most", wholes)
	}
}

// TestAddedTexts: a text that a log no longer has is in no file after the next commit.
func TestAddedTexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := index.Open(index.Options{Dir: dir, Whole: 1})
	defer x.Close()
	for _, title := range []string{"", "kingfisher", "kingfisher", "heron"} {
		l := grown("a", 3, 5)
		l.Summary.Title = title
		x.Put(index.Update{Source: "s", Put: []index.Log{l}})
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(dir, "catalogue"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(content), "kingfisher"); got != (title == "kingfisher") {
			t.Errorf("with the title %q, the catalogue has the old one: %v", title, got)
		}
	}
}

// TestAddedAfterTextsGone: what a commit adds to the file fits the rest, even if the commits before and after it had to drop texts and so
// numbered the frequent strings anew.
func TestAddedAfterTextsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := index.Open(index.Options{Dir: dir, Notice: func(text string) { t.Error(text) }})
	logOf := func(k int, cwd string) index.Log {
		l := index.Log{Name: fmt.Sprintf("log%04d", k)}
		l.Summary = index.Summary{Session: true, CWD: cwd, Dialect: "omp", Prompt: strings.Repeat("word ", 40)}
		return l
	}
	const logs = 3000 // enough for more than one page
	var all []index.Log
	for k := range logs {
		all = append(all, logOf(k, "/usual"))
	}
	all[logs-3].Summary.CWD, all[logs-2].Summary.CWD, all[logs-1].Summary.CWD = "/first", "/second", "/third"
	x.Put(index.Update{Source: "s", Put: all})
	commit := func(changed ...index.Log) {
		x.Put(index.Update{Source: "s", Put: changed})
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	commit(logOf(logs-3, "/1"))
	commit(logOf(logs-2, "/2"))
	commit(logOf(logs-1, "/3"))
	x.Close()
	content, err := os.ReadFile(filepath.Join(dir, "catalogue"))
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"/first", "/second", "/third"} {
		if strings.Contains(string(content), gone) {
			t.Errorf("the catalogue still has %q", gone)
		}
	}
	read := index.Open(index.Options{Dir: dir, Notice: func(text string) { t.Error(text) }})
	defer read.Close()
	for k, want := range map[int]string{0: "/usual", logs - 3: "/1", logs - 2: "/2", logs - 1: "/3"} {
		l, ok := read.Catalogue().Log("s", fmt.Sprintf("log%04d", k))
		if !ok || l.Summary.CWD != want || l.Summary.Dialect != "omp" {
			t.Errorf("log %d: %t, %+v; want the directory %s", k, ok, l, want)
		}
	}
}
