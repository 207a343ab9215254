package convert_test

import (
	"testing"

	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/store"
)

// A converted session continues where the old one ended, even if it is longer than those of TestConvertPairs.
func TestConvertSaysTheSame(t *testing.T) {
	t.Parallel()
	log := gen.Session(gen.Options{Seed: 5, Entries: 120, CompactEvery: 50, Branches: 2})
	for name, text := range map[string][]byte{"pi": log, "operator": gen.Operator(log), "wave": gen.Wave(log), "codelia-state": gen.State(log)} {
		w, folder := inMemory(t)
		path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", string(text))
		src := w.View(path, store.OpenOptions{Dialect: w.Format(name)})
		if n := len(seenAt(w, src, src.Leaf())); n < 10 {
			t.Errorf("%s: only %d pieces are seen", name, n)
		}
		for i, to := range targets() {
			if to.Name() == name || !soaktest.Every() && i%3 != len(name)%3 {
				continue
			}
			if diff := convertedAt(w, path, src.Dialect(), to, new(src.Leaf()), folder()); diff != "" {
				t.Errorf(`%s → %s: %.300s; want diff == ""`, name, to.Name(), diff)
			}
		}
	}
}
