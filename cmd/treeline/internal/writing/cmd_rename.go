package writing

import (
	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/store"
)

// Rename prints nothing if it succeeds, like mv. Some agents keep the title in the header, so the file is rewritten, and others in an
// entry.
func Rename(a *cli.App) *cobra.Command {
	f := cli.WriteFlags{Rewrites: true}
	cmd := &cobra.Command{
		Use:        "rename <session> <title>",
		SuggestFor: []string{"title", "name"},
		Short:      "Change the title of a session",
		Long:       "Change the title of a session, in its header or with an entry, as its agent does. An empty title removes it." + cli.SessionHelp,
		Example:    "  treeline rename @last 'Prices are off by a cent'",
		Args:       cli.Args("<session>", "<title>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckText("<title>", args[1]); err != nil {
				return err
			}
			return changing(cmd.Context(), a, args[0], &f, func(s *store.Session) error {
				if err := s.Rename(cmd.Context(), args[1]); err != nil || !a.JSON {
					return err
				}
				return a.PrintSession(s)
			})
		},
		ValidArgsFunction: a.CompleteSession,
	}
	f.Add(a, cmd)
	cli.AddForce(cmd, &f.Force)
	return cmd
}
