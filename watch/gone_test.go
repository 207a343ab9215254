package watch

import (
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// TestForgets: logs that come and go do not fill the memory. The last ones are remembered, and so is one that came back.
func TestForgets(t *testing.T) {
	for name, test := range map[string]struct{ logs, entries, want int }{
		"many logs":    {3 * mostGone, 1, mostGone},
		"many entries": {20, mostGoneEntries / 8, 8},
	} {
		w := newWatcher(&place.Machine{}, Options{}, func(Change, error) bool { return true })
		src := &source{b: memory.New(), path: func(name string) string { return name }, owns: func(string) bool { return true }}
		w.add(src)
		known := map[uint64]int32{}
		for k := range test.entries {
			known[uint64(k)] = 1
		}
		var last *followed
		for k := range test.logs {
			f := w.addLog(src, fmt.Sprint(k))
			f.known, f.header.ID = known, session.ID(f.Name)
			w.ids[f.header.ID] = f
			if err := w.follow(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			last = f
		}
		if len(src.logs) != test.want || len(w.ids) != test.want || src.logs[last.Name] != last {
			t.Errorf("%s: %d logs and %d ids are remembered, want %d", name, len(src.logs), len(w.ids), test.want)
		}
		if _, err := src.b.Create(t.Context(), last.Name, []byte("x")); err != nil {
			t.Fatal(err)
		}
		w.cameBack(last)
		if want := (test.want - 1) * test.entries; w.entries != want || len(w.gone) != test.want-1 {
			t.Errorf("%s: %d entries of %d logs that are gone, want %d", name, w.entries, len(w.gone), want)
		}
		// A log of another working directory is not followed, and is forgotten at once.
		f := w.addLog(src, "elsewhere")
		f.elsewhere = true
		if err := w.follow(t.Context(), f); err != nil || src.logs["elsewhere"] != nil {
			t.Errorf("%s: a log elsewhere that is gone is remembered, %v", name, err)
		}
	}
}
