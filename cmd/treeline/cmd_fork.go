package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// forkCommand only reads the source, which may be open in an agent.
func (a *app) forkCommand() *cobra.Command {
	var (
		f       writeFlags
		cwd, at string
	)
	cmd := &cobra.Command{
		Use:        "fork <session>",
		SuggestFor: []string{"cp", "copy", "clone", "duplicate"},
		Short:      "Copy a session and continue in the copy",
		Long: "Copy a session with all its branches, or with --at only the path to an entry, into a new session that names the old\n" +
			"one as its parent. The old session is not changed. The file of the copy is printed." + sessionHelp + entryHelp,
		Example: "  treeline fork @last\n  treeline fork 01a1dcc8 --cwd ~/src/other\n  treeline fork @last --at 5a60be28",
		Args:    args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, at, err := oneLeaf(args[0], "at", at)
			if err != nil {
				return err
			}
			opt, err := f.options(a)
			if err != nil {
				return err
			}
			sess, err := a.fork(cmd.Context(), ref, cwd, at, opt)
			if err != nil {
				return err
			}
			err = a.printSession(sess)
			return errors.Join(err, sess.Close())
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(a, cmd)
	f.addUnchecked(cmd, "the copy even if the directory does not exist")
	cmd.Flags().StringVar(&cwd, "cwd", "", "use `DIR` as the project directory of the copy")
	cmd.Flags().StringVar(&at, "at", "", "copy only the path to the entry `ID`")
	return cmd
}

// fork opens the source for the entry's id and the directory; the library opens it again.
func (a *app) fork(ctx context.Context, ref, cwd, at string, w store.WriteOptions) (*store.Session, error) {
	s, path, err := a.target(ctx, ref)
	if err != nil {
		return nil, err
	}
	old, err := s.Open(ctx, path, store.OpenOptions{})
	if err != nil {
		return nil, openError(path, err)
	}
	defer old.Close()
	opt := store.CreateOptions{CWD: cwd, Write: w}
	if cwd == "" {
		opt.CWD, opt.Write.Force = old.CWD(), true // the directory may be gone
	}
	// A copy of a session outside the agents' folders stays beside it.
	if cwd == "" || !inSource(s, path, func(place.Source, string) bool { return true }) {
		opt.Dir = old.Dir()
	}
	if at == "" {
		return s.ForkFrom(ctx, path, opt)
	}
	leaf, err := entryOf(old, at)
	if err != nil {
		return nil, err
	}
	return s.BranchFrom(ctx, path, leaf, opt)
}
