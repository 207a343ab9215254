package page

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/wire"
)

// ListQuery has the parameters of a list of sessions: its filters, as they are spelled in the address. The zero value selects everything.
type ListQuery struct {
	Source string   // agent: the name of a dialect, or a folder
	CWD    string   // cwd: the working directory
	Since  string   // since: 7d, 2026-11-01
	Until  string   // until
	Model  string   // model: a part of its name, or a pattern
	Title  string   // title: a part of it, or a pattern
	Has    []string // has, repeated: label, branch, compaction, problem, blob, run
	Sort   string   // sort: when (the default), created, size, messages, tokens, cost, title, project
	Limit  int      // limit: number of rows; 0 means the server's default
}

// ParseListQuery parses the parameters of an address. It does not check their values.
func ParseListQuery(v url.Values) ListQuery {
	limit, _ := strconv.Atoi(v.Get("limit")) // an invalid number means the default
	return ListQuery{
		Source: v.Get("agent"), CWD: v.Get("cwd"), Since: v.Get("since"), Until: v.Get("until"), Model: v.Get("model"), Title: v.Get("title"),
		Has: v["has"], Sort: v.Get("sort"), Limit: max(limit, 0),
	}
}

// Values returns the parameters that ParseListQuery parses.
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
	// Rows are the rows to show, in order: forks and sub-agents follow their parent and have a Depth.
	Rows []Row
	// Matched counts the sessions that pass the filters, and Total all sessions. Sub-agents that another row counts are in neither. Both
	// may be Uncounted. Full means that the page cannot list more rows.
	Matched, Total int
	Full           bool
	// Tokens and Cost are sums over the matched sessions.
	Tokens int64
	Cost   float64
	// Agents, Models and Projects are the choices of the filters, the most frequent first.
	Agents, Models, Projects []Choice
	// Sources are the places that were searched for sessions, for a page without any session. An archive has none.
	Sources []wire.Source
	// Problems are folders that could not be read, and files that are not sessions.
	Problems []string
	// Events is the address of the events that report new entries; "" for a list that is not updated.
	Events string
	// Again is the number of seconds after which the list should be requested again, because it has changed and may not be read more often.
	// 0 means that it is up to date.
	Again int
	// Index is the address of an export's search index, relative to the page: a script written by IndexScript. "" means that there is none.
	Index string
}

// Uncounted stands for a number that was not computed.
const Uncounted = -1

// IndexEntry is a session in the search index of an export.
type IndexEntry struct {
	// Href is the address of the session's page, relative to the list.
	Href    string      `json:"h"`
	Title   string      `json:"t"`
	Dialect string      `json:"a"`
	Texts   []IndexText `json:"x"`
}

// IndexText is a text that can be found: the text of an entry. Anchor is the entry's fragment; see [Anchor].
type IndexText struct {
	Anchor string `json:"e"`
	Text   string `json:"t"`
}

// IndexScript writes the search index of an export. It is a script, because a page that was opened from a file may not load other data.
func IndexScript(w io.Writer, list []IndexEntry) error {
	data, err := json.Marshal(list) // escapes <, > and the separators that end a line in a script
	if err == nil {
		_, err = fmt.Fprintf(w, "treelineIndex(%s);\n", data)
	}
	return err
}

// Row is a session in a list.
type Row struct {
	wire.Row
	// Key identifies the session in addresses.
	Key string
	// When is the time that lists are ordered by.
	When time.Time
	// Live means that an entry was written within the last minutes.
	Live bool
	// Tasks counts the sub-agents that are not in the list.
	Tasks int
	// Task means that the session is a sub-agent's.
	Task bool
}

// Choice is a value that a filter offers, and the number of sessions that have it.
type Choice struct {
	Value string
	Count int
}

// Sessions writes a list of sessions.
func (s *Site) Sessions(w io.Writer, p SessionsPage) error {
	return s.write(w, "sessions.html", view{Section: "sessions", Title: "Sessions", Index: p.Index, Page: &sessionsView{p, s}})
}

// sessionsView is the data of the template of a list.
type sessionsView struct {
	SessionsPage
	site *Site
}

// item is a link of a menu, or a chip.
type item struct {
	Text  string
	Count int
	Href  string
	On    bool
}

// menu is a list of links that opens on a click.
type menu struct {
	Name  string
	On    bool
	Items []item
}

// None reports whether there is no session at all.
func (p SessionsPage) None() bool { return p.Total == 0 }

// Narrowed reports whether any filter is set.
func (p SessionsPage) Narrowed() bool {
	q := p.Query
	q.Sort, q.Limit = "", 0
	return len(q.Values()) > 0
}

// link returns the address of the list with a changed query and the default number of rows.
func (v *sessionsView) link(change func(*ListQuery)) string {
	q := v.Query
	q.Has = slices.Clone(q.Has)
	q.Limit = 0
	change(&q)
	return with(v.site.Link(), q.Values())
}

// choices returns a menu of the values that a filter offers, preceded by one for all values.
func (v *sessionsView) choices(all string, list []Choice, now string, show func(string) string, set func(*ListQuery, string)) menu {
	m := menu{Name: all, On: now != ""}
	if now != "" {
		m.Name = show(now)
	}
	m.Items = append(m.Items, item{Text: all, Href: v.link(func(q *ListQuery) { set(q, "") }), On: now == ""})
	for _, c := range list {
		m.Items = append(m.Items, item{Text: show(c.Value), Count: c.Count, Href: v.link(func(q *ListQuery) { set(q, c.Value) }), On: c.Value == now})
	}
	return m
}

// AgentMenu returns the menu of agents.
func (v *sessionsView) AgentMenu() menu {
	return v.choices("All agents", v.Agents, v.Query.Source, func(s string) string { return s }, func(q *ListQuery, s string) { q.Source = s })
}

// ProjectMenu returns the menu of working directories.
func (v *sessionsView) ProjectMenu() menu {
	return v.choices("All projects", v.Projects, v.Query.CWD, v.site.Folder, func(q *ListQuery, s string) { q.CWD = s })
}

// ModelMenu returns the menu of models.
func (v *sessionsView) ModelMenu() menu {
	return v.choices("All models", v.Models, v.Query.Model, func(s string) string { return s }, func(q *ListQuery, s string) { q.Model = s })
}

// orders are the ways to sort, with the words of the menu.
var orders = []item{
	{Text: "last used"}, {Text: "created", Href: "created"}, {Text: "messages", Href: "messages"}, {Text: "tokens", Href: "tokens"},
	{Text: "cost", Href: "cost"}, {Text: "size", Href: "size"}, {Text: "title", Href: "title"}, {Text: "project", Href: "project"},
}

// SortMenu returns the menu of orders.
func (v *sessionsView) SortMenu() menu {
	var m menu
	for _, o := range orders {
		on := o.Href == v.Query.Sort || o.Href == "" && v.Query.Sort == "when"
		if on {
			m.Name = "Sort: " + o.Text
		}
		m.Items = append(m.Items, item{Text: o.Text, Href: v.link(func(q *ListQuery) { q.Sort = o.Href }), On: on})
	}
	return m
}

// Chips returns the filters that are either on or off.
func (v *sessionsView) Chips() []item {
	const week = "7d"
	chips := []item{{Text: "Last 7 days", On: v.Query.Since == week, Href: v.link(func(q *ListQuery) {
		if q.Since == week {
			q.Since = ""
		} else {
			q.Since = week
		}
	})}}
	for _, has := range [][2]string{{"Branches", "branch"}, {"Labels", "label"}, {"Runs", "run"}, {"Problems", "problem"}} {
		i := slices.Index(v.Query.Has, has[1])
		chips = append(chips, item{Text: has[0], On: i >= 0, Href: v.link(func(q *ListQuery) {
			if i >= 0 {
				q.Has = slices.Delete(q.Has, i, i+1)
			} else {
				q.Has = append(q.Has, has[1])
			}
		})})
	}
	return chips
}

// Kept returns the parameters that have no field in the form, as names and values.
func (v *sessionsView) Kept() (list []item) {
	q := v.Query
	q.Title, q.Since, q.Until, q.Model, q.CWD, q.Limit = "", "", "", "", "", 0
	values := q.Values()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, value := range values[name] {
			list = append(list, item{Text: name, Href: value})
		}
	}
	return list
}

// MoreLink returns the address of the list with more rows, or "" if all are shown.
func (v *sessionsView) MoreLink() string {
	if v.Matched != Uncounted && len(v.Rows) >= v.Matched || v.Full || v.site.Export {
		return ""
	}
	return v.link(func(q *ListQuery) { q.Limit = max(2*len(v.Rows), 100) })
}

// Depth returns the number of ancestors above the row.
func (r Row) Depth() int {
	if r.Row.Depth == nil {
		return 0
	}
	return min(*r.Row.Depth, 4) // deeper forks are indented no further
}

// Notes returns further facts about the session. Those that are on need attention.
func (r Row) Notes() (notes []item) {
	add := func(n int, one, many string, on bool) {
		if n > 0 {
			notes = append(notes, item{Text: wire.Count(n, one, many), On: on})
		}
	}
	if r.Origin != "" {
		notes = append(notes, item{Text: r.Origin})
	}
	if r.Task {
		notes = append(notes, item{Text: "sub-agent"})
	}
	if k := r.Known; k != nil {
		if k.Branches > 1 {
			add(k.Branches, "branch", "branches", false)
		}
		for _, has := range k.Has {
			switch has {
			case "label":
				notes = append(notes, item{Text: "labels"})
			case "compaction":
				notes = append(notes, item{Text: "compacted"})
			}
		}
	}
	add(r.Tasks, "sub-agent", "sub-agents", false)
	if k := r.Known; k != nil {
		add(k.Problems, "problem", "problems", true)
	}
	return notes
}
