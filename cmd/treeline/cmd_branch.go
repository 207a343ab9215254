package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// branchCommand moves the leaf durably: in the pi family the leaf is the last entry of the file, so that a move without
// an entry would be lost.
func (a *app) branchCommand() *cobra.Command {
	var (
		f       writeFlags
		summary string
		durable bool
	)
	cmd := &cobra.Command{
		Use:        "branch <session> <entry>|none",
		SuggestFor: []string{"checkout", "goto"},
		Short:      "Continue from another entry",
		Long: "Move the leaf to an entry, so that the next append continues from there. The entries after it stay, as another branch.\n" +
			"Use none for the place before the first entry. The id of the new leaf is printed.\n\n" +
			"The move is stored as an entry that the model does not see, so the agent continues there too. With --summary, that\n" +
			"entry tells the model what happened on the branch you leave. With --durable=false the move is only checked, and\n" +
			"nothing is written." + sessionHelp + pairHelp,
		Example: "  treeline branch @last 5a60be28\n  treeline branch @last 5a60be28 --summary 'Rounding at the end did not work.'\n  treeline branch @last none",
		Args: func(cmd *cobra.Command, given []string) error {
			return args("<session>", "<entry>")(cmd, entryArgs(given))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			args = entryArgs(args)
			if !durable && summary != "" {
				return misused("--summary cannot be combined with --durable=false: it is an entry")
			}
			return a.changing(cmd.Context(), args[0], &f, func(s *store.Session) error {
				done, err := branch(cmd.Context(), s, args[1], summary, durable)
				if err != nil {
					return err
				}
				if !durable {
					a.notice("the move is possible; nothing was written")
				}
				return a.acknowledge(s, done)
			})
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(a, cmd)
	cmd.Flags().StringVar(&summary, "summary", "", "tell the model with `TEXT` what happened on the branch you leave")
	cmd.Flags().BoolVar(&durable, "durable", true, "write the move to the session")
	return cmd
}

// branch refuses an empty entry, which is mostly an unset shell variable.
func branch(ctx context.Context, s *store.Session, to, summary string, durable bool) (store.Appended, error) {
	if to == "" {
		return store.Appended{}, fmt.Errorf("%s: <entry> is empty", s.Path())
	}
	id, err := leafOf(s, to)
	if err != nil {
		return store.Appended{}, err
	}
	if summary != "" {
		return s.BranchWithSummary(ctx, id, session.BranchSummary{Summary: summary})
	}
	return s.Branch(ctx, id, store.BranchOptions{Durable: durable})
}
