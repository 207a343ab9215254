package programs

import (
	"encoding/json"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// runShowCommand plays what the user saw. Requests and responses are for 'run replay' and 'run audit'.
func runShowCommand(a *cli.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "show [<run>]",
		Short: "Show what the user saw",
		Long: "Play the events of a run in order, between the prompt and how the run ended. Tool results are folded. With --all they\n" +
			"are complete, and the raw output of each tool (result_raw) is printed as it was recorded. With --json, each record is\n" +
			"printed on its own line, as it is in the log." + runHelp + runLastHelp,
		Example: "  treeline run show @last\n  treeline run show 51214102 --json | jq -r .event.type",
		Args:    cli.Args("[<run>]"),
		RunE: func(cmd *cobra.Command, given []string) error {
			r, err := openRun(cmd.Context(), a, runArgs(given)[0])
			if err != nil {
				return err
			}
			defer r.Close()
			return a.Page(cmd.Context(), func(out *console.Output) error {
				if !a.JSON {
					return runTranscript(out, all).Play(cmd.Context(), r.Log)
				}
				played, err := wire.Played(r.Log, all)
				if err != nil {
					return err
				}
				for _, rec := range played {
					raw, err := rec.Raw()
					if err == nil {
						err = wire.Write(out, json.RawMessage(raw))
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
		ValidArgsFunction: CompleteRun(a),
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "fold nothing, and print the raw output of tools")
	a.AddJSON(cmd)
	return cmd
}

// runTranscript returns a transcript that reads messages in the form of run logs, which is the same for all of them.
func runTranscript(out *console.Output, all bool) *wire.Transcript {
	t := &wire.Transcript{Page: out.Page(), All: all}
	for _, d := range treeline.Dialects() {
		if parter, ok := d.(dialect.Parter); ok && place.IsRuns(d) {
			t.MessageParts = parter.MessageParts
		}
	}
	return t
}
