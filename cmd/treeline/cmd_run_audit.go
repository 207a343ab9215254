package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/wire"
)

// runAuditCommand judges runs. Its exit code is for CI jobs.
func (a *app) runAuditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit <run>…",
		Short: "Check runs for faults and count tokens",
		Long: "Check that requests and responses, and tool calls and outputs, come in pairs and in order, that the events are in\n" +
			"order and that the run has an end; and count tokens. The exit code is 1 if there is any fault. What is merely worth\n" +
			"knowing, such as a request without a response in a run that failed, is a note." + runHelp,
		Example: "  treeline run audit @last\n  treeline run audit ~/.codelia/sessions/2026/02/03/*.jsonl --json | jq .tokens.total",
		Args:    args("<run>…"),
		RunE: func(cmd *cobra.Command, given []string) error {
			faults := 0
			err := a.print(func(out *output) error {
				for i, ref := range given {
					report, err := a.auditOne(cmd.Context(), ref)
					if err != nil {
						return err
					}
					faults += report.Faults()
					if a.json {
						err = wire.Write(out, wire.NewAudit(report))
					} else {
						if i > 0 {
							fmt.Fprintln(out)
						}
						page := out.page()
						page.Audit(report)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil && faults > 0 {
				err = quietError{errors.New("there are faults")}
			}
			return err
		},
		ValidArgsFunction: a.completeRun,
	}
	a.addJSON(cmd)
	return cmd
}

func (a *app) auditOne(ctx context.Context, ref string) (*runlog.Report, error) {
	r, err := a.openRun(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return runlog.Audit(r.Log)
}
