package convert_test

import (
	"os"
	"testing"

	"github.com/treeline-dev/treeline/store"
)

// A leaf that is not the last entry keeps its position: the model sees the same at the leaf of the new session, and the abandoned turns are
// on another branch.
func TestConvertLeafBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for from, file := range map[string]string{"gemini": "rewind-last.jsonl", "claude": "last-prompt-explicit.jsonl"} {
		log, err := os.ReadFile("../dialect/" + from + "/testdata/" + from + "/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range branching {
			if to == from {
				continue
			}
			t.Run(from+" "+to, func(t *testing.T) {
				t.Parallel()
				w, folder := inMemory(t)
				path := w.Put("in/"+file, string(log))
				src := w.View(path, store.OpenOptions{Dialect: w.Format(from)})
				leaf := src.Leaf()
				if n := src.Tree().Len(); n == 0 || src.Tree().At(n-1).ID == leaf {
					t.Fatalf("the leaf %s is the last of %d entries", leaf, n)
				}
				if diff := convertedAt(w, path, src.Dialect(), w.Format(to), &leaf, folder()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}
