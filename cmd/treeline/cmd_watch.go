package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/watch"
	"github.com/treeline-dev/treeline/wire"
)

// watchFlags say what is watched. from and last say how much of what is already there is shown first.
type watchFlags struct {
	scopeFlags
	dialect, from string
	last          int
}

// watchCommand follows what agents write. It only reads. Ctrl-C ends it with exit code 0.
func (a *app) watchCommand() *cobra.Command {
	var w watchFlags
	cmd := &cobra.Command{
		Use:        "watch [<session>]",
		SuggestFor: []string{"tail", "follow"},
		Short:      "Follow sessions while they are written",
		Long: "Show entries as any program writes them: in the sessions of this directory, in one session, or in all with --all. It\n" +
			"starts with what is written from now on, continues when a file is replaced, truncated or removed, and ends with\n" +
			"Ctrl-C. Tool calls and their results are folded. To follow a run log, with everything that happens in it, name it as\n" +
			"the session; --all leaves run logs out.\n\n" +
			"With --json, each event is one object on its own line: start, session, entry, replaced, truncated, removed, problem." + sessionHelp,
		Example: "  treeline watch\n  treeline watch @last -n 10\n" +
			"  treeline watch --all --json | jq -r 'select(.event==\"entry\" and .entry.role==\"user\").entry.parts[].text'",
		Args: args("[<session>]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(args); err != nil {
				return err
			}
			s, err := w.store(a)
			if err != nil {
				return err
			}
			opt := watch.Options{Last: w.last}
			if opt.Dialect, err = namedDialect(s, w.dialect); err != nil {
				return err
			}
			if w.from == "start" {
				opt.Last = watch.AllEntries
			}
			if len(args) > 0 {
				opt.Path, err = a.locate(cmd.Context(), s, args[0])
			} else if a.source != "" {
				err = misused("--source needs a <session>")
			} else {
				opt.CWD, err = w.watched(cmd.Context(), a, s)
			}
			if err != nil {
				return err
			}
			return a.watch(cmd.Context(), s, opt)
		},
		ValidArgsFunction: a.completeSession,
	}
	a.addDialect(cmd, &w.dialect)
	w.scopeFlags.add(cmd, "watch")
	cmd.Flags().StringVar(&w.from, "from", "now", "begin `WHERE`: now (with what is written from now on) or start (of the sessions)")
	cmd.Flags().IntVarP(&w.last, "lines", "n", 0, "show the last `N` entries first")
	return cmd
}

func (w *watchFlags) check(args []string) error {
	switch {
	case len(args) > 0 && (w.all || w.cwd != ""):
		return misused("a session cannot be combined with --all or --cwd")
	case w.from != "start" && w.from != "now":
		return invalid("from", w.from, "start or now")
	case w.last < 0:
		return misused("-n must not be negative")
	case w.last > 0 && w.from == "start":
		return misused("-n and --from start cannot be combined")
	}
	return nil
}

// watched is the directory whose sessions are followed, "" for all.
func (w *watchFlags) watched(ctx context.Context, a *app, s *treeline.Store) (string, error) {
	dir, project, err := w.dir(a)
	if err != nil || !project {
		return dir, err
	}
	if s.Paged() {
		dir, err := s.ProjectHere(ctx, "")
		a.noteProject(s, dir)
		return dir, err
	}
	rows, err := s.List(ctx, place.ListOptions{})
	if err != nil {
		return "", err
	}
	return a.project(s, rows), nil
}

// watch prints changes until it is interrupted. Each is flushed, so that a reader of a pipe sees it at once.
func (a *app) watch(ctx context.Context, s *treeline.Store, opt watch.Options) error {
	a.endless.Store(true)
	return a.print(func(out *output) error {
		tell := wire.NewLive(out.page(), a.home()).Tell
		switch {
		case a.json:
			tell = func(ctx context.Context, c watch.Change) error {
				j, err := wire.NewChange(ctx, c)
				if err != nil {
					return err
				}
				return wire.Write(out, j)
			}
		case out.width > 0:
			fmt.Fprintln(a.stderr, out.style.dim("watching; Ctrl-C ends it"))
		}
		for c, err := range s.Watch(ctx, opt) {
			if err == nil && c.Kind == watch.KindProblem && !a.json {
				a.notice(c.Err.Error())
				continue
			}
			if err == nil {
				err = tell(ctx, c)
			}
			if err == nil {
				err = out.Flush()
			}
			if err != nil {
				return openError(opt.Path, err)
			}
		}
		return nil
	})
}
