package codelia_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/companion/codelia"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

const (
	one = session.ID("0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a")
	two = session.ID("1f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a")
)

var noon = time.Date(2026, 2, 3, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// companions are the two forms.
func companions(dir string) map[string]store.Companion {
	return map[string]store.Companion{
		"program":  codelia.New(dir, codelia.Options{Clock: clock}),
		"document": codelia.NewDocument(dir, codelia.Options{Clock: clock}),
	}
}

func messages(texts ...string) []session.Raw {
	var list []session.Raw
	for i, text := range texts {
		role := [...]string{"user", "assistant"}[i%2]
		list = append(list, session.Raw(fmt.Sprintf(`{"role":%q,"content":%s,"x":1.0}`, role, rawjson.Quote(text))))
	}
	return list
}

func sample(id session.ID) store.State {
	seq := int64(4)
	return store.State{
		ID: id, UpdatedAt: "2026-02-03T12:00:02.900Z", RunID: "8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a", InvokeSeq: &seq, Root: "/p",
		Meta:     session.Raw(`{"codelia_workspace_root":"/p","todos":[1.50, 2]}`),
		Messages: messages("list files", "Here — ünïcödé 🎉", "thanks"),
	}
}

func mustLoad(t *testing.T, c store.Companion, id session.ID) store.State {
	t.Helper()
	s, err := c.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustSave(t *testing.T, c store.Companion, s store.State) {
	t.Helper()
	if err := c.Save(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func same(a, b store.State) bool {
	seq := func(s store.State) int64 {
		if s.InvokeSeq == nil {
			return -1
		}
		return *s.InvokeSeq
	}
	return a.ID == b.ID && a.UpdatedAt == b.UpdatedAt && a.RunID == b.RunID && seq(a) == seq(b) && a.Root == b.Root &&
		string(rawjson.Compact(a.Meta)) == string(rawjson.Compact(b.Meta)) && string(a.Other) == string(b.Other) &&
		slices.EqualFunc(a.Messages, b.Messages, func(a, b session.Raw) bool { return string(a) == string(b) })
}

// What is saved is loaded, listed and removed, in both forms.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	for name, c := range companions(dir) {
		t.Run(name, func(t *testing.T) {
			if _, err := c.Load(t.Context(), one); !errors.Is(err, store.ErrNoSession) {
				t.Errorf("before: %v", err)
			}
			if list, err := c.List(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("before: %v, %v", list, err)
			}
			mustSave(t, c, sample(one))
			later := store.State{ID: two, Messages: messages("hello")}
			mustSave(t, c, later)
			got := mustLoad(t, c, one)
			if !same(got, sample(one)) {
				t.Errorf("got %+v", got)
			}
			if got := mustLoad(t, c, two); got.UpdatedAt != "2026-02-03T12:00:00.000Z" || got.InvokeSeq != nil || got.Meta != nil {
				t.Errorf("got %+v", got)
			}
			list, err := c.List(t.Context())
			if err != nil || len(list) != 2 || list[0].ID != one || list[1].ID != two {
				t.Fatalf("%+v, %v", list, err)
			}
			if i := list[0]; i.Messages != 3 || i.LastUser != "thanks" || i.Root != "/p" || i.RunID == "" || i.Err != nil {
				t.Errorf("%+v", i)
			}
			// A save that knows what is there, and one that does not.
			old := got.Version
			got.Messages = append(got.Messages, messages("more")...)
			mustSave(t, c, got)
			got.Version = old
			if err := c.Save(t.Context(), got); !errors.Is(err, store.ErrStateChanged) {
				t.Errorf("saved over another's: %v", err)
			}
			got.Version = store.NewState
			if err := c.Save(t.Context(), got); !errors.Is(err, store.ErrStateChanged) {
				t.Errorf("made twice: %v", err)
			}
			got.Version = ""
			got.Messages, got.InvokeSeq, got.RunID = nil, nil, ""
			mustSave(t, c, got)
			if got := mustLoad(t, c, one); len(got.Messages) != 0 || got.RunID != "" {
				t.Errorf("got %+v", got)
			}
			if err := c.Remove(t.Context(), one); err != nil {
				t.Error(err)
			}
			if err := c.Remove(t.Context(), one); !errors.Is(err, store.ErrNoSession) {
				t.Errorf("removed twice: %v", err)
			}
			if list, _ := c.List(t.Context()); len(list) != 1 {
				t.Errorf("%+v", list)
			}
			if err := c.Remove(t.Context(), two); err != nil {
				t.Error(err)
			}
		})
	}
	leftovers, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(leftovers) != 0 {
		t.Errorf("left behind: %q", leftovers)
	}
}

// The database is the one that the program makes.
func TestSchema(t *testing.T) {
	dir := t.TempDir()
	mustSave(t, codelia.New(dir, codelia.Options{}), sample(one))
	db := openDB(t, dir)
	var table, index, mode string
	if err := db.QueryRow(`SELECT sql FROM sqlite_master WHERE type = 'table'`).Scan(&table); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow(`SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`).Scan(&index); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow(`PRAGMA journal_mode`).Scan(&mode); err != nil || mode != "wal" {
		t.Error(mode, err)
	}
	if table != tableSQL || index != indexSQL {
		t.Errorf("%q\n%q", table, index)
	}
	info, err := os.Stat(filepath.Join(dir, "state.db"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "messages", string(one)+".jsonl"))
	if err != nil || string(text) != `{"role":"user","content":"list files","x":1.0}
{"role":"assistant","content":"Here — ünïcödé 🎉","x":1.0}
{"role":"user","content":"thanks","x":1.0}
` {
		t.Errorf("%s, %v", text, err)
	}
}

const (
	tableSQL = "CREATE TABLE session_state (\n\t\t\t\tsession_id TEXT PRIMARY KEY,\n\t\t\t\tupdated_at TEXT NOT NULL,\n\t\t\t\trun_id TEXT,\n" +
		"\t\t\t\tinvoke_seq INTEGER,\n\t\t\t\tschema_version INTEGER NOT NULL,\n\t\t\t\tmeta_json TEXT,\n\t\t\t\tmessage_count INTEGER,\n" +
		"\t\t\t\tlast_user_message TEXT,\n\t\t\t\tworkspace_root TEXT\n\t\t\t)"
	indexSQL = "CREATE INDEX idx_session_state_updated_at\n\t\t\tON session_state(updated_at DESC)"
)

// openDB opens the database as the agent would have it open.
func openDB(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "state.db")+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// agentSaves writes a session as the agent does, without us.
func agentSaves(t *testing.T, db *sql.DB, dir string, id session.ID, content string) {
	t.Helper()
	for _, q := range []string{"CREATE TABLE IF NOT EXISTS" + strings.TrimPrefix(tableSQL, "CREATE TABLE"), "CREATE INDEX IF NOT EXISTS" + strings.TrimPrefix(indexSQL, "CREATE INDEX")} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "messages", string(id)+".jsonl"), content)
	_, err := db.Exec(`INSERT OR REPLACE INTO session_state VALUES (?, '2026-11-15T01:30:27.253Z', 'r', 4, 1, '{"a":1}', 1, 'hi', '/p')`, string(id))
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// traces is every file of a folder with its time and size.
func traces(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Reading leaves no trace: while the agent has the database open, after it, and where it may not write at all.
func TestReadLeavesNoTrace(t *testing.T) {
	dir := t.TempDir()
	db := openDB(t, dir)
	agentSaves(t, db, dir, one, `{"role":"user","content":"hi"}`+"\n")
	look := func(when string) {
		t.Helper()
		before := traces(t, dir)
		c := codelia.New(dir, codelia.Options{})
		s := mustLoad(t, c, one)
		list, err := c.List(t.Context())
		if err != nil || len(list) != 1 || len(s.Messages) != 1 || s.Root != "/p" || *s.InvokeSeq != 4 || string(s.Meta) != `{"a":1}` {
			t.Errorf("%s: %+v, %+v, %v", when, s, list, err)
		}
		if after := traces(t, dir); after != before {
			t.Errorf("%s:\n%s\nwas\n%s", when, after, before)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "state.db-wal")); err != nil {
		t.Fatal(err)
	}
	look("while the agent runs")
	db.Close()
	if _, err := os.Stat(filepath.Join(dir, "state.db-wal")); err == nil {
		t.Fatal("the log of the database is still there")
	}
	look("after the agent")
	for _, path := range []string{"state.db", "messages", "."} {
		if err := os.Chmod(filepath.Join(dir, path), 0o500); err != nil {
			t.Fatal(err)
		}
	}
	look("without the right to write")
	for _, path := range []string{".", "messages"} {
		if err := os.Chmod(filepath.Join(dir, path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	empty := filepath.Join(dir, "none")
	if list, err := codelia.New(empty, codelia.Options{}).List(context.Background()); err != nil || len(list) > 0 {
		t.Error(list, err)
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("a folder was made")
	}
}
