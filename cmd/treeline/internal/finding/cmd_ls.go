package finding

import (
	"context"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/find/listing"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// filterFlags select sessions. An empty one selects all.
type filterFlags struct {
	cli.SpanFlags
	source, model, title string
	has                  []string
}

// add adds the flags. since and until describe what --since and --until select.
func (f *filterFlags) add(cmd *cobra.Command, since, until string) {
	flags := cmd.Flags()
	flags.StringVar(&f.source, "source", "", "only sessions of the dialect or folder `NAME`; see 'treeline sources'")
	f.SpanFlags.Add(cmd, since, until)
	flags.StringVar(&f.model, "model", "", "only sessions in which `MODEL` answered: a part of its name, or a pattern with * and ?")
	flags.StringVar(&f.title, "title", "", "only sessions whose title, or else first prompt, matches `GLOB`: * is anything, ? any character")
	flags.StringSliceVar(&f.has, "has", nil, "only sessions with all of `WHAT`: "+strings.Join(HasWords, ", "))
}

type lsFlags struct {
	cli.ScopeFlags
	filterFlags
	cli.LimitFlag
	dialect, sort string
	tree          bool
}

// Ls lists sessions. For an empty list the exit code is 0; stderr says why it is empty.
func Ls(a *cli.App) *cobra.Command {
	var f lsFlags
	cmd := &cobra.Command{
		Use:        "ls",
		SuggestFor: []string{"sessions", "dir"},
		Aliases:    []string{"list"},
		Short:      "List sessions",
		Long: "List the sessions of this directory, or all with --all, the last used first. As in the agent's own list, that is\n" +
			"mostly when the file last changed. --tree shows sub-agents and forks below the sessions they come from.\n\n" +
			"The list comes from a catalogue of the places that 'treeline sources' shows, which is updated first by reading the\n" +
			"files that changed. In a folder given with --root, only the beginning and end of each file are read unless a filter\n" +
			"needs more; the number of messages is ? where that is not enough.",
		Example: "  treeline ls\n  treeline ls --all --since 7d --model opus\n  treeline ls --all --has problem --sort size --limit 10\n" +
			"  treeline ls --cwd ~/src/app --title '*login*'\n  treeline ls --all --json | jq -r '.[].path'\n  treeline ls --all --root /backup/.omp/agent",
		Args: cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error { return ls(a, cmd, &f) },
	}
	a.AddDialect(cmd, &f.dialect)
	cmd.Flags().Lookup("dialect").Usage = "with --root: read the files in the format `NAME`; --source lists the sessions of an agent"
	f.ScopeFlags.Add(cmd, "list")
	f.filterFlags.add(cmd, "only sessions used", "only sessions last used")
	f.LimitFlag.Add(cmd, "sessions")
	flags := cmd.Flags()
	flags.StringVar(&f.sort, "sort", string(place.OrderWhen), "sort by `KEY`: "+strings.Join(cli.Words(place.Orders), ", "))
	flags.BoolVar(&f.tree, "tree", false, "show forks and sub-agents below the session they come from")
	return cmd
}

// HasWords are the values of --has: those of index.ParseHas, and "run", which is not a property of the session itself.
var HasWords = []string{"label", "branch", "compaction", "problem", "blob", "run"}

// filter checks the flags and converts them to a filter of the store.
func (f *filterFlags) filter(now time.Time) (filter treeline.Filter, err error) {
	filter = treeline.Filter{Source: f.source, Model: f.model, Title: f.title}
	for _, word := range f.has {
		h, ok := index.ParseHas(word)
		switch {
		case word == "run":
			filter.Run = true
		case !ok:
			return filter, cli.Invalid("has", word, cli.AnyOf(HasWords))
		}
		filter.Has |= h
	}
	filter.Since, filter.Until, err = f.Parse(now)
	return filter, err
}

// ls filters the rows, removes files that are not sessions, sorts, and applies the limit last, so that it counts what is shown. Without
// --limit there is no pager: people look at the newest rows and go on typing.
func ls(a *cli.App, cmd *cobra.Command, f *lsFlags) error {
	filter, err := f.filter(a.Now())
	if err == nil {
		err = cli.OneOf("sort", f.sort, cli.Words(place.Orders))
	}
	if err == nil && f.dialect != "" && f.Root == "" {
		err = cli.Misused("--dialect needs --root; --source %s lists the sessions of an agent", f.dialect)
	}
	if err != nil {
		return err
	}
	most, err := f.Most(a, cmd)
	if err != nil {
		return err
	}
	dir, project, err := f.Dir(a)
	if err != nil {
		return err
	}
	filter.CWD = dir
	cli.EaseCollection()
	ctx := cmd.Context()
	s, err := f.Store(a)
	if err != nil {
		return err
	}
	if err := s.CheckSource(f.source); err != nil {
		return err
	}
	if most > 0 && !f.tree && f.dialect == "" && s.Paged() {
		return lsPage(ctx, a, s, f, filter, project, most)
	}
	list, err := lsList(ctx, a, s, f, &filter)
	if err != nil {
		return err
	}
	total := list.Len()
	var here *listing.List // sessions of the project, which Find prefers
	if project || !a.JSON {
		dir := s.ProjectWith(list.Dirs(), list.Undirected())
		if project {
			a.NoteProject(s, dir)
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
	case !a.JSON:
		list, tasks = list.WithoutTasks()
	}
	shown := list.First(most)
	shown.Shorten(here)
	err = a.PageLong(ctx, f.Given, func(out *console.Output) error {
		if a.JSON {
			return listJSON(out, shown, depth)
		}
		listTable(a, out, shown, depth, place.Order(f.sort))
		if out.Width > 0 {
			out.Summary(shown.Len(), list.Len(), false, "session", "sessions", rowSums(list, tasks)...)
		}
		return nil
	})
	if err == nil {
		err = f.Whole()
	}
	if err != nil {
		return err
	}
	if total == 0 && f.Root == "" {
		nothingHere(a, s)
	} else {
		notListed(a, filter, list.Len(), total, bad)
	}
	// A backup of an agent's folder may hold run logs, which look like sessions.
	if list.Len() == 0 && f.Root != "" && s.HoldsRuns(ctx, f.Root) {
		a.Notice(f.Root + " holds run logs, not sessions: 'treeline run ls' lists those of the agents, 'treeline run show FILE' plays one")
	}
	return nil
}

// filtered returns the part of a list that passes a filter.
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

// lsList returns the list of the catalogue. A folder that is not a source needs a list of its own, which reads only the beginning and end
// of each file: that is not enough for filters by numbers.
func lsList(ctx context.Context, a *cli.App, s *treeline.Store, f *lsFlags, filter *treeline.Filter) (*listing.List, error) {
	d, err := cli.NamedDialect(s, f.dialect)
	if err != nil {
		return nil, err
	}
	if d == nil && (f.Root == "" || filter.Needs() || s.Familiar() || s.Paged()) {
		show := a.Progress("reading sessions")
		defer show.Clear()
		return s.Listing(ctx, find.RefreshOptions{Problem: f.Unread(a), Progress: cli.LogsRead(show)})
	}
	rows, err := s.List(ctx, place.ListOptions{Dialect: d, Problem: f.Unread(a)})
	return listing.Of(rows), err
}

// notListed reports files that are not sessions, and why a list is empty.
func notListed(a *cli.App, filter treeline.Filter, listed, total int, bad []string) {
	notSessions(a, bad)
	narrowed := filter
	narrowed.CWD = "" // the default
	switch {
	case listed > 0:
	case total <= len(bad):
		a.Notice("no sessions found")
	case narrowed != treeline.Filter{}:
		a.Notice("no matching sessions among " + wire.Number(int64(total-len(bad))))
	default:
		a.Notice("no sessions for " + filter.CWD + "; --all lists every directory")
	}
}

// notSessions reports files in the places of sessions that are not sessions.
func notSessions(a *cli.App, files []string) {
	if len(files) == 0 {
		return
	}
	more := ""
	if len(files) > 1 {
		more = " for the first"
	}
	check := wire.ShellLine("", nil, []string{"treeline", "check", files[0]})
	a.Notice(wire.Count(len(files), "file cannot be read as a session", "files cannot be read as sessions") + "; to see why" + more + ", run: " + check)
}

// nothingHere says where a machine or an archive without sessions was searched, and what to do.
func nothingHere(a *cli.App, s *treeline.Store) {
	if a.Archive != "" {
		a.Notice("there are no sessions in this archive; 'treeline push' copies those of a machine to it")
		return
	}
	if a.KnownHome() == "" {
		a.Notice("HOME is not set, so the folders of agents were not found")
		return
	}
	var names []string
	var cells [][]string
	for _, src := range place.Firsts(s.Sources()) {
		names = append(names, src.Dialect.Name())
		cells = append(cells, []string{src.Dialect.Name(), wire.Tilde(screen.OneLine(src.Root.Sessions, 0), a.Home())})
	}
	if a.JSON {
		a.Notice(noneHere(s.Unread()) + ": looked for " + strings.Join(names, ", ") + "; 'treeline sources --all' shows where")
		return
	}
	program := a.Program(os.Args[0])
	a.Notice(noneHere(s.Unread()) + ". treeline looked in these places:\n  " + strings.Join(console.Align(cells), "\n  ") +
		"\nBegin a session with one of these agents, or try:\n  " + strings.Join(console.Align([][]string{
		{program + " demo", "what treeline does, in four steps"},
		{program + " serve --demo --open", "made-up sessions in a browser"},
		{program + " sources --all", "all places, and how to add one"},
	}), "\n  "))
}

// NoPlaces says what was searched for if no agent has a folder on this machine.
func NoPlaces(a *cli.App) error {
	s, err := a.Store()
	if err != nil {
		return err
	}
	for _, src := range s.Sources() {
		if _, err := os.Stat(src.Root.Sessions); err == nil || a.Archive != "" {
			return nil
		}
	}
	nothingHere(a, s)
	return nil
}

func listJSON(out *console.Output, list *listing.List, depth []int) error {
	return wire.WriteList(out, list.Len(), func(i int) (wire.Row, error) {
		j := wire.NewRow(list.Row(i))
		if depth != nil {
			j.Depth = &depth[i]
		}
		return j, nil
	})
}

// extraColumn returns a column for what a list is sorted by, if the other columns do not show it.
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

// listTable prints the rows as a table. The title has the rest of the line.
func listTable(a *cli.App, out *console.Output, list *listing.List, depth []int, by place.Order) {
	if list.Len() == 0 {
		return
	}
	st, home := out.Style, a.Tilde()
	t := console.Table{
		{Name: "WHEN", Mark: st.Cyan, Drop: 5}, {Name: "PROJECT", Path: true, Least: console.LeastProject, Drop: 4},
		{Name: "TITLE", Least: console.LeastTitle}, {Name: "MSGS", Right: true, Drop: 3},
		{Name: "SIZE", Right: true, Drop: 2}, {Name: "DIALECT", Mark: st.Dim, Drop: 1}, {Name: "ID", Mark: st.Yellow},
	}
	const last = 6 // the sort column is dropped last
	if i, ok := map[place.Order]int{place.OrderProject: 1, place.OrderMessages: 3, place.OrderSize: 4}[by]; ok {
		t[i].Drop = last
	}
	const before = 3 // number of columns before the extra one
	name, extra := extraColumn(by)
	if extra != nil {
		t = slices.Insert(t, before, console.Column{Name: name, Right: true, Drop: last})
	}
	// In an archive with sessions of several machines, the machine matters more than the size of a session.
	origin := list.FromOrigins()
	if origin {
		t = slices.Insert(t, 1, console.Column{Name: "ORIGIN", Mark: st.Dim, Drop: 4})
	}
	row := make([]string, 0, len(t)) // reused: a list may have ten thousand rows
	for i := range list.Len() {
		r := list.Row(i)
		messages := "?"
		if r.Messages >= 0 {
			messages = strconv.Itoa(r.Messages)
		}
		title := cli.RowTitle(r)
		if depth != nil && depth[i] > 0 {
			title = strings.Repeat("  ", min(depth[i], 8)-1) + "└ " + title // at most eight levels, to leave room for the title
		}
		cells := append(row[:0], out.When(r.When()), console.Folder(r.CWD, home), title, messages, wire.Size(r.Log.Size), r.Dialect.Name(),
			console.Dash(screen.OneLine(r.Short, 40)))
		if extra != nil {
			cells = slices.Insert(cells, before, extra(r))
		}
		if origin {
			cells = slices.Insert(cells, 1, console.Dash(screen.OneLine(r.Source.Origin, 0)))
		}
		t.Add(cells...)
	}
	t.Write(out)
}

// rowSums returns the sums over all rows of a list, for its last line.
func rowSums(rows *listing.List, tasks int) []string {
	messages, size, tokens, cost, counted := 0, int64(0), int64(0), 0.0, true
	for i := range rows.Len() {
		r := rows.Row(i)
		messages, size, counted = messages+r.Messages, size+r.Log.Size, counted && r.Messages >= 0
		if r.Known != nil {
			tokens += r.Known.Tokens.Total
			if sum := cost + r.Known.Cost; !math.IsInf(sum, 0) {
				cost = sum
			}
		}
	}
	var list []string
	if counted { // otherwise some were read only in part
		list = append(list, wire.Count(messages, "message", "messages"))
	}
	list = append(list, wire.Size(size))
	if tokens > 0 {
		list = append(list, wire.Number(tokens)+" tokens")
	}
	if cost > 0 {
		list = append(list, wire.Dollars(cost))
	}
	if tasks > 0 {
		list = append(list, wire.Count(tasks, "sub-agent", "sub-agents")+" (--tree)")
	}
	return list
}
