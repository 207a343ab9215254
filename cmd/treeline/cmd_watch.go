package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// watchCommand follows what agents write, without their knowing: it reads only. It ends with Ctrl-C and exit code
// 0, since that is how one ends it.
func (a *app) watchCommand() *cobra.Command {
	var (
		f    sessionFlags
		w    watchFlags
		opt  store.WatchOptions
		root string
	)
	cmd := &cobra.Command{
		Use:   "watch [<session>]",
		Short: "Follow sessions while they are written",
		Long: "Show entries as they are written, by whatever program: those of this directory's sessions, of one session, or of all\n" +
			"with --all. It begins with what is written from now on, goes on when a file is replaced, cut or removed, and ends with\n" +
			"Ctrl-C. What tools were told and answered is folded.\n" +
			"With --json each event is one object on a line of its own: start, session, entry, replaced, truncated, removed, problem.\n" +
			"The log of a run is followed, all that happens in it, where it is named as the session; --all leaves them out." + sessionHelp,
		Example: "  treeline watch\n  treeline watch @last -n 10\n" +
			"  treeline watch --all --json | jq -r 'select(.event==\"entry\" and .entry.role==\"user\").entry.parts[].text'",
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) > 1 {
				return usageError{fmt.Errorf("unexpected argument %q", given[1]), cmd}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noneEmpty(cmd); err != nil {
				return usageError{err, cmd}
			}
			if err := w.check(cmd, args); err != nil {
				return err
			}
			var roots []string
			if root != "" {
				if err := mustBeDir(root); err != nil {
					return err
				}
				roots = append(roots, root)
			}
			s, err := a.store(roots...)
			if err != nil {
				return err
			}
			o, err := openOptions(s, cmd, f)
			if err != nil {
				return err
			}
			opt.Dialect, opt.Last = o.Dialect, w.last
			if w.from == "start" {
				opt.Last = store.AllEntries
			}
			if len(args) > 0 {
				opt.Path, err = a.locate(cmd.Context(), s, args[0])
			} else {
				opt.CWD, err = a.listDir(w.cwd, w.all)
			}
			if err != nil {
				return err
			}
			return a.watch(cmd.Context(), s, opt, f.json)
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	cmd.Flags().BoolVarP(&w.all, "all", "a", false, "watch the sessions of all directories")
	cmd.Flags().StringVar(&w.cwd, "cwd", "", "watch the sessions of the directory `DIR` instead of this one")
	cmd.Flags().StringVar(&root, "root", "", "look in the folder `DIR` instead of the agents' own")
	cmd.Flags().StringVar(&w.from, "from", "now", "begin `WHERE`: now, with what is written from now on, or at the start of the sessions")
	cmd.Flags().IntVarP(&w.last, "lines", "n", 0, "show the last `N` entries first")
	return cmd
}

// watchFlags say what is watched.
// from and last say how much of what is there already is shown first.
type watchFlags struct {
	all       bool
	cwd, from string
	last      int
}

// check refuses what contradicts itself.
func (w *watchFlags) check(cmd *cobra.Command, args []string) error {
	wrong := ""
	switch {
	case len(args) > 0 && (w.all || w.cwd != ""):
		wrong = "a session and --all or --cwd contradict each other"
	case w.all && w.cwd != "":
		wrong = "--all and --cwd contradict each other"
	case w.from != "start" && w.from != "now":
		wrong = fmt.Sprintf("--from is %q: it can be start or now", w.from)
	case w.last < 0:
		wrong = "-n must not be negative"
	case w.last > 0 && w.from == "start":
		wrong = "-n and --from start contradict each other"
	default:
		return nil
	}
	return usageError{errors.New(wrong), cmd}
}

// watch prints changes until it is interrupted, each as soon as it is known.
// Each change is flushed by itself: whoever reads the pipe must not wait for a buffer to fill.
func (a *app) watch(ctx context.Context, s *store.Store, opt store.WatchOptions, asJSON bool) error {
	width, onTerminal := terminalWidth(a.stdout)
	return a.print(ctx, a.stdout, width, func(ctx context.Context, out *output) error {
		tell := newLive(a, out).tell
		switch {
		case asJSON:
			tell = func(ctx context.Context, c store.Change) error { return changeJSON(ctx, out, c) }
		case onTerminal:
			fmt.Fprintln(a.stderr, out.style.dim("watching; Ctrl-C ends it"))
		}
		for c, err := range s.Watch(ctx, opt) {
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

// changeEvent is a change for programs.
// It is a stable format, one object on a line. Members that an event has no use for are absent.
type changeEvent struct {
	Event    store.ChangeKind `json:"event"`
	Sessions *int             `json:"sessions,omitempty"` // how many are watched, for start
	// Session is the id, Path the file. They are left out where a problem is with neither.
	Session session.ID `json:"session,omitempty"`
	Path    string     `json:"path,omitempty"`
	Dialect string     `json:"dialect,omitempty"`
	// CWD and Title are there for a session that appears, and when its header changes.
	CWD   *string `json:"cwd,omitempty"`
	Title *string `json:"title,omitempty"`
	// Entry is what 'show --json' prints of it.
	Entry *entryJSON `json:"entry,omitempty"`
	// Message, Kind, Line and Offset say what is wrong and where.
	Message string              `json:"message,omitempty"`
	Kind    session.ProblemKind `json:"kind,omitempty"`
	Line    int                 `json:"line,omitempty"`
	Offset  *int64              `json:"offset,omitempty"`
}

// changeJSON has no tree, so labels are not known: an entry is told before anything can be said about it.
func changeJSON(ctx context.Context, out *output, c store.Change) error {
	j := changeEvent{Event: c.Kind, Session: c.Header.ID, Path: c.Path}
	if c.Dialect != nil {
		j.Dialect = c.Dialect.Name()
	}
	switch c.Kind {
	case store.ChangeStart:
		j.Sessions = &c.Sessions
	case store.ChangeSession:
		j.CWD, j.Title = &c.Header.CWD, &c.Title
	case store.ChangeProblem:
		j.Message = c.Err.Error()
		var p *session.Problem
		if errors.As(c.Err, &p) {
			j.Message, j.Kind, j.Line, j.Offset = p.Message, p.Kind, p.Line, &p.Offset
		}
	case store.ChangeEntry:
		v, err := lookInto(c.Dialect.Codec(), c.Entry, c.Raw)
		if err != nil {
			return err
		}
		e := newEntryJSON(&session.Tree{}, v)
		e.Parts = partsJSON(v.parts, func(ref string) int64 { return blobSize(ctx, c, ref) })
		if len(v.parts) == 0 {
			text := v.line(0)
			e.Text = &text
		}
		j.Entry = &e
	}
	return writeJSON(out, j)
}

// blobSize is how long a blob is, -1 where it is not there.
func blobSize(ctx context.Context, c store.Change, ref string) int64 {
	data, p := c.Blob(ctx, ref)
	if p != nil {
		return -1
	}
	return int64(len(data))
}
