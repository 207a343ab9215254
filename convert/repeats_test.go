package convert_test

import (
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/store"
)

// Compactions that each keep everything do not make the converted session quadratically larger, and the model sees the same
// at its leaf.
func TestConvertRepeats(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	const records = 200
	i := slices.IndexFunc(gen.HostileLogs, func(h gen.Hostile) bool { return h.Name == "compactions" })
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", string(gen.HostileLogs[i].Log(records)))
	from := w.Format("omp")
	src := w.View(path, store.OpenOptions{Dialect: from})
	there := crossed(w, path, from, w.Format("wave"), folder())
	defer there.Close()
	if n := there.Tree().Len(); n > 2*records {
		t.Errorf("%d records became %d", records, n)
	}
	before, after := seenAt(w, src, src.Leaf()), seenAt(w, there, there.Leaf())
	if len(before) <= records/2 {
		t.Fatalf("only %d texts are seen", len(before))
	}
	if diff := sameSeen(before, after); diff != "" {
		t.Error(diff)
	}
}
