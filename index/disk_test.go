package index_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/indextest"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/crashfs"
	"github.com/treeline-dev/treeline/internal/durable/faultfs"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

const crashDir = "/cache/treeline"

// openOn opens the index on a file system, without waiting for locks.
func openOn(fsys durable.FS) *index.Index {
	return index.Open(index.Options{Dir: crashDir, FS: fsys, Garbage: 500, Whole: 1, Wait: func(context.Context, time.Duration) error { return nil }})
}

// whole checks that each known log is one that was put, with its own signatures or with lost ones.
func whole(x *index.Index) error {
	for _, s := range x.Catalogue().Sources {
		if s.Key == "together" {
			if err := wholeTogether(x, s.Logs); err != nil {
				return err
			}
			continue
		}
		for i, l := range s.Logs.All() {
			n := l.Summary.Messages
			want := indextest.Log(l.Name, n)
			var got []index.Chunk
			unknown := x.EachChunk([]index.Place{{Logs: s.Logs, At: i}}, func(_ int, c *index.Kept) {
				c.Sound()
				chunk := c.Chunk
				chunk.Sig = bytes.Clone(c.Sig)
				got = append(got, chunk)
			})
			if unknown != nil && l.Stamp.Racy {
				want.Stamp.Racy = true // its signatures are lost
			}
			if l.Summary.ID != want.Summary.ID || l.Summary.Prompt != want.Summary.Prompt || l.Stamp != want.Stamp {
				return fmt.Errorf("%s is mixed up: %+v", l.Name, l.Summary)
			}
			// The comparison by cmp is slow, and is needed only if there is a difference.
			if unknown == nil && !reflect.DeepEqual(want.Chunks, got) {
				return fmt.Errorf("%s has signatures that are not its own: %s", l.Name, difftest.Diff(want.Chunks, got))
			}
		}
	}
	return nil
}

// wholeTogether is whole for logs that share signatures.
func wholeTogether(x *index.Index, logs *index.Logs) (err error) {
	for i, l := range logs.All() {
		n := 0
		fmt.Sscanf(l.Name, "log%d", &n)
		lost := x.EachChunk([]index.Place{{Logs: logs, At: i}}, func(_ int, c *index.Kept) {
			if c.Sound() && c.From != int64(10*n) {
				err = fmt.Errorf("%s has the chunk of another log, at %d", l.Name, c.From)
			}
		})
		if err == nil && lost != nil && strings.HasPrefix(l.Name, "none") {
			err = fmt.Errorf("%s has a signature, and no text", l.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// usable checks that an index keeps what is put.
func usable(fsys durable.FS) error {
	x := openOn(fsys)
	if err := whole(x); err != nil {
		return err
	}
	x.Put(index.Update{Source: "probe", Put: []index.Log{indextest.Log("probe", 1234)}})
	if err := x.Commit(context.Background()); err != nil {
		return err
	}
	x = openOn(fsys)
	if err := whole(x); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	if _, ok := x.Catalogue().Log("probe", "probe"); !ok {
		return errors.New("what was put after it is not kept")
	}
	return nil
}

// script changes an index in all ways: with commits that append, that replace almost everything, so that the signatures are copied to a new
// file, and that remove.
func script(x *index.Index) error {
	for round := range 4 {
		u := index.Update{Source: "s"}
		for k := range 5 {
			u.Put = append(u.Put, indextest.Log(fmt.Sprint("log", k), 10*round+k))
		}
		u.Remove = []string{fmt.Sprint("log", round)}
		x.Put(u)
		x.Put(index.Update{Source: "together", Forget: true})
		together(x, "together", round, round+1)
		if err := x.Commit(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// TestCrash: after a crash at any moment nothing is mixed up, and the index is usable.
func TestCrash(t *testing.T) {
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
	if err := script(openOn(fsys)); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(fsys.Ops(), func(op string) bool { return strings.HasPrefix(op, "remove") && strings.Contains(op, "signatures") }) {
		t.Error("the signatures were never copied to another file")
	}
}

// TestFaults: whichever operation fails, the open index is complete, and the next one is usable.
func TestFaults(t *testing.T) {
	t.Parallel()
	everyFault(t, script)
}

// everyFault runs a script once for each combination of an operation and a fault, which that operation meets.
func everyFault(t *testing.T, script func(*index.Index) error) {
	t.Helper()
	count := faultfs.New(crashfs.New("/"), 0, faultfs.Fault{})
	want := openOn(count)
	if err := script(want); err != nil {
		t.Fatal(err)
	}
	for nth := 1; nth <= count.Count(); nth++ {
		for i, fault := range faultfs.Faults {
			if !soaktest.Every() && (nth+i)%3 != 0 {
				continue
			}
			inner := crashfs.New("/")
			x := openOn(faultfs.New(inner, nth, fault))
			if err := script(x); err != nil {
				t.Fatalf("operation %d, %s: %v", nth, fault.Name, err)
			}
			if err := whole(x); err != nil {
				t.Fatalf("operation %d, %s: %v", nth, fault.Name, err)
			}
			if want, got := messages(want), messages(x); !maps.Equal(want, got) {
				t.Fatalf("operation %d, %s: %s", nth, fault.Name, difftest.Diff(want, got))
			}
			if err := usable(inner); err != nil {
				t.Fatalf("operation %d, %s, and then: %v", nth, fault.Name, err)
			}
		}
	}
}

// messages returns the number of messages of each log, without logs that share signatures.
func messages(x *index.Index) map[string]int {
	m := map[string]int{}
	for _, s := range x.Catalogue().Sources {
		for _, l := range s.Logs.All() {
			if s.Key == "together" {
				continue
			}
			m[s.Key+"/"+l.Name] = l.Summary.Messages
		}
	}
	return m
}

// TestGarbage: signatures that no longer count do not accumulate.
func TestGarbage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := index.Open(index.Options{Dir: dir})
	big := indextest.Log("big", 7)
	big.Chunks = []index.Chunk{{To: 1, Sig: bytes.Repeat([]byte("s"), 300_000)}}
	for range 40 {
		x.Put(index.Update{Source: "s", Put: []index.Log{big, indextest.Log("small", 3)}})
		if err := x.Commit(context.Background()); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "signatures-*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v: %v; want no error, len(files) == 1", files, err)
		}
		if info, err := os.Stat(files[0]); err != nil || info.Size() > 2_000_000 {
			t.Fatalf("%v: %v; want no error, info.Size() <= 2_000_000", info, err)
		}
	}
	if got := messages(index.Open(index.Options{Dir: dir})); len(got) != 2 {
		t.Error(got)
	}
}

// openings counts how often the catalogue is opened.
type openings struct {
	durable.FS
	n int
}

func (o *openings) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if filepath.Base(name) == "catalogue" {
		o.n++
	}
	return o.FS.Open(name, flag, perm)
}

// TestOwnCatalogue: a second commit does not read its own catalogue again, but does read that of another process.
func TestOwnCatalogue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fsys := &openings{FS: durable.OS{}}
	x := index.Open(index.Options{Dir: dir, FS: fsys})
	commit := func(x *index.Index, name string) {
		t.Helper()
		x.Put(index.Update{Source: "s", Put: []index.Log{indextest.Log(name, 3)}})
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	commit(x, "first")
	before := fsys.n
	commit(x, "second")
	commit(x, "third")
	if fsys.n != before {
		t.Errorf("its own catalogue was opened %d times", fsys.n-before)
	}
	commit(index.Open(index.Options{Dir: dir}), "another's")
	commit(x, "fourth")
	if got := messages(x); len(got) != 5 {
		t.Error("not all are there:", got)
	}
}

// TestUnusable: a folder that cannot be written causes one notice, and everything works in memory.
func TestUnusable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "file", "cache")
	if err := os.WriteFile(filepath.Dir(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	x := index.Open(index.Options{Dir: dir, Notice: func(text string) { said = append(said, text) }})
	if err := script(x); err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "cannot be saved") {
		t.Errorf("said: %q", said)
	}
	if len(messages(x)) != 4 {
		t.Error(messages(x))
	}
}

// TestFolderInTheWay: a folder at the catalogue's path is moved, whatever is in it, with one notice.
func TestFolderInTheWay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		make  []string // in the folder of the index
		left  string   // what remains afterwards
		said  string
		keeps bool
	}{
		{"empty", []string{"catalogue/"}, "", "is rebuilt", true},
		{"full", []string{"catalogue/mine"}, "catalogue.aside-1/mine", "catalogue.aside-1 now", true},
		{"full again", []string{"catalogue/mine", "catalogue.aside-1/old"}, "catalogue.aside-2/mine", "is rebuilt", true},
		{"the lock", []string{"lock/"}, "lock", "cannot be saved", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range tt.make {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(name, "/") {
					if err := os.MkdirAll(path, 0o700); err != nil {
						t.Fatal(err)
					}
				} else if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var said []string
			open := func() *index.Index {
				return index.Open(index.Options{Dir: dir, Notice: func(text string) { said = append(said, text) }})
			}
			x := open()
			if err := script(x); err != nil {
				t.Fatal(err)
			}
			if len(messages(x)) != 4 {
				t.Error("known now:", messages(x))
			}
			if len(said) != 1 || !strings.Contains(said[0], tt.said) {
				t.Errorf("said: %q", said)
			}
			if _, err := os.Stat(filepath.Join(dir, tt.left)); err != nil {
				t.Error(err)
			}
			want := 0
			if tt.keeps {
				want = 4
			}
			if got := messages(open()); len(got) != want {
				t.Error("known later:", got)
			}
			if len(said) != 1 {
				t.Errorf("said: %q", said)
			}
		})
	}
}

// TestTogether: several processes at once lose no updates.
func TestTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	const workers, rounds = 4, 25
	for w := range workers {
		wg.Go(func() {
			x := index.Open(index.Options{Dir: dir, LockWait: time.Minute, Notice: func(text string) { t.Error(text) }})
			for n := range rounds {
				x.Put(index.Update{Source: fmt.Sprint("s", w%2), Put: []index.Log{indextest.Log(fmt.Sprintf("w%d-%d", w, n), n)}})
				if err := x.Commit(context.Background()); err != nil {
					t.Error(err)
				}
				if err := whole(x); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	x := index.Open(index.Options{Dir: dir})
	if err := whole(x); err != nil {
		t.Error(err)
	}
	if got := len(messages(x)); got != workers*rounds {
		t.Errorf("%d logs are known, not %d", got, workers*rounds)
	}
}

// TestContinueMoved: a log that continues signatures that a commit has moved meanwhile loses them.
func TestContinueMoved(t *testing.T) {
	t.Parallel()
	x := index.Open(index.Options{Dir: t.TempDir(), Notice: func(text string) { t.Error(text) }})
	x.Put(index.Update{Source: "s", Put: []index.Log{indextest.Log("a", 2), indextest.Log("b", 5)}})
	known, _ := x.Catalogue().Log("s", "b")
	if err := x.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := indextest.Log("b", 3)
	next.Continue(known, 2)
	x.Put(index.Update{Source: "s", Put: []index.Log{next}})
	for range 2 {
		l, ok := x.Catalogue().Log("s", "b")
		if !ok || l.Summary.Messages != 3 {
			t.Fatalf("what was put is not known: %v %+v", ok, l)
		}
		if !l.Stamp.Racy || l.Resume().From != 0 {
			t.Error("it would not be read again")
		}
		at, _ := x.Catalogue().PlaceOf("s", "b")
		if unknown := x.EachChunk([]index.Place{at}, func(int, *index.Kept) {}); len(unknown) != 1 {
			t.Error("its signatures are not lost")
		}
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMain(m *testing.M) { killtest.Main(m, child) }

// child works on an index until it is killed; its arguments are "dir seed".
func child(args string) error {
	var dir string
	var seed uint64
	if _, err := fmt.Sscan(args, &dir, &seed); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	x := index.Open(index.Options{Dir: dir, LockWait: time.Minute, Whole: 1})
	for {
		u := index.Update{Source: fmt.Sprint("s", r.IntN(3))}
		for range 1 + r.IntN(5) {
			u.Put = append(u.Put, indextest.Log(fmt.Sprint("log", r.IntN(50)), r.IntN(2000)))
		}
		x.Put(u)
		if err := x.Commit(context.Background()); err != nil {
			return err
		}
		fmt.Println("committed")
	}
}

// TestKill: two processes that use one index are killed repeatedly. What remains is never mixed up.
func TestKill(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), soaktest.Begin(t)
	for round := range c.Rounds(6, 6) {
		var children []*exec.Cmd
		for k := range 2 {
			cmd := killtest.Command(dir, c.Seed(uint64(2*round+k)))
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			children = append(children, cmd)
			lines := bufio.NewScanner(out)
			for range 1 + (round+k)%5 {
				if !lines.Scan() {
					t.Fatal("it ended by itself")
				}
			}
		}
		for _, cmd := range children {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
		}
		c.Unreadable(dir, whole(index.Open(index.Options{Dir: dir, Notice: func(text string) { t.Error(text) }})))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	x := index.Open(index.Options{Dir: dir})
	x.Put(index.Update{Source: "s", Put: []index.Log{indextest.Log("last", 1)}})
	if err := x.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, durable.TempPrefix+"0")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left over in %v is still there: %v", entries, err)
	}
}

// meddling is a file system that calls a function just before a file is opened for the first time.
type meddling struct {
	durable.FS
	name string
	do   func()
}

func (m *meddling) Open(path string, flag int, mode fs.FileMode) (durable.File, error) {
	if do := m.do; do != nil && filepath.Base(path) == m.name {
		m.do = nil
		do()
	}
	return m.FS.Open(path, flag, mode)
}

// TestReplacedWhileReading: signatures that another process moves between the reading of the two files are not damage.
func TestReplacedWhileReading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(garbage int64, messages int) {
		x := index.Open(index.Options{Dir: dir, Garbage: garbage, Notice: func(text string) { t.Error(text) }})
		x.Put(index.Update{Source: "s", Put: []index.Log{indextest.Log("a", messages)}})
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	put(0, 2)
	fsys := &meddling{FS: durable.OS{}, name: "signatures-0", do: func() {
		put(1, 3)
		put(1, 4)
	}}
	x := index.Open(index.Options{Dir: dir, FS: fsys, Notice: func(text string) { t.Error(text) }})
	if got := messages(x)["s/a"]; got != 4 || fsys.do != nil {
		t.Errorf("%d messages, and files that were replaced: %v", got, fsys.do == nil)
	}
	if err := whole(x); err != nil {
		t.Error(err)
	}
}
