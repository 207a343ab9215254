package finding

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/internal/difftest"
)

// Marks stay on their words when a snippet is wrapped and cleaned.
func TestMarked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text, words string
		width             int
		want              []string
	}{
		{"in a pipe", "one two three", "two", 0, []string{"one <two> three"}},
		{"in one line", "one two three", "two", 40, []string{"one <two> three"}},
		{"on the second", "one of these words is far away", "far", 16, []string{"one of these", "words is <far>", "away"}},
		{"over two", "one of these words is far away", "these words", 16, []string{"one of <these>", "<words> is far", "away"}},
		{"after an escape", "\x1b[31m red", "red", 40, []string{`\x1b[31m <red>`}},
		{"in a line that is indented", "   one of these words is far away", "far", 16, []string{"   one of these words is <far> away"}},
		{"no words", "one two", "", 40, []string{"one two"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var marks [][2]int
			if from := strings.Index(tt.text, tt.words); tt.words != "" {
				marks = [][2]int{{from, from + len(tt.words)}}
			}
			got := marked(console.Style{On: true}, tt.text, marks, tt.width)
			for i := range got {
				got[i] = strings.NewReplacer("\x1b[1;31m", "<", "\x1b[0m", ">").Replace(got[i])
			}
			if diff := difftest.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
