package view_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/session"
)

// A session whose log continues that of a hidden one is hidden, too: reading it would show the other one. A fork with its own copy is not
// hidden.
func TestRows(t *testing.T) {
	row := func(id, cwd, parent, agent string) place.Row {
		d, err := place.FindDialect(all.Dialects(), agent)
		if err != nil {
			t.Fatal(err)
		}
		return place.Row{Path: "/" + id, Dialect: d, Summary: dialect.Summary{ID: session.ID(id), CWD: cwd, Parent: parent}}
	}
	broken := row("broken", "/ours", "", "omp")
	broken.Err = errors.New("no")
	// A log may be found by the id in its name.
	const inName = "0198e028-51a9-7379-857f-23f1cb024aff"
	renamed := row("renamed", "/theirs", "", "codex")
	renamed.Path = "/rollout-2026-02-16T10-00-00-" + inName + ".jsonl.zst"
	rows := []place.Row{
		renamed, row("on", "/ours", inName, "codex"),
		row("third", "/ours", "second", "codex"), row("second", "/ours", "first", "codex"), row("first", "/theirs", "", "codex"),
		row("free", "/ours", "alone", "codex"), row("alone", "/ours", "gone", "codex"),
		row("copy", "/ours", "first", "omp"), row("nowhere", "", "", "omp"), broken,
		// Another row with the hidden one's id does not make it visible.
		row("decoyed", "/ours", "first", "codex"), row("first", "/ours", "", "codex"),
	}
	var got []string
	for _, r := range view.Rows(rows, func(cwd string) bool { return cwd == "/ours" }) {
		got = append(got, string(r.ID))
	}
	if diff := difftest.Diff([]string{"free", "alone", "copy", "first"}, got); diff != "" {
		t.Error(diff)
	}
	for _, r := range view.Rows(rows, func(cwd string) bool { return strings.HasPrefix(cwd, "/theirs") }) {
		if r.CWD != "/theirs" {
			t.Errorf("%s is shown", r.ID)
		}
	}
}
