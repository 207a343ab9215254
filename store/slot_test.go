package store_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store"
)

// slot returns the title slot of a log, and fails the test if the log is not one of omp 18.
func (d *desk) slot(path string) (title, source any) {
	d.Helper()
	lines := d.ReadLines(path)
	if len(lines) < 2 || len(lines[0]) != 255 || d.member(path, 1, "type") != "session" {
		d.Fatalf("%s begins with %q", path, lines)
	}
	s, err := d.Open(d.Context(), path, store.OpenOptions{})
	d.Must(err)
	defer s.Close()
	if s.Dialect().Name() != "omp18" {
		d.Errorf("%s is read as %s", path, s.Dialect().Name())
	}
	return d.member(path, 0, "title"), d.member(path, 0, "source")
}

// A session of omp 18 begins with a title slot, by which it is recognised. So do its copies.
func TestSlotOfNewSessions(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp18", store.CreateOptions{Title: "Tulips"})
	d.Must(s.Rename(t.Context(), "Roses")) // before the log exists
	d.Answer(s, "two")
	first := s.Path()
	for range 2 {
		if title, source := d.slot(s.Path()); title != "Roses" || source != "user" {
			t.Errorf("%v by %v", title, source)
		}
		d.Must(s.Fork(t.Context()))
	}
	if s.Path() == first || s.Header().Title != "Roses" {
		t.Errorf("%s is called %q", s.Path(), s.Header().Title)
	}
	d.Must(s.BranchedSession(t.Context(), s.Leaf()))
	if title, _ := d.slot(s.Path()); title != "Roses" {
		t.Errorf("the branched session is called %v", title)
	}
	empty := d.Put("x/empty.jsonl", "")
	made, err := d.OpenWrite(t.Context(), empty, d.fill(store.CreateOptions{Dialect: d.Format("omp18"), Write: store.WriteOptions{Create: true}}))
	d.Must(err)
	d.Must(made.Close())
	if title, source := d.slot(empty); title != "" || source != nil {
		t.Errorf("without a title: %v by %v", title, source)
	}
}

// A copy keeps the source of its title. For omp 13 the title goes into the header.
func TestSlotOfCopies(t *testing.T) {
	d := newDesk(t)
	slot := `{"type":"title","v":1,"title":"Tulips","source":"auto","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}`
	path := d.Put("x/slot.jsonl", slot+"\n"+world.Log("s", "/w", world.Said("a", "", "hi")))
	for name, first := range map[string]int{"omp18": 1, "omp": 0} {
		s, err := d.ForkFrom(t.Context(), path, d.fill(store.CreateOptions{Dialect: d.Format(name), CWD: d.CWD, Write: store.WriteOptions{Defer: dialect.DeferNever}}))
		d.Must(err)
		d.Must(s.Close())
		if d.member(s.Path(), first, "type") != "session" || d.member(s.Path(), first, "title") != "Tulips" || d.member(s.Path(), first, "titleSource") != "auto" {
			t.Errorf(`%s: %s; want d.member(s.Path(), first, "type") == "session", d.member(s.Path(), first, "title") == "Tulips", d.member(s.Path(), first, "titleSource") == "auto"`, name, strings.Join(d.ReadLines(s.Path()), "\n"))
		}
	}
}

// A log of omp before version 3 writes models in two members. They count, and migration writes them as one.
func TestMigrationOfModels(t *testing.T) {
	d := newDesk(t)
	log := `{"type":"session","version":2,"id":"old","timestamp":"2025-12-16T10:20:00.000Z","cwd":"/w"}` + "\n" +
		world.Said("a", "", "hi") + "\n" +
		`{"type":"model_change","id":"m","parentId":"a","timestamp":"2025-12-16T10:20:02.000Z","provider":"openai","modelId":"gpt-4o"}` + "\n"
	path := d.Put(".omp/agent/sessions/--w--/old.jsonl", log)
	model := func(s *store.Session) string {
		t.Helper()
		c, err := s.Context(t.Context(), s.Leaf(), store.ContextOptions{})
		d.Must(err)
		m, _ := c.DefaultModel()
		return m.Name
	}
	read, err := d.Open(t.Context(), path, store.OpenOptions{})
	d.Must(err)
	if got := model(read); got != "openai/gpt-4o" || read.Dialect().Name() != "omp" {
		t.Errorf("%s reads %q", read.Dialect().Name(), got)
	}
	d.Must(read.Close())
	s := d.Edit(path, store.WriteOptions{})
	want := `{"type":"model_change","id":"m","parentId":"a","timestamp":"2025-12-16T10:20:02.000Z","model":"openai/gpt-4o"}`
	if lines := d.ReadLines(path); lines[2] != want || model(s) != "openai/gpt-4o" {
		t.Errorf("%s\n%q; want lines[2] == %v, model(s) == \"openai/gpt-4o\"", lines[2], model(s), want)
	}
}
