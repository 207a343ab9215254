package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// branchCommand moves the leaf and, unlike the agents' own method, makes that last: in the pi family the leaf is
// simply the last line of the file, so without an entry written there the move would be forgotten before anybody
// could use it.
func (a *app) branchCommand() *cobra.Command {
	var (
		f       writeFlags
		summary string
		durable bool
	)
	cmd := &cobra.Command{
		Use:   "branch <session> <entry>|none",
		Short: "Go on from another entry",
		Long: "Move the leaf to an entry: what is appended next goes on from there, and what was behind it stays, as another branch.\n" +
			"none is the place before the first entry. The id of the entry that is the leaf now is printed.\n\n" +
			"So that the agent too goes on there, an entry that the model does not see is appended; with --summary it is one that tells\n" +
			"the model what happened on the branch that is left. With --durable=false nothing is written: it is only tried." + sessionHelp + pairHelp,
		Example: "  treeline branch @last 5a60be28\n  treeline branch @last 5a60be28 --summary 'Rounding at the end did not work.'\n  treeline branch @last none",
		Args: func(cmd *cobra.Command, given []string) error {
			return args("<session>", "<entry>")(cmd, entryArgs(given))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			args = entryArgs(args)
			// A summary is an entry, so there is no way to say it without writing.
			if !durable && summary != "" {
				return errNothing(cmd, "--summary is written: it cannot be had with --durable=false")
			}
			return a.changing(cmd, args[0], f, func(ctx context.Context, s *store.Session) error {
				done, err := branch(ctx, s, args[1], summary, durable)
				if err != nil {
					return err
				}
				if !durable {
					fmt.Fprintln(a.stderr, "treeline: it can be done; nothing was written")
				}
				return a.acknowledge(s, done, f.json)
			})
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&summary, "summary", "", "tell the model, in `TEXT`, what happened on the branch that is left")
	cmd.Flags().BoolVar(&durable, "durable", true, "write the move down, so that it lasts")
	return cmd
}

// branch takes "none" for the place before the first entry; an empty argument is most likely a variable that is
// not set, and must not mean the same.
func branch(ctx context.Context, s *store.Session, to, summary string, durable bool) (store.Appended, error) {
	if to == "" {
		return store.Appended{}, fmt.Errorf("%s: the entry has no name", s.Path())
	}
	id, err := leafOf(s, to)
	if err != nil {
		return store.Appended{}, err
	}
	if summary != "" {
		return s.BranchWithSummary(ctx, id, session.BranchSummary{Summary: summary})
	}
	return s.Branch(ctx, id, durable)
}
