package codelia

import (
	"bytes"
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

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

const (
	one = "0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a"
	two = "1f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a"
)

var noon = time.Date(2026, 2, 3, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// tested is a schema with operations on states.
type tested interface {
	rows.Schema
	load(ctx context.Context, id string) (state, error)
	save(ctx context.Context, s state) error
}

var forms = []string{"database", "document"}

// form returns the schema of that name.
func form(name, dir string, opt options) tested {
	if name == "document" {
		return newDocument(dir, opt)
	}
	return newDatabase(dir, opt)
}

func messages(texts ...string) [][]byte {
	var list [][]byte
	for i, text := range texts {
		role := [...]string{"user", "assistant"}[i%2]
		list = append(list, []byte(fmt.Sprintf(`{"role":%q,"content":%s,"x":1.0}`, role, rawjson.Quote(text))))
	}
	return list
}

func sample(id string) state {
	seq := int64(4)
	return state{
		id: id, updated: "2026-02-03T12:00:02.900Z", run: "8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a", seq: &seq, root: "/p",
		meta:     []byte(`{"codelia_workspace_root":"/p","todos":[1.50, 2]}`),
		messages: messages("list files", "Here — ünïcödé 🎉", "thanks"),
	}
}

func mustLoad(t *testing.T, c tested, id string) state {
	t.Helper()
	s, err := c.load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mustSave saves over whatever is there.
func mustSave(t *testing.T, c tested, s state) {
	t.Helper()
	if err := overwrite(t.Context(), c, s); err != nil {
		t.Fatal(err)
	}
}

func overwrite(ctx context.Context, c tested, s state) error {
	for {
		now, err := c.load(ctx, s.id)
		if err != nil && !isNotExist(err) {
			return err
		}
		s.version = now.version
		if err = c.save(ctx, s); !errors.Is(err, backend.ErrConflict) {
			return err
		}
	}
}

func mustList(t *testing.T, c tested) []string {
	t.Helper()
	ids, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	return ids
}

func same(a, b state) bool {
	return a.id == b.id && a.updated == b.updated && a.run == b.run && string(a.seqText()) == string(b.seqText()) && a.root == b.root &&
		string(rawjson.Compact(a.meta)) == string(rawjson.Compact(b.meta)) && string(a.other) == string(b.other) &&
		slices.EqualFunc(a.messages, b.messages, bytes.Equal)
}

// What is saved is loaded, listed and removed, in both forms.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range forms {
		t.Run(name, func(t *testing.T) {
			c := form(name, dir, options{Clock: clock})
			if _, err := c.load(t.Context(), one); !isNotExist(err) {
				t.Errorf("before: %v", err)
			}
			if list := mustList(t, c); len(list) != 0 {
				t.Errorf("before: %v", list)
			}
			mustSave(t, c, sample(one))
			mustSave(t, c, state{id: two, messages: messages("hello")})
			got := mustLoad(t, c, one)
			if !same(got, sample(one)) {
				t.Errorf("got %+v", got)
			}
			if got := mustLoad(t, c, two); got.updated != "2026-02-03T12:00:00.000Z" || got.seq != nil || got.meta != nil {
				t.Errorf("got %+v", got)
			}
			if list := mustList(t, c); !slices.Equal(list, []string{one, two}) {
				t.Fatal(list)
			}
			// A save over the existing version, and saves over others.
			old := got.version
			got.messages = append(got.messages, messages("more")...)
			if err := c.save(t.Context(), got); err != nil {
				t.Fatal(err)
			}
			for _, version := range []string{old, ""} {
				got.version = version
				if err := c.save(t.Context(), got); !errors.Is(err, backend.ErrConflict) {
					t.Errorf("saved over another's: %v", err)
				}
				if err := c.Remove(t.Context(), one, version); !errors.Is(err, backend.ErrConflict) {
					t.Errorf("removed another's: %v", err)
				}
			}
			got.messages, got.seq, got.run = nil, nil, ""
			mustSave(t, c, got)
			if got = mustLoad(t, c, one); len(got.messages) != 0 || got.run != "" {
				t.Errorf("got %+v", got)
			}
			if err := c.Remove(t.Context(), one, got.version); err != nil {
				t.Error(err)
			}
			if err := c.Remove(t.Context(), one, got.version); !isNotExist(err) {
				t.Errorf("removed twice: %v", err)
			}
			if list := mustList(t, c); len(list) != 1 {
				t.Error(list)
			}
			if err := c.Remove(t.Context(), two, mustLoad(t, c, two).version); err != nil {
				t.Error(err)
			}
		})
	}
	leftovers, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(leftovers) != 0 {
		t.Errorf("left over: %q", leftovers)
	}
}

// A session is converted to its log and back without a change, even with unknown members.
func TestRecords(t *testing.T) {
	t.Parallel()
	want := sample(one)
	want.other = []byte(`{"future":{"n":1.0}}`)
	want.meta = rawjson.Compact(want.meta)
	session := want.session()
	c := newDatabase(t.TempDir(), options{Clock: clock})
	parsed, err := c.Parse(one, append([][]byte{session.Header}, session.Messages...))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := parseState(parsed); err != nil || !same(got, want) {
		t.Errorf("%+v became %+v, %v", want, got, err)
	}
	if got := string(c.Touch(session.Header)); got != strings.Replace(string(session.Header), want.updated, "2026-02-03T12:00:00.000Z", 1) {
		t.Errorf("touched: %s", got)
	}
	for _, bad := range [][][]byte{nil, {[]byte(`{}`)}, {[]byte(`[]`)}} {
		if _, err := c.Parse(one, bad); !errors.Is(err, backend.ErrRecord) {
			t.Errorf("%s: %v; want the error backend.ErrRecord", bad, err)
		}
	}
	if _, err := c.Parse(two, [][]byte{session.Header}); !errors.Is(err, backend.ErrName) {
		t.Errorf("the header of another session: %v", err)
	}
}

// The database is the one that the program makes.
func TestSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustSave(t, newDatabase(dir, options{}), sample(one))
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
		t.Errorf("%q\n%q; want table == %v, index == %v", table, index, tableSQL, indexSQL)
	}
	info, err := os.Stat(filepath.Join(dir, "state.db"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want no error, info.Mode().Perm() == 0o600", info.Mode(), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "messages", one+".jsonl"))
	if err != nil || string(text) != `{"role":"user","content":"list files","x":1.0}
{"role":"assistant","content":"Here — ünïcödé 🎉","x":1.0}
{"role":"user","content":"thanks","x":1.0}
` {
		t.Errorf("%s, %v; want no error, string(text) == `{\"role\":\"user\",\"content\":\"list files\",\"x\":1.0} {\"role\":\"assistant\",\"content\":\"Here — ünïcödé 🎉\",\"x\":1.0} {\"role\":\"user\",\"content\":\"thanks\",\"x\":1.0} `", text, err)
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
func agentSaves(t *testing.T, db *sql.DB, dir string, id string, content string) {
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

// traces returns every file of a folder with its time and size.
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

// Reading leaves no trace: while the agent has the database open, afterwards, and if the folder is not writable.
func TestReadLeavesNoTrace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := openDB(t, dir)
	agentSaves(t, db, dir, one, `{"role":"user","content":"hi"}`+"\n")
	look := func(when string) {
		t.Helper()
		before := traces(t, dir)
		c := newDatabase(dir, options{})
		s := mustLoad(t, c, one)
		list := mustList(t, c)
		if len(list) != 1 || len(s.messages) != 1 || s.root != "/p" || *s.seq != 4 || string(s.meta) != `{"a":1}` {
			t.Errorf("%s: %+v, %v; want len(list) == 1, len(s.messages) == 1, s.root == \"/p\", *s.seq == 4, string(s.meta) == `{\"a\":1}`", when, s, list)
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
	if list, err := newDatabase(empty, options{}).List(context.Background()); err != nil || len(list) > 0 {
		t.Error(list, err)
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("a folder was made")
	}
}
