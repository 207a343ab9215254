package programs

import (
	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/wire"
)

// runDiffCommand compares what was done, not bytes. The exit code is 1 if the runs differ or cannot be compared.
func runDiffCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff <run> <run>",
		Short: "Compare two runs step by step",
		Long: "Compare the prompts of two runs, each request, response, tool call and output, and how the runs ended. Times, and ids\n" +
			"that differ in every run, are ignored. The exit code is 1 if the runs differ." + runHelp,
		Example: "  treeline run diff 51214102 @last",
		Args:    cli.Args("<run>", "<run>"),
		RunE: func(cmd *cobra.Command, given []string) error {
			x, err := openRun(cmd.Context(), a, given[0])
			if err != nil {
				return err
			}
			defer x.Close()
			y, err := openRun(cmd.Context(), a, given[1])
			if err != nil {
				return err
			}
			defer y.Close()
			steps, err := runlog.Diff(x.Log, y.Log)
			if err != nil {
				return err
			}
			d := wire.NewRunDiff(x.Header.RunID, y.Header.RunID, steps)
			err = a.Print(func(out *console.Output) error {
				if a.JSON {
					return wire.Write(out, d)
				}
				page := out.Page()
				page.RunDiff(d)
				return nil
			})
			if err == nil && !d.Equal {
				err = cli.Quiet("the runs differ")
			}
			return err
		},
		ValidArgsFunction: CompleteRun(a),
	}
	a.AddJSON(cmd)
	return cmd
}
