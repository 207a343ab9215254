package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// labelCommand writes and reads labels. Reading uses the store that cannot write.
func (a *app) labelCommand() *cobra.Command {
	var (
		f     writeFlags
		clear bool
	)
	cmd := &cobra.Command{
		Use:        "label <session> <entry> [LABEL]",
		SuggestFor: []string{"tag", "mark"},
		Short:      "Label an entry",
		Long:       "Set the label of an entry, or remove it with --clear. Without either, print the label and write nothing." + sessionHelp + pairHelp,
		Example:    "  treeline label @last 5a60be28 decision\n  treeline label @last 5a60be28 --clear",
		Args: func(cmd *cobra.Command, given []string) error {
			return args("<session>", "<entry>", "[LABEL]")(cmd, entryArgs(given))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			args = entryArgs(args)
			switch {
			case clear && len(args) == 3:
				return misused("a label cannot be combined with --clear")
			case len(args) == 3 && args[2] == "":
				return misused("the label is empty; use --clear to remove it")
			case len(args) == 2 && !clear:
				return a.printLabel(cmd.Context(), args[0], args[1])
			}
			label := strings.Join(args[2:], "")
			return a.changing(cmd.Context(), args[0], &f, func(s *store.Session) error {
				id, err := entryOf(s, args[1])
				if err != nil {
					return err
				}
				done, err := s.Label(cmd.Context(), id, label)
				if err != nil {
					return err
				}
				return a.acknowledge(s, done)
			})
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(a, cmd)
	cmd.Flags().BoolVar(&clear, "clear", false, "remove the label")
	return cmd
}

func (a *app) printLabel(ctx context.Context, ref, entry string) error {
	s, err := a.open(ctx, ref, "")
	if err != nil {
		return err
	}
	defer s.Close()
	id, err := entryOf(s, entry)
	if err != nil {
		return err
	}
	label := s.Tree().Label(id)
	if label == "" && !a.json {
		return nil
	}
	return a.say(wire.NewLabel(id, label), label)
}
