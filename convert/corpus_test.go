package convert_test

import (
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/store"
)

// What real programs wrote says the same in every other format.
func TestConvertCorpus(t *testing.T) {
	for _, name := range []string{"claude", "codex"} {
		files, err := filepath.Glob(filepath.Join(dialecttest.Corpus(t, name), "*.jsonl"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, path := range files {
			t.Run(name+"/"+filepath.Base(path), func(t *testing.T) {
				w, folder := inMemory(t)
				from := w.Format(name)
				for _, to := range targets() {
					if to == from {
						continue
					}
					src, err := w.Open(t.Context(), path, store.OpenOptions{Dialect: from})
					if err != nil {
						t.Skip(err)
					}
					before := seenAt(w, src, src.Leaf())
					if len(before) == 0 {
						continue
					}
					there := crossed(w, path, from, to, folder())
					if there == nil {
						t.Errorf("%s: nothing was converted", to.Name())
						continue
					}
					if diff := sameSeen(before, seenAt(w, there, there.Leaf())); diff != "" {
						t.Errorf("%s → %s: %s", name, to.Name(), diff)
					}
					w.Must(there.Close())
					w.Must(src.Close())
				}
			})
		}
	}
}
