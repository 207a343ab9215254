package reading

import (
	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

type treeFlags struct {
	cli.LeafFlags
	near int
	all  bool
}

// Tree shows every branch, not only the path that show follows.
func Tree(a *cli.App) *cobra.Command {
	var f treeFlags
	cmd := &cobra.Command{
		Use:        "tree [<session>]",
		SuggestFor: []string{"branches", "graph"},
		Short:      "Draw all branches of a session",
		Long: "Draw every entry of a session, one per line: ● on the path to the leaf, ○ on abandoned branches, ◆ and ◇ for entries\n" +
			"without a parent. A branch is indented; the newest branch continues in its parent's column. If you name an entry, the\n" +
			"tree is drawn as if it were the leaf, and it is marked ◀ here; --near leaves out what is further away. --all also\n" +
			"draws what programs record for themselves (counts, states, attachments of Claude Code, events of Codex)." + cli.SessionHelp + cli.LastHelp + cli.EntryHelp,
		Example: "  treeline tree @last\n  treeline tree 01a1df83#446c3b98 --near 5\n" +
			"  treeline tree session.jsonl --json | jq -r '.[] | select(.leaf).id'",
		Args: cli.Args("[<session>]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, leaf, err := cli.OneLeaf(cli.SessionArg(args), f.Leaf)
			if err == nil {
				err = f.check(cmd, leaf, a.JSON)
			}
			if err != nil {
				return err
			}
			return a.Viewing(cmd.Context(), cli.SessionArg(args), &f.LeafFlags, func(s *store.Session, at session.EntryID) error {
				t := wire.NewTree(s.Tree(), s.Dialect().Codec(), s.Header().CWD)
				if leaf != "" {
					if err := t.From(at); err != nil {
						return err
					}
				}
				if f.all {
					t.All()
				}
				err := a.Page(cmd.Context(), func(out *console.Output) error {
					page := out.Page()
					if a.JSON {
						return t.WriteJSON(cmd.Context(), &page)
					}
					page.Heading(s, a.Tilde())
					return t.Draw(cmd.Context(), &page, f.near)
				})
				a.Problems(s.Tree().Problems())
				return err
			})
		},
		ValidArgsFunction: a.CompleteSession,
	}
	f.Add(a, cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, "draw all entries, including what the agent's program records for itself")
	cmd.Flags().IntVarP(&f.near, "near", "n", -1, "draw at most `N` entries before and after the named one")
	cmd.Flags().Lookup("near").DefValue = "0" // not shown in the help
	return cmd
}

func (f *treeFlags) check(cmd *cobra.Command, leaf string, asJSON bool) error {
	switch {
	case !cmd.Flags().Changed("near"):
	case f.near < 0:
		return cli.Misused("--near must not be negative")
	case leaf == "" || leaf == "none":
		return cli.Misused("--near needs an entry: session#entry, or --leaf")
	case asJSON:
		return cli.Misused("--near is for the drawing; --json prints all entries")
	}
	return nil
}
