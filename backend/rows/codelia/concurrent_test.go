package codelia

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/faultfs"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
)

// TestMain is also the child of the tests with several processes.
func TestMain(m *testing.M) { killtest.Main(m, child) }

// writer returns what one of several writers saves: row and messages name the writer.
func writer(id string, by, round int) state {
	seq := int64(by*1000 + round)
	var texts []string
	for range 3 + by {
		texts = append(texts, fmt.Sprintf("writer %d round %d", by, round))
	}
	return state{id: id, run: fmt.Sprintf("run-%d-%d", by, round), seq: &seq, messages: messages(texts...)}
}

// whole returns what is wrong with a state that one writer must have saved.
func whole(s state) error {
	if s.seq == nil {
		return errors.New("no seq")
	}
	by, round := int(*s.seq/1000), int(*s.seq%1000)
	want := writer(s.id, by, round)
	want.updated = s.updated
	if !same(s, want) {
		return fmt.Errorf("row of writer %d round %d, but %d messages, the first %s", by, round, len(s.messages), s.messages[0])
	}
	return nil
}

// child runs in a child process; args are "dir form id by rounds exit". It saves a session again and again, or until it is cut off in the
// middle of a save.
func child(args string) error {
	var (
		dir, name, id    string
		by, rounds, exit int
	)
	if _, err := fmt.Sscan(args, &dir, &name, &id, &by, &rounds, &exit); err != nil {
		return err
	}
	opt := options{}
	if exit > 0 {
		opt.FS = &exitFS{FS: durable.OS{}, at: exit}
	}
	c := form(name, dir, opt)
	for round := range rounds {
		if err := overwrite(context.Background(), c, writer(id, by, round)); err != nil {
			return err
		}
	}
	return nil
}

// Processes save at once, each its own session and several the same one. No save fails, no messages lack a row, no row has
// the messages of another save, and a concurrent reader sees the same.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for _, name := range forms {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := form(name, dir, options{Clock: clock})
			const rounds, shared = 5, "shared"
			var wg sync.WaitGroup
			run := func(id string, by int) {
				wg.Go(func() {
					if out, err := killtest.Command(dir, name, id, by, rounds, 0).CombinedOutput(); err != nil {
						t.Errorf("%s: %v: %s", id, err, out)
					}
				})
			}
			for by := range 6 {
				run(fmt.Sprint("own-", by), by)
			}
			for by := range 4 {
				run(shared, by)
			}
			done := make(chan struct{})
			go func() { wg.Wait(); close(done) }()
			for looking := true; looking; {
				select {
				case <-done:
					looking = false
				default:
				}
				s, err := c.load(t.Context(), shared)
				if err == nil && len(s.messages) > 0 {
					err = whole(s)
				}
				if err != nil && !isNotExist(err) {
					t.Errorf("while they save: %v", err)
				}
			}
			list := mustList(t, c)
			if len(list) != 7 {
				t.Fatal(list)
			}
			for _, id := range list {
				s := mustLoad(t, c, id)
				if err := whole(s); err != nil || *s.seq%1000 != rounds-1 {
					t.Errorf("%s: %v, seq %d", id, err, *s.seq)
				}
			}
			noOrphans(t, dir)
		})
	}
}

// noOrphans fails the test unless every file of messages has a row, and there are no other files.
func noOrphans(t *testing.T, dir string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "messages", "*"))
	rows := map[string]bool{}
	if len(files) > 0 {
		found, err := openDB(t, dir).Query(`SELECT session_id FROM session_state`)
		if err != nil {
			t.Fatal(err)
		}
		defer found.Close()
		for found.Next() {
			var id string
			if err := found.Scan(&id); err != nil {
				t.Fatal(err)
			}
			rows[id] = true
		}
	}
	for _, f := range files {
		if id := strings.TrimSuffix(filepath.Base(f), ".jsonl"); !rows[id] {
			t.Errorf("%s has no row", f)
		}
	}
}

// exitFS ends the process before the nth operation.
type exitFS struct {
	durable.FS
	at, n int
}

func (f *exitFS) step() {
	if f.n++; f.n == f.at {
		os.Exit(7)
	}
}

func (f *exitFS) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f.step()
	return f.FS.Open(name, flag, perm)
}
func (f *exitFS) Stat(name string) (durable.Info, error)    { f.step(); return f.FS.Stat(name) }
func (f *exitFS) Mkdir(name string, perm fs.FileMode) error { f.step(); return f.FS.Mkdir(name, perm) }
func (f *exitFS) Rename(from, to string) error              { f.step(); return f.FS.Rename(from, to) }
func (f *exitFS) Link(from, to string) error                { f.step(); return f.FS.Link(from, to) }
func (f *exitFS) Remove(name string) error                  { f.step(); return f.FS.Remove(name) }
func (f *exitFS) SyncDir(name string) error                 { f.step(); return f.FS.SyncDir(name) }

// A process is cut off at every step of a first save and of a second one: the agent finds what was acknowledged before, and
// no messages are left without a row.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for _, name := range forms {
		for _, before := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/before=%v", name, before), func(t *testing.T) {
				t.Parallel()
				cutOff(t, name, before)
			})
		}
	}
}

func cutOff(t *testing.T, name string, before bool) {
	for at, ended := 1, false; !ended; at++ {
		dir := t.TempDir()
		c := later(dir, name)
		if before {
			mustSave(t, c, writer(one, 1, 0))
		}
		err := killtest.Command(dir, name, one, 2, 1, at).Run()
		var exit *exec.ExitError
		if ended = err == nil; !ended && (!errors.As(err, &exit) || exit.ExitCode() != 7) {
			t.Fatal(err)
		}
		s, err := c.load(t.Context(), one)
		switch {
		case isNotExist(err) && !before:
		case err != nil:
			t.Errorf("%s cut off at %d: %v", name, at, err)
		case len(s.messages) == 0 && !before: // found, and empty
		default:
			if n := len(s.messages); n != 5 && (!before || n != 4) {
				t.Errorf("%s cut off at %d: %d messages", name, at, n)
			}
		}
		for _, path := range glob(dir, "messages", durable.TempPrefix+"*") {
			os.Remove(path) // a crash may leave them; they are not sessions
		}
		noOrphans(t, dir)
		mustSave(t, c, writer(one, 3, 0)) // later saves work
		if err := whole(mustLoad(t, c, one)); err != nil {
			t.Errorf("%s after being cut off at %d: %v", name, at, err)
		}
	}
}

// later reads when everything has settled: what a save left is then used as it is, without waiting for the rest.
func later(dir, name string) tested {
	return form(name, dir, options{Clock: func() time.Time { return noon.AddDate(100, 0, 0) }})
}

func glob(elements ...string) []string {
	list, _ := filepath.Glob(filepath.Join(elements...))
	return list
}

// Every operation fails once: there is an error or the new state, and nothing else.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, name := range forms {
		for _, fault := range []faultfs.Fault{faultfs.Faults[1], faultfs.Faults[4]} {
			for n := 1; ; n++ {
				dir := t.TempDir()
				good := later(dir, name)
				mustSave(t, good, writer(one, 1, 0))
				fsys := faultfs.New(durable.OS{}, n, fault)
				c := form(name, dir, options{FS: fsys})
				next := writer(one, 2, 0)
				next.version = mustLoad(t, good, one).version
				oldErr := c.save(t.Context(), next)
				newErr := c.save(t.Context(), writer(two, 2, 0))
				if fsys.Count() < n {
					break
				}
				if s := mustLoad(t, good, one); len(s.messages) != 5 && (oldErr == nil || len(s.messages) != 4) {
					t.Errorf("%s, %s at %d: %d messages; Save said %v", name, fault.Name, n, len(s.messages), oldErr)
				}
				s, err := good.load(t.Context(), two)
				if newErr == nil && (err != nil || len(s.messages) != 5) || newErr != nil && err != nil && !isNotExist(err) {
					t.Errorf("%s, %s at %d: %d messages, %v; Save said %v", name, fault.Name, n, len(s.messages), err, newErr)
				}
				for _, path := range glob(dir, "messages", durable.TempPrefix+"*") {
					os.Remove(path)
				}
				noOrphans(t, dir)
			}
		}
	}
}

// Goroutines save, read and remove through one database: none waits for another that waits for it.
func TestReadersBesideSaves(t *testing.T) {
	t.Parallel()
	d := newDatabase(t.TempDir(), options{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var wg sync.WaitGroup
		for by := range 4 {
			wg.Go(func() {
				id := fmt.Sprintf("s%d", by)
				for round := range 10 {
					if err := overwrite(t.Context(), d, writer(id, by, round)); err != nil {
						t.Error(err)
					}
					s, err := d.Load(t.Context(), id)
					if err == nil && round%5 == 4 {
						err = d.Remove(t.Context(), id, s.Version)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("saves and reads wait for each other")
	}
}
