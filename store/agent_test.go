package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/crashfs"
	"github.com/treeline-dev/treeline/internal/durable/faultfs"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store"
)

// agent appends to a file as an agent does, opening it for each entry, until stop is called or the file is gone. stop returns the texts of
// the entries that it wrote.
func agent(t *testing.T, path string) (stop func() []string) {
	end, wrote := make(chan struct{}), make(chan []string)
	begun := make(chan struct{}, 1)
	go func() {
		var texts []string
		defer func() { wrote <- texts }()
		for n := 0; ; n++ {
			select {
			case <-end:
				return
			case <-time.After(time.Millisecond):
			}
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if errors.Is(err, fs.ErrNotExist) {
				<-end
				return
			}
			text := fmt.Sprintf("line %d of the agent", n)
			if err == nil {
				_, err = f.WriteString(world.Said(fmt.Sprint("agent", n), "", text) + "\n")
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				t.Error(err)
				continue
			}
			texts = append(texts, text)
			select {
			case begun <- struct{}{}:
			default:
			}
		}
	}()
	<-begun
	return func() []string {
		close(end)
		return <-wrote
	}
}

// Everything that rewrites a log keeps what an agent appends meanwhile.
func TestRewriteBesideAnAgent(t *testing.T) {
	t.Parallel()
	const version1 = `{"type":"session","id":"s","timestamp":"2026-02-16T10:20:00.000Z","cwd":"/w"}` + "\n"
	for name, tc := range map[string]struct {
		log    string
		rounds int
		change func(d *desk, s *store.Session, n int) error
	}{
		"rename": {world.Log("s", "/w", strange...), 8, func(d *desk, s *store.Session, n int) error {
			return s.Rename(d.Context(), fmt.Sprint("name ", n))
		}},
		"entries": {world.Log("s", "/w"), 8, func(d *desk, s *store.Session, n int) error {
			return s.RewriteEntries(d.Context(), raws(d, s))
		}},
		"move":    {world.Log("s", "/w"), 1, func(d *desk, s *store.Session, n int) error { return s.Move(d.Context(), d.At("new")) }},
		"migrate": {version1, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := soaktest.Begin(t)
			for round := range c.Rounds(1, 1) {
				d := newDesk(t)
				path := d.Put(fmt.Sprintf(".omp/agent/sessions/-w/%d.jsonl", round), tc.log)
				stop := agent(t, path)
				s := d.Edit(path, store.WriteOptions{})
				for n := range tc.rounds {
					if err := tc.change(d, s, n); err != nil {
						t.Error(err)
					}
				}
				wrote := stop()
				c.Acknowledged(len(wrote))
				if name == "move" && s.Path() == path {
					t.Error("it was not moved")
				}
				content, err := os.ReadFile(s.Path())
				c.Unreadable(s.Path(), err)
				for _, text := range wrote {
					if n := strings.Count(string(content), `"`+text+`"`); n != 1 {
						c.Lost("%s is there %d times", text, n)
					}
				}
				d.Must(s.Close())
			}
		})
	}
}

// raws returns the records of all entries that the session knows.
func raws(d *desk, s *store.Session) (list [][]byte) {
	d.Helper()
	for e := range s.Tree().Entries() {
		raw, err := e.Raw()
		d.Must(err)
		list = append(list, []byte(raw))
	}
	return list
}

// A log that an agent keeps open is rewritten only by force; appends work.
func TestRewriteHeld(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("this system does not tell which programs have a file open")
		return
	}
	d := newDesk(t)
	path := d.Put(".omp/agent/sessions/-w/a.jsonl", world.Log("s", "/w", world.Said("a", "", "one")))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	d.Must(err)
	defer f.Close()
	s := d.Edit(path, store.WriteOptions{})
	for name, err := range map[string]error{
		"rename": s.Rename(t.Context(), "new"), "move": s.Move(t.Context(), "/new"), "delete": s.Delete(t.Context()),
	} {
		if !errors.Is(err, backend.ErrHeld) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v; want the error backend.ErrHeld, strings.Contains(err.Error(), path)", name, err)
		}
	}
	d.User(s, "two") // not latched
	d.Same(d.Texts(s), []string{"one", "two"})
	d.Must(s.Close())
	d.Events()

	s = d.Edit(path, store.WriteOptions{ForceRewrite: true})
	d.Must(s.Rename(t.Context(), "new"))
	events := d.Events()
	if len(events) != 1 || events[0].Kind != store.EventHeld || !strings.Contains(events[0].Problem.String(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("told %v", events)
	}
	d.Same(d.Texts(s), []string{"one", "two"})
}

// Every operation of a move fails, in every way: the session is at its old place, at its new one, or at both.
func TestMoveFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range faultfs.Faults {
		for n := 1; !t.Failed(); n++ {
			inner := crashfs.New(crashHome)
			d := deskOn(t, inner, "")
			old := filepath.Join(crashHome, ".omp", "agent", "sessions", "-w", "a.jsonl")
			d.Must(durable.MkdirAll(inner, filepath.Dir(old), 0o700))
			_, err := durable.Create(inner, old, 0o600, strings.NewReader(world.Log("s", "/w", world.Said("a", "", "one"))))
			d.Must(err)
			fsys := faultfs.New(inner, n, fault)
			failing := deskOn(t, fsys, "")
			if s, err := failing.OpenWrite(t.Context(), old, failing.fill(store.CreateOptions{})); err == nil {
				_ = s.Move(t.Context(), filepath.Join(crashHome, "project")) // what is left counts, whether it fails or not
				_ = s.Close()
			}
			found := 0
			for _, pattern := range []string{"-w", "-project"} {
				path := filepath.Join(crashHome, ".omp", "agent", "sessions", pattern, "a.jsonl")
				if s, err := d.Open(t.Context(), path, store.OpenOptions{}); err == nil {
					found++
					d.Same(d.Texts(s), []string{"one"})
					_ = s.Close()
				}
			}
			if found == 0 {
				t.Errorf("%s, operation %d: the session is lost", fault.Name, n)
			}
			if fsys.Count() < n {
				break
			}
		}
	}
}

// A session of lines cannot begin under another name: it could not be appended to.
func TestBeginNeedsLines(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	path := d.At("a.txt")
	if _, err := d.OpenWrite(t.Context(), path, d.fill(store.CreateOptions{Write: store.WriteOptions{Create: true}})); !errors.Is(err, backend.ErrName) {
		t.Errorf("a session begun as a.txt: %v, want ErrName", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a.txt after it was refused: %v, want that it does not exist", err)
	}
}
