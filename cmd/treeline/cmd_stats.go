package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/usage"
	"github.com/treeline-dev/treeline/wire"
)

// statsFlags are the filters of ls, and what to group by.
type statsFlags struct {
	filterFlags
	scopeFlags
	by []string
}

// statsCommand sums up the catalogue. Like search it looks at all directories: most questions are about the whole machine.
func (a *app) statsCommand() *cobra.Command {
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
		Args:    args(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.stats(cmd, &f) },
	}
	f.filterFlags.add(cmd, "only messages", "only messages")
	f.scopeFlags.add(cmd, "sum up")
	cmd.Flags().Lookup("cwd").Usage = "only the sessions of the directory `DIR`"
	_ = cmd.Flags().MarkHidden("all") // the default; fails only for an unknown flag
	cmd.Flags().StringSliceVar(&f.by, "by", nil, "print only the table by `KEY`, in full: "+strings.Join(keyWords(), ", "))
	a.addJSON(cmd)
	return cmd
}

func keyWords() []string {
	words := make([]string, len(usage.Keys))
	for i, k := range usage.Keys {
		words[i] = string(k)
	}
	return words
}

// keys checks --by; nil is all.
func (f *statsFlags) keys() (keys []usage.Key, err error) {
	for _, word := range f.by {
		if err := oneOf("by", word, keyWords()); err != nil {
			return nil, err
		}
		if !slices.Contains(keys, usage.Key(word)) {
			keys = append(keys, usage.Key(word))
		}
	}
	return keys, nil
}

func (a *app) stats(cmd *cobra.Command, f *statsFlags) error {
	filter, err := f.filter(a.now())
	if err != nil {
		return err
	}
	keys, err := f.keys()
	if err != nil {
		return err
	}
	dir, project, err := f.dir(a)
	if err != nil {
		return err
	}
	if !project { // without --cwd: all
		filter.CWD = dir
	}
	easeCollection()
	s, err := f.store(a)
	if err != nil {
		return err
	}
	r, err := a.sumUp(cmd.Context(), s, treeline.StatsOptions{Filter: filter, By: keys})
	if err != nil {
		return err
	}
	err = a.pageLong(cmd.Context(), true, func(out *output) error {
		if a.json {
			return wire.Write(out, wire.NewStats(r))
		}
		a.printStats(out, r, keys)
		return nil
	})
	if r.Total.Sessions == 0 {
		a.noneFound(cmd.Context(), s, f.root)
	}
	return err
}

// noneFound says that nothing was summed up. On a machine without sessions it says where they were looked for.
func (a *app) noneFound(ctx context.Context, s *treeline.Store, root string) {
	if root == "" && a.archive == "" {
		if all, err := s.Catalogue(ctx, treeline.RefreshOptions{}); err == nil && len(all) == 0 {
			a.nothingHere(s)
			return
		}
	}
	a.notice("no sessions found")
}

func (a *app) sumUp(ctx context.Context, s *treeline.Store, opt treeline.StatsOptions) (r treeline.Stats, err error) {
	if err := s.CheckSource(opt.Filter.Source); err != nil {
		return r, err
	}
	show := a.newProgress("reading sessions")
	opt.Refresh = find.RefreshOptions{Problem: a.unread, Progress: show.read}
	r, err = s.Stats(ctx, opt)
	show.clear()
	return r, err
}

// mostGroups limits each list of the overview: the days to the last, the others to the first.
const mostGroups = 10

// printStats prints a table for each key. Without --by it is an overview.
func (a *app) printStats(out *output, r treeline.Stats, keys []usage.Key) {
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
		a.statsTable(out, key, groups)
		if left > 0 {
			for _, line := range screen.Wrap(fmt.Sprintf("%s %s more; --by %s shows all", screen.Ellipsis, wire.Number(int64(left)), key), out.width) {
				fmt.Fprintln(out, out.style.dim(line))
			}
		}
		fmt.Fprintln(out)
	}
	total := amountWords(r.Total)
	if r.Copies > 0 {
		total += "; without " + wire.Count(r.Copies, "copy", "copies")
	}
	for _, line := range screen.Wrap(total, out.width) {
		fmt.Fprintln(out, out.style.bold(line))
	}
}

// amountWords says an amount in one line.
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

// statsTable prints the groups of one key. On a terminal bars compare their cost or, if no agent recorded any, their tokens,
// or else their messages.
func (a *app) statsTable(out *output, key usage.Key, groups []usage.Group) {
	st, home := out.style, a.home()
	messages := "MESSAGES"
	if key == usage.Model {
		messages = "ANSWERS"
	}
	t := table{
		{name: strings.ToUpper(string(key)), path: key == usage.Project, mark: st.cyan, least: leastTitle},
		{name: "SESSIONS", right: true, mark: same, drop: 3}, {name: messages, right: true, mark: same, drop: 4},
		{name: "INPUT", right: true, mark: same, drop: 1}, {name: "OUTPUT", right: true, mark: same, drop: 1},
		{name: "CACHED", right: true, mark: same, drop: 1}, {name: "TOKENS", right: true, mark: same}, {name: "COST", right: true, mark: same, drop: 5},
	}
	bars := out.width > 0
	what, measure := wire.Measure(groups)
	if bars {
		t = append(t, column{name: "BY " + strings.ToUpper(what), mark: st.cyan, drop: 2})
	}
	most := 0.0
	for _, g := range groups {
		most = max(most, measure(&g.Amount))
	}
	for _, g := range groups {
		name := screen.OneLine(g.Name, titleColumns)
		if key == usage.Project {
			name = wire.Tilde(name, home)
		}
		n := g.Tokens
		cells := []string{
			dash(name), wire.Number(int64(g.Sessions)), wire.Number(int64(g.Messages)), wire.Number(n.Input), wire.Number(n.Output),
			wire.Number(n.CacheRead + n.CacheWrite), wire.Number(n.Total), wire.Cost(g.Cost, "-"),
		}
		if bars {
			cells = append(cells, dash(wire.Bar(measure(&g.Amount), most, barColumns)))
		}
		t.add(cells...)
	}
	t.write(out)
}
