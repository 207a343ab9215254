package store_test

import (
	"testing"

	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A session has the name that the agent's own program gives it. Lists fall back to names of other programs.
func TestName(t *testing.T) {
	const (
		titled   = `{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:00.000Z","cwd":"/w","title":"header"}`
		untitled = `{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:00.000Z","cwd":"/w"}`
		slot     = `{"type":"title","v":1,"title":"slot","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}`
		info     = `{"type":"session_info","id":"i","parentId":"a","timestamp":"2026-02-16T10:20:02.000Z","name":" by\nentry "}`
		none     = `{"type":"session_info","id":"j","parentId":"i","timestamp":"2026-02-16T10:20:03.000Z","name":" "}`
		short    = `{"type":"compaction","id":"k","parentId":"a","timestamp":"2026-02-16T10:20:03.000Z","summary":"S","shortSummary":"short","firstKeptEntryId":"a","tokensBefore":1}`
	)
	for _, test := range []struct {
		dialect, name, title string
		lines                []string
	}{
		{"pi", "", "header", []string{titled}},
		{"pi", "by\nentry", "by\nentry", []string{titled, info}},
		{"pi", "", "", []string{titled, info, none}},
		{"omp", "header", "header", []string{titled, info}},
		{"omp", "", "by\nentry", []string{untitled, info}},
		{"omp", "", "", []string{untitled, short}},
		{"omp18", "slot", "slot", []string{slot, titled, info}},
		{"omp18", "", "by\nentry", []string{untitled, info}},
	} {
		d := newDesk(t)
		text := ""
		for _, l := range append(test.lines, world.Said("a", "", "hi")) {
			text += l + "\n"
		}
		path := d.Put("x/name.jsonl", text)
		s, err := d.Open(t.Context(), path, store.OpenOptions{Dialect: d.Format(test.dialect)})
		d.Must(err)
		name, err := s.Name()
		d.Must(err)
		title, err := s.Title()
		d.Must(err)
		if name != test.name || title != test.title {
			t.Errorf("%s: name %q, title %q of\n%s", test.dialect, name, title, text)
		}
		d.Must(s.Close())
	}
}

// Operator's program looks for the name on the path only.
func TestNameOnPath(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("operator", store.CreateOptions{})
	one, err := s.AppendText(t.Context(), session.RoleUser, "one")
	d.Must(err)
	_, err = s.AppendText(t.Context(), session.RoleAssistant, "two")
	d.Must(err)
	d.Must(s.Rename(t.Context(), "there"))
	if name, err := s.Name(); err != nil || name != "there" {
		t.Errorf("name %q, %v", name, err)
	}
	_, err = s.Branch(t.Context(), one.ID, store.BranchOptions{Durable: true})
	d.Must(err)
	if name, err := s.Name(); err != nil || name != "" {
		t.Errorf("on the other branch: name %q, %v", name, err)
	}
}
