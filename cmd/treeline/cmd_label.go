package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/store"
)

// labelCommand writes and reads labels. Without a label it only reads, with the store that cannot write: asking
// for a label must not touch the file's time.
func (a *app) labelCommand() *cobra.Command {
	var (
		f     writeFlags
		clear bool
	)
	cmd := &cobra.Command{
		Use:   "label <session> <entry> [LABEL]",
		Short: "Name an entry",
		Long: "Give an entry a label, by which people find it again, or take it away with --clear. Without either the label that it has\n" +
			"is printed, and nothing is written." + sessionHelp + pairHelp,
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
				return errNothing(cmd, "a label and --clear contradict each other")
			// An empty label would take the label away, which a script with an unset variable must not do by
			// accident.
			case len(args) == 3 && args[2] == "":
				return errNothing(cmd, "the label is empty; --clear takes one away")
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
	cmd.Flags().BoolVar(&clear, "clear", false, "take the label away")
	return cmd
}

// labelJSON is the label of an entry, for programs.
// label is null where the entry has none; the text output is then empty, and the exit code 0 in both.
type labelJSON struct {
	ID    string  `json:"id"`
	Label *string `json:"label"`
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
		j := labelJSON{ID: string(id)}
		if label != "" {
			j.Label = &label
		}
		return writeJSON(a.stdout, j)
	}
	if label != "" {
		_, err = fmt.Fprintln(a.stdout, screen.Clean(label))
	}
	return err
}
