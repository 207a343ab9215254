package watch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/watch"
)

// tally counts what was reported, and lets writers wait for it.
type tally struct {
	mu    sync.Mutex
	times map[string]int
	wait  map[string]chan struct{}
}

func (c *tally) told(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.times[id]++; c.times[id] == 1 {
		close(c.channel(id))
	}
}

func (c *tally) channel(id string) chan struct{} {
	if c.wait[id] == nil {
		c.wait[id] = make(chan struct{})
	}
	return c.wait[id]
}

// seen returns a channel that is closed when the entry was reported.
func (c *tally) seen(id string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.channel(id)
}

// missing returns the entries that were not reported yet.
func (c *tally) missing() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.wait {
		if c.times[id] == 0 {
			list = append(list, id)
		}
	}
	return list
}

// scribe is a program that writes a log in all possible ways.
type scribe struct {
	h      *home
	name   string
	rnd    *rand.Rand
	tally  *tally
	log    []string // the lines of the log as it is meant to be
	wrote  []string // all entries
	number int
}

func (s *scribe) path() string { return s.h.At(s.name) }

func (s *scribe) entry() string {
	s.number++
	id := fmt.Sprintf("%s-%d", filepath.Base(s.name), s.number)
	s.wrote = append(s.wrote, id)
	return messageLine(id)
}

func (s *scribe) last() string { return s.wrote[len(s.wrote)-1] }

// open begins a log with a new header.
func (s *scribe) open() {
	s.log = []string{sessionLine(fmt.Sprintf("%s-%d", filepath.Base(s.name), s.number)), s.entry()}
	s.put(s.path())
}

func (s *scribe) put(path string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.h.Error(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(s.log, "")), 0o600); err != nil {
		s.h.Error(err)
	}
}

// append writes lines in one piece or in two.
func (s *scribe) append(n int) {
	text := ""
	for range n {
		s.log = append(s.log, s.entry())
		text += s.log[len(s.log)-1]
	}
	f, err := os.OpenFile(s.path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		s.h.Error(err)
		return
	}
	defer f.Close()
	cut := s.rnd.IntN(len(text))
	for _, piece := range []string{text[:cut], text[cut:]} {
		if _, err := f.WriteString(piece); err != nil {
			s.h.Error(err)
		}
	}
}

// step changes the log. It removes bytes only after they were reported: a file that comes and goes between two looks cannot be read.
func (s *scribe) step() {
	switch s.rnd.IntN(12) {
	case 0: // another file with the same entries and more
		s.log = append(s.log, s.entry())
		s.put(s.path() + ".new")
		if err := os.Rename(s.path()+".new", s.path()); err != nil {
			s.h.Error(err)
		}
	case 1: // the same file, rewritten
		s.log = append(s.log, s.entry())
		s.put(s.path())
	case 2: // the last entry is cut off
		<-s.tally.seen(s.last())
		if len(s.log) > 2 {
			s.log = s.log[:len(s.log)-1]
			if err := os.Truncate(s.path(), int64(len(strings.Join(s.log, "")))); err != nil {
				s.h.Error(err)
			}
		}
	case 3: // moved away right after an append; a new log begins
		<-s.tally.seen(s.last())
		s.append(2)
		if err := os.Rename(s.path(), s.path()+".old"); err != nil {
			s.h.Error(err)
		}
		s.open()
	case 4: // removed, and brought back
		<-s.tally.seen(s.last())
		if err := os.Remove(s.path()); err != nil {
			s.h.Error(err)
		}
		s.log = append(s.log, s.entry())
		s.put(s.path())
	default:
		s.append(1 + s.rnd.IntN(3))
	}
}

// Writers change logs in all ways at once: every entry is reported exactly once.
func TestStress(t *testing.T) {
	steps := 80
	if testing.Short() {
		steps = 40
	}
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		count := &tally{times: map[string]int{}, wait: map[string]chan struct{}{}}
		var scribes []*scribe
		for i := range 5 {
			s := &scribe{h: h, name: fmt.Sprintf(".omp/agent/sessions/-folder%d/s%d.jsonl", i%3, i), tally: count, rnd: rand.New(rand.NewPCG(uint64(i), 7))}
			scribes = append(scribes, s)
		}
		scribes[0].open()
		count.told(scribes[0].last()) // the entry exists before the start
		v := start(h, watch.Options{})
		v.want("start 1")
		var writing sync.WaitGroup
		for i, s := range scribes {
			writing.Go(func() {
				if i > 0 {
					s.open()
				}
				for range steps {
					s.step()
				}
			})
		}
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			writing.Wait()
			for _, s := range scribes {
				for _, id := range s.wrote {
					<-count.seen(id)
				}
			}
		}()
		late := time.After(time.Minute) // ends a test that would hang; nothing is measured
		for ended := false; !ended; {
			select {
			case <-late:
				t.Fatalf("not told: %v", count.missing())
			case <-finished:
				ended = true
			case c := <-v.changes:
				v.tell(count, c)
			case v.tick <- time.Time{}:
			}
		}
		for _, s := range scribes {
			for _, id := range s.wrote {
				if n := count.times[id]; n != 1 {
					t.Errorf("%s was told %d times", id, n)
				}
			}
		}
	})
}

func (v *viewer) tell(count *tally, c watch.Change) {
	switch c.Kind {
	case watch.KindEntry:
		count.told(string(c.Entry.ID))
	case watch.KindProblem:
		v.Errorf("told %s", describe(c))
	}
}

// noneLeft fails the test if a goroutine of a watch still runs after its end.
func noneLeft(t *testing.T) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	for range 1000 { // the last ones may be about to return
		text := string(stacks[:runtime.Stack(stacks, true)])
		if !strings.Contains(text, "fsnotify") && !strings.Contains(text, "file.(*system)") && !strings.Contains(text, "(*watcher)") {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("goroutines are left:\n%s", stacks[:runtime.Stack(stacks, true)])
}

func TestMain(m *testing.M) { killtest.Main(m, childWriter) }

// childWriter runs in a child process; args are "number path". It appends messages to the log until it is killed, and prints the id of each
// message that was written.
func childWriter(args string) error {
	var number int
	var path string
	if _, err := fmt.Sscan(args, &number, &path); err != nil {
		return err
	}
	b, err := file.New(filepath.Dir(path), file.Options{Durability: backend.DurabilityNone, TornWait: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	record := func(line string) []byte { return []byte(strings.TrimSuffix(line, "\n")) }
	ctx, name := context.Background(), filepath.Base(path)
	if _, err := b.Create(ctx, name, record(sessionLine("k"))); err != nil && !errors.Is(err, backend.ErrExist) {
		return err
	}
	for i := 0; ; {
		at, err := b.Stat(ctx, name)
		if err != nil {
			return err
		}
		id := fmt.Sprintf("k%d-%d", number, i)
		_, err = b.Append(ctx, at, record(messageLine(id)))
		switch {
		case errors.Is(err, backend.ErrConflict):
			continue
		case err != nil:
			return err
		}
		fmt.Println(id)
		i++
	}
}

// Writers are killed while they write, and others continue. Every entry of the log is reported once.
func TestKilledWriters(t *testing.T) {
	t.Parallel()
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	h := newHome(t)
	path := h.At(".omp/agent/sessions/-kill/k.jsonl")
	h.Must(os.MkdirAll(filepath.Dir(path), 0o700))
	v := view(h, watch.Options{}, false)
	v.want("start 0")
	times := map[session.EntryID]int{}
	take := func(c watch.Change) {
		if c.Kind == watch.KindEntry {
			times[c.Entry.ID]++
		}
	}
	for round := range rounds {
		// Two at once, so that they also conflict.
		var children []*exec.Cmd
		lines := make(chan string)
		for i := range 2 {
			cmd := killtest.Command(2*round+i, path)
			out, err := cmd.StdoutPipe()
			h.Must(err)
			h.Must(cmd.Start())
			children = append(children, cmd)
			go func() {
				for s := bufio.NewScanner(out); s.Scan(); {
					lines <- s.Text()
				}
				lines <- ""
			}()
		}
		for acknowledged, ends := 0, 0; ends < 2; {
			select {
			case c := <-v.changes:
				take(c)
			case line := <-lines:
				if line == "" {
					ends++
				} else if acknowledged++; acknowledged == 40+round {
					for _, c := range children {
						_ = c.Process.Kill() // it may have ended by itself
					}
				}
			}
		}
		for _, c := range children {
			_ = c.Wait() // it was killed
		}
	}
	l, err := h.m.Locate(path)
	h.Must(err)
	log, err := h.m.OpenLog(t.Context(), l, nil)
	h.Must(err)
	defer log.Close()
	for e := range log.Tree.Entries() {
		for times[e.ID] == 0 {
			take(v.next())
		}
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("%s was told %d times", id, n)
		}
	}
}
