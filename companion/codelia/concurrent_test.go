package codelia_test

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

	"github.com/treeline-dev/treeline/companion/codelia"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/faultfs"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// TestMain is also the child of the tests with several processes.
func TestMain(m *testing.M) { killtest.Main(m, child) }

// writer is what one of several writers saves: row and messages tell who it was.
func writer(id session.ID, who, round int) store.State {
	seq := int64(who*1000 + round)
	var texts []string
	for range 3 + who {
		texts = append(texts, fmt.Sprintf("writer %d round %d", who, round))
	}
	return store.State{ID: id, RunID: fmt.Sprintf("run-%d-%d", who, round), InvokeSeq: &seq, Messages: messages(texts...)}
}

// whole says what is wrong with a state that one writer must have saved.
func whole(s store.State) error {
	if s.InvokeSeq == nil {
		return errors.New("no seq")
	}
	who, round := int(*s.InvokeSeq/1000), int(*s.InvokeSeq%1000)
	want := writer(s.ID, who, round)
	want.UpdatedAt = s.UpdatedAt
	if !same(s, want) {
		return fmt.Errorf("row of writer %d round %d, but %d messages, the first %s", who, round, len(s.Messages), s.Messages[0])
	}
	return nil
}

// child is "dir form id who rounds exit". It saves a session again and again, or until it is cut off in the middle of a save.
func child(args string) error {
	var (
		dir, form         string
		id                session.ID
		who, rounds, exit int
	)
	if _, err := fmt.Sscan(args, &dir, &form, &id, &who, &rounds, &exit); err != nil {
		return err
	}
	opt := codelia.Options{}
	if exit > 0 {
		opt.FS = &exitFS{FS: durable.OS{}, at: exit}
	}
	var c store.Companion = codelia.New(dir, opt)
	if form == "document" {
		c = codelia.NewDocument(dir, opt)
	}
	for round := range rounds {
		if err := c.Save(context.Background(), writer(id, who, round)); err != nil {
			return err
		}
	}
	return nil
}

// Processes save at once, each its own session and several the same one: nothing fails, nothing is orphaned, no row stands
// with the messages of another, and whoever reads meanwhile sees the same.
func TestProcesses(t *testing.T) {
	for _, form := range []string{"program", "document"} {
		t.Run(form, func(t *testing.T) {
			dir := t.TempDir()
			c := companions(dir)[form]
			const rounds, shared = 5, session.ID("shared")
			var wg sync.WaitGroup
			run := func(id session.ID, who int) {
				wg.Go(func() {
					if out, err := killtest.Command(dir, form, id, who, rounds, 0).CombinedOutput(); err != nil {
						t.Errorf("%s: %v: %s", id, err, out)
					}
				})
			}
			for who := range 6 {
				run(session.ID(fmt.Sprint("own-", who)), who)
			}
			for who := range 4 {
				run(shared, who)
			}
			done := make(chan struct{})
			go func() { wg.Wait(); close(done) }()
			for looking := true; looking; {
				select {
				case <-done:
					looking = false
				default:
				}
				s, err := c.Load(t.Context(), shared)
				if err == nil && len(s.Messages) > 0 {
					err = whole(s)
				}
				if err != nil && !errors.Is(err, store.ErrNoSession) {
					t.Errorf("while they save: %v", err)
				}
			}
			list, err := c.List(t.Context())
			if err != nil || len(list) != 7 {
				t.Fatalf("%d sessions, %v", len(list), err)
			}
			for _, i := range list {
				s := mustLoad(t, c, i.ID)
				if err := whole(s); err != nil || *s.InvokeSeq%1000 != rounds-1 || i.Messages != len(s.Messages) {
					t.Errorf("%s: %v, seq %d", i.ID, err, *s.InvokeSeq)
				}
			}
			noOrphans(t, dir)
		})
	}
}

// noOrphans wants a row for every file of messages, and nothing else to lie about.
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
	for _, form := range []string{"program", "document"} {
		for _, before := range []bool{false, true} {
			for at, ended := 1, false; !ended; at++ {
				dir := t.TempDir()
				c := later(dir, form)
				if before {
					mustSave(t, c, writer(one, 1, 0))
				}
				err := killtest.Command(dir, form, one, 2, 1, at).Run()
				var exit *exec.ExitError
				if ended = err == nil; !ended && (!errors.As(err, &exit) || exit.ExitCode() != 7) {
					t.Fatal(err)
				}
				s, err := c.Load(t.Context(), one)
				switch {
				case errors.Is(err, store.ErrNoSession) && !before:
				case err != nil:
					t.Errorf("%s cut off at %d: %v", form, at, err)
				case len(s.Messages) == 0 && !before: // found, and empty
				default:
					if n := len(s.Messages); n != 5 && (!before || n != 4) {
						t.Errorf("%s cut off at %d: %d messages", form, at, n)
					}
				}
				for _, path := range glob(dir, "messages", durable.TempPrefix+"*") {
					os.Remove(path) // a crash may leave them; they are no sessions
				}
				noOrphans(t, dir)
				mustSave(t, c, writer(one, 3, 0)) // and all goes on
				if err := whole(mustLoad(t, c, one)); err != nil {
					t.Errorf("%s after being cut off at %d: %v", form, at, err)
				}
			}
		}
	}
}

// later looks when all has settled: what a save left is then taken as it is, without waiting for the rest of it.
func later(dir, form string) store.Companion {
	opt := codelia.Options{Clock: func() time.Time { return noon.AddDate(100, 0, 0) }}
	if form == "document" {
		return codelia.NewDocument(dir, opt)
	}
	return codelia.New(dir, opt)
}

func glob(elements ...string) []string {
	list, _ := filepath.Glob(filepath.Join(elements...))
	return list
}

// Every operation fails once: there is an error or the new state, never a third thing.
func TestFaults(t *testing.T) {
	for _, form := range []string{"program", "document"} {
		for _, fault := range []faultfs.Fault{faultfs.Faults[1], faultfs.Faults[4]} {
			for n := 1; ; n++ {
				dir := t.TempDir()
				good := later(dir, form)
				mustSave(t, good, writer(one, 1, 0))
				fsys := faultfs.New(durable.OS{}, n, fault)
				var c store.Companion = codelia.New(dir, codelia.Options{FS: fsys})
				if form == "document" {
					c = codelia.NewDocument(dir, codelia.Options{FS: fsys})
				}
				oldErr := c.Save(t.Context(), writer(one, 2, 0))
				newErr := c.Save(t.Context(), writer(two, 2, 0))
				if fsys.Count() < n {
					break
				}
				if s := mustLoad(t, good, one); len(s.Messages) != 5 && (oldErr == nil || len(s.Messages) != 4) {
					t.Errorf("%s, %s at %d: %d messages; Save said %v", form, fault.Name, n, len(s.Messages), oldErr)
				}
				s, err := good.Load(t.Context(), two)
				if newErr == nil && (err != nil || len(s.Messages) != 5) || newErr != nil && err != nil && !errors.Is(err, store.ErrNoSession) {
					t.Errorf("%s, %s at %d: %d messages, %v; Save said %v", form, fault.Name, n, len(s.Messages), err, newErr)
				}
				for _, path := range glob(dir, "messages", durable.TempPrefix+"*") {
					os.Remove(path)
				}
				noOrphans(t, dir)
			}
		}
	}
}
