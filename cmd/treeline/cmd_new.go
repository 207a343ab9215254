package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// newCommand makes the file at once, unlike the agents, which wait for something to be said: whoever calls it
// wants a name to append to.
func (a *app) newCommand() *cobra.Command {
	var (
		f                                  writeFlags
		cwd, dialectName, title, id, where string
	)
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Begin a session",
		Long: "Begin a session for a directory, where the agent keeps its own, and print its file. The file is written at once: it\n" +
			"holds the header, and nothing was said yet.",
		Example: "  treeline new --cwd ~/src/app --title 'Off by one'\n  treeline new --dialect pi --json | jq -r .id\n  treeline new --file /tmp/scratch.jsonl",
		Args:    args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt, err := f.options(a, cmd)
			if err != nil {
				return err
			}
			if cwd == "" {
				return errNothing(cmd, "--cwd is empty")
			}
			s, err := a.writeStore()
			if err != nil {
				return err
			}
			o := store.CreateOptions{CWD: cwd, Title: title, ID: session.ID(id), Write: opt}
			// the agent's habit of waiting is for its own sessions
			o.Write.Defer = dialect.DeferNever
			if dialectName != "" {
				if o.Dialect, err = s.Dialect(dialectName); err != nil {
					return usageError{err, cmd}
				}
			}
			sess, err := a.create(cmd.Context(), s, where, o)
			if err != nil {
				return err
			}
			err = a.printSession(sess, f.json)
			return errors.Join(err, sess.Close())
		},
	}
	f.add(cmd)
	f.addReplace(cmd)
	cmd.Flags().StringVar(&cwd, "cwd", ".", "the session is about the directory `DIR`")
	cmd.Flags().StringVar(&dialectName, "dialect", "", "write it as `NAME` does (default omp)")
	cmd.Flags().StringVar(&title, "title", "", "call it `TITLE`")
	cmd.Flags().StringVar(&id, "id", "", "give it the id `ID` instead of a fresh one")
	cmd.Flags().StringVar(&where, "file", "", "write it to `FILE` instead of the agent's folder")
	_ = cmd.RegisterFlagCompletionFunc("dialect", completeDialect)
	return cmd
}

// create begins a session, in a file that someone named or where the agent would.
// An id that somebody chose may be taken by a session of any agent, so all are looked at; ids that we make are
// never the same.
func (a *app) create(ctx context.Context, s *store.Store, path string, opt store.CreateOptions) (*store.Session, error) {
	if opt.ID != "" {
		// An error other than the interruption means that there is none of this name, or several beginnings fit:
		// either way no session has just this id.
		switch row, err := s.Find(ctx, string(opt.ID)); {
		case err == nil && row.ID == opt.ID:
			return nil, fmt.Errorf("%s: a session with the id %s exists already", row.Path, opt.ID)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
	}
	sess, err := a.createAt(ctx, s, path, opt)
	if err != nil || opt.Title == "" {
		return sess, err
	}
	// Some agents keep a name in an entry, not in the header.
	if name, err := sess.Name(); err != nil || name == "" {
		if err := sess.Rename(ctx, opt.Title); err != nil {
			return nil, errors.Join(err, sess.Close())
		}
	}
	return sess, nil
}

// An existing file is opened and never overwritten. An empty one is as good as none: mktemp makes such.
func (a *app) createAt(ctx context.Context, s *store.Store, path string, opt store.CreateOptions) (*store.Session, error) {
	if path == "" {
		return s.Create(ctx, opt)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a folder", path)
	case err == nil && info.Size() > 0:
		old, err := s.Open(ctx, path, store.OpenOptions{})
		if err == nil {
			return nil, errors.Join(fmt.Errorf("%s is a session already", path), old.Close())
		}
		// That it cannot be read is only accepted from somebody who says so, and its bytes are kept beside the new
		// file.
		if !errors.Is(err, store.ErrNotSession) || !opt.Write.ReplaceUnreadable {
			return nil, openError(path, err)
		}
	case err == nil && !backend.IsText(path), err != nil && !backend.IsText(path):
		return nil, fmt.Errorf("%s: the name of a session's file ends in .jsonl", path)
	}
	opt.Write.Create = true
	return s.OpenWrite(ctx, path, opt)
}
