package man

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// TestPage writes a page with one of everything.
func TestPage(t *testing.T) {
	root := &cobra.Command{Use: "tool", Short: "Works", RunE: func(*cobra.Command, []string) error { return nil }}
	root.PersistentFlags().String("color", "auto", "use colours: `WHEN` auto or never")
	cmd := &cobra.Command{
		Use: "do <it>", Short: "Does it", Long: "It is done.\n.hidden is a file: C:\\x\n\n  a  table…\nafter it",
		Example: "  tool do 'this'", Run: func(*cobra.Command, []string) {},
	}
	cmd.Flags().BoolP("all", "a", false, "do all")
	root.AddCommand(cmd, &cobra.Command{Use: "other", Short: "Other", Run: cmd.Run}, &cobra.Command{Use: "secret", Hidden: true, Run: cmd.Run})
	got := string(Page(cmd, About{Version: "1.2", Date: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}))
	want := strings.TrimLeft(`
.TH "TOOL\-DO" "1" "2026\-01\-02" "tool 1.2" "tool manual"
.SH "NAME"
tool-do \- does it
.SH "SYNOPSIS"
\fBtool do\fR <it> [flags]
.SH "DESCRIPTION"
It is done.
\&.hidden is a file: C:\ex
.PP
.nf
  a  table\[u2026]
.fi
after it
.SH "OPTIONS"
.TP
\fB\-a\fR, \fB\-\-all\fR
do all
.TP
\fB\-h\fR, \fB\-\-help\fR
help for do
.SH "OPTIONS OF EVERY COMMAND"
.TP
\fB\-\-color\fR \fIWHEN\fR
use colours: WHEN auto or never (default auto)
.SH "EXAMPLES"
.nf
  tool do \(aqthis\(aq
.fi
.SH "SEE ALSO"
\fBtool\fR(1), \fBtool\-other\fR(1)
`, "\n")
	if diff := difftest.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if top := string(Page(root, About{})); !strings.Contains(top, `\fBtool\-do\fR(1)`) || strings.Contains(top, "secret") {
		t.Errorf("the page of the program lists its commands, and no hidden ones:\n%s", top)
	}
}
