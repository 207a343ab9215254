package watch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/watch"
)

// meddler is a folder in which something happens at a chosen moment.
type meddler struct {
	*file.Backend
	listed func()                               // called after a list
	looked func(backend.Log)                    // called after a Stat of a log
	read   func()                               // called before a log is read
	watch  func(told func(string, error)) error // replaces the system's hints
}

func (m *meddler) List(ctx context.Context, prefix string) iter.Seq2[backend.Log, error] {
	return func(yield func(backend.Log, error) bool) {
		for log, err := range m.Backend.List(ctx, prefix) {
			if !yield(log, err) {
				return
			}
		}
		if m.listed != nil {
			m.listed()
		}
	}
}

func (m *meddler) Stat(ctx context.Context, name string) (backend.Log, error) {
	log, err := m.Backend.Stat(ctx, name)
	if m.looked != nil && err == nil {
		m.looked(log)
	}
	return log, err
}

func (m *meddler) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	if m.read != nil {
		m.read()
	}
	return m.Backend.Read(ctx, at, offset)
}

func (m *meddler) Watch(told func(string, error)) (io.Closer, error) {
	if m.watch != nil {
		return io.NopCloser(nil), m.watch(told)
	}
	return m.Backend.Watch(told)
}

// meddled returns a home whose only folder of sessions is wrapped in a meddler.
func meddled(t *testing.T, change func(h *home, m *meddler)) *home {
	var h *home
	open := func(dir string, _ backend.OpenOptions) (backend.Backend, error) {
		b, err := file.New(dir, file.Options{ReadOnly: true})
		if dir != h.At(".omp/agent/sessions") {
			return b, err
		}
		m := &meddler{Backend: b}
		change(h, m)
		return m, err
	}
	h = newHome(t, func(w *world.World) { w.Drivers = []backend.Driver{{Open: open}} })
	return h
}

// What is written between the list and the first look, and while logs are read for the first time, is reported.
func TestMissesNothingAtStart(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := meddled(t, func(h *home, m *meddler) {
			m.listed = func() {
				m.listed = nil
				h.add(garden+"a.jsonl", messageLine("a2"))
				h.Old(garden+"b.jsonl", sessionLine("b")+messageLine("b1"))
				m.read = func() {
					m.read = nil
					h.add(garden+"a.jsonl", messageLine("a3"))
				}
			}
		})
		h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1"))
		v := start(h, watch.Options{})
		v.want("start 1", "a a2", "a a3", "b session", "b b1")
		v.again("a4")
	})
}

// A file is rewritten in place and checked while it is empty; the clock of the file system does not move meanwhile. Its new content is
// reported; so is what is appended before it is moved away.
func TestRewrittenInSight(t *testing.T) {
	t.Parallel()
	emptied := false // used by the goroutine of the watch
	h := meddled(t, func(h *home, m *meddler) {
		m.looked = func(log backend.Log) {
			if log.Size == 0 {
				m.looked, emptied = nil, true
				h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1")+messageLine("a3"))
				h.Must(os.Chtimes(h.At(garden+"a.jsonl"), log.Time, log.Time))
			}
		}
	})
	h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1"))
	over := make(chan struct{})
	waits := func(time.Duration) <-chan time.Time {
		if emptied { // the look that found it empty is over
			emptied = false
			<-over
		}
		return nil
	}
	v := view(h, watch.Options{After: waits}, true)
	v.want("start 1")
	v.again("a2")
	h.Must(os.Truncate(h.At(garden+"a.jsonl"), 0))
	v.want("a a3", "a truncated")
	over <- struct{}{}
	h.add(garden+"a.jsonl", messageLine("a4"))
	h.Must(os.Rename(h.At(garden+"a.jsonl"), h.At(garden+"a.old")))
	h.Old(garden+"a.jsonl", sessionLine("b")+messageLine("b1"))
	v.want("a session", "a a4", "a session", "a b1")
}

// If the system cannot watch, or cannot watch everything, that is reported once, and the logs are checked each time.
func TestWithoutTheSystem(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(func(string, error)) error{
		"refused": func(func(string, error)) error { return syscall.EMFILE },
		"full":    func(told func(string, error)) error { told("", syscall.EMFILE); told("", syscall.EMFILE); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			h := meddled(t, func(_ *home, m *meddler) { m.watch = begin })
			h.Old(garden+"a.jsonl", sessionLine("a"))
			v := viewLooking(h, watch.Options{}, true)
			v.want("start 1")
			if c := v.next(); c.Kind != watch.KindProblem || !errors.Is(c.Err, syscall.EMFILE) {
				t.Fatalf("told %s", describe(c))
			}
			v.again("a1")
			v.again("a2")
		})
	}
}

// Sessions in a folder that cannot be read are not gone.
func TestUnreadableFolder(t *testing.T) {
	t.Parallel()
	guard := &guardedFS{FS: durable.OS{}}
	h := newHome(t, func(w *world.World) {
		guard.dir = filepath.Clean(w.At(garden))
		w.FS = guard
	})
	h.Old(garden+"a.jsonl", sessionLine("a"))
	v := view(h, watch.Options{}, true)
	v.want("start 1")
	guard.shut.Store(true)
	c := v.next()
	if c.Kind != watch.KindProblem || !errors.Is(c.Err, fs.ErrPermission) {
		t.Fatalf("told %s", describe(c))
	}
	guard.shut.Store(false)
	h.add(garden+"a.jsonl", messageLine("a1"))
	for c.Kind == watch.KindProblem { // the same look may report the folder and what is in it
		c = v.next()
	}
	if got := describe(c); got != "a a1" {
		t.Errorf("told %s", got)
	}
}

// guardedFS is a file system with a folder that can be made unreadable, as chmod does for all users but root.
type guardedFS struct {
	durable.FS
	dir  string
	shut atomic.Bool
}

func (g *guardedFS) check(op, name string) error {
	if rel, err := filepath.Rel(g.dir, name); g.shut.Load() && err == nil && filepath.IsLocal(rel) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission}
	}
	return nil
}

func (g *guardedFS) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if err := g.check("open", name); err != nil {
		return nil, err
	}
	return g.FS.Open(name, flag, perm)
}

func (g *guardedFS) Stat(name string) (durable.Info, error) {
	if err := g.check("stat", name); err != nil && name != g.dir { // the folder itself can still be checked
		return durable.Info{}, err
	}
	return g.FS.Stat(name)
}

func (g *guardedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := g.check("open", name); err != nil {
		return nil, err
	}
	return g.FS.ReadDir(name)
}

// Logs that are not files, at a URL.
func TestMemory(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		logs := memory.New()
		h := newHome(t, func(w *world.World) {
			w.Roots = []string{"logs://here"}
			w.Drivers = []backend.Driver{{Scheme: "logs", Open: func(string, backend.OpenOptions) (backend.Backend, error) {
				return logs.Reopen(), nil
			}}}
		})
		line := func(s string) []byte { return []byte(s[:len(s)-1]) }
		at, err := logs.Create(t.Context(), "a.jsonl", line(sessionLine("a")), line(messageLine("a1")))
		h.Must(err)
		v := start(h, watch.Options{})
		v.want("start 1")
		at, err = logs.Append(t.Context(), at, line(messageLine("a2")))
		h.Must(err)
		v.want("a a2")
		at, err = logs.Replace(t.Context(), at, line(sessionLine("a")), line(messageLine("a2")), line(messageLine("a3")))
		h.Must(err)
		v.want("a replaced", "a a3")
		h.Must(logs.Remove(t.Context(), at))
		v.want("a removed")
		logs.Put("b.jsonl", []byte(sessionLine("b")+messageLine("b1")))
		v.want("b session", "b b1")
	})
}

// However a watch ends, all its goroutines end although the backends stay open. The test runs alone: it checks all goroutines.
func TestEnds(t *testing.T) {
	h := newHome(t)
	h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1"))
	for n := range 4 { // changes before the loop ends; 0 cancels the context first
		ctx, cancel := context.WithCancel(t.Context())
		if n == 0 {
			cancel()
		}
		for _, err := range watch.Watch(ctx, h.m, watch.Options{Last: watch.AllEntries}) {
			h.Must(err)
			if n--; n == 0 {
				break
			}
		}
		cancel()
		noneLeft(t)
	}
}

// A source that gives hints is checked once a minute, others at each interval.
func TestInterval(t *testing.T) {
	t.Parallel()
	minute := 30 // intervals
	for _, tc := range []struct {
		name  string
		opt   watch.Options
		begin func(told func(string, error)) error
		empty bool
		want  int32 // number of lists in a minute
	}{
		{name: "hints", want: 1},
		{name: "no hints", opt: watch.Options{NoHints: true}, want: 30},
		{name: "an interval that was asked for", opt: watch.Options{Interval: 2 * time.Second}, want: 30},
		{name: "unsupported", begin: func(func(string, error)) error { return errors.ErrUnsupported }, want: 30},
		{name: "no folder yet", empty: true, want: 30},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var lists atomic.Int32
			h := meddled(t, func(_ *home, m *meddler) {
				m.watch, m.listed = tc.begin, func() { lists.Add(1) }
			})
			if !tc.empty {
				h.Old(garden+"a.jsonl", sessionLine("a"))
			}
			pauses := make(chan time.Duration, 2*minute)
			tc.opt.After = func(d time.Duration) <-chan time.Time { pauses <- d; return nil }
			tc.opt.Clock = h.Now
			v := viewLooking(h, tc.opt, true)
			v.next()
			if d := <-pauses; d != 2*time.Second {
				t.Errorf("the first look is after %v", d)
			}
			before := lists.Load()
			for range minute {
				v.tick <- time.Time{}
				<-pauses // the look is over
			}
			if n := lists.Load() - before; n != tc.want {
				t.Errorf("%d lists, want %d", n, tc.want)
			}
		})
	}
}

// A backend whose hints failed is asked for hints again after a minute, instead of being checked at each interval for ever.
func TestHintsAgain(t *testing.T) {
	t.Parallel()
	const minute = 30 // intervals
	var lists atomic.Int32
	begun := 0
	h := meddled(t, func(_ *home, m *meddler) {
		m.listed = func() { lists.Add(1) }
		m.watch = func(told func(string, error)) error {
			if begun++; begun == 1 {
				told("no log", syscall.EMFILE)
			}
			return nil
		}
	})
	h.Old(garden+"a.jsonl", sessionLine("a"))
	pauses := make(chan time.Duration, 3*minute)
	v := viewLooking(h, watch.Options{Clock: h.Now, After: func(d time.Duration) <-chan time.Time { pauses <- d; return nil }}, true)
	v.want("start 1")
	if c := <-v.changes; c.Kind != watch.KindProblem {
		t.Fatalf("told %s", describe(c))
	}
	<-pauses
	for _, want := range []int32{minute, 1, 1} {
		before := lists.Load()
		for range minute {
			v.tick <- time.Time{}
			<-pauses
		}
		if n := lists.Load() - before; n != want {
			t.Errorf("%d lists in a minute, want %d", n, want)
		}
	}
	if begun != 2 {
		t.Errorf("the backend was asked %d times for hints", begun)
	}
}

// A watch ends when its machine is closed.
func TestMachineClosed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.Old(garden+"a.jsonl", sessionLine("a"))
	v := view(h, watch.Options{}, true)
	v.want("start 1")
	h.Must(h.m.Close())
	v.tick <- time.Time{}
	<-v.ended
	if !errors.Is(v.err, backend.ErrClosed) {
		t.Errorf("error %v", v.err)
	}
}

// A session was not read at the start, because too many are newer, and is then replaced at once.
func TestReplacedUnread(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		h.Old(garden+"old.jsonl", sessionLine("old")+messageLine("o1"))
		for i := range 70 {
			h.Old(fmt.Sprintf("%sn%02d.jsonl", garden, i), sessionLine(fmt.Sprint("n", i)))
		}
		now := time.Date(2026, 2, 16, 10, 30, 0, 0, time.UTC)
		v := start(h, watch.Options{Clock: func() time.Time { return now }})
		v.want("start 71")
		late := `{"type":"message","id":"o2","parentId":"o1","timestamp":"2026-02-16T10:30:01.000Z","message":{"role":"user","content":"later"}}` + "\n"
		h.swap(garden+"old.jsonl", sessionLine("old")+messageLine("o1")+late)
		v.want("old replaced", "old o2")
		h.swap(garden+"old.jsonl", sessionLine("old")+messageLine("o1")+late+messageLine("o3"))
		v.want("old replaced", "old o3")
	})
}

// A log that was read at the caller's request is known: if another log replaces it, everything new is reported, whatever its time.
func TestReadBeforeItChanges(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		h.Old(garden+"old.jsonl", sessionLine("old")+messageLine("o1"))
		for i := range 70 {
			h.Old(fmt.Sprintf("%sn%02d.jsonl", garden, i), sessionLine(fmt.Sprint("n", i)))
		}
		read := make(chan string)
		now := time.Date(2027, 2, 16, 10, 30, 0, 0, time.UTC)
		v := start(h, watch.Options{Read: read, Clock: func() time.Time { return now }})
		v.want("start 71")
		for _, name := range []string{"old", "none"} { // the first is read once the second is taken
			select {
			case read <- h.At(garden + name + ".jsonl"):
			case c := <-v.changes:
				t.Fatalf("told %q", describe(c))
			}
		}
		h.swap(garden+"old.jsonl", sessionLine("old")+messageLine("o1")+messageLine("o2"))
		v.want("old replaced", "old o2")
	})
}
