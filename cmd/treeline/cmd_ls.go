package main

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/find/listing"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// filterFlags choose sessions. An empty one matches everything.
type filterFlags struct {
	spanFlags
	source, model, title string
	has                  []string
}

// add describes --since and --until with what they choose.
func (f *filterFlags) add(cmd *cobra.Command, since, until string) {
	flags := cmd.Flags()
	flags.StringVar(&f.source, "source", "", "only sessions of the dialect or folder `NAME`; see 'treeline sources'")
	f.spanFlags.add(cmd, since, until)
	flags.StringVar(&f.model, "model", "", "only sessions in which `MODEL` answered: a part of its name, or a pattern with * and ?")
	flags.StringVar(&f.title, "title", "", "only sessions whose title, or else first prompt, matches `GLOB`: * is anything, ? any character")
	flags.StringSliceVar(&f.has, "has", nil, "only sessions with all of `WHAT`: "+strings.Join(hasWords, ", "))
}

type lsFlags struct {
	scopeFlags
	filterFlags
	limitFlag
	dialect, sort string
	tree          bool
}

// lsCommand lists sessions. An empty list has exit code 0; stderr says why it is empty.
func (a *app) lsCommand() *cobra.Command {
	var f lsFlags
	cmd := &cobra.Command{
		Use:        "ls",
		SuggestFor: []string{"sessions", "dir"},
		Aliases:    []string{"list"},
		Short:      "List sessions",
		Long: "List the sessions of this directory, or all with --all, newest first. --tree shows sub-agents and forks below the\n" +
			"sessions they come from. The list comes from a catalogue of the places that 'treeline sources' shows, which is updated\n" +
			"first by reading the files that changed. In a folder given with --root, only the beginning and end of each file are\n" +
			"read unless a filter needs more; the number of messages is ? where that is not enough.",
		Example: "  treeline ls\n  treeline ls --all --since 7d --model opus\n  treeline ls --all --has problem --sort size --limit 10\n" +
			"  treeline ls --cwd ~/src/app --title '*login*'\n  treeline ls --all --json | jq -r '.[].path'\n  treeline ls --all --root /backup/.omp/agent",
		Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ls(cmd, &f) },
	}
	a.addDialect(cmd, &f.dialect)
	f.scopeFlags.add(cmd, "list")
	f.filterFlags.add(cmd, "only sessions used", "only sessions last used")
	f.limitFlag.add(cmd, "sessions")
	flags := cmd.Flags()
	flags.StringVar(&f.sort, "sort", string(place.OrderWhen), "sort by `KEY`: "+strings.Join(orderWords(), ", "))
	flags.BoolVar(&f.tree, "tree", false, "show forks and sub-agents below the session they come from")
	return cmd
}

// hasWords are the values of --has: those of index.ParseHas, and "run", which is not a property of the session itself.
var hasWords = []string{"label", "branch", "compaction", "problem", "blob", "run"}

func orderWords() []string {
	words := make([]string, len(place.Orders))
	for i, o := range place.Orders {
		words[i] = string(o)
	}
	return words
}

// filter checks the flags and turns them into a filter of the store.
func (f *filterFlags) filter(now time.Time) (filter treeline.Filter, err error) {
	filter = treeline.Filter{Source: f.source, Model: f.model, Title: f.title}
	for _, word := range f.has {
		h, ok := index.ParseHas(word)
		switch {
		case word == "run":
			filter.Run = true
		case !ok:
			return filter, invalid("has", word, anyOf(hasWords))
		}
		filter.Has |= h
	}
	filter.Since, filter.Until, err = f.parse(now)
	return filter, err
}

// ls filters the rows, takes out files that are not sessions, sorts, and applies the limit last, so that it counts what
// is shown. Without --limit there is no pager: people look at the newest rows and type on.
func (a *app) ls(cmd *cobra.Command, f *lsFlags) error {
	filter, err := f.filter(a.now())
	if err == nil {
		err = oneOf("sort", f.sort, orderWords())
	}
	if err != nil {
		return err
	}
	most, err := f.most(a, cmd)
	if err != nil {
		return err
	}
	dir, project, err := f.dir(a)
	if err != nil {
		return err
	}
	filter.CWD = dir
	easeCollection()
	ctx := cmd.Context()
	s, err := f.store(a)
	if err != nil {
		return err
	}
	if err := s.CheckSource(f.source); err != nil {
		return err
	}
	if most > 0 && !f.tree && f.dialect == "" && s.Paged() {
		return a.lsPage(ctx, s, f, filter, project, most)
	}
	list, err := a.lsList(ctx, s, f, &filter)
	if err != nil {
		return err
	}
	total := list.Len()
	var here *listing.List // sessions of the project, which Find prefers
	if project || !a.json {
		dir := s.ProjectWith(list.Dirs(), list.Undirected())
		if project {
			a.noteProject(s, dir)
			filter.CWD = dir
		} else if here, err = filtered(ctx, s, list, treeline.Filter{CWD: dir}); err != nil {
			return err
		}
	}
	if list, err = filtered(ctx, s, list, filter); err != nil {
		return err
	}
	list, bad := list.Sessions()
	list.Sort(place.Order(f.sort))
	var depth []int
	tasks := 0
	switch {
	case f.tree:
		depth = list.Forks()
	case !a.json:
		list, tasks = list.WithoutTasks()
	}
	shown := list.First(most)
	shown.Shorten(here)
	err = a.pageLong(ctx, f.given, func(out *output) error {
		if a.json {
			return listJSON(out, shown, depth)
		}
		a.listTable(out, shown, depth, place.Order(f.sort))
		if out.width > 0 {
			out.summary(shown.Len(), list.Len(), false, "session", "sessions", rowSums(list, tasks)...)
		}
		return nil
	})
	if total == 0 && f.root == "" {
		a.nothingHere(s)
	} else {
		a.notListed(filter, list.Len(), total, bad)
	}
	// A backup of an agent's folder may hold run logs, which look like sessions.
	if list.Len() == 0 && f.root != "" && s.HoldsRuns(ctx, f.root) {
		a.notice(f.root + " holds run logs, not sessions: 'treeline run ls' lists those of the agents, 'treeline run show FILE' plays one")
	}
	return err
}

// filtered is the part of a list that a filter lets through.
func filtered(ctx context.Context, s *treeline.Store, list *listing.List, f treeline.Filter) (*listing.List, error) {
	if f == (treeline.Filter{}) {
		return list, nil
	}
	if f.CWD != "" {
		list = list.InDirs(s.InDirs(f.CWD))
	}
	passes, err := s.Condition(ctx, f)
	if err != nil {
		return nil, err
	}
	return list.Keep(passes), nil
}

// lsList gives the list of the catalogue. A folder that is not a source, or --dialect, needs a list of its own, which reads only the two
// ends of each file: that is not enough for filters that count.
func (a *app) lsList(ctx context.Context, s *treeline.Store, f *lsFlags, filter *treeline.Filter) (*listing.List, error) {
	d, err := namedDialect(s, f.dialect)
	if err != nil {
		return nil, err
	}
	if d == nil && (f.root == "" || filter.Needs() || s.Familiar() || s.Paged()) {
		show := a.newProgress("reading sessions")
		defer show.clear()
		return s.Listing(ctx, find.RefreshOptions{Problem: a.unread, Progress: show.read})
	}
	rows, err := s.List(ctx, place.ListOptions{Dialect: d, Problem: a.unread})
	return listing.Of(rows), err
}

// notListed reports files that are not sessions, and why a list is empty.
func (a *app) notListed(filter treeline.Filter, listed, total int, bad []string) {
	a.notSessions(bad)
	narrowed := filter
	narrowed.CWD = "" // the default
	switch {
	case listed > 0:
	case total <= len(bad):
		a.notice("no sessions found")
	case narrowed != treeline.Filter{}:
		a.notice("no matching sessions among " + wire.Number(int64(total-len(bad))))
	default:
		a.notice("no sessions for " + filter.CWD + "; --all lists every directory")
	}
}

// notSessions reports files that are in the place of sessions.
func (a *app) notSessions(files []string) {
	if len(files) == 0 {
		return
	}
	more := ""
	if len(files) > 1 {
		more = " for the first"
	}
	check := wire.ShellLine("", nil, []string{"treeline", "check", files[0]})
	a.notice(wire.Count(len(files), "file cannot be read as a session", "files cannot be read as sessions") + "; to see why" + more + ", run: " + check)
}

// nothingHere says what was looked for on a machine, or in an archive, without sessions, and what to do.
func (a *app) nothingHere(s *treeline.Store) {
	if a.archive != "" {
		a.notice("there are no sessions in this archive; 'treeline push' copies those of a machine to it")
		return
	}
	if a.knownHome() == "" {
		a.notice("HOME is not set, so the folders of agents were not found")
		return
	}
	var names []string
	var cells [][]string
	for _, src := range place.Firsts(s.Sources()) {
		names = append(names, src.Dialect.Name())
		cells = append(cells, []string{src.Dialect.Name(), wire.Tilde(screen.OneLine(src.Root.Sessions, 0), a.home())})
	}
	if a.json {
		a.notice(noneHere(s.Unread()) + ": looked for " + strings.Join(names, ", ") + "; 'treeline sources --all' shows where")
		return
	}
	program := a.program(os.Args[0])
	a.notice(noneHere(s.Unread()) + ". treeline looked in these places:\n  " + strings.Join(align(cells), "\n  ") +
		"\nBegin a session with one of these agents, or try:\n  " + strings.Join(align([][]string{
		{program + " demo", "what treeline does, in four steps"},
		{program + " serve --demo --open", "made-up sessions in a browser"},
		{program + " sources --all", "all places, and how to add one"},
	}), "\n  "))
}

// noPlaces says what was looked for if no agent has a folder on this machine.
func (a *app) noPlaces() error {
	s, err := a.store()
	if err != nil {
		return err
	}
	for _, src := range s.Sources() {
		if _, err := os.Stat(src.Root.Sessions); err == nil || a.archive != "" {
			return nil
		}
	}
	a.nothingHere(s)
	return nil
}

func listJSON(out *output, list *listing.List, depth []int) error {
	return wire.WriteList(out, list.Len(), func(i int) (wire.Row, error) {
		j := wire.NewRow(list.Row(i))
		if depth != nil {
			j.Depth = &depth[i]
		}
		return j, nil
	})
}

// extraColumn gives the column that a list is sorted by, if the others do not show it.
func extraColumn(by place.Order) (name string, text func(*place.Row) string) {
	switch by {
	case place.OrderCreated:
		return "CREATED", func(r *place.Row) string {
			if at, ok := r.Created.Time(); ok {
				return at.Local().Format("2006-01-02 15:04")
			}
			return "-"
		}
	case place.OrderTokens:
		return "TOKENS", func(r *place.Row) string {
			if r.Known == nil {
				return "?"
			}
			return wire.Number(r.Known.Tokens.Total)
		}
	case place.OrderCost:
		return "COST", func(r *place.Row) string {
			if r.Known == nil {
				return "?"
			}
			return wire.Cost(r.Known.Cost, "-")
		}
	}
	return "", nil
}

// listTable prints the rows as a table. The title takes the rest of the line.
func (a *app) listTable(out *output, list *listing.List, depth []int, by place.Order) {
	if list.Len() == 0 {
		return
	}
	st, home := out.style, a.home()
	t := table{
		{name: "WHEN", mark: st.cyan, drop: 5}, {name: "PROJECT", path: true, mark: same, least: leastProject, drop: 4},
		{name: "TITLE", mark: same, least: leastTitle}, {name: "MSGS", right: true, mark: same, drop: 3},
		{name: "SIZE", right: true, mark: same, drop: 2}, {name: "DIALECT", mark: st.dim, drop: 1}, {name: "ID", mark: st.yellow},
	}
	const last = 6 // the column that the list is sorted by is dropped last
	if i, ok := map[place.Order]int{place.OrderProject: 1, place.OrderMessages: 3, place.OrderSize: 4}[by]; ok {
		t[i].drop = last
	}
	const before = 3 // the extra column comes after so many
	name, extra := extraColumn(by)
	if extra != nil {
		t = slices.Insert(t, before, column{name: name, right: true, mark: same, drop: last})
	}
	// In an archive, where sessions of several machines are: which one matters more than how large a session is.
	origin := list.FromOrigins()
	if origin {
		t = slices.Insert(t, 1, column{name: "ORIGIN", mark: st.dim, drop: 4})
	}
	row := make([]string, 0, len(t)) // reused: a list may have ten thousand rows
	for i := range list.Len() {
		r := list.Row(i)
		messages := "?"
		if r.Messages >= 0 {
			messages = strconv.Itoa(r.Messages)
		}
		title := rowTitle(r)
		if depth != nil && depth[i] > 0 {
			title = strings.Repeat("  ", min(depth[i], 8)-1) + "└ " + title // at most eight levels, to leave room for the title
		}
		cells := append(row[:0], out.when(r.When()), folder(r.CWD, home), title, messages, wire.Size(r.Log.Size), r.Dialect.Name(),
			dash(screen.OneLine(r.Short, 40)))
		if extra != nil {
			cells = slices.Insert(cells, before, extra(r))
		}
		if origin {
			cells = slices.Insert(cells, 1, dash(screen.OneLine(r.Source.Origin, 0)))
		}
		t.add(cells...)
	}
	t.write(out)
}

// titleColumns limits a title: a first prompt may be a whole file.
const titleColumns = 120

// rowTitle is the title of a session, or why it has none.
func rowTitle(r *place.Row) string {
	switch {
	case r.Heading() != "":
		return screen.OneLine(r.Heading(), titleColumns)
	case r.Log.Size == 0:
		return "(empty file)"
	case r.Messages == 0:
		return "(no messages)"
	}
	return "(no title)"
}
