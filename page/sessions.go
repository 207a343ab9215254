package page

import (
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/wire"
)

// ListQuery is what a list of sessions was asked for: the filters of a list, as the parameters of the address spell them.
// A zero value asks for everything.
type ListQuery struct {
	Source string   // agent: the name of a dialect, or a folder
	CWD    string   // cwd: the working directory
	Since  string   // since: 7d, 2026-11-01
	Until  string   // until
	Model  string   // model: a part of its name, or a pattern
	Title  string   // title: a pattern
	Has    []string // has, repeated: label, branch, compaction, problem, blob, run
	Sort   string   // sort: when (the default), created, size, messages, tokens, cost, title, project
	Limit  int      // limit: rows wanted; 0 is the default of the server
}

// ParseListQuery reads the parameters of an address. It does not check their values.
func ParseListQuery(v url.Values) ListQuery {
	limit, _ := strconv.Atoi(v.Get("limit")) // anything else is the default
	return ListQuery{
		Source: v.Get("agent"), CWD: v.Get("cwd"), Since: v.Get("since"), Until: v.Get("until"), Model: v.Get("model"), Title: v.Get("title"),
		Has: v["has"], Sort: v.Get("sort"), Limit: max(limit, 0),
	}
}

// Values gives the parameters that ParseListQuery reads.
func (q ListQuery) Values() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("agent", q.Source)
	set("cwd", q.CWD)
	set("since", q.Since)
	set("until", q.Until)
	set("model", q.Model)
	set("title", q.Title)
	set("sort", q.Sort)
	for _, h := range q.Has {
		v.Add("has", h)
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

// SessionsPage is a list of sessions.
type SessionsPage struct {
	Query ListQuery
	// Rows are those shown, in order: forks and sub-agents after their parent, with a Depth.
	Rows []Row
	// Matched counts the sessions that the filters let through, Total all of them.
	Matched, Total int
	// Tokens and Cost are the sums of the matched ones.
	Tokens int64
	Cost   float64
	// Agents, Models and Projects are what the filters offer, most used first.
	Agents, Models, Projects []Choice
	// Sources are the places that were looked at. They are shown if there is no session at all.
	Sources []wire.Source
	// Problems are folders that could not be read, and files that are no sessions.
	Problems []string
	// Events is the address of the events that tell of new entries; "" for a list that stays as it is.
	Events string
}

// Row is a session in a list.
type Row struct {
	wire.Row
	// Key addresses the session.
	Key string
	// When is the time that lists are ordered by.
	When time.Time
	// Live: an entry was written within the last minutes.
	Live bool
	// Tasks counts the sub-agents that are not in the list, Runs the recorded runs.
	Tasks, Runs int
	// Task: the session is a sub-agent's.
	Task bool
}

// Choice is a value that a filter offers, and how many sessions have it.
type Choice struct {
	Value string
	Count int
}

// Sessions writes a list of sessions.
func (s *Site) Sessions(w io.Writer, p SessionsPage) error {
	return s.write(w, "sessions.html", view{Section: "sessions", Title: "Sessions", Page: p})
}

// None reports whether there is no session anywhere.
func (p SessionsPage) None() bool { return p.Total == 0 }

// Narrowed reports whether any filter is set.
func (p SessionsPage) Narrowed() bool {
	q := p.Query
	q.Sort, q.Limit = "", 0
	return len(q.Values()) > 0
}

// Depth is how many ancestors of the row stand above it.
func (r Row) Depth() int {
	if r.Row.Depth == nil {
		return 0
	}
	return min(*r.Row.Depth, 4) // deeper forks are indented no further
}
