package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/store"
)

// renameCommand prints nothing where it succeeds, like mv. Whether the name goes into the header (oh-my-pi) or
// into an entry (pi) is the agent's habit; for the former the file is rewritten.
func (a *app) renameCommand() *cobra.Command {
	f := writeFlags{rewrites: true}
	cmd := &cobra.Command{
		Use:   "rename <session> TITLE",
		Short: "Give a session another title",
		Long: "Change what a session is called, where its agent keeps that: in the header or in an entry. An empty title takes it away." +
			sessionHelp,
		Example: "  treeline rename @last 'Prices are off by a cent'",
		Args:    args("<session>", "TITLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changing(cmd, args[0], f, func(ctx context.Context, s *store.Session) error {
				if err := s.Rename(ctx, args[1]); err != nil || !f.json {
					return err
				}
				return a.printSession(s, true)
			})
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	return cmd
}
