package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/store"
)

// forkCommand copies and never moves: the source may be open in an agent, and is only read. The new file is printed
// alone on stdout, for $(…).
func (a *app) forkCommand() *cobra.Command {
	var (
		f       writeFlags
		cwd, at string
	)
	cmd := &cobra.Command{
		Use:   "fork <session>",
		Short: "Copy a session and go on in the copy",
		Long: "Copy a session, with all its branches, into a new one that names the old one as its parent; with --at only the way to\n" +
			"that entry. The session that is copied is not touched. The file of the copy is printed." + sessionHelp + entryHelp,
		Example: "  treeline fork @last\n  treeline fork 01a1dcc8 --cwd ~/src/other\n  treeline fork @last --at 5a60be28",
		Args:    args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("at") && at == "" {
				return errNothing(cmd, "--at is empty")
			}
			ref, at, err := oneLeaf(cmd, args[0], "at", at)
			if err != nil {
				return err
			}
			opt, err := f.options(a, cmd)
			if err != nil {
				return err
			}
			sess, err := a.fork(cmd.Context(), ref, cwd, at, opt)
			if err != nil {
				return err
			}
			err = a.printSession(sess, f.json)
			return errors.Join(err, sess.Close())
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&cwd, "cwd", "", "the copy is about the directory `DIR`")
	cmd.Flags().StringVar(&at, "at", "", "copy only the way to the entry `ID`")
	return cmd
}

// The source is opened once more by the library, which reads it under its own rules; here it is needed for the
// entry's id and for its directory.
func (a *app) fork(ctx context.Context, ref, cwd, at string, w store.WriteOptions) (*store.Session, error) {
	s, err := a.writeStore()
	if err != nil {
		return nil, err
	}
	path, err := a.locate(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	old, err := s.Open(ctx, path, store.OpenOptions{})
	if err != nil {
		return nil, openError(path, err)
	}
	defer old.Close()
	opt := store.CreateOptions{CWD: cwd, Write: w}
	// Without --cwd the copy stays with the project that it is about.
	if cwd == "" {
		opt.CWD = old.CWD()
	}
	// One that lies in none of the agents' folders is somebody's own: so is its copy.
	if cwd == "" || !inSources(s, path) {
		opt.Dir = filepath.Dir(path)
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

// inSources says whether a file lies in one of the agents' folders.
// Rel and IsLocal compare names, not files: a link into an agent's folder counts as outside, which only means that
// the copy lies beside it.
func inSources(s *store.Store, path string) bool {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	for _, src := range s.Sources() {
		if rel, err := filepath.Rel(src.Root.Sessions, abs); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
