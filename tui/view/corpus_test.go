package view

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/tui/look"
)

// TestCorpus pages through all real sessions, folded and unfolded, in every mode.
func TestCorpus(t *testing.T) {
	s, err := treeline.New(demo.Machine(t.TempDir(), time.Now))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, agent := range []string{"pi", "pi-edge", "claude", "codex", "operator", "wave"} {
		t.Run(agent, func(t *testing.T) {
			shown := 0
			err := filepath.WalkDir(dialecttest.Corpus(t, agent), func(path string, _ fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, ".jsonl") {
					return err
				}
				sess, err := s.Open(t.Context(), path, treeline.OpenOptions{})
				if errors.Is(err, store.ErrNotSession) {
					return nil
				}
				if err != nil {
					return err
				}
				shown++
				r := ride(t, sess, Options{}, 80, 24)
				for _, keys := range []string{"g", "E g", "2 g", "c g", "4", "1 tab g"} {
					r.press(strings.Fields(keys)...)
					for range 300 {
						for n, l := range strings.Split(r.text(), "\n") {
							if w := look.Width(l); w != 80 {
								t.Fatalf("%s: %s: line %d has %d columns: %q", path, keys, n, w, l)
							}
						}
						top, row := r.v.pane.top, r.v.tree.cur
						if r.press("pgdown"); r.v.pane.top == top && r.v.tree.cur == row {
							break
						}
					}
				}
				return nil
			})
			if err != nil || shown == 0 {
				t.Errorf("%d sessions: %v", shown, err)
			}
		})
	}
}
