package writing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// New creates the file at once. Agents defer it until the first message, but the caller wants a file to append
// to.
func New(a *cli.App) *cobra.Command {
	var (
		f                                           cli.WriteFlags
		cwd, dialectName, title, id, where, profile string
	)
	cmd := &cobra.Command{
		Use:        "new",
		SuggestFor: []string{"create", "init", "start"},
		Short:      "Start a session",
		Long: "Create a session for a directory, in the agent's own folder, and print its file. The file is written at once, with a\n" +
			"header and no entries.\n\n" +
			"Without --dialect it is a session of oh-my-pi if that agent's folder exists, otherwise of the agent with the newest\n" +
			"session of the directory, otherwise one in oh-my-pi's format below $XDG_DATA_HOME/treeline (~/.local/share/treeline).",
		Example: "  treeline new --cwd ~/src/app --title 'Off by one'\n  treeline new --dialect pi --json | jq -r .id\n  treeline new --file /tmp/scratch.jsonl",
		Args:    cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt, err := f.Options(a)
			if err = cmp.Or(err, cli.CheckText("--title", title)); err != nil {
				return err
			}
			s, err := a.WriteStore()
			if err != nil {
				return err
			}
			if where != "" && profile != "" {
				return cli.Misused("--file and --profile cannot be combined")
			}
			o := store.CreateOptions{CWD: cwd, Title: title, ID: session.ID(id), Profile: profile, Write: opt}
			o.Write.Defer = dialect.DeferNever
			if o.Dialect, err = cli.NamedDialect(s, dialectName); err != nil {
				return err
			}
			why := ""
			if dialectName == "" && where == "" {
				if why, err = chooseDialect(cmd.Context(), s, &o); err != nil {
					return err
				}
			}
			sess, err := create(cmd.Context(), a, s, where, o)
			if err != nil {
				return err
			}
			if why != "" {
				a.Notice(why)
			}
			err = a.PrintSession(sess)
			return errors.Join(err, sess.Close())
		},
	}
	f.Add(a, cmd)
	f.AddReplace(cmd)
	f.AddUnchecked(cmd, "it even if the directory does not exist")
	cmd.Flags().StringVar(&cwd, "cwd", ".", "the project directory `DIR`")
	cmd.Flags().StringVar(&dialectName, "dialect", "", "write it in the format `NAME` (default: omp if installed, otherwise that of the newest session here)")
	cmd.Flags().StringVar(&profile, "profile", "", "Operator's profile `NAME` (default $OPERATOR_PROFILE, or none)")
	cmd.Flags().StringVar(&title, "title", "", "give it the `TITLE`")
	cmd.Flags().StringVar(&id, "id", "", "give it the `ID` instead of a new one")
	cmd.Flags().StringVar(&where, "file", "", "write it to `FILE` instead of the agent's folder")
	return cmd
}

// chooseDialect chooses the dialect of a session if none is given, and says why unless it is the usual one.
func chooseDialect(ctx context.Context, s *treeline.Store, o *store.CreateOptions) (why string, err error) {
	chosen, err := s.Default(ctx, o.CWD)
	if err != nil {
		return "", err
	}
	o.Dialect, o.Dir = chosen.Dialect, chosen.Dir
	switch {
	case chosen.Dir != "":
		why = "treeline keeps the session itself, in the format of " + chosen.Dialect.Name() + ": no agent that it can write for was used here"
	case chosen.Dialect != s.Dialects()[0]:
		why = "the new session is one of " + chosen.Dialect.Name() + ", which was used here last"
	}
	return why, nil
}

// create creates a session in a file, or where the agent would. It refuses an id that another session has.
func create(ctx context.Context, a *cli.App, s *treeline.Store, path string, opt store.CreateOptions) (*store.Session, error) {
	if opt.ID != "" {
		// Any other error means that no session has exactly this id.
		switch row, err := s.Find(ctx, string(opt.ID)); {
		case err == nil && row.ID == opt.ID:
			return nil, fmt.Errorf("%s: a session with the id %s already exists", row.Path, opt.ID)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
	}
	sess, err := createAt(ctx, s, path, opt)
	if err != nil || opt.Title == "" {
		return sess, err
	}
	// Some agents keep the title in an entry, not in the header.
	if name, err := sess.Name(); err != nil || name == "" {
		if err := sess.Rename(ctx, opt.Title); err != nil {
			return nil, errors.Join(err, sess.Close())
		}
	}
	return sess, nil
}

// createAt never overwrites a file. It accepts an empty one, such as mktemp creates.
func createAt(ctx context.Context, s *treeline.Store, path string, opt store.CreateOptions) (*store.Session, error) {
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
			return nil, errors.Join(fmt.Errorf("%s is already a session", path), old.Close())
		}
		if !errors.Is(err, store.ErrNotSession) || !opt.Write.ReplaceUnreadable {
			return nil, cli.OpenError(path, err)
		}
	case !backend.IsText(path):
		return nil, fmt.Errorf("%s: the file name of a session must end in .jsonl", path)
	}
	opt.Write.Create = true
	return s.OpenWrite(ctx, path, opt)
}
