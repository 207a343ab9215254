package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find/listing"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// On a terminal a list shows its newest rows, and the last line says how many there are. In a pipe and with --json it is
// whole: a program must not miss a row because a person would not read that far.

const (
	// shownRows is how many rows of a list a terminal shows.
	shownRows = 30
	// countedRows is how many hits and prompts are looked for to say how many there are: finding them all takes long.
	countedRows = 500
)

// limitFlag is --limit. Whether it was given counts: 0 means all.
type limitFlag struct {
	limit int
	given bool
}

func (f *limitFlag) add(cmd *cobra.Command, what string) {
	cmd.Flags().IntVarP(&f.limit, "limit", "n", 0, fmt.Sprintf("at most `N` %s; 0 for all. Default: %d on a terminal, all elsewhere", what, shownRows))
}

var errNegativeLimit = misused("--limit must not be negative")

// most says how many rows are wanted; 0 is all.
func (f *limitFlag) most(a *app, cmd *cobra.Command) (int, error) {
	f.given = cmd.Flags().Changed("limit")
	_, isTerminal := terminalWidth(a.stdout)
	switch {
	case f.limit < 0:
		return 0, errNegativeLimit
	case !f.given && isTerminal && !a.json:
		return shownRows, nil
	}
	return f.limit, nil
}

// cut gives the first rows of a list; most 0 is all.
func cut[T any](rows []T, most int) []T {
	if most > 0 && len(rows) > most {
		return rows[:most:most]
	}
	return rows
}

// summary writes the last line of a list on a terminal: how many rows are shown of how many, and sums over all of them. more
// says that there are more than total. What does not fit on the line is left out.
func (o *output) summary(shown, total int, more bool, one, many string, sums ...string) {
	if o.width == 0 || total == 0 {
		return
	}
	number := wire.Number(int64(shown))
	words := []string{wire.Count(total, one, many)}
	switch {
	case more:
		words = []string{number + " of more than " + words[0], "-n 0 shows all"}
	case shown < total:
		words = []string{number + " of " + words[0], "-n 0 shows all"}
	}
	if len(words) > 1 && len(sums) > 0 {
		sums[0] = "in all " + sums[0]
	}
	text := words[0]
	for _, word := range append(words[1:], sums...) {
		if next := text + " · " + word; wire.Width(next) <= o.width {
			text = next
		}
	}
	fmt.Fprintln(o, o.style.dim(text))
}

// pageLong runs write with stdout. With ask set, what is longer than the terminal goes through the pager.
func (a *app) pageLong(ctx context.Context, ask bool, write func(out *output) error) error {
	_, lines, isTerminal := terminalSize(a.stdout)
	if !ask || !isTerminal || a.noPager {
		return a.print(write)
	}
	var text bytes.Buffer
	err := a.printTo(&text, write)
	again := func(out *output) error {
		if _, writeErr := out.Write(text.Bytes()); writeErr != nil {
			return writeErr
		}
		return err
	}
	if bytes.Count(text.Bytes(), []byte{'\n'}) < lines { // the prompt takes a line
		return a.print(again)
	}
	return a.page(ctx, again)
}

// project gives the directory whose sessions are meant here, and says so if it is not this one.
func (a *app) project(s *treeline.Store, rows []place.Row) string {
	dir := s.Project(rows)
	a.noteProject(s, dir)
	return dir
}

// noteProject says that sessions of another directory than this one are meant.
func (a *app) noteProject(s *treeline.Store, dir string) {
	here := s.Env().WorkDir
	if dir == "" || s.SameDir(dir, here) {
		return
	}
	why := "the main worktree of this one"
	if rest, err := filepath.Rel(dir, here); err == nil && filepath.IsLocal(rest) {
		why = "the nearest directory above with any"
	}
	a.notice("the sessions of " + wire.Tilde(dir, a.tilde()) + ", " + why)
}

// rowSums are the sums of all rows of a list, for its last line.
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
	if counted { // otherwise only the ends of some were read
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
