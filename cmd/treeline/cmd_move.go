package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/store"
)

// moveCommand is for a project that was renamed or moved: agents find sessions by the directory, and what they are
// about cannot be told from their content. The header is rewritten, which is why it counts as rewriting for the
// message about others (see writeFlags).
func (a *app) moveCommand() *cobra.Command {
	var (
		f   = writeFlags{rewrites: true}
		cwd string
	)
	cmd := &cobra.Command{
		Use:   "move <session> --cwd DIR",
		Short: "Make a session one of another directory",
		Long: "Change which directory a session is about. One that lies in its agent's folders moves to the folder for that directory;\n" +
			"one that lies elsewhere stays there. Its file is printed." + sessionHelp,
		Example: "  treeline move 01a1dcc8 --cwd ~/src/shop",
		Args:    args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// A move to "" could only be a variable that is not set.
			if cwd == "" {
				return errNothing(cmd, "--cwd is missing")
			}
			return a.changing(cmd, args[0], f, func(ctx context.Context, s *store.Session) error {
				if err := s.Move(ctx, cwd); err != nil {
					return err
				}
				return a.printSession(s, f.json)
			})
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&cwd, "cwd", "", "the directory `DIR` that the session is about from now on")
	return cmd
}
