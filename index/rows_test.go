package index

import (
	"os"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// Rows are read as they were kept. A file that was cut off or changed anywhere counts as missing.
func TestRows(t *testing.T) {
	t.Parallel()
	x := Open(Options{Dir: t.TempDir()})
	rows := map[string]Row{
		"a.jsonl": {Name: "a.jsonl", Stamp: Stamp{Generation: "g", Size: 1, Nanos: 2, Changed: 3}, Head: []byte("head"), Rest: []byte("texts")},
		"b.jsonl": {Name: "b.jsonl", Stamp: Stamp{Generation: "h", Size: 9}, Head: []byte{}, Rest: []byte{}},
	}
	x.KeepRows("/folder", "omp", rows)
	if diff := difftest.Diff(rows, x.Rows("/folder", "omp", true)); diff != "" {
		t.Error(diff)
	}
	if got := x.Rows("/folder", "omp", false)["a.jsonl"]; string(got.Head) != "head" || got.Rest != nil {
		t.Errorf("without texts: %+v", got)
	}
	if got := len(x.Rows("/other", "omp", true)) + len(x.Rows("/folder", "pi", true)); got != 0 {
		t.Errorf("%d rows of another folder or list", got)
	}
	path := x.rowsPath("/folder", "omp")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		for _, damaged := range [][]byte{whole[:i], append(append(append([]byte{}, whole[:i]...), whole[i]^1), whole[i+1:]...)} {
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := x.Rows("/folder", "omp", true); len(got) != 0 {
				t.Fatalf("byte %d: %v", i, got)
			}
		}
	}
	x.KeepRows("/folder", "omp", rows)
	x.KeepRows("/folder", "pi", rows)
	x.ForgetRows("/folder")
	if got := len(x.Rows("/folder", "omp", true)) + len(x.Rows("/folder", "pi", true)); got != 0 {
		t.Errorf("%d rows were not forgotten", got)
	}
}
