package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	drivers "github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/internal/screen"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// runCommand gathers what is done with run logs, which are no sessions and have ids of their own. Without a word
// it explains itself; a word that is none is refused, and not taken for a run.
func (a *app) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Record, replay and audit what happened in a run",
		Long: "A run log says what an agent did: each request to the model as it was sent, each response, the whole output of each\n" +
			"tool, and how it ended. codelia writes one for each run; for every other agent 'treeline run record' does.",
		Example: "  treeline run ls\n  treeline run replay @last --llm",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 {
				return usageError{fmt.Errorf("unknown command %q%s", "run "+given[0], suggestion(cmd, given[0])), cmd}
			}
			return cmd.Help()
		},
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(
		a.runLsCommand(),
		a.runShowCommand(),
		a.runRecordCommand(),
		a.runReplayCommand(),
		a.runAuditCommand(),
		a.runDiffCommand(),
	)
	return cmd
}

// runHelp explains, in the help of every command that takes one, what a run is called.
const runHelp = "\n\n<run> is a file, the id of a run, the beginning of one, or @last: the newest of all."

// runStore gives the store of this machine for reading runs.
// Runs are not in the catalogue's lists, so no index is opened here.
func (a *app) runStore() (*store.Store, error) {
	return treeline.New(treeline.Options{Backends: drivers.All(), Home: a.home(), Getenv: a.getenv, ReadOnly: true, NoBreadcrumbs: true})
}

// locateRun gives the file of the run that someone named.
func (a *app) locateRun(ctx context.Context, s *store.Store, ref string) (string, error) {
	if isPath(ref) {
		return ref, nil
	}
	row, err := s.FindRun(ctx, ref)
	return row.Path, err
}

// openRun opens the run that someone named, and tells of what is wrong with its log.
// The caller closes it. Problems go to stderr and do not fail the command, as with sessions; 'run audit' is where
// they count.
func (a *app) openRun(ctx context.Context, ref string) (*store.Run, error) {
	s, err := a.runStore()
	if err != nil {
		return nil, err
	}
	path, err := a.locateRun(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	r, err := s.OpenRun(ctx, path)
	if err != nil {
		return nil, runError(path, err)
	}
	for i, p := range r.Problems() {
		if i == mostProblems {
			fmt.Fprintf(a.stderr, "treeline: and %d more problems; 'treeline check %s' lists them\n", len(r.Problems())-i, screen.Clean(path))
			break
		}
		fmt.Fprintf(a.stderr, "treeline: %s: %s\n", screen.Clean(path), screen.Clean(p.String()))
	}
	return r, nil
}

// runError says what people want to know of why a run could not be opened.
func runError(path string, err error) error {
	var p *runlog.Problem
	switch {
	case errors.Is(err, backend.ErrNotExist):
		return fmt.Errorf("%s: no such file", path)
	case errors.As(err, &p):
		return fmt.Errorf("%s: %w; the file was not changed", path, p)
	}
	return err
}

// completeRun offers the newest runs to the shell.
func (a *app) completeRun(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	s, err := a.runStore()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	rows, err := s.Runs(cmd.Context(), store.RunListOptions{})
	if err != nil || len(rows) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	list := []string{"@last\tthe newest"}
	// fifty are more than anybody looks through
	for _, r := range rows[:min(len(rows), 50)] {
		if r.Err == nil {
			list = append(list, r.Header.RunID+"\t"+screen.OneLine(r.Prompt, 60))
		}
	}
	return list, cobra.ShellCompDirectiveDefault
}

// runLsCommand lists by directory, like ls: the header of a run says where it was started.
func (a *app) runLsCommand() *cobra.Command {
	var (
		ref         string
		all, asJSON bool
	)
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List runs",
		Long: "List the runs of this directory, of a session, or all of them, newest first. A run without an outcome crashed, or still\n" +
			"goes on.",
		Example: "  treeline run ls\n  treeline run ls --session 01a1dcc8\n  treeline run ls --all --json | jq -r '.[].path'",
		Args:    args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all && ref != "" {
				return usageError{errors.New("--all and --session contradict each other"), cmd}
			}
			s, err := a.runStore()
			if err != nil {
				return err
			}
			var opt store.RunListOptions
			switch {
			// Changed: --session '' must not list everything.
			case cmd.Flags().Changed("session"):
				if opt.Session, err = a.sessionOfRuns(cmd.Context(), s, ref); err != nil {
					return err
				}
			case !all:
				env, err := a.env()
				if err != nil {
					return err
				}
				opt.CWD = env.WorkDir
			}
			return a.runLs(cmd.Context(), s, opt, asJSON)
		},
	}
	cmd.Flags().StringVar(&ref, "session", "", "list the runs of the session `ID`")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "list the runs of all directories")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// sessionOfRuns gives the id of the session that someone named: one that has runs, or one that the store knows.
// Runs are asked first, because an agent may have runs and no sessions that we know; then the store. Only at the
// end do several beginnings count as ambiguous.
func (a *app) sessionOfRuns(ctx context.Context, s *store.Store, ref string) (session.ID, error) {
	if isPath(ref) {
		sess, err := s.Open(ctx, ref, store.OpenOptions{})
		if err != nil {
			return "", openError(ref, err)
		}
		defer sess.Close()
		return sess.ID(), nil
	}
	rows, err := s.Runs(ctx, store.RunListOptions{})
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
	row, err := s.Find(ctx, ref)
	switch {
	case err == nil:
		return row.ID, nil
	case len(begin) == 1:
		return session.ID(begin[0]), nil
	case len(begin) > 1:
		return "", fmt.Errorf("%q fits %d sessions: %s", ref, len(begin), strings.Join(begin, ", "))
	}
	var many *store.AmbiguousError
	if errors.As(err, &many) {
		return "", a.ambiguous(many)
	}
	return "", err
}

// A log that is no run is told on stderr, file by file: in these folders there should be nothing else.
func (a *app) runLs(ctx context.Context, s *store.Store, opt store.RunListOptions, asJSON bool) error {
	opt.Problem = func(err error) { fmt.Fprintf(a.stderr, "treeline: %s\n", screen.Clean(err.Error())) }
	rows, err := s.Runs(ctx, opt)
	if err != nil {
		return err
	}
	good := slices.DeleteFunc(rows, func(r store.RunRow) bool {
		if r.Err != nil {
			fmt.Fprintf(a.stderr, "treeline: %s: %s\n", screen.Clean(r.Path), screen.Clean(r.Err.Error()))
		}
		return r.Err != nil
	})
	width, _ := terminalWidth(a.stdout)
	err = a.print(ctx, a.stdout, width, func(_ context.Context, out *output) error {
		if asJSON {
			return runListJSON(out, good)
		}
		a.runTable(out, good)
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
		fmt.Fprintf(a.stderr, "treeline: %s\n", screen.Clean(what))
	}
	return err
}

// runJSON is a run in a list for programs.
// It is a stable format: outcome is null for a run that crashed or still goes on, session and model are absent
// where the header has none.
type runJSON struct {
	ID       string  `json:"id"`
	Session  string  `json:"session,omitempty"`
	Path     string  `json:"path"`
	Started  string  `json:"started"`
	CWD      string  `json:"cwd"`
	Model    string  `json:"model,omitempty"`
	Prompt   string  `json:"prompt"`
	Outcome  *string `json:"outcome"`
	Size     int64   `json:"size"`
	Modified string  `json:"modified"`
}

func runListJSON(out *output, rows []store.RunRow) error {
	list := arrayWriter{w: out}
	for _, r := range rows {
		j := runJSON{
			ID: r.Header.RunID, Session: r.Header.SessionID, Path: r.Path, Started: r.Header.StartedAt, CWD: r.CWD(), Prompt: r.Prompt,
			Size: r.Log.Size, Modified: r.Log.Time.UTC().Format("2006-01-02T15:04:05.000Z"),
		}
		if r.Header.Model != nil {
			j.Model = r.Header.Model.Name
		}
		if r.Outcome != "" {
			j.Outcome = &r.Outcome
		}
		if err := list.add(j); err != nil {
			return err
		}
	}
	return list.end()
}

// runTable prints runs for people.
// On a terminal times are told as people say them; in a pipe they are sortable and do not depend on the moment.
func (a *app) runTable(out *output, rows []store.RunRow) {
	if len(rows) == 0 {
		return
	}
	st := out.style
	now := time.Now()
	t := table{
		{name: "WHEN", mark: st.cyan, drop: 5}, {name: "PROJECT", path: true, mark: same, least: leastProject, drop: 3},
		{name: "ASKED", mark: same, least: leastTitle}, {name: "OUTCOME", mark: same, drop: 4},
		{name: "SIZE", right: true, mark: same, drop: 1}, {name: "SESSION", mark: st.dim, drop: 2}, {name: "ID", mark: st.yellow},
	}
	t.grow(len(rows))
	for _, r := range rows {
		when := "-"
		if !r.Started.IsZero() {
			when = r.Started.Local().Format("2006-01-02 15:04")
			if out.width > 0 {
				when = ago(r.Started.Local(), now)
			}
		}
		// Ids of sessions are told by their first eight characters here: the column only shows what belongs
		// together.
		id := r.Header.SessionID
		t.add(when, orElse(tilde(screen.OneLine(r.CWD(), 0), a.home()), "-"), orElse(screen.OneLine(r.Prompt, titleColumns), "-"),
			orElse(screen.OneLine(r.Outcome, 20), "(open)"), byteSize(r.Log.Size), orElse(screen.OneLine(id[:min(len(id), 8)], 0), "-"), screen.OneLine(r.Short, 40))
	}
	if out.width > 0 {
		t = t.fit(out.width)
	}
	t.write(out)
}
