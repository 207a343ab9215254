package reading

import (
	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// Show shows one path through the tree, by default the one that the agent would continue.
func Show(a *cli.App) *cobra.Command {
	var (
		f   cli.LeafFlags
		all bool
	)
	cmd := &cobra.Command{
		Use:        "show [<session>]",
		SuggestFor: []string{"cat", "view", "read", "print", "log", "open"},
		Short:      "Read a session",
		Long: "Show the conversation from the first entry to the leaf, or to another entry, as a transcript. Tool calls, their\n" +
			"results, and what the agent says in the user's name are folded, and messages that an extension hides are left out,\n" +
			"unless --all is given. With --json, each entry is one object on its own line." + cli.SessionHelp + cli.LastHelp + cli.EntryHelp,
		Example: "  treeline show @last\n  treeline show 01a1df83 --all\n  treeline show 01a1df83#446c3b98\n  treeline show session.jsonl --json | jq -r 'select(.role==\"user\").parts[].text'",
		Args:    cli.Args("[<session>]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Viewing(cmd.Context(), cli.SessionArg(args), &f, func(s *store.Session, at session.EntryID) error {
				path, err := s.Tree().Path(at)
				if err != nil {
					return err
				}
				r := wire.NewReader(cmd.Context(), s)
				err = a.Page(cmd.Context(), func(out *console.Output) error {
					page := out.Page()
					if a.JSON {
						return r.WritePath(&page, path)
					}
					page.Heading(s, a.Tilde())
					t := &wire.Transcript{Page: page, All: all, Label: s.Tree().Label, Dir: s.Header().CWD}
					t.Shorten(s.Tree())
					t.Section()
					return t.Path(r, path)
				})
				a.Problems(append(s.Tree().Problems(), r.Problems...)) // at the end, because a pager would hide them
				return err
			})
		},
		ValidArgsFunction: a.CompleteSession,
	}
	f.Add(a, cmd)
	cmd.Flags().BoolVarP(&all, "all", "a", false, "fold and hide nothing")
	return cmd
}
