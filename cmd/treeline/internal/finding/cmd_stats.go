package finding

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/usage"
	"github.com/treeline-dev/treeline/wire"
)

// statsFlags are the filters of ls, and the keys to group by.
type statsFlags struct {
	filterFlags
	cli.ScopeFlags
	by []string
}

// Stats sums up the catalogue. Like search it looks at all directories: most questions are about the whole machine.
func Stats(a *cli.App) *cobra.Command {
	var f statsFlags
	cmd := &cobra.Command{
		Use:        "stats",
		SuggestFor: []string{"usage", "cost", "costs", "tokens", "statistics", "report"},
		Short:      "Add up messages, tokens and cost",
		Long: "Add up the sessions of all directories: messages, tokens and cost by agent, model, project and day. --by prints one of\n" +
			"these tables in full. Tokens and cost are those that the agents recorded: 0 tokens if there are none, - if there is no\n" +
			"cost.\n\n" +
			"The numbers come from the catalogue; only files that changed are read. Messages that forks and conversions repeat\n" +
			"count once, and of several files with the same session id only the longest counts. --since and --until select\n" +
			"messages, to a quarter of an hour; --model selects answers. A session that was used on two days counts on both.",
		Example: "  treeline stats\n  treeline stats --by day --since 30d\n  treeline stats --by model --cwd . --json | jq '.models[0]'",
		Args:    cli.Args(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return stats(a, cmd, &f) },
	}
	f.filterFlags.add(cmd, "only messages", "only messages")
	f.ScopeFlags.Add(cmd, "sum up")
	cmd.Flags().Lookup("cwd").Usage = "only the sessions of the directory `DIR`"
	_ = cmd.Flags().MarkHidden("all") // it is the default; fails only for an unknown flag
	cmd.Flags().StringSliceVar(&f.by, "by", nil, "print only the table by `KEY`, in full: "+strings.Join(cli.Words(usage.Keys), ", "))
	a.AddJSON(cmd)
	return cmd
}

// keys checks --by; nil means all.
func (f *statsFlags) keys() (keys []usage.Key, err error) {
	for _, word := range f.by {
		if err := cli.OneOf("by", word, cli.Words(usage.Keys)); err != nil {
			return nil, err
		}
		if !slices.Contains(keys, usage.Key(word)) {
			keys = append(keys, usage.Key(word))
		}
	}
	return keys, nil
}

func stats(a *cli.App, cmd *cobra.Command, f *statsFlags) error {
	filter, err := f.filter(a.Now())
	if err != nil {
		return err
	}
	keys, err := f.keys()
	if err != nil {
		return err
	}
	dir, project, err := f.Dir(a)
	if err != nil {
		return err
	}
	if !project { // without --cwd: all
		filter.CWD = dir
	}
	cli.EaseCollection()
	s, err := f.Store(a)
	if err != nil {
		return err
	}
	opt := treeline.StatsOptions{Filter: filter, By: keys}
	opt.Refresh.Problem = f.Unread(a)
	r, err := sumUp(cmd.Context(), a, s, opt)
	if err != nil {
		return err
	}
	err = a.PageLong(cmd.Context(), true, func(out *console.Output) error {
		if a.JSON {
			return wire.Write(out, wire.NewStats(r))
		}
		printStats(a, out, r, keys)
		return nil
	})
	if err == nil {
		err = f.Whole()
	}
	if err == nil && r.Total.Sessions == 0 {
		noneFound(cmd.Context(), a, s, f.Root)
	}
	return err
}

// noneFound says that nothing was summed up. On a machine without sessions, it says where it searched for them.
func noneFound(ctx context.Context, a *cli.App, s *treeline.Store, root string) {
	if root == "" && a.Archive == "" {
		if all, err := s.Catalogue(ctx, treeline.RefreshOptions{}); err == nil && len(all) == 0 {
			nothingHere(a, s)
			return
		}
	}
	a.Notice("no sessions found")
}

func sumUp(ctx context.Context, a *cli.App, s *treeline.Store, opt treeline.StatsOptions) (r treeline.Stats, err error) {
	if err := s.CheckSource(opt.Filter.Source); err != nil {
		return r, err
	}
	show := a.Progress("reading sessions")
	opt.Refresh.Progress = cli.LogsRead(show)
	r, err = s.Stats(ctx, opt)
	show.Clear()
	return r, err
}

// mostGroups is the length of each list in the overview: the last days, and the first groups of the others.
const mostGroups = 10

// printStats prints a table for each key. Without --by it is an overview.
func printStats(a *cli.App, out *console.Output, r treeline.Stats, keys []usage.Key) {
	if r.Total.Sessions == 0 {
		return
	}
	most := 0
	if keys == nil {
		keys, most = usage.Keys, mostGroups
	}
	for _, key := range keys {
		groups := r.Groups[key]
		if len(groups) == 0 {
			continue // no model has answered yet
		}
		left := 0
		if most > 0 && len(groups) > most {
			left = len(groups) - most
			if groups = groups[:most]; key == usage.Day {
				groups = r.Groups[key][left:]
			}
		}
		statsTable(a, out, key, groups)
		if left > 0 {
			for _, line := range screen.Wrap(fmt.Sprintf("%s %s more; --by %s shows all", screen.Ellipsis, wire.Number(int64(left)), key), out.Width) {
				fmt.Fprintln(out, out.Style.Dim(line))
			}
		}
		fmt.Fprintln(out)
	}
	total := amountWords(r.Total)
	if r.Copies > 0 {
		total += "; without " + wire.Count(r.Copies, "copy", "copies")
	}
	for _, line := range screen.Wrap(total, out.Width) {
		fmt.Fprintln(out, out.Style.Bold(line))
	}
}

// amountWords describes an amount on one line.
func amountWords(t usage.Amount) string {
	words := []string{
		wire.Count(t.Sessions, "session", "sessions"), wire.Count(t.Messages, "message", "messages"),
		wire.Number(t.Tokens.Total) + " tokens",
	}
	if t.Cost != 0 {
		words = append(words, wire.Dollars(t.Cost))
	}
	return strings.Join(words, ", ")
}

// barColumns is the width of the longest bar.
const barColumns = 20

// statsTable prints the groups of one key. On a terminal, bars compare their cost or, if no agent recorded any, their tokens or else their
// messages.
func statsTable(a *cli.App, out *console.Output, key usage.Key, groups []usage.Group) {
	st, home := out.Style, a.Tilde()
	messages := "MESSAGES"
	if key == usage.Model {
		messages = "ANSWERS"
	}
	t := console.Table{
		{Name: strings.ToUpper(string(key)), Path: key == usage.Project || key == usage.Model, Mark: st.Cyan, Least: console.LeastTitle},
		{Name: "SESSIONS", Right: true, Drop: 3}, {Name: messages, Right: true, Drop: 4},
		{Name: "INPUT", Right: true, Drop: 1}, {Name: "OUTPUT", Right: true, Drop: 1},
		{Name: "CACHED", Right: true, Drop: 1}, {Name: "TOKENS", Right: true}, {Name: "COST", Right: true, Drop: 5},
	}
	bars := out.Width > 0
	what, measure := wire.Measure(groups)
	if bars {
		t = append(t, console.Column{Name: "BY " + strings.ToUpper(what), Mark: st.Cyan, Drop: 2})
	}
	most := 0.0
	for _, g := range groups {
		most = max(most, measure(&g.Amount))
	}
	for _, g := range groups {
		name := screen.OneLine(g.Name, cli.TitleColumns)
		if key == usage.Project {
			name = wire.Tilde(name, home)
		}
		n := g.Tokens
		cells := []string{
			console.Dash(name), wire.Number(int64(g.Sessions)), wire.Number(int64(g.Messages)), wire.Number(n.Input), wire.Number(n.Output),
			wire.Number(n.CacheRead + n.CacheWrite), wire.Number(n.Total), wire.Cost(g.Cost, "-"),
		}
		if bars {
			cells = append(cells, console.Dash(wire.Bar(measure(&g.Amount), most, barColumns)))
		}
		t.Add(cells...)
	}
	t.Write(out)
}
