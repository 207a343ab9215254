package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Every fixture of every dialect can be planned for, and what is not damaged is not changed.
func TestRepairFixtures(t *testing.T) {
	s, home := writable(t)
	n := 0
	err := filepath.WalkDir(filepath.Join("..", "dialect"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") || !strings.Contains(path, "testdata") {
			return err
		}
		log, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		copied := filepath.Join(home, d.Name())
		write(t, copied, string(log))
		before, err := s.Open(t.Context(), copied, store.OpenOptions{})
		if err != nil || before.Header().Newer {
			return nil
		}
		defer before.Close()
		n++
		damaged := false
		for _, p := range before.Tree().Problems() {
			switch p.Kind {
			case session.ProblemOrphan, session.ProblemLabelTarget, session.ProblemLeafTarget, session.ProblemField:
			default:
				damaged = true
			}
		}
		plan, err := s.PlanRepair(t.Context(), copied, store.RepairOptions{})
		if errors.Is(err, store.ErrUnsupported) {
			return nil // what is only read is not repaired
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		for _, r := range plan.Repairs {
			if r.Change && !damaged && r.Kind != store.RepairNewline {
				t.Errorf("%s: %+v", path, r)
			}
		}
		return nil
	})
	if err != nil || n < 10 {
		t.Errorf("%d fixtures, %v", n, err)
	}
}
