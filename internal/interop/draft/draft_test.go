package draft_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/copilot"
	"github.com/treeline-dev/treeline/internal/interop/draft"
)

// TestDrafts: the same seed gives the same session, the dialect claims it, and most lines are whole.
func TestDrafts(t *testing.T) {
	for _, d := range []struct {
		dialect dialect.Dialect
		draft   func(uint64) draft.Session
	}{{claude.Claude, draft.Claude}, {codex.Codex, draft.Codex}, {copilot.Copilot, draft.Copilot}} {
		lines, whole := 0, 0
		for seed := range uint64(200) {
			s := d.draft(seed)
			if again := d.draft(seed); again.ID != s.ID || !bytes.Equal(again.Log, s.Log) || len(again.Others) != len(s.Others) {
				t.Fatalf("%s: seed %d gives two sessions", d.dialect.Name(), seed)
			}
			first, _, _ := bytes.Cut(s.Log, []byte("\n"))
			if json.Valid(first) && !bytes.Contains(first, []byte(`unheard-of`)) && !d.dialect.Detect([]dialect.Record{{Data: first, Line: 1}}) {
				t.Errorf("%s: seed %d is not recognised: %s", d.dialect.Name(), seed, first)
			}
			for line := range bytes.Lines(s.Log) {
				if lines++; json.Valid(line) {
					whole++
				}
			}
		}
		if lines < 2000 || whole < lines*95/100 || whole == lines {
			t.Errorf("%s: %d lines, %d of them whole", d.dialect.Name(), lines, whole)
		}
	}
}
