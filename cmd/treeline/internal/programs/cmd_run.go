package programs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/runs"
)

// Run groups the commands for run logs, which have ids of their own.
func Run(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Record, replay and audit runs",
		Long: "A run log records what an agent did: each request to the model as it was sent, each response, the whole output of each\n" +
			"tool, and how the run ended. codelia writes run logs itself; 'treeline run record' writes them for any other agent.",
		Example: "  treeline run ls\n  treeline run replay @last --llm",
	}
	cli.GroupOnly(cmd)
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(
		runLsCommand(a), runShowCommand(a), runRecordCommand(a), runReplayCommand(a), runAuditCommand(a), runDiffCommand(a),
	)
	return cmd
}

// runHelp says how a run is named, in the help of every command that takes one.
const runHelp = "\n\n<run> is a file, a run id or the beginning of one, or @last: the newest of all runs. @last~1 is the one before it."

// runLastHelp follows runHelp where the name may be left out.
const runLastHelp = "\nThe default is @last."

// runArgs returns the names of the runs that a command is for.
func runArgs(given []string) []string {
	if len(given) == 0 {
		return []string{"@last"}
	}
	return given
}

func locateRun(ctx context.Context, s *treeline.Store, ref string) (string, error) {
	if cli.IsPath(ref) {
		return ref, nil
	}
	row, err := s.FindRun(ctx, ref)
	return row.Path, err
}

// openRun opens a run and prints the problems of its log on stderr. Only 'run audit' counts them.
func openRun(ctx context.Context, a *cli.App, ref string) (*runs.Run, error) {
	s, err := a.Store()
	if err != nil {
		return nil, err
	}
	path, err := locateRun(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	r, err := s.OpenRun(ctx, path)
	if err != nil {
		return nil, cli.OpenError(path, err)
	}
	for i, p := range r.Problems() {
		if i == cli.MostProblems {
			a.Notice(fmt.Sprintf("and %d more problems; 'treeline check %s' lists them", len(r.Problems())-i, path))
			break
		}
		a.Notice(path + ": " + p.String())
	}
	return r, nil
}

// CompleteRun offers the newest runs to the shell.
func CompleteRun(a *cli.App) cli.Completion {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		s, err := a.Store()
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		rows, err := s.Runs(cmd.Context(), runs.ListOptions{})
		if err != nil || len(rows) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		list := []string{"@last\tthe newest"}
		for _, r := range rows[:min(len(rows), cli.MostOffered)] {
			if r.Err == nil {
				list = append(list, r.Header.RunID+"\t"+screen.OneLine(r.Prompt, 60))
			}
		}
		return list, cobra.ShellCompDirectiveDefault
	}
}
