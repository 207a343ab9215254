package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/store"
)

// lsFlags are the flags of ls.
// Each filter is empty by default, and an empty one chooses everything.
type lsFlags struct {
	sessionFlags
	cwd, root    string
	all, tree    bool
	source       string
	since, until string
	model, title string
	has          []string
	sort         string
	limit        int
}

// lsCommand is what most people type first, so it must be quick: a list comes from the catalogue, and only logs
// that changed are read. The exit code is 0 also for an empty list, which stderr explains; stdout has nothing but
// the list.
func (a *app) lsCommand() *cobra.Command {
	var f lsFlags
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List sessions",
		Long: "List the sessions of this directory, or of all with --all, newest first. What is shown comes from a catalogue that is\n" +
			"brought up to date first: only what changed is read. It has the places that 'treeline sources' lists. Of other folders,\n" +
			"named with --root, only the two ends of each file are read, unless a filter asks for more: the number of messages is\n" +
			"? where that is not enough.",
		Example: "  treeline ls\n  treeline ls --all --since 7d --model opus\n  treeline ls --all --has problem --sort size --limit 10\n" +
			"  treeline ls --cwd ~/src/app --title '*login*'\n  treeline ls --all --json | jq -r '.[].path'\n  treeline ls --all --root /backup/.omp/agent",
		Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ls(cmd, &f) },
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.cwd, "cwd", "", "list the sessions of the directory `DIR` instead of this one")
	flags.StringVar(&f.root, "root", "", "look in the folder `DIR` instead of the agents' own")
	flags.BoolVarP(&f.all, "all", "a", false, "list the sessions of all directories")
	flags.StringVar(&f.source, "source", "", "only those of the dialect or folder `NAME`; see 'treeline sources'")
	flags.StringVar(&f.since, "since", "", "only those used since `WHEN`: "+whenHelp)
	flags.StringVar(&f.until, "until", "", "only those last used up to `WHEN`; a date is included")
	flags.StringVar(&f.model, "model", "", "only those that `MODEL` answered in: a part of its name, or a pattern with * and ?")
	flags.StringVar(&f.title, "title", "", "only those whose title, or else first prompt, fits `GLOB`: * is anything, ? any character")
	flags.StringSliceVar(&f.has, "has", nil, "only those with all of `WHAT`: "+strings.Join(hasWords, ", "))
	flags.StringVar(&f.sort, "sort", string(store.OrderWhen), "sort by `KEY`: "+strings.Join(orderWords(), ", "))
	flags.IntVarP(&f.limit, "limit", "n", 0, "list no more than `N`")
	flags.BoolVar(&f.tree, "tree", false, "show forks under the session that they come from")
	return cmd
}

// hasWords are what --has takes.
// The words but "run" are those of index.ParseHas: "run" is found out by looking at run logs, not at the session.
var hasWords = []string{"label", "branch", "compaction", "problem", "blob", "run"}

func orderWords() []string {
	words := make([]string, len(store.Orders))
	for i, o := range store.Orders {
		words[i] = string(o)
	}
	return words
}

// filter makes of the flags what the store understands.
// Contradictions are refused rather than decided: whoever says --all and --cwd has two lists in mind.
func (f *lsFlags) filter(a *app, now time.Time) (filter store.Filter, err error) {
	if f.all && f.cwd != "" {
		return filter, errors.New("--all and --cwd contradict each other")
	}
	if f.limit < 0 {
		return filter, errors.New("--limit is less than nothing")
	}
	if !slices.Contains(store.Orders, store.Order(f.sort)) {
		return filter, fmt.Errorf("--sort takes one of %s, not %q", strings.Join(orderWords(), ", "), f.sort)
	}
	filter = store.Filter{Source: f.source, Model: f.model, Title: f.title}
	// several words mean all of them
	for _, word := range f.has {
		h, ok := index.ParseHas(word)
		switch {
		case word == "run":
			filter.Run = true
		case !ok:
			return filter, fmt.Errorf("--has takes some of %s, not %q", strings.Join(hasWords, ", "), word)
		}
		filter.Has |= h
	}
	filter.Since, filter.Until, err = parseSpan(f.since, f.until, now)
	return filter, err
}

// listDir is the directory whose sessions are wanted, "" for all. It need not exist any more.
// Abs and no EvalSymlinks: agents write the name under which they were started, and the store knows how to compare
// the two.
func (a *app) listDir(cwd string, all bool) (string, error) {
	if all {
		return "", nil
	}
	if cwd == "" {
		env, err := a.env()
		return env.WorkDir, err
	}
	return filepath.Abs(cwd)
}

// mustBeDir answers for --root. A folder that is misspelled would otherwise be an empty list.
func mustBeDir(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return atPath(path, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a folder", path)
	}
	return nil
}

// ls goes by these steps: all rows, then filters, then files that are no sessions, then order and limit. The limit
// comes last, so that it counts what is shown.
func (a *app) ls(cmd *cobra.Command, f *lsFlags) error {
	filter, err := f.filter(a, time.Now())
	if err == nil {
		err = noneEmpty(cmd)
	}
	if err != nil {
		return usageError{err, cmd}
	}
	if filter.CWD, err = a.listDir(f.cwd, f.all); err != nil {
		return err
	}
	// from here on very many small things are made: see there
	easeCollection()
	ctx := cmd.Context()
	rows, s, err := a.lsRows(ctx, cmd, f, &filter)
	if err != nil {
		return err
	}
	total := len(rows)
	if rows, err = s.Filter(ctx, rows, filter); err != nil {
		return err
	}
	var bad []string
	for i := range rows {
		if rows[i].Err != nil {
			bad = append(bad, rows[i].Path)
		}
	}
	// They are named on stderr instead: a list of sessions holds sessions.
	if len(bad) > 0 {
		rows = slices.DeleteFunc(rows, func(r store.Row) bool { return r.Err != nil })
	}
	rows = store.Sort(rows, store.Order(f.sort))
	var depth []int
	if f.tree {
		rows, depth = store.Forks(rows)
	}
	if f.limit > 0 && len(rows) > f.limit {
		rows = rows[:f.limit]
	}
	// Without a pager: people look at the newest rows and type on.
	width, _ := terminalWidth(a.stdout)
	err = a.print(ctx, a.stdout, width, func(_ context.Context, out *output) error {
		if f.json {
			return listJSON(out.Writer, rows, depth)
		}
		a.listTable(out, rows, depth, store.Order(f.sort))
		return nil
	})
	if total == 0 && f.root == "" {
		a.nothingHere()
	} else {
		a.notListed(filter, len(rows), total, bad)
	}
	// The logs of runs look like sessions to whoever made a backup of an agent's folder, and an empty list would
	// be no answer.
	if len(rows) == 0 && f.root != "" && s.HoldsRuns(ctx, f.root) {
		fmt.Fprintf(a.stderr, "treeline: %s holds logs of runs, which are no sessions: 'treeline run ls' lists those of the agents, 'treeline run show FILE' plays one\n",
			screen.Clean(f.root))
	}
	return err
}

// lsRows gives the rows that filters choose from: those of the catalogue or, of a folder that is no source of this machine
// or is to be read as something else than it is, those of a list that is made for the occasion.
// --dialect asks to read files as something that the catalogue does not take them for, so it cannot be used then.
func (a *app) lsRows(ctx context.Context, cmd *cobra.Command, f *lsFlags, filter *store.Filter) ([]store.Row, *store.Store, error) {
	problem := func(err error) { a.notice(err.Error()) }
	var roots []string
	if f.root != "" {
		if err := mustBeDir(f.root); err != nil {
			return nil, nil, err
		}
		roots = append(roots, f.root)
	}
	s, err := a.store(roots...)
	if err != nil {
		return nil, nil, err
	}
	if err := s.CheckSource(f.source); err != nil {
		return nil, nil, usageError{err, cmd}
	}
	opt, err := openOptions(s, cmd, f.sessionFlags)
	if err != nil {
		return nil, nil, err
	}
	// A filter that needs counts (--model, --has) cannot do with the two ends of each file that List reads.
	if opt.Dialect == nil && (f.root == "" || filter.Needs() || s.Familiar()) {
		show := a.newProgress("reading sessions", 0)
		rows, err := s.Catalogue(ctx, store.RefreshOptions{Problem: problem, Progress: show.read})
		show.clear()
		return rows, s, err
	}
	rows, err := s.List(ctx, store.ListOptions{Dialect: opt.Dialect, Problem: problem})
	return rows, s, err
}

// notListed tells of files that are no sessions, and why a list is empty that was chosen from so many.
func (a *app) notListed(filter store.Filter, listed, total int, bad []string) {
	if len(bad) > 0 {
		more := ""
		if len(bad) > 1 {
			more = ", " + screen.Ellipsis
		}
		fmt.Fprintf(a.stderr, "treeline: no session in %s, which 'treeline check' explains: %s%s\n",
			counted(len(bad), "file", "files"), screen.Clean(bad[0]), more)
	}
	// The directory alone is no filter that someone typed: it is where he stands.
	narrowed := filter
	narrowed.CWD = ""
	switch {
	case listed > 0:
	case total <= len(bad):
		fmt.Fprintf(a.stderr, "treeline: no sessions found\n")
	case narrowed != store.Filter{}:
		fmt.Fprintf(a.stderr, "treeline: no sessions fit, of %s\n", grouped(int64(total-len(bad))))
	default:
		fmt.Fprintf(a.stderr, "treeline: no sessions for %s; --all lists every directory\n", screen.Clean(filter.CWD))
	}
}

// nothingHere tells those who look at treeline for the first time what there is to do.
func (a *app) nothingHere() {
	a.notice("no agent has sessions here: 'treeline sources --all' shows where they would be, 'treeline demo' what it is all about")
}
