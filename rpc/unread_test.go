package rpc_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
	"github.com/treeline-dev/treeline/internal/durable"
)

// openings is a file system that records which logs are opened.
type openings struct {
	durable.OS
	mu   sync.Mutex
	logs []string
}

func (o *openings) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if strings.HasSuffix(name, ".jsonl") {
		o.note(name)
	}
	return o.OS.Open(name, flag, perm)
}

func (o *openings) note(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.logs = append(o.logs, filepath.Base(name))
}

// states returns codelia's driver. Its logs are rows of a database; reading them is recorded as well.
func (o *openings) states() backend.Driver {
	d := codelia.Driver()
	open := d.Open
	d.Open = func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		b, err := open(root, opt)
		return notedRows{b, o}, err
	}
	return d
}

// notedRows has no optional method but Lines, so that Read is the only way to read a log.
type notedRows struct {
	backend.Backend
	o *openings
}

func (n notedRows) Lines(name string) bool { return backend.Lines(n.Backend, name) }

func (n notedRows) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	n.o.note(at.Name)
	return n.Backend.Read(ctx, at, offset)
}

// opened returns the logs that were opened since the last call, each once.
func (o *openings) opened() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	slices.Sort(o.logs)
	list := slices.Compact(o.logs)
	o.logs = nil
	return append([]string{}, list...)
}

// dialCounting connects to a server whose reads are recorded. The clock is ahead, since a log that was just written could change without a
// new time.
func dialCounting(t *testing.T, home string) (*caller, *openings) {
	t.Helper()
	o := new(openings)
	s, err := treeline.New(treeline.Options{
		Backends: []backend.Driver{o.states(), file.Driver(file.Options{FS: o})}, Home: home, WorkDir: home,
		Getenv: func(string) string { return "" }, Clock: func() time.Time { return time.Now().Add(time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return dialStore(t, s, home, noOptions), o
}

// The agents' own lists read only logs that changed, even in another process, and keep the same content.
func TestListsReadOnlyChanges(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"pi", "omp"} {
		c, o := dialCounting(t, t.TempDir())
		var paths []string
		for _, id := range []string{"a", "b", "c"} {
			paths = append(paths, c.session(dialect, id, "hello "+id, noon))
		}
		dir := filepath.Dir(paths[0])
		calls := []struct {
			method string
			params members
		}{
			{"list", members{"cwd": "/work", "sessionDir": dir, "dialect": dialect}},
			{"listAll", members{"dialect": dialect}},
			{"getRecentSessions", members{"sessionDir": dir, "dialect": dialect, "limit": 2}},
			{"listAll", members{"dialect": dialect, "texts": false}},
		}
		all := func() (list []string) {
			for _, call := range calls {
				list = append(list, c.raw(call.method, call.params))
			}
			return list
		}
		first := all()
		if len(o.opened()) != 3 {
			t.Fatalf("%s: the logs were not read through the file system that counts", dialect)
		}
		equal(t, dialect+": again", all(), first)
		equal(t, dialect+": nothing is read", o.opened(), []string{})
		c.hangUp()

		c, o = dialCounting(t, c.home)
		equal(t, dialect+": in another process", all(), first)
		equal(t, dialect+": nothing is read there", o.opened(), []string{})
		var rows, plain []members
		json.Unmarshal([]byte(first[1]), &rows)
		json.Unmarshal([]byte(first[3]), &plain)
		for i := range rows {
			equal(t, dialect+": texts", rows[i]["allMessagesText"], "hello "+rows[i]["id"].(string))
			delete(rows[i], "allMessagesText")
			equal(t, dialect+": without texts", plain[i], rows[i])
		}

		appendLines(t, paths[1], entryLine(1))
		c.raw("listAll", calls[3].params) // without texts, which must not remove those of the others
		equal(t, dialect+": the one that grew", o.opened(), []string{"b.jsonl"})
		if got := c.raw("list", calls[0].params); !strings.Contains(got, `"hello b 1"`) || !strings.Contains(got, `"hello a"`) {
			t.Errorf("%s: %s; want strings.Contains(got, `\"hello b 1\"`), strings.Contains(got, `\"hello a\"`)", dialect, got)
		}
		equal(t, dialect+": once", o.opened(), []string{})
		if err := os.Remove(paths[0]); err != nil {
			t.Fatal(err)
		}
		equal(t, dialect+": one is gone", len(c.list("listAll", calls[1].params)), 2)
		equal(t, dialect+": still nothing", o.opened(), []string{})

		// Texts do not outlive their logs: no cache file has those of the removed one.
		c.raw("list", calls[0].params)
		filepath.WalkDir(filepath.Join(c.home, ".cache"), func(path string, d fs.DirEntry, _ error) error {
			if text, _ := os.ReadFile(path); strings.Contains(string(text), "hello a") {
				t.Errorf("%s: %s has the text of a removed session", dialect, path)
			}
			return nil
		})

		// A damaged cache file is made again.
		filepath.WalkDir(filepath.Join(c.home, ".cache"), func(path string, d fs.DirEntry, _ error) error {
			if strings.Contains(path, "rows") && d.Type().IsRegular() {
				text, _ := os.ReadFile(path)
				text[len(text)-1]++
				os.WriteFile(path, text, 0o600)
			}
			return nil
		})
		equal(t, dialect+": after damage", len(c.list("listAll", calls[1].params)), 2)
		equal(t, dialect+": read again", o.opened(), []string{"b.jsonl", "c.jsonl"})
		c.hangUp()
	}
}

// This also holds for agents whose rows are made by treeline, or whose sessions are ordered by their last message. The folder of a
// directory's sessions may depend on the directory that its logs name (wave-doc): cached rows store that, too.
func TestListsOfOthersReadOnlyChanges(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"operator", "operator-doc", "wave", "wave-doc", "codelia", "codelia-doc"} {
		c, o := dialCounting(t, t.TempDir())
		work := filepath.Join(c.home, "work")
		if err := os.Mkdir(work, 0o700); err != nil {
			t.Fatal(err)
		}
		var dir string
		for range 3 {
			made := c.object("create", members{"cwd": work, "dialect": dialect, "deferUntil": "never"})
			c.object("appendMessage", members{"session": made["session"], "message": typed(dialect)})
			c.raw("close", members{"session": made["session"]})
			dir = filepath.Dir(made["file"].(string))
		}
		all := func() []string {
			return []string{
				c.raw("list", members{"cwd": work, "dialect": dialect}), c.raw("listAll", members{"dialect": dialect}),
				c.raw("getRecentSessions", members{"sessionDir": dir, "dialect": dialect}),
			}
		}
		o.opened()
		first := all()
		if n := len(o.opened()); n != 3 || strings.Count(first[0], `"path"`) != 3 {
			t.Fatalf("%s: %d were read: %s", dialect, n, first[0])
		}
		equal(t, dialect+": again", all(), first)
		equal(t, dialect+": nothing is read", o.opened(), []string{})
		c.hangUp()
	}
}

// The document's states of codelia do not name a directory. They are read again only to find their last run, and only if there are runs.
func TestListsOfStatesWithoutRuns(t *testing.T) {
	t.Parallel()
	c, o := dialCounting(t, t.TempDir())
	for _, id := range []string{"a", "b", "c"} {
		write(t, filepath.Join(c.home, ".codelia", "sessions", "state", id+".json"), `{"schema_version":1,"session_id":"`+id+
			`","updated_at":"2026-02-03T12:00:02.900Z","messages":[{"role":"user","content":"hello"}]}`)
	}
	first := c.raw("listAll", members{"dialect": "codelia"})
	equal(t, "read", len(o.opened()), 3)
	equal(t, "again", c.raw("listAll", members{"dialect": "codelia"}), first)
	equal(t, "nothing is read", o.opened(), []string{})
	c.hangUp()
}

// typed returns a prompt as the agent writes it.
func typed(dialect string) members {
	if strings.HasPrefix(dialect, "wave") {
		return members{"role": "user", "blocks": []members{{"type": "text", "content": "hello"}}}
	}
	return said("user", "hello")
}
