package logtree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/logtree"
)

// The error for a line that is too long names its line, in a log of lines and in one that is a single record. It advises to cut off the line
// if something remains.
func TestLongLineNumber(t *testing.T) {
	t.Parallel()
	const most = 1 << 19
	long := `"` + strings.Repeat("long ", most) + `"`
	for name, c := range map[string]struct {
		content string
		line    int
	}{"log.jsonl": {"{}\n{}\n" + long + "\n", 3}, "log.json": {long, 1}} {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, name), []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := file.New(root, file.Options{LongestLine: most})
		if err != nil {
			t.Fatal(err)
		}
		at, err := b.Stat(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, err = range logtree.Records(t.Context(), b, at) {
		}
		var found *backend.LongLineError
		if !errors.As(err, &found) || found.Line != c.line || strings.Contains(found.Advice(), "cut") != (c.line > 1) {
			t.Errorf("%s: %v; want a LongLineError of line %d", name, err, c.line)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
