package codelia

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// afterwards returns a time at which no file of a test counts as just written: a reader waits for the writer of such a file.
func afterwards() time.Time { return time.Now().Add(time.Hour) }

// Damage in a file of messages stays where it is: it is loaded, a save writes it again, and no other damage is saved.
func TestBadLines(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		content string
		want    []string
		torn    bool
	}{
		{"{\"role\":\"user\"}\n{\"role\":\n", []string{`{"role":"user"}`, `{"role":`}, false},
		{"{\"role\":\"user\"}\n{\"role\":", []string{`{"role":"user"}`, `{"role":`}, true},
		{"{\"role\":\"user\"}", []string{`{"role":"user"}`}, false},
		{"null\n", []string{"null"}, false},
		{"{\"role\":\"user\"}\n\n[]\n", []string{`{"role":"user"}`, "[]"}, false},
		{"{\"role\":\"user\"} {\"role\":\"u\"}\n\u00a0\n", []string{`{"role":"user"} {"role":"u"}`, "\u00a0"}, false},
	} {
		dir := t.TempDir()
		db := openDB(t, dir)
		agentSaves(t, db, dir, one, tc.content)
		c := newDatabase(dir, options{Clock: afterwards})
		s := mustLoad(t, c, one)
		var got []string
		for _, m := range s.messages {
			got = append(got, string(m))
		}
		if !slices.Equal(got, tc.want) || s.torn != tc.torn {
			t.Errorf("%q: %q, torn %v; want %q, %v", tc.content, got, s.torn, tc.want, tc.torn)
		}
		worse := s
		worse.messages = append(slices.Clone(s.messages), []byte("{"))
		if err := c.save(t.Context(), worse); !errors.Is(err, backend.ErrRecord) {
			t.Errorf("%q: more damage was saved: %v", tc.content, err)
		}
		path := filepath.Join(dir, "messages", one+".jsonl")
		if now, _ := os.ReadFile(path); string(now) != tc.content {
			t.Errorf("%q became %q", tc.content, now)
		}
		mustSave(t, c, s)
		want := strings.Join(tc.want, "\n")
		if !tc.torn {
			want += "\n"
		}
		if now, _ := os.ReadFile(path); string(now) != want {
			t.Errorf("%q was saved as %q", tc.content, now)
		}
	}
}

// A torn message is moved to a file of its own before an append, and a log with damage can be removed and restored.
func TestTornMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := openDB(t, dir)
	const bad, torn = "{\"role\":\"user\"}\n{bad}\n", `{"role":"assis`
	agentSaves(t, db, dir, one, bad+torn)
	b := rows.New(newDatabase(dir, options{Clock: clock}), ".jsonl", false)
	at, err := b.Stat(t.Context(), one+".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	text, err := backend.ReadAll(t.Context(), b, at)
	if err != nil || !strings.HasSuffix(string(text), bad+torn) {
		t.Fatalf("%q, %v; want the messages with their damage", text, err)
	}
	if err := b.Remove(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if at, err = backend.Restore(t.Context(), b, at.Name, text); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "messages", one+".jsonl")
	if now, _ := os.ReadFile(path); string(now) != bad+torn {
		t.Errorf("restored as %q", now)
	}
	var last backend.Record
	for r, err := range b.Read(t.Context(), at, 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = r
	}
	if !last.Torn || string(last.Data) != torn || last.End != at.Size {
		t.Errorf("the last record is %+v", last)
	}
	if _, err := b.Append(t.Context(), at, []byte(`{"role":"user","content":"more"}`)); err != nil {
		t.Fatal(err)
	}
	if now, _ := os.ReadFile(path); string(now) != bad+"{\"role\":\"user\",\"content\":\"more\"}\n" {
		t.Errorf("appended: %q", now)
	}
	if kept, _ := os.ReadFile(filepath.Join(dir, "messages", backend.TornName(one+".jsonl", noon, 0))); string(kept) != torn {
		t.Errorf("kept %q, want %q", kept, torn)
	}
	for _, name := range []string{"../x.jsonl.bak", one + ".jsonl./x", "x/y.jsonl.bak", one + ".jsonl.bak/.."} {
		if _, err := b.Create(t.Context(), name, []byte("x")); !errors.Is(err, backend.ErrName) {
			t.Errorf("%q: %v; want the error backend.ErrName", name, err)
		}
	}
}

// A document that is not a state is an error, and it is not overwritten.
func TestBadDocuments(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "[]", `{"session_id":"x"`, `{"session_id":"other","updated_at":"2026"}`, `{"session_id":"` + one + `"}`,
		`{"session_id":"` + one + `","updated_at":"2026","messages":[1]}`} {
		dir := t.TempDir()
		path := filepath.Join(dir, "state", one+".json")
		write(t, path, content)
		d := newDocument(dir, options{})
		var p *backend.DamageError
		if _, err := d.load(t.Context(), one); !errors.As(err, &p) || p.File != path {
			t.Errorf("%q: %v; want errors.As(err, &p), p.File == %v", content, err, path)
		}
		if err := d.save(t.Context(), sample(one)); err == nil {
			t.Errorf("%q: overwritten", content)
		}
		if list := mustList(t, d); len(list) != 1 {
			t.Errorf("%q: %v; want len(list) == 1", content, list)
		}
	}
}

// No id leads out of the folder.
func TestIDs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sessions")
	for _, name := range forms {
		c := form(name, dir, options{Clock: clock})
		for _, id := range []string{"", ".", "..", "../x", "a/b", `a\b`, ".x", "x.", "a\x00", "ü", strings.Repeat("a", 200)} {
			_, loaded := c.Load(t.Context(), id)
			for _, err := range []error{loaded, c.save(t.Context(), sample(id)), c.Remove(t.Context(), id, "")} {
				if !errors.Is(err, backend.ErrName) {
					t.Errorf("%s, %q: %v; want the error backend.ErrName", name, id, err)
				}
			}
		}
		s := sample(one)
		s.messages = append(s.messages, []byte("[]"))
		if err := c.Save(t.Context(), s.session()); !errors.Is(err, backend.ErrRecord) {
			t.Errorf("%s saves a message that is not an object: %v", name, err)
		}
	}
	entries, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(entries) > 0 {
		t.Errorf("made: %q", entries)
	}
}

// A session whose id cannot be the name of a file is reported, and does not hide other sessions.
func TestOddIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := openDB(t, dir)
	agentSaves(t, db, dir, one, "{\"role\":\"user\"}\n")
	if _, err := db.Exec(`INSERT INTO session_state (session_id, updated_at, schema_version) VALUES ('my session', '2026', 1), ('../x', '2026', 1)`); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "state", "your session.json"), `{"session_id":"your session","updated_at":"2026"}`)
	for _, c := range []struct {
		schema rows.Schema
		want   []string
	}{
		{newDatabase(dir, options{}), []string{`../x`, one + ".log", "my session"}},
		{newDocument(dir, options{}), []string{"your session"}},
	} {
		var got []string
		for log, err := range rows.New(c.schema, ".log", true).List(t.Context(), "") {
			switch {
			case err == nil:
				got = append(got, log.Name)
			case !errors.Is(err, backend.ErrName):
				t.Error(err)
			default:
				_, id, _ := strings.Cut(err.Error(), `"`)
				id, _, _ = strings.Cut(id, `"`)
				got = append(got, id)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The rows are read again only while a change might not show in the time of the database.
func TestSettled(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 9, 0, 10, 0, time.UTC)
	d := newDatabase(t.TempDir(), options{Clock: func() time.Time { return now }})
	for _, c := range []struct {
		written time.Time
		want    bool
	}{
		{now.Add(-10*time.Millisecond - 1), false},
		{now.Add(-60*time.Millisecond - 1), true},
		{now.Add(-time.Second), false}, // a clock without fractions
		{now.Add(-3 * time.Second), true},
		{now.Add(time.Minute + 1), false},
	} {
		var s litefile.Stamp
		s.WAL.Nanos = c.written.UnixNano()
		if got := d.settled(s); got != c.want {
			t.Errorf("written %v ago: %v, want %v", now.Sub(c.written), got, c.want)
		}
	}
}

// A document keeps members that we do not know, and is not listed if the database has the session.
func TestDocumentAndDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	doc, db := newDocument(dir, options{}), newDatabase(dir, options{})
	doc.newer = db
	path := filepath.Join(dir, "state", one+".json")
	write(t, path, "{\n  \"schema_version\": 1,\n  \"session_id\": \""+one+"\",\n  \"updated_at\": \"2026-02-03T12:00:02.900Z\",\n"+
		"  \"messages\": [\n    { \"role\": \"user\", \"content\": \"old\" }\n  ],\n  \"future\": {\"n\": 1.0}\n}\n")
	s := mustLoad(t, doc, one)
	if len(s.messages) != 1 || string(s.other) != `{"future":{"n":1.0}}` {
		t.Errorf("%+v; want len(s.messages) == 1, string(s.other) == `{\"future\":{\"n\":1.0}}`", s)
	}
	s.messages = append(s.messages, messages("new")...)
	if err := doc.Save(t.Context(), s.session()); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	if !strings.Contains(string(text), `"future": {"n": 1.0}`) || !strings.Contains(string(text), `"messages": [{"role":"user","content":"old"},`) {
		t.Errorf("%s; want strings.Contains(string(text), `\"future\": {\"n\": 1.0}`), strings.Contains(string(text), `\"messages\": [{\"role\":\"user\",\"content\":\"old\"},`)", text)
	}
	mustSave(t, doc, sample(two))
	mustSave(t, db, sample(one))
	if list := mustList(t, doc); !slices.Equal(list, []string{two}) {
		t.Errorf("documents: %v", list)
	}
	if list := mustList(t, db); !slices.Equal(list, []string{one}) {
		t.Errorf("rows: %v", list)
	}
	if got := mustLoad(t, doc, one); len(got.messages) != 2 {
		t.Errorf("the document was changed: %+v", got)
	}
	const newer = `{"schema_version":2,"session_id":"` + one + `","updated_at":"2026"}`
	write(t, path, newer)
	if err := overwrite(t.Context(), doc, sample(one)); !errors.Is(err, backend.ErrReadOnly) {
		t.Errorf("a newer version was written: %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != newer {
		t.Errorf("it became %s", text)
	}
}

// A state of another version is read with that version. It is not replaced, and none is saved.
func TestOtherSchema(t *testing.T) {
	t.Parallel()
	for _, name := range forms {
		dir := t.TempDir()
		c := form(name, dir, options{Clock: clock})
		mustSave(t, c, sample(one))
		if name == "document" {
			path := filepath.Join(dir, "state", one+".json")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, strings.Replace(string(text), `"schema_version":1`, `"schema_version":2`, 1))
		} else if _, err := openDB(t, dir).Exec(`UPDATE session_state SET schema_version = 2`); err != nil {
			t.Fatal(err)
		}
		c = form(name, dir, options{Clock: clock})
		s := mustLoad(t, c, one)
		if got := string(rawjson.Get(s.header(), "schema_version")); got != "2" || len(s.messages) != len(sample(one).messages) {
			t.Errorf("%s: version %s, %d messages", name, got, len(s.messages))
		}
		old := sample(one)
		if old.version = s.version; !errors.Is(c.save(t.Context(), old), backend.ErrReadOnly) {
			t.Errorf("%s: it was replaced", name)
		}
		if again := mustLoad(t, c, one); again.version != s.version {
			t.Errorf("%s: it was changed", name)
		}
		fresh := sample(two)
		fresh.schema = []byte("2")
		if err := c.Save(t.Context(), fresh.session()); !errors.Is(err, backend.ErrRecord) {
			t.Errorf("%s: version 2 was saved: %v", name, err)
		}
		if list := mustList(t, c); !slices.Equal(list, []string{one}) {
			t.Errorf("%s: %v; want slices.Equal(list, []string{one})", name, list)
		}
	}
}

// A row would take the place of the document with the same id, so none is made beside a document of another version.
func TestDocumentOfOtherSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state", one+".json")
	write(t, path, `{"schema_version":2,"session_id":"`+one+`","updated_at":"2026-01-01T00:00:00.000Z","messages":[]}`)
	c := newDatabase(dir, options{Clock: clock})
	if err := c.save(t.Context(), sample(one)); !errors.Is(err, backend.ErrReadOnly) || !strings.Contains(err.Error(), path) {
		t.Errorf("it was replaced: %v", err)
	}
	if list := mustList(t, c); len(list) > 0 {
		t.Errorf("the database has %v", list)
	}
}

// Messages that the agent left without a row are found, and have one after the next save.
func TestOrphansAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "messages", one+".jsonl"), `{"role":"user","content":"lost"}`)
	c := newDatabase(dir, options{})
	if list := mustList(t, c); !slices.Equal(list, []string{one}) {
		t.Fatal(list)
	}
	s := mustLoad(t, c, one)
	mustSave(t, c, s)
	var n int
	if err := openDB(t, dir).QueryRow(`SELECT message_count FROM session_state`).Scan(&n); err != nil || n != 1 {
		t.Error(n, err)
	}
}

// A save keeps a meta of the row that is not an object: the log does not show it.
func TestOtherMeta(t *testing.T) {
	t.Parallel()
	for _, meta := range []string{`[1]`, `"text"`, `{torn`} {
		dir := t.TempDir()
		db := openDB(t, dir)
		agentSaves(t, db, dir, one, `{"role":"user","content":"hi"}`+"\n")
		if _, err := db.Exec(`UPDATE session_state SET meta_json = ?`, meta); err != nil {
			t.Fatal(err)
		}
		d := newDatabase(dir, options{})
		s := mustLoad(t, d, one)
		s.messages = append(s.messages, messages("more")...)
		mustSave(t, d, s)
		if got := rowOf(t, d, one).meta.String; got != meta {
			t.Errorf("meta %s became %q", meta, got)
		}
	}
}

// A row with values that the program does not write hides no other row.
func TestOtherTypes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := openDB(t, dir)
	agentSaves(t, db, dir, one, `{"role":"user","content":"hi"}`+"\n")
	agentSaves(t, db, dir, two, `{"role":"user","content":"hi"}`+"\n")
	for _, query := range []string{
		`UPDATE session_state SET invoke_seq = 'many', message_count = 1.5 WHERE session_id = '` + one + `'`,
		`INSERT INTO session_state (session_id, updated_at, schema_version) VALUES (NULL, '', 1)`,
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	d := newDatabase(dir, options{})
	if list := mustList(t, d); len(list) != 2 {
		t.Errorf("listed %q", list)
	}
	if s := mustLoad(t, d, one); s.seq != nil || len(s.messages) != 1 {
		t.Errorf("%+v; want no number and one message", s)
	}
	if s := mustLoad(t, d, two); *s.seq != 4 || len(s.messages) != 1 {
		t.Errorf("%+v; want number 4 and one message", s)
	}
}

// TestManyMembers has a document of some megabytes with very many members that are not known. In quadratic time it takes an hour.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"schema_version":1,"session_id":"` + one + `","updated_at":"2026-02-03T12:00:00.000Z","messages":[]`)
	for i := range 200_000 {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "state", one+".json"), b.String()+"}")
	d := newDocument(dir, options{})
	s, err := d.Load(t.Context(), one)
	if err != nil || !bytes.HasSuffix(s.Header, []byte(`,"k199999":199999}`)) || !rawjson.Valid(s.Header) {
		t.Errorf("a header of %d bytes, %v; want one with all members", len(s.Header), err)
	}
}
