package transcript_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/transcript"
)

// TestCorpus shows all real sessions: whole, window by window, and their changes.
func TestCorpus(t *testing.T) {
	w := world.New(t)
	for _, agent := range []string{"pi", "pi-edge", "claude", "codex", "operator", "wave"} {
		t.Run(agent, func(t *testing.T) {
			shown := 0
			err := filepath.WalkDir(dialecttest.Corpus(t, agent), func(path string, _ fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, ".jsonl") {
					return err
				}
				d := open(t, w, path)
				if d == nil {
					return nil
				}
				shown++
				whole := window(t, d, transcript.Request{Limit: 1 << 20})
				if len(page(t, d, transcript.Request{Limit: 7}, false)) != len(whole.Blocks) {
					t.Errorf("%s: windows show other blocks", path)
				}
				for i := range whole.Blocks {
					if b := &whole.Blocks[i]; b.Problems != nil {
						t.Logf("%s: %s: %v", path, b.ID, b.Problems[0])
					}
				}
				if r := rail(t, d, transcript.RailRequest{MaxRows: 40}); len(r.Rows) > 40 {
					t.Errorf("%s: %d rows", path, len(r.Rows))
				}
				_, err = d.Changes(t.Context(), nil)
				return err
			})
			if err != nil || shown == 0 {
				t.Errorf("%d sessions: %v", shown, err)
			}
		})
	}
}
