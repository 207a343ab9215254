package codelia_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/companion/codelia"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A bad line is an error that names file and line, and what cannot be read is not overwritten.
func TestBadLines(t *testing.T) {
	for content, line := range map[string]int{
		"{\"role\":\"user\"}\n{\"role\":\n":      2,
		"null\n":                                 1,
		"{\"role\":\"user\"}\n\n[]\n":            3,
		"{\"role\":\"user\"} {\"role\":\"u\"}\n": 1,
	} {
		dir := t.TempDir()
		db := openDB(t, dir)
		agentSaves(t, db, dir, one, content)
		c := codelia.New(dir, codelia.Options{})
		_, err := c.Load(t.Context(), one)
		var p *session.Problem
		if !errors.As(err, &p) || p.Line != line || p.File != filepath.Join(dir, "messages", string(one)+".jsonl") {
			t.Errorf("%q: %v", content, err)
		}
		if err := c.Save(t.Context(), sample(one)); !errors.As(err, &p) {
			t.Errorf("%q: overwritten: %v", content, err)
		}
		if now, _ := os.ReadFile(p.File); string(now) != content {
			t.Errorf("%q became %q", content, now)
		}
	}
	for _, content := range []string{"", "[]", `{"session_id":"x"`, `{"session_id":"other","updated_at":"2026"}`, `{"session_id":"` + string(one) + `"}`,
		`{"session_id":"` + string(one) + `","updated_at":"2026","messages":[1]}`} {
		dir := t.TempDir()
		path := filepath.Join(dir, "state", string(one)+".json")
		write(t, path, content)
		d := codelia.NewDocument(dir, codelia.Options{})
		var p *session.Problem
		if _, err := d.Load(t.Context(), one); !errors.As(err, &p) || p.File != path {
			t.Errorf("%q: %v", content, err)
		}
		if err := d.Save(t.Context(), sample(one)); err == nil {
			t.Errorf("%q: overwritten", content)
		}
		if list, err := d.List(t.Context()); err != nil || len(list) != 1 || list[0].Err == nil {
			t.Errorf("%q: %v, %v", content, list, err)
		}
	}
}

// No id leads out of the folder.
func TestIDs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	for name, c := range companions(dir) {
		for _, id := range []session.ID{"", ".", "..", "../x", "a/b", `a\b`, ".x", "x.", "a\x00", "ü", session.ID(strings.Repeat("a", 200))} {
			_, err := c.Load(t.Context(), id)
			if err == nil || errors.Is(err, store.ErrNoSession) {
				t.Errorf("%s loads %q: %v", name, id, err)
			}
			s := sample(id)
			if err := c.Save(t.Context(), s); err == nil {
				t.Errorf("%s saves %q", name, id)
			}
			if err := c.Remove(t.Context(), id); err == nil || errors.Is(err, store.ErrNoSession) {
				t.Errorf("%s removes %q: %v", name, id, err)
			}
		}
		s := sample(one)
		s.Messages = append(s.Messages, session.Raw("[]"))
		if err := c.Save(t.Context(), s); err == nil {
			t.Errorf("%s saves a message that is none", name)
		}
		s = sample(one)
		s.Meta = session.Raw("1")
		if err := c.Save(t.Context(), s); err == nil {
			t.Errorf("%s saves a meta that is none", name)
		}
	}
	entries, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(entries) > 0 {
		t.Errorf("made: %q", entries)
	}
}

// What the document's place has is loaded and listed unless the database has it; a save brings it there, whole.
func TestDocumentAndIndex(t *testing.T) {
	dir := t.TempDir()
	doc, c := codelia.NewDocument(dir, codelia.Options{}), codelia.New(dir, codelia.Options{})
	path := filepath.Join(dir, "state", string(one)+".json")
	write(t, path, "{\n  \"schema_version\": 1,\n  \"session_id\": \""+string(one)+"\",\n  \"updated_at\": \"2026-02-03T12:00:02.900Z\",\n"+
		"  \"messages\": [\n    { \"role\": \"user\", \"content\": \"old\" }\n  ],\n  \"future\": {\"n\": 1.0}\n}\n")
	s := mustLoad(t, c, one)
	if len(s.Messages) != 1 || string(s.Other) != `{"future":{"n":1.0}}` {
		t.Errorf("%+v", s)
	}
	// The document's own form keeps what nobody knows, also when it is written.
	s.Messages = append(s.Messages, messages("new")...)
	mustSave(t, doc, s)
	text, _ := os.ReadFile(path)
	if !strings.Contains(string(text), `"future": {"n": 1.0}`) || !strings.Contains(string(text), `"messages": [{"role":"user","content":"old"},`) {
		t.Errorf("%s", text)
	}
	s = mustLoad(t, c, one)
	s.Messages = messages("only here")
	mustSave(t, c, s) // compared with the document's, saved in the database
	mustSave(t, doc, sample(two))
	list, err := c.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, i := range list {
		if i.ID == one && i.LastUser != "only here" {
			t.Errorf("the index does not win: %+v", i)
		}
	}
	if got := mustLoad(t, doc, one); len(got.Messages) != 2 {
		t.Errorf("the document's form was changed: %+v", got)
	}
	if err := c.Remove(t.Context(), one); err != nil {
		t.Error(err)
	}
	if _, err := c.Load(t.Context(), one); !errors.Is(err, store.ErrNoSession) {
		t.Errorf("it came back: %v", err)
	}
	write(t, path, `{"schema_version":2,"session_id":"`+string(one)+`","updated_at":"2026"}`)
	if err := doc.Save(t.Context(), sample(one)); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a newer one was written: %v", err)
	}
}

// Messages that the agent left without a row are found, and have one after the next save.
func TestOrphansAreFound(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "messages", string(one)+".jsonl"), `{"role":"user","content":"lost"}`)
	c := codelia.New(dir, codelia.Options{})
	list, err := c.List(t.Context())
	if err != nil || len(list) != 1 || list[0].LastUser != "lost" {
		t.Fatalf("%+v, %v", list, err)
	}
	s := mustLoad(t, c, one)
	mustSave(t, c, s)
	var n int
	if err := openDB(t, dir).QueryRow(`SELECT message_count FROM session_state`).Scan(&n); err != nil || n != 1 {
		t.Error(n, err)
	}
}
