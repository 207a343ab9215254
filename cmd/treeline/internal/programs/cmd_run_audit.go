package programs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/wire"
)

// runAuditCommand judges runs. Its exit code is for CI jobs.
func runAuditCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit [<run>…]",
		Short: "Check runs for faults and count tokens",
		Long: "Check that requests and responses, and tool calls and outputs, come in pairs and in order, that the events are in\n" +
			"order and that the run has an end; and count tokens. The exit code is 1 if there is any fault. What is merely worth\n" +
			"knowing, such as a request without a response in a run that failed, is a note." + runHelp + runLastHelp,
		Example: "  treeline run audit @last\n  treeline run audit ~/.codelia/sessions/2026/02/03/*.jsonl --json | jq .tokens.total",
		Args:    cli.Args("[<run>]…"),
		RunE: func(cmd *cobra.Command, given []string) error {
			faults := 0
			err := a.Print(func(out *console.Output) error {
				for i, ref := range runArgs(given) {
					report, err := auditOne(cmd.Context(), a, ref)
					if err != nil {
						return err
					}
					faults += report.Faults()
					if a.JSON {
						err = wire.Write(out, wire.NewAudit(report))
					} else {
						if i > 0 {
							fmt.Fprintln(out)
						}
						page := out.Page()
						page.Audit(report)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil && faults > 0 {
				err = cli.Quiet("there are faults")
			}
			return err
		},
		ValidArgsFunction: CompleteRun(a),
	}
	a.AddJSON(cmd)
	return cmd
}

func auditOne(ctx context.Context, a *cli.App, ref string) (*runlog.Report, error) {
	r, err := openRun(ctx, a, ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return runlog.Audit(r.Log)
}
