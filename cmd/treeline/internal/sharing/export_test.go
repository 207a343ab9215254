package sharing

import (
	"bytes"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/export"
)

// Only a large page comes with the advice to write something else.
func TestLargePage(t *testing.T) {
	for _, tc := range []struct {
		format export.Format
		size   int64
		json   bool
		want   bool
	}{
		{export.HTML, largePage + 1, false, true},
		{export.HTML, largePage, false, false},
		{export.HTML, largePage + 1, true, false},
		{export.JSON, largePage + 1, false, false},
	} {
		var out bytes.Buffer
		a := cli.New()
		a.Stderr, a.JSON = &out, tc.json
		pageReport(a, &export.Report{Size: tc.size}, tc.format)
		if got := strings.Contains(out.String(), "'treeline serve' shows the session in parts"); got != tc.want {
			t.Errorf("%+v: advice: %v, want %v; it prints %q", tc, got, tc.want, out.String())
		}
	}
}
