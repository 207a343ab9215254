package repair

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// Every fixture of every dialect has a repair plan, and an undamaged log is not changed.
func TestRepairFixtures(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := 0
	err := filepath.WalkDir(filepath.Join("..", "dialect"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") || !strings.Contains(path, "testdata") {
			return err
		}
		log, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		copied := b.Old(d.Name(), string(log))
		l, err := b.m.Locate(copied)
		if err != nil {
			return err
		}
		before, err := b.m.OpenLog(t.Context(), l, nil)
		if err != nil {
			return nil
		}
		defer before.Close()
		if before.Tree.Header().Newer {
			return nil
		}
		n++
		damaged := false
		for _, p := range before.Tree.Problems() {
			switch p.Kind {
			case session.ProblemOrphan, session.ProblemLabelTarget, session.ProblemLeafTarget, session.ProblemField:
				// If the dialect can mend what its program does not find, that counts as damage.
				_, mends := before.Tree.Codec().EntryCodec.(dialect.Mender)
				damaged = damaged || mends
			default:
				damaged = true
			}
		}
		if c, err := session.BuildContext(before.Tree, before.Tree.LeafID(), session.ContextOptions{}); err == nil && len(c.Problems()) > 0 {
			damaged = true
		}
		plan, err := b.Plan(t.Context(), copied, Options{})
		if errors.Is(err, dialect.ErrUnsupported) {
			return nil // formats that are only read are not repaired
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		for _, r := range plan.Repairs {
			if r.Change && !damaged && r.Kind != KindNewline {
				t.Errorf("%s: %+v; want not (r.Change && !damaged && r.Kind != KindNewline)", path, r)
			}
		}
		return nil
	})
	if err != nil || n < 10 {
		t.Errorf("%d fixtures, %v", n, err)
	}
}
