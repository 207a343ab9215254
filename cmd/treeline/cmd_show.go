package main

import (
	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// showCommand shows one path through the tree, by default the one that the agent would continue.
func (a *app) showCommand() *cobra.Command {
	var (
		f   leafFlags
		all bool
	)
	cmd := &cobra.Command{
		Use:        "show [<session>]",
		SuggestFor: []string{"cat", "view", "read", "print", "log", "open"},
		Short:      "Read a session",
		Long: "Show the conversation from the first entry to the leaf, or to another entry, as a transcript. Tool calls and their\n" +
			"results are folded, and messages that an extension hides are left out, unless --all is given. With --json, each entry\n" +
			"is one object on its own line." + sessionHelp + lastHelp + entryHelp,
		Example: "  treeline show @last\n  treeline show 01a1dcc8 --all\n  treeline show 01a1dcc8#5a60be28\n  treeline show session.jsonl --json | jq -r 'select(.role==\"user\").parts[].text'",
		Args:    args("[<session>]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.viewing(cmd.Context(), sessionArg(args), &f, func(s *store.Session, at session.EntryID) error {
				path, err := s.Tree().Path(at)
				if err != nil {
					return err
				}
				r := wire.NewReader(cmd.Context(), s)
				err = a.page(cmd.Context(), func(out *output) error {
					page := out.page()
					if a.json {
						return r.WritePath(&page, path)
					}
					page.Heading(s, a.home())
					t := &wire.Transcript{Page: page, All: all, Label: s.Tree().Label, Dir: s.Header().CWD}
					t.Section()
					return t.Path(r, path)
				})
				a.problems(append(s.Tree().Problems(), r.Problems...)) // last: a pager would cover them
				return err
			})
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(a, cmd)
	cmd.Flags().BoolVarP(&all, "all", "a", false, "fold and hide nothing")
	return cmd
}
