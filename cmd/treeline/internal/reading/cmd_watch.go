package reading

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/watch"
	"github.com/treeline-dev/treeline/wire"
)

// watchFlags say what is watched. from and last say how many existing entries are shown first.
type watchFlags struct {
	cli.ScopeFlags
	dialect, from string
	last          int
}

// Watch follows what agents write. It only reads. Ctrl-C ends it with exit code 0.
func Watch(a *cli.App) *cobra.Command {
	var w watchFlags
	cmd := &cobra.Command{
		Use:        "watch [<session>]",
		SuggestFor: []string{"tail", "follow"},
		Short:      "Follow sessions while they are written",
		Long: "Show entries as any program writes them: in the sessions of this directory, in one session, or in all with --all. It\n" +
			"starts with what is written from now on, continues when a file is replaced, truncated or removed, and ends with\n" +
			"Ctrl-C. Tool calls and their results are folded. To follow a run log, with everything that happens in it, name it as\n" +
			"the session; --all leaves run logs out.\n\n" +
			"With --json, each event is one object on its own line: start, session, entry, replaced, truncated, removed, problem." + cli.SessionHelp,
		Example: "  treeline watch\n  treeline watch @last -n 10\n" +
			"  treeline watch --all --json | jq -r 'select(.event==\"entry\" and .entry.role==\"user\").entry.parts[].text'",
		Args: cli.Args("[<session>]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(args); err != nil {
				return err
			}
			s, err := w.Store(a)
			if err != nil {
				return err
			}
			opt := watch.Options{Last: w.last}
			if opt.Dialect, err = cli.NamedDialect(s, w.dialect); err != nil {
				return err
			}
			if w.from == "start" {
				opt.Last = watch.AllEntries
			}
			if len(args) > 0 {
				opt.Path, err = a.Locate(cmd.Context(), s, args[0])
			} else if a.Source != "" {
				err = cli.Misused("--source needs a <session>")
			} else {
				opt.CWD, err = w.watched(cmd.Context(), a, s)
			}
			if err != nil {
				return err
			}
			return follow(cmd.Context(), a, s, opt)
		},
		ValidArgsFunction: a.CompleteSession,
	}
	a.AddDialect(cmd, &w.dialect)
	w.ScopeFlags.Add(cmd, "watch")
	cmd.Flags().StringVar(&w.from, "from", "now", "begin `WHERE`: now (with what is written from now on) or start (of the sessions)")
	cmd.Flags().IntVarP(&w.last, "lines", "n", 0, "show the last `N` entries first")
	return cmd
}

func (w *watchFlags) check(args []string) error {
	switch {
	case len(args) > 0 && (w.All || w.Cwd != ""):
		return cli.Misused("a session cannot be combined with --all or --cwd")
	case w.from != "start" && w.from != "now":
		return cli.Invalid("from", w.from, "start or now")
	case w.last < 0:
		return cli.Misused("--lines must not be negative")
	case w.last > 0 && w.from == "start":
		return cli.Misused("--lines and --from start cannot be combined")
	}
	return nil
}

// watched returns the directory whose sessions are followed, or "" for all.
func (w *watchFlags) watched(ctx context.Context, a *cli.App, s *treeline.Store) (string, error) {
	dir, project, err := w.Dir(a)
	if err != nil || !project {
		return dir, err
	}
	if s.Paged() {
		dir, err := s.ProjectHere(ctx, "")
		a.NoteProject(s, dir)
		return dir, err
	}
	rows, err := s.List(ctx, place.ListOptions{})
	if err != nil {
		return "", err
	}
	return a.Project(s, rows), nil
}

// follow prints changes until it is interrupted. Each is flushed, so that a reader of a pipe sees it at once.
func follow(ctx context.Context, a *cli.App, s *treeline.Store, opt watch.Options) error {
	a.Endless.Store(true)
	return a.Print(func(out *console.Output) error {
		tell := wire.NewLive(out.Page(), a.Tilde()).Tell
		switch {
		case a.JSON:
			tell = func(ctx context.Context, c watch.Change) error {
				j, err := wire.NewChange(ctx, c)
				if err != nil {
					return err
				}
				return wire.Write(out, j)
			}
		case out.Width > 0:
			fmt.Fprintln(a.Stderr, out.Style.Dim("watching; Ctrl-C ends it"))
		}
		for c, err := range s.Watch(ctx, opt) {
			if err == nil && c.Kind == watch.KindProblem && !a.JSON {
				a.Notice(c.Err.Error())
				continue
			}
			if err == nil {
				err = tell(ctx, c)
			}
			if err == nil {
				err = out.Flush()
			}
			if err != nil {
				return cli.OpenError(opt.Path, err)
			}
		}
		return nil
	})
}
