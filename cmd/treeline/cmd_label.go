package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/screen"
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
		Use:     "label <session> <entry> [LABEL]",
		Short:   "Label an entry",
		Long:    "Set the label of an entry, or remove it with --clear. Without either, print the label and write nothing." + sessionHelp + pairHelp,
		Example: "  treeline label @last 5a60be28 decision\n  treeline label @last 5a60be28 --clear",
		Args: func(cmd *cobra.Command, given []string) error {
			given = entryArgs(given)
			if len(given) == 3 {
				return nil
			}
			return args("<session>", "<entry>")(cmd, given)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			args = entryArgs(args)
			switch {
			case clear && len(args) == 3:
				return misused(cmd, "a label cannot be combined with --clear")
			case len(args) == 3 && args[2] == "":
				return misused(cmd, "the label is empty; use --clear to remove it")
			case len(args) == 2 && !clear:
				return a.printLabel(cmd, args[0], args[1], f.json)
			}
			label := ""
			if len(args) == 3 {
				label = args[2]
			}
			return a.changing(cmd, args[0], f, func(ctx context.Context, s *store.Session) error {
				id, err := entryOf(s, args[1])
				if err != nil {
					return err
				}
				done, err := s.Label(ctx, id, label)
				if err != nil {
					return err
				}
				return a.acknowledge(s, done, f.json)
			})
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&clear, "clear", false, "remove the label")
	return cmd
}

func (a *app) printLabel(cmd *cobra.Command, ref, entry string, asJSON bool) error {
	s, err := a.open(cmd.Context(), cmd, ref, sessionFlags{})
	if err != nil {
		return err
	}
	defer s.Close()
	id, err := entryOf(s, entry)
	if err != nil {
		return err
	}
	label := s.Tree().Label(id)
	if asJSON {
		return wire.Write(a.stdout, wire.NewLabel(id, label))
	}
	if label != "" {
		_, err = fmt.Fprintln(a.stdout, screen.Clean(label))
	}
	return err
}
