package continuing

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// Fork only reads the source, which may be open in an agent.
func Fork(a *cli.App) *cobra.Command {
	var (
		f         cli.WriteFlags
		cwd, leaf string
	)
	cmd := &cobra.Command{
		Use:        "fork <session>",
		SuggestFor: []string{"cp", "copy", "clone", "duplicate"},
		Short:      "Copy a session and continue in the copy",
		Long: "Copy a session with all its branches, or with --leaf only the path to an entry, into a new session that names the old\n" +
			"one as its parent. The old session is not changed. The file of the copy is printed." + cli.SessionHelp + cli.EntryHelp,
		Example: "  treeline fork @last\n  treeline fork 01a1df83 --cwd ~/src/other\n  treeline fork @last --leaf 446c3b98",
		Args:    cli.Args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, at, err := cli.OneLeaf(args[0], leaf)
			if err != nil {
				return err
			}
			opt, err := f.Options(a)
			if err != nil {
				return err
			}
			sess, err := fork(cmd.Context(), a, ref, cwd, at, opt)
			if err != nil {
				return err
			}
			err = a.PrintSession(sess)
			return errors.Join(err, sess.Close())
		},
		ValidArgsFunction: a.CompleteSession,
	}
	f.Add(a, cmd)
	f.AddUnchecked(cmd, "the copy even if the directory does not exist")
	cmd.Flags().StringVar(&cwd, "cwd", "", "use `DIR` as the project directory of the copy")
	cmd.Flags().StringVar(&leaf, "leaf", "", "copy only the path to the entry `ID`")
	return cmd
}

// fork opens the source to resolve the entry's id and the directory; the library opens it again.
func fork(ctx context.Context, a *cli.App, ref, cwd, at string, w store.WriteOptions) (*store.Session, error) {
	s, path, err := a.Target(ctx, ref)
	if err != nil {
		return nil, err
	}
	cli.EaseCollection()
	old, err := s.Open(ctx, path, store.OpenOptions{})
	if err != nil {
		return nil, cli.OpenError(path, err)
	}
	defer old.Close()
	opt := store.CreateOptions{CWD: cwd, Write: w}
	if cwd == "" {
		opt.CWD, opt.Write.Force = old.CWD(), true // the directory may no longer exist
	}
	// A copy of a session outside the agents' folders is placed next to it.
	if cwd == "" || !cli.InSource(s, path, func(place.Source, string) bool { return true }) {
		opt.Dir = old.Dir()
	}
	if at == "" {
		return s.ForkFrom(ctx, path, opt)
	}
	leaf, err := cli.EntryOf(old, at)
	if err != nil {
		return nil, err
	}
	return s.BranchFrom(ctx, path, leaf, opt)
}
