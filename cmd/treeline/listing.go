package main

import (
	"bufio"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// rowJSON is a session in a list for programs.
// It is a stable format. messages is null where only the two ends of a file were read, created null where the
// header has no time; the members of knownJSON are absent then, and depth is there with --tree only.
type rowJSON struct {
	ID          session.ID `json:"id"`
	Dialect     string     `json:"dialect"`
	Path        string     `json:"path"`
	CWD         string     `json:"cwd"`
	Title       string     `json:"title"`
	FirstPrompt string     `json:"firstPrompt"`
	Messages    *int       `json:"messages"`
	Size        int64      `json:"size"`
	Modified    string     `json:"modified"`
	Created     *string    `json:"created"`
	Parent      string     `json:"parentSession,omitempty"`
	*knownJSON
	Depth *int `json:"depth,omitempty"`
}

// knownJSON is what only the catalogue knows.
// active is when something was last said, which is not the file's time; cost is in dollars, as far as the agent
// counted it.
type knownJSON struct {
	Active   *string    `json:"active"`
	Entries  int        `json:"entries"`
	Branches int        `json:"branches"`
	Problems int        `json:"problems"`
	Models   []string   `json:"models"`
	Tokens   tokensJSON `json:"tokens"`
	Cost     float64    `json:"cost"`
	Has      []string   `json:"has"`
}

// tokensJSON sums what answers say. Total is the agents' own, which need not be the sum of the others.
type tokensJSON struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Total      int64 `json:"total"`
}

func listJSON(w *bufio.Writer, rows []store.Row, depth []int) error {
	list := arrayWriter{w: w}
	for i := range rows {
		r := &rows[i]
		j := rowJSON{
			ID: r.ID, Dialect: r.Dialect.Name(), Path: r.Path, CWD: r.CWD, Title: r.Heading(), FirstPrompt: r.Prompt, Size: r.Log.Size,
			Modified: r.Log.Time.UTC().Format("2006-01-02T15:04:05.000Z"), Created: utc(r.Created), Parent: r.Parent,
		}
		if r.Messages >= 0 {
			j.Messages = &r.Messages
		}
		if k := r.Known; k != nil {
			j.knownJSON = &knownJSON{
				Active: utc(k.Active), Entries: k.Entries, Branches: k.Branches, Problems: k.Problems, Tokens: tokensJSON(k.Tokens),
				Models: orEmpty(k.Models), Cost: k.Cost, Has: orEmpty(k.Has.Names()),
			}
		}
		if depth != nil {
			j.Depth = &depth[i]
		}
		if err := list.add(j); err != nil {
			return err
		}
	}
	return list.end()
}

// orEmpty makes of no list an empty one: programs need not tell them apart.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// extraColumn gives the column that shows what a list is sorted by, where no other does.
// Who sorts by something wants to see it; the other orders are shown by columns that are always there.
func extraColumn(by store.Order) (name string, text func(*store.Row) string) {
	switch by {
	case store.OrderCreated:
		return "CREATED", func(r *store.Row) string {
			if at, ok := r.Created.Time(); ok {
				return at.Local().Format("2006-01-02 15:04")
			}
			return "-"
		}
	case store.OrderTokens:
		return "TOKENS", func(r *store.Row) string {
			if r.Known == nil {
				return "?"
			}
			return grouped(r.Known.Tokens.Total)
		}
	case store.OrderCost:
		return "COST", func(r *store.Row) string {
			if r.Known == nil {
				return "?"
			}
			return "$" + strconv.FormatFloat(r.Known.Cost, 'f', 2, 64)
		}
	}
	return "", nil
}

// listTable prints the rows for people. The title takes what is left of the line.
// Cells are put together in one slice that is used again: lists have ten thousand rows.
func (a *app) listTable(out *output, rows []store.Row, depth []int, by store.Order) {
	if len(rows) == 0 {
		return
	}
	st := out.style
	home := a.home()
	now := time.Now()
	t := table{
		{name: "WHEN", mark: st.cyan, drop: 5}, {name: "PROJECT", path: true, mark: same, least: leastProject, drop: 4},
		{name: "TITLE", mark: same, least: leastTitle}, {name: "MSGS", right: true, mark: same, drop: 3},
		{name: "SIZE", right: true, mark: same, drop: 2}, {name: "DIALECT", mark: st.dim, drop: 1}, {name: "ID", mark: st.yellow},
	}
	// What the list is sorted by goes last.
	const last = 6
	if i, ok := map[store.Order]int{store.OrderProject: 1, store.OrderMessages: 3, store.OrderSize: 4}[by]; ok {
		t[i].drop = last
	}
	const before = 3 // the columns that a further one stands behind
	name, extra := extraColumn(by)
	if extra != nil {
		t = slices.Insert(t, before, column{name: name, right: true, mark: same, drop: last})
	}
	t.grow(len(rows))
	row := make([]string, 0, len(t))
	for i := range rows {
		r := &rows[i]
		when := r.When().Local().Format("2006-01-02 15:04")
		if out.width > 0 {
			when = ago(r.When().Local(), now)
		}
		messages := "?"
		if r.Messages >= 0 {
			messages = strconv.Itoa(r.Messages)
		}
		title := rowTitle(r)
		if depth != nil && depth[i] > 0 {
			// deeper forks are not indented further, or nothing would be left of the title
			title = strings.Repeat("  ", min(depth[i], 8)-1) + "└ " + title
		}
		cells := append(row[:0], when, orElse(tilde(screen.OneLine(r.CWD, 0), home), "-"), title, messages, byteSize(r.Log.Size), r.Dialect.Name(),
			orElse(screen.OneLine(r.Short, 40), "-"))
		if extra != nil {
			cells = slices.Insert(cells, before, extra(r))
		}
		t.add(cells...)
	}
	if out.width > 0 {
		t = t.fit(out.width)
	}
	t.write(out)
}

// titleColumns is how much of a prompt a list shows at most: it may be a whole file.
const titleColumns = 120

// rowTitle is what a session is called, or why it is called nothing.
// An empty title says nothing about why: these do.
func rowTitle(r *store.Row) string {
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
