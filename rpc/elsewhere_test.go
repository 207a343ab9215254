package rpc_test

import (
	"path/filepath"
	"testing"
	"time"
)

// A list of a directory also shows sessions in the folder of the document's rule, and vice versa. There the header decides: folders of two
// directories may have the same name.
func TestListElsewhere(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 16, 10, 0, 0, 0, time.UTC)
	c := dial(t)
	cwd := filepath.Join(c.home, "work")
	own := filepath.Dir(c.object("create", members{"cwd": cwd, "dialect": "omp"})["file"].(string))
	doc := filepath.Dir(c.object("create", members{"cwd": cwd, "dialect": "omp-doc"})["file"].(string))
	if own == doc {
		t.Fatalf("both rules give %s", own)
	}
	writeAt(t, filepath.Join(own, "a.jsonl"), logOf("program", cwd, "x", at), at)
	writeAt(t, filepath.Join(doc, "b.jsonl"), logOf("document", cwd, "x", at), at.Add(-time.Second))
	writeAt(t, filepath.Join(doc, "c.jsonl"), logOf("other", filepath.Join(c.home, "wo", "rk"), "x", at), at)
	for dialect, want := range map[string][]string{
		"omp": {"program", "document"}, "omp18": {"program", "document"},
		"omp-doc": {"other", "program", "document"}, // the program shows everything in its own folder
	} {
		equal(t, dialect, ids(c.list("list", members{"cwd": cwd, "dialect": dialect})), want)
		equal(t, dialect+" in a folder", ids(c.list("list", members{"cwd": cwd, "dialect": dialect, "sessionDir": own})), []string{"program"})
	}
}
