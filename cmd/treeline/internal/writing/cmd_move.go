package writing

import (
	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/store"
)

// Move is for a project that was renamed or moved, since agents find sessions by the directory in the header.
func Move(a *cli.App) *cobra.Command {
	var (
		f   = cli.WriteFlags{Rewrites: true}
		cwd string
	)
	cmd := &cobra.Command{
		Use:        "move <session> --cwd DIR",
		SuggestFor: []string{"mv"},
		Short:      "Move a session to another project directory",
		Long: "Change the project directory of a session. If the session is in its agent's folders, its file moves to the folder of\n" +
			"that directory; otherwise it stays where it is. The file is printed." + cli.SessionHelp,
		Example: "  treeline move 01a1df83 --cwd ~/src/shop",
		Args:    cli.Args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cwd == "" {
				return cli.Misused("--cwd is missing")
			}
			return changing(cmd.Context(), a, args[0], &f, func(s *store.Session) error {
				if err := s.Move(cmd.Context(), cwd); err != nil {
					return err
				}
				return a.PrintSession(s)
			})
		},
		ValidArgsFunction: a.CompleteSession,
	}
	f.Add(a, cmd)
	cmd.Flags().BoolVar(&f.Force, "force", false, "move even if the directory does not exist, or another program has the file open; what that program\nwrites later is lost")
	cmd.Flags().StringVar(&cwd, "cwd", "", "the new project directory `DIR`")
	return cmd
}
