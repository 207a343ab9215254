package main

import (
	"errors"

	"github.com/spf13/cobra"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/wire"
)

// runDiffCommand compares what was done, not bytes. It exits with 1 if the runs differ, and if they cannot be compared.
func (a *app) runDiffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff <run> <run>",
		Short: "Compare two runs step by step",
		Long: "Compare the prompts of two runs, each request, response, tool call and output, and how the runs ended. Times, and ids\n" +
			"that differ in every run, are ignored. The exit code is 1 if the runs differ." + runHelp,
		Example: "  treeline run diff 8f1d7b7a @last",
		Args:    args("<run>", "<run>"),
		RunE: func(cmd *cobra.Command, given []string) error {
			x, err := a.openRun(cmd.Context(), given[0])
			if err != nil {
				return err
			}
			defer x.Close()
			y, err := a.openRun(cmd.Context(), given[1])
			if err != nil {
				return err
			}
			defer y.Close()
			steps, err := runlog.Diff(x.Log, y.Log)
			if err != nil {
				return err
			}
			d := wire.NewRunDiff(x.Header.RunID, y.Header.RunID, steps)
			err = a.print(func(out *output) error {
				if a.json {
					return wire.Write(out, d)
				}
				page := out.page()
				page.RunDiff(d)
				return nil
			})
			if err == nil && !d.Equal {
				err = quietError{errors.New("the runs differ")}
			}
			return err
		},
		ValidArgsFunction: a.completeRun,
	}
	a.addJSON(cmd)
	return cmd
}
