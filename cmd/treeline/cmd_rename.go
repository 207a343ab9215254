package main

import (
	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/store"
)

// renameCommand prints nothing if it succeeds, like mv. Some agents keep the title in the header, which rewrites the
// file, others in an entry.
func (a *app) renameCommand() *cobra.Command {
	f := writeFlags{rewrites: true}
	cmd := &cobra.Command{
		Use:        "rename <session> TITLE",
		SuggestFor: []string{"title", "name"},
		Short:      "Change the title of a session",
		Long:       "Change the title of a session, in its header or with an entry, as its agent does. An empty title removes it." + sessionHelp,
		Example:    "  treeline rename @last 'Prices are off by a cent'",
		Args:       args("<session>", "TITLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changing(cmd.Context(), args[0], &f, func(s *store.Session) error {
				if err := s.Rename(cmd.Context(), args[1]); err != nil || !a.json {
					return err
				}
				return a.printSession(s)
			})
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(a, cmd)
	addForce(cmd, &f.force)
	return cmd
}
