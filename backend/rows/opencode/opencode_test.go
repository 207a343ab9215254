package opencode_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/backend/rows/opencode"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/started"
)

func records(t *testing.T, b backend.Backend, name string) (list []string) {
	t.Helper()
	at, err := b.Stat(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range b.Read(t.Context(), at, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(r.Data))
	}
	return list
}

// The files of older versions are shown as the rows that they would be, unless the database has the session.
func TestStorage(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	dir := filepath.Join(data, "opencode", "storage")
	for name, text := range map[string]string{
		"session/global/ses_1.json": `{"id":"ses_1","version":"0.9","projectID":"global","directory":"/w","title":"old",` + "\n" + `"time":{"created":100,"updated":300}}`,
		"session/p2/ses_2.json":     `{"id":"ses_2","parentID":"ses_1","directory":"/w","title":"child","time":{"created":200,"updated":200},"revert":{"messageID":"m"}}`,
		"message/ses_1/msg_b.json":  `{"id":"msg_b","sessionID":"ses_1","role":"user","time":{"created":110}}`,
		"message/ses_1/msg_a.json":  `{"id":"msg_a","sessionID":"ses_1","role":"assistant","time":{"created":120}}`,
		"part/msg_b/prt_2.json":     `{"id":"prt_2","messageID":"msg_b","sessionID":"ses_1","type":"text","text":"two"}`,
		"part/msg_b/prt_1.json":     `{"id":"prt_1","messageID":"msg_b","sessionID":"ses_1","type":"text","text":"one"}`,
		"project/global.json":       `{}`,
		"session/.DS_Store":         "a file of the system's",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := opencode.StorageDriver()
	if !d.Claims(dir) || d.Claims(data) {
		t.Error("what the driver claims")
	}
	b, err := d.Open(dir, backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	want := []string{
		`{"session":{"id":"ses_1","slug":"","directory":"/w","title":"old","version":"0.9","time_created":100}}`,
		`{"message":{"id":"msg_b","session_id":"ses_1","time_created":110,"time_updated":110,"data":{"role":"user","time":{"created":110}}},"part":[` +
			`{"id":"prt_1","message_id":"msg_b","session_id":"ses_1","time_created":110,"time_updated":110,"data":{"type":"text","text":"one"}},` +
			`{"id":"prt_2","message_id":"msg_b","session_id":"ses_1","time_created":110,"time_updated":110,"data":{"type":"text","text":"two"}}]}`,
		`{"message":{"id":"msg_a","session_id":"ses_1","time_created":120,"time_updated":120,"data":{"role":"assistant","time":{"created":120}}},"part":[]}`,
	}
	if diff := difftest.Diff(want, records(t, b, "ses_1.jsonl")); diff != "" {
		t.Error(diff)
	}
	if diff := difftest.Diff([]string{`{"session":{"id":"ses_2","parent_id":"ses_1","slug":"","directory":"/w","title":"child","version":"","revert":{"messageID":"m"},"time_created":200}}`}, records(t, b, "ses_2.jsonl")); diff != "" {
		t.Error(diff)
	}
	if _, err := b.Create(t.Context(), "ses_3.jsonl", []byte(want[0])); !errors.Is(err, backend.ErrReadOnly) {
		t.Errorf("written: %v", err)
	}
	path, err := started.OpenCode(data)
	if err != nil {
		t.Fatal(err)
	}
	db := rows.New(rows.NewDatabase(path, opencode.Tables(), rows.Options{}), ".jsonl", false)
	defer db.Close()
	if _, err := db.Create(t.Context(), "ses_1.jsonl", []byte(`{"session":{"id":"ses_1","slug":"s","directory":"/w","title":"now","version":"1","time_created":1}}`)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for l, err := range b.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, l.Name)
	}
	if !slices.Equal(names, []string{"ses_2.jsonl"}) {
		t.Errorf("listed %q", names)
	}
	if _, err := b.Stat(t.Context(), "ses_1.jsonl"); !errors.Is(err, backend.ErrNotExist) {
		t.Error(err)
	}
	// An unreadable database may have the session, and more of it.
	if err := os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	broken, err := d.Open(dir, backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Close()
	if l, err := broken.Stat(t.Context(), "ses_1.jsonl"); err == nil || errors.Is(err, backend.ErrNotExist) {
		t.Errorf("beside a database that cannot be read: %v, %v", l, err)
	}
}

// A new session belongs to the project that the database has for its directory, or that git's files name.
func TestProject(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	path, err := started.OpenCode(data)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`INSERT INTO project (id, worktree, time_created, time_updated, sandboxes) VALUES ('known', '/srv/known', 1, 1, '[]')`); err != nil {
		t.Fatal(err)
	}
	git := func(name, file, text string) string {
		dir := filepath.Join(data, name)
		if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".git", file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	remote := git("remote", "config", "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@GitHub.com:someone/thing.git\n")
	noted := git("noted", "opencode", "0123abcd\n")
	b := rows.New(rows.NewDatabase(path, opencode.Tables(), rows.Options{}), ".jsonl", false)
	defer b.Close()
	for i, c := range []struct{ directory, id, path string }{
		{"/srv/known/deep/er", "known", "deep/er"},
		{"/srv/knownot", "global", "srv/knownot"},
		{remote, "abad81fe7c0f01b7d877ff2dd7012bcc0a984547", ""},
		{filepath.Join(noted, "in"), "0123abcd", "in"},
	} {
		id := "ses_" + string(rune('a'+i))
		header := `{"session":{"id":"` + id + `","slug":"s","directory":"` + filepath.ToSlash(c.directory) + `","title":"x","version":"1","time_created":1}}`
		if _, err := b.Create(t.Context(), id+".jsonl", []byte(header)); err != nil {
			t.Fatal(err)
		}
		var project, at string
		if err := db.QueryRow(`SELECT project_id, path FROM session WHERE id = ?`, id).Scan(&project, &at); err != nil || project != c.id || at != c.path {
			t.Errorf("%s: project %s, path %q, %v; want %s, %q", c.directory, project, at, err, c.id, c.path)
		}
	}
}

// A folder in the place of the program's database is reported, and is no folder of logs.
func TestFolderAsDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "opencode", "opencode.db")
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	d := opencode.Driver()
	if !d.Claims(path) {
		t.Fatal("it is not claimed")
	}
	b, err := d.Open(path, backend.OpenOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var reported error
	for _, err := range b.List(t.Context(), "") {
		reported = err
	}
	if !errors.Is(reported, durable.ErrNotRegular) {
		t.Errorf("the list reports %v; want %v", reported, durable.ErrNotRegular)
	}
}
