package writing

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Branch moves the leaf durably. In the pi family the leaf is the last entry of the file, so a move that writes no entry would be lost.
func Branch(a *cli.App) *cobra.Command {
	var (
		f       cli.WriteFlags
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
			"nothing is written." + cli.SessionHelp + pairHelp,
		Example: "  treeline branch @last 446c3b98\n  treeline branch @last 446c3b98 --summary 'Rounding at the end did not work.'\n  treeline branch @last none",
		Args: func(cmd *cobra.Command, given []string) error {
			return cli.Args("<session>", "<entry>")(cmd, entryArgs(given))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			args = entryArgs(args)
			if !durable && summary != "" {
				return cli.Misused("--summary cannot be combined with --durable=false: it is an entry")
			}
			if err := cli.CheckText("--summary", summary); err != nil {
				return err
			}
			return changing(cmd.Context(), a, args[0], &f, func(s *store.Session) error {
				done, err := branch(cmd.Context(), s, args[1], summary, durable)
				if err != nil {
					return err
				}
				if !durable {
					a.Notice("the move is possible; nothing was written")
				}
				return acknowledge(a, s, done)
			})
		},
		ValidArgsFunction: a.CompleteSession,
	}
	f.Add(a, cmd)
	cmd.Flags().StringVar(&summary, "summary", "", "tell the model with `TEXT` what happened on the branch you leave")
	cmd.Flags().BoolVar(&durable, "durable", true, "write the move to the session")
	return cmd
}

// branch refuses an empty entry, which usually comes from an unset shell variable.
func branch(ctx context.Context, s *store.Session, to, summary string, durable bool) (store.Appended, error) {
	if to == "" {
		return store.Appended{}, fmt.Errorf("%s: <entry> is empty", s.Path())
	}
	id, err := cli.LeafOf(s, to)
	if err != nil {
		return store.Appended{}, err
	}
	if summary != "" {
		return s.BranchWithSummary(ctx, id, session.BranchSummary{Summary: summary})
	}
	return s.Branch(ctx, id, store.BranchOptions{Durable: durable})
}
