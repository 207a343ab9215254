package programs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// runLsCommand lists runs by the directory where they were started, like ls.
func runLsCommand(a *cli.App) *cobra.Command {
	var (
		ref   string
		all   bool
		limit cli.LimitFlag
	)
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List runs",
		Long: "List the runs of this directory, of a session, or all of them, newest first. A run without an outcome has crashed or\n" +
			"is still running.",
		Example: "  treeline run ls\n  treeline run ls --session 01a1df83\n  treeline run ls --all --json | jq -r '.[].path'",
		Args:    cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all && ref != "" {
				return cli.Misused("--all and --session cannot be combined")
			}
			s, err := a.Store()
			if err != nil {
				return err
			}
			var opt runs.ListOptions
			switch {
			case cmd.Flags().Changed("session"):
				if opt.Session, err = sessionOfRuns(cmd.Context(), a, s, ref); err != nil {
					return err
				}
			case !all:
				if opt.CWD, err = runsProject(cmd.Context(), a, s); err != nil {
					return err
				}
			}
			most, err := limit.Most(a, cmd)
			if err != nil {
				return err
			}
			return runLs(cmd.Context(), a, s, opt, most, limit.Given)
		},
	}
	cmd.Flags().StringVar(&ref, "session", "", "list the runs of the session `ID`")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "list the runs of all directories")
	limit.Add(cmd, "runs")
	a.AddJSON(cmd)
	return cmd
}

// sessionOfRuns returns the id of a session that has runs or that the store knows. Runs are searched first: their session may be in an
// unknown format.
func sessionOfRuns(ctx context.Context, a *cli.App, s *treeline.Store, ref string) (session.ID, error) {
	if cli.IsPath(ref) {
		sess, err := a.OpenIn(ctx, s, ref, "")
		if err != nil {
			return "", err
		}
		defer sess.Close()
		return sess.ID(), nil
	}
	var rows []runs.Row
	var err error
	if s.Paged() { // the index returns only those of one session
		rows, err = s.Runs(ctx, runs.ListOptions{Session: session.ID(ref)})
	} else {
		rows, err = s.Runs(ctx, runs.ListOptions{})
	}
	if err != nil {
		return "", err
	}
	var begin []string
	for _, r := range rows {
		id := r.Header.SessionID
		switch {
		case id == ref && ref != "":
			return session.ID(id), nil
		case ref != "" && strings.HasPrefix(id, ref) && !slices.Contains(begin, id):
			begin = append(begin, id)
		}
	}
	row, err := a.Find(ctx, s, ref)
	switch {
	case err == nil:
		return row.ID, nil
	case len(begin) == 1:
		return session.ID(begin[0]), nil
	case len(begin) > 1:
		return "", fmt.Errorf("%q matches %d sessions: %s", ref, len(begin), strings.Join(begin, ", "))
	}
	return "", cli.Ambiguous(err)
}

// runsProject returns the directory whose runs are listed by default: the project, found as if each run were a session.
func runsProject(ctx context.Context, a *cli.App, s *treeline.Store) (string, error) {
	if s.Paged() {
		dir, err := s.RunsProjectHere(ctx)
		a.NoteProject(s, dir)
		return dir, err
	}
	rows, err := s.Runs(ctx, runs.ListOptions{})
	if err != nil {
		return "", err
	}
	dir := s.ProjectAmong(func(yield func(string) bool) {
		for i := range rows {
			if dir := rows[i].CWD(); rows[i].Err == nil && dir != "" && !yield(dir) {
				return
			}
		}
	}, nil)
	a.NoteProject(s, dir)
	return dir, nil
}

// runLs prints at most most runs; page reports whether they may be shown in the pager. Logs that are not runs are reported on stderr.
func runLs(ctx context.Context, a *cli.App, s *treeline.Store, opt runs.ListOptions, most int, page bool) error {
	opt.Problem = a.Unread
	rows, total, err := runRows(ctx, s, opt, most)
	if err != nil {
		return err
	}
	good := slices.DeleteFunc(rows, func(r runs.Row) bool {
		if r.Err != nil {
			a.Notice(r.Path + ": " + r.Err.Error())
			total--
		}
		return r.Err != nil
	})
	err = a.PageLong(ctx, page, func(out *console.Output) error {
		shown := cli.First(good, most)
		if a.JSON {
			return wire.WriteList(out, len(shown), func(i int) (wire.Run, error) { return wire.NewRun(shown[i]), nil })
		}
		runTable(a, out, shown)
		switch {
		case total < 0:
			out.Summary(len(shown), cli.CountedMost, true, "run", "runs")
			return nil
		case total > len(good):
			out.Summary(len(shown), total, false, "run", "runs")
			return nil
		}
		size := int64(0)
		for i := range good {
			size += good[i].Log.Size
		}
		out.Summary(len(shown), len(good), false, "run", "runs", wire.Size(size))
		return nil
	})
	if len(good) == 0 && err == nil {
		what := "no runs found"
		switch {
		case opt.Session != "":
			what = "no runs of session " + string(opt.Session)
		case opt.CWD != "":
			what = "no runs for " + opt.CWD + "; --all lists every directory"
		}
		a.Notice(what)
	}
	return err
}

// runRows returns runs and their total number, or -1 if that exceeds cli.CountedMost. Of an archive it returns only the newest, at most
// most.
func runRows(ctx context.Context, s *treeline.Store, opt runs.ListOptions, most int) (rows []runs.Row, total int, err error) {
	if most > 0 && s.Paged() {
		page, err := s.RunPage(ctx, treeline.RunPageOptions{Session: opt.Session, CWD: opt.CWD, Limit: most, TotalMost: cli.CountedMost})
		if !errors.Is(err, index.ErrNone) {
			return page.Rows, page.Total, err
		}
	}
	rows, err = s.Runs(ctx, opt)
	return rows, len(rows), err
}

// runTable prints runs as a table.
func runTable(a *cli.App, out *console.Output, rows []runs.Row) {
	if len(rows) == 0 {
		return
	}
	st := out.Style
	t := console.Table{
		{Name: "WHEN", Mark: st.Cyan, Drop: 5}, {Name: "PROJECT", Path: true, Least: console.LeastProject, Drop: 3},
		{Name: "ASKED", Least: console.LeastTitle}, {Name: "OUTCOME", Drop: 4},
		{Name: "SIZE", Right: true, Drop: 1}, {Name: "SESSION", Mark: st.Dim, Drop: 2}, {Name: "ID", Mark: st.Yellow},
	}
	for _, r := range rows {
		when := "-"
		if !r.Started.IsZero() {
			when = out.When(r.Started)
		}
		id := r.Header.SessionID
		t.Add(when, console.Folder(r.CWD(), a.Tilde()), console.Dash(screen.OneLine(r.Prompt, cli.TitleColumns)),
			cmp.Or(screen.OneLine(r.Outcome, 20), "(open)"), wire.Size(r.Log.Size), console.Dash(screen.OneLine(id[:min(len(id), 8)], 0)), screen.OneLine(r.Short, 40))
	}
	t.Write(out)
}
