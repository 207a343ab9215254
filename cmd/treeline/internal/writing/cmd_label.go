package writing

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// Label writes and reads labels. For reading, it uses a store that cannot write.
func Label(a *cli.App) *cobra.Command {
	var (
		f     cli.WriteFlags
		clear bool
	)
	cmd := &cobra.Command{
		Use:        "label <session> <entry> [<label>]",
		SuggestFor: []string{"tag", "mark"},
		Short:      "Label an entry",
		Long:       "Set the label of an entry, or remove it with --clear. Without either, print the label and write nothing." + cli.SessionHelp + pairHelp,
		Example:    "  treeline label @last 446c3b98 decision\n  treeline label @last 446c3b98 --clear",
		Args: func(cmd *cobra.Command, given []string) error {
			return cli.Args("<session>", "<entry>", "[<label>]")(cmd, entryArgs(given))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			args = entryArgs(args)
			switch {
			case clear && len(args) == 3:
				return cli.Misused("a label cannot be combined with --clear")
			case len(args) == 3 && args[2] == "":
				return cli.Misused("the label is empty; use --clear to remove it")
			case len(args) == 2 && !clear:
				return printLabel(cmd.Context(), a, args[0], args[1])
			}
			label := strings.Join(args[2:], "")
			if err := cli.CheckText("<label>", label); err != nil {
				return err
			}
			return changing(cmd.Context(), a, args[0], &f, func(s *store.Session) error {
				id, err := cli.EntryOf(s, args[1])
				if err != nil {
					return err
				}
				if clear && s.Tree().Label(id) == "" {
					a.Notice(string(id) + " has no label; nothing was written")
					if a.JSON {
						return a.Say(wire.NewLabel(id, ""), "")
					}
					return nil
				}
				done, err := s.Label(cmd.Context(), id, label)
				if err != nil {
					return err
				}
				return acknowledge(a, s, done)
			})
		},
		ValidArgsFunction: a.CompleteSession,
	}
	f.Add(a, cmd)
	cmd.Flags().BoolVar(&clear, "clear", false, "remove the label")
	return cmd
}

func printLabel(ctx context.Context, a *cli.App, ref, entry string) error {
	s, err := a.Open(ctx, ref, "")
	if err != nil {
		return err
	}
	defer s.Close()
	id, err := cli.EntryOf(s, entry)
	if err != nil {
		return err
	}
	label := s.Tree().Label(id)
	if label == "" && !a.JSON {
		return nil
	}
	return a.Say(wire.NewLabel(id, label), label)
}
