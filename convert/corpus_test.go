package convert_test

import (
	"errors"
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
					if errors.Is(err, store.ErrNotSession) {
						return // a log without a readable header
					}
					w.Must(err)
					leaf := src.Leaf()
					empty := len(seenAt(w, src, leaf)) == 0
					w.Must(src.Close())
					if empty {
						continue
					}
					if diff := convertedAt(w, path, from, to, &leaf, folder()); diff != "" {
						t.Errorf(`%s → %s: %s; want diff == ""`, name, to.Name(), diff)
					}
				}
			})
		}
	}
}
