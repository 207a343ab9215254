package usage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
	"github.com/treeline-dev/treeline/backend/rows/crush"
	"github.com/treeline-dev/treeline/backend/rows/goose"
	"github.com/treeline-dev/treeline/backend/rows/opencode"
	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/started"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/usage"
)

// withDatabases adds the databases of OpenCode, Goose and Crush, as after their first start.
func withDatabases(w *world.World) {
	w.Helper()
	data := filepath.Join(w.Home, ".local", "share")
	_, err := started.OpenCode(data)
	w.Must(err)
	_, err = started.Goose(data)
	w.Must(err)
	w.Must(started.Crush(data, started.Project{Dir: w.CWD}))
	w.Databases = []backend.Driver{codelia.Driver(), opencode.Driver(), goose.Driver(), crush.Driver()}
}

// TestForks: in every dialect that can be written and has times, the messages of a forked session count once.
func TestForks(t *testing.T) {
	t.Parallel()
	for _, d := range world.New(t).Dialects() {
		if _, ok := d.(dialect.Writer); !ok || d.Family() == "codelia-state" { // its messages have no times
			continue
		}
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			w := world.New(t, withDatabases)
			say := func(s *store.Session, texts ...string) {
				for i, text := range texts {
					_, err := s.AppendText(t.Context(), []session.Role{session.RoleUser, session.RoleAssistant}[i%2], text)
					w.Must(err)
				}
			}
			source := w.Begin(d.Name(), store.CreateOptions{})
			say(source, "plan the beds", "six of them", "and the paths?", "three")
			fork := w.Closing(w.ForkFrom(t.Context(), source.Path(), store.CreateOptions{Dialect: d, Write: w.Write(store.WriteOptions{})}))
			say(fork, "and a pond?", "one")
			w.Must(fork.Flush(t.Context()))
			if r, rows := total(w); r.Sessions != 2 || r.Messages != 6 || rows != 2 {
				t.Errorf("%+v of %d rows, want 6 messages of 2 sessions", r, rows)
			}
		})
	}
}

// TestForkAtOnce: a session is forked in the millisecond of its last answer, and continued in that millisecond. Each message counts once.
func TestForkAtOnce(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	const at = "2026-03-02T07:30:00.500Z"
	entry := func(id, parent, at, role, text string) string {
		return `{"type":"message","id":"` + id + `","parentId":"` + parent + `","timestamp":"` + at + `","message":{"role":"` + role + `","content":[{"type":"text","text":"` + text +
			`"}],"usage":{"input":5,"output":5,"totalTokens":10}}}` + "\n"
	}
	copied := entry("a", "", "2026-03-02T07:30:00.000Z", "user", "plan the beds") + entry("b", "a", at, "assistant", "six of them")
	head := `{"type":"session","version":3,"id":"%","timestamp":"` + at + `","cwd":"` + w.CWD + `"`
	source := w.Old(".omp/agent/sessions/-garden/1_old.jsonl", strings.Replace(head, "%", "old", 1)+"}\n"+copied)
	w.Old(".omp/agent/sessions/-garden/2_new.jsonl", strings.Replace(head, "%", "new", 1)+`,"parentSession":"`+source+`"}`+"\n"+copied+
		entry("c", "b", at, "user", "and a pond?")+entry("d", "c", at, "assistant", "one"))
	if r, rows := total(w); r.Messages != 4 || r.Tokens.Total != 20 || rows != 2 {
		t.Errorf("%+v of %d rows, want 4 messages with 20 tokens in 2 rows", r, rows)
	}
}

// total sums up all sessions of a world.
func total(w *world.World) (sum usage.Amount, rows int) {
	w.Helper()
	m := w.Machine()
	defer m.Close()
	list, err := find.New(m, index.Open(index.Options{}), time.Now).Catalogue(w.Context(), find.RefreshOptions{})
	w.Must(err)
	return usage.Look(list).Sum(list, usage.Options{Zone: time.UTC}).Total, len(list)
}

// TestConversions: the messages of a session and of its conversion to another dialect count once. If the session is gone, those of the
// conversion count.
func TestConversions(t *testing.T) {
	t.Parallel()
	for _, d := range world.New(t).Dialects() {
		if _, ok := d.(dialect.Composer); !ok || d.Name() == "omp" {
			continue
		}
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			w := world.New(t, withDatabases)
			w.Put("garden/README", "")
			old := w.Old(".omp/agent/sessions/-garden/1_old.jsonl", world.Log("old", w.CWD, world.Said("a", "", "plan the beds"), world.Said("b", "a", "and the paths")))
			s, _, err := convert.File(t.Context(), w.Store, old, convert.Options{To: d, Write: w.Write(store.WriteOptions{})})
			w.Must(err)
			w.Must(s.Close())
			if r, rows := total(w); r.Messages != 2 || rows != 2 {
				t.Errorf("%+v of %d rows", r, rows)
			}
			w.Must(os.Remove(old))
			if r, rows := total(w); r.Messages != 2 || rows != 1 {
				t.Errorf("without the old one: %+v of %d rows", r, rows)
			}
		})
	}
}

// TestConversionOfTimeless: messages without times get the time of the log when they are converted. They count once.
func TestConversionOfTimeless(t *testing.T) {
	t.Parallel()
	w := world.New(t, withDatabases)
	old := w.Old(".codelia/sessions/state/c0de0001-0000-4000-8000-000000000001.json",
		`{"schema_version":1,"session_id":"c0de0001-0000-4000-8000-000000000001","updated_at":"2026-03-02T07:30:00.000Z","messages":[{"role":"user","content":"plan the beds"},{"role":"user","content":"and the paths"}]}`)
	pi, err := w.Store.Dialect("pi")
	w.Must(err)
	s, _, err := convert.File(t.Context(), w.Store, old, convert.Options{To: pi, Write: w.Write(store.WriteOptions{})})
	w.Must(err)
	w.Must(s.Close())
	if r, rows := total(w); r.Messages != 2 || r.Sessions != 1 || rows != 2 {
		t.Errorf("%+v of %d rows", r, rows)
	}
}
