// Package usage sums up the usage of sessions: messages, tokens and cost, by agent, model, project and day.
//
// All numbers come from the rows of a catalogue (index.Spell), so no log is read. Look finds the rows that repeat others, and Catalogue.Sum
// makes a Report. A Sum adds up rows in batches.
//
// Nothing is counted twice. Three kinds of rows repeat what other rows have:
//
//   - A copy is a log with the id of another one, such as a backup that is a source, too. Of the logs with one id, the one
//     with the most messages counts.
//   - A fork begins with the messages of its parent. Agents copy them with their times, so they are older than the fork
//     itself, and the catalogue knows them as copied. They count in the parent. If the parent is not in the catalogue, they
//     count in one of its forks: the one that has the most of them.
//     Agents that copy without naming the parent are found out by the catalogue (index.Summary.Forked).
//   - A session that was converted from another one begins with that one's messages, too. What is not newer than the last
//     quarter of an hour of the old session counts there. If the old session is not in the catalogue, the longest conversion of it takes
//     its place.
//
// Cost is what agents recorded; treeline has no prices. If an agent records the cost of the session so far, the differences count. In a
// fork, the first such sum includes the copied messages: it is divided in proportion to the tokens.
//
// Two kinds of messages count twice, since the catalogue cannot detect them: those that a fork of a removed fork has from its grandparent,
// and those of forks of codelia's states, whose messages have no times. The latter record no tokens.
package usage

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Key is what amounts are grouped by.
type Key string

// The keys.
const (
	Agent   Key = "agent"   // the name of the dialect
	Model   Key = "model"   // provider/model, as far as the answers name them
	Project Key = "project" // the working directory
	Day     Key = "day"     // 2026-11-15
	// AgentDay is a day of one agent: the name of the dialect, a zero byte and the day. Groups are in the order of their names.
	AgentDay Key = "agent and day"
)

// Keys lists the keys of a report that people read.
var Keys = []Key{Agent, Model, Project, Day}

// Amount is the usage of some sessions.
type Amount struct {
	// Sessions is the number of sessions that contribute to the amount. One session may contribute to several groups.
	Sessions int
	// Messages counts all messages; in a group of one model, the answers of that model.
	Messages int
	// Tokens and Cost are what the agents recorded; Cost is in dollars.
	Tokens index.Tokens
	Cost   float64
}

// add adds the messages of a spell. A sum that would overflow is left unchanged, so that one odd session does not spoil the rest.
func (a *Amount) add(messages int, s *index.Spell) {
	a.Messages += messages
	a.Tokens.Add(s.Tokens)
	if sum := a.Cost + s.Cost; !math.IsInf(sum, 0) && !math.IsNaN(sum) {
		a.Cost = sum
	}
}

// Group is the amount of one agent, model, project or day. Name is "" if the sessions do not say which.
type Group struct {
	Name string
	Amount
}

// Report is the usage of sessions, in total and by each requested key. Days are in order; other groups are sorted by cost, tokens and
// messages, the largest first.
type Report struct {
	Total  Amount
	Groups map[Key][]Group
	// Copies is the number of logs in the time span that were left out because another one has the same id.
	Copies int
}

// Options select what a report covers.
type Options struct {
	// By are the keys to group by; nil means all.
	By []Key
	// Since and Until are the first time that counts and the first that does not, rounded to a quarter of an hour. A message without a time
	// has that of its session.
	Since, Until time.Time
	// Model, if set, selects answers by their model: see place.Filter.
	Model string
	// Zone determines the days; nil means the local zone.
	Zone *time.Location
}

// Catalogue knows which rows repeat others.
type Catalogue struct {
	copies map[string]bool // paths of logs with the id of a longer one
	owners map[string]bool // paths of forks that count the messages of their parent
	// until has, by the path of a converted session, the last quarter of an hour of the session that it was converted from.
	until map[string]int64
}

// Look finds the rows that repeat others, among all rows of a catalogue. The rows may be changed afterwards.
func Look(rows []place.Row) *Catalogue {
	c := &Catalogue{copies: map[string]bool{}, owners: map[string]bool{}, until: map[string]int64{}}
	longest := map[session.ID]*place.Row{}
	for i := range rows {
		r := &rows[i]
		if r.ID == "" || r.Err != nil {
			continue
		}
		other := longest[r.ID]
		if other != nil && longer(other, r) {
			c.copies[r.Path] = true
			continue
		}
		if other != nil {
			c.copies[other.Path] = true
		}
		longest[r.ID] = r
	}
	c.forks(rows)
	c.conversions(rows, longest)
	return c
}

// longer reports whether a counts rather than b, which has the same messages. It does not depend on the order of rows.
func longer(a, b *place.Row) bool {
	return a.Messages > b.Messages || a.Messages == b.Messages && newer(a, b)
}

// newer decides between equals in the way that lists are sorted.
func newer(a, b *place.Row) bool {
	return cmp.Or(b.When().Compare(a.When()), strings.Compare(a.Path, b.Path)) < 0
}

// forks finds the forks that count for a parent that is not in the list.
func (c *Catalogue) forks(rows []place.Row) {
	type fork struct {
		row    *place.Row
		copied int
	}
	owners := map[string]fork{} // by the name of the parent
	for i, p := range place.Parents(rows) {
		r := &rows[i]
		if p >= 0 || r.Parent == "" || r.Known == nil || c.copies[r.Path] {
			continue
		}
		copied := 0
		for _, s := range r.Known.Spells.List() {
			if s.Copied {
				copied += s.Messages
			}
		}
		if f := owners[r.Parent]; copied > f.copied || copied > 0 && copied == f.copied && newer(r, f.row) {
			owners[r.Parent] = fork{r, copied}
		}
	}
	for _, f := range owners {
		c.owners[f.row.Path] = true
	}
}

// conversions finds, for each converted session, the end of the session that it was converted from.
func (c *Catalogue) conversions(rows []place.Row, longest map[session.ID]*place.Row) {
	converted := map[session.ID][]*place.Row{}
	for i := range rows {
		if r := &rows[i]; r.Known != nil && r.Known.Origin != "" && !c.copies[r.Path] {
			converted[r.Known.Origin] = append(converted[r.Known.Origin], r)
		}
	}
	for id, list := range converted {
		old := longest[id]
		if old == nil {
			old = list[0]
			for _, r := range list[1:] {
				if longer(r, old) {
					old = r
				}
			}
		}
		if old.Known == nil {
			continue
		}
		last := int64(0)
		for _, s := range old.Known.Spells.List() {
			last = max(last, s.Quarter)
		}
		if last == 0 { // messages without a time got the time of the log
			last = index.QuarterOf(old.When())
		}
		for _, r := range list {
			if r != old {
				c.until[r.Path] = last
			}
		}
	}
}

// Sum sums up some rows of the catalogue. Rows that are not sessions, or that were read only in part, do not count.
func (c *Catalogue) Sum(rows []place.Row, opt Options) Report {
	s := New(opt)
	s.Add(c, rows)
	return s.Report()
}

// New starts a sum.
func New(opt Options) *Sum {
	if opt.By == nil {
		opt.By = Keys
	}
	if opt.Zone == nil {
		opt.Zone = time.Local
	}
	s := &Sum{opt: opt, groups: map[Key]map[string]*group{}, days: map[int64]string{}}
	for _, key := range opt.By {
		s.groups[key] = map[string]*group{}
	}
	if opt.Model != "" {
		s.model = place.ModelPattern(opt.Model)
	}
	return s
}

// Add adds rows of a catalogue. Each row must be added only once. The catalogue must have all rows that these repeat, or that repeat them;
// see Look.
func (s *Sum) Add(c *Catalogue, rows []place.Row) {
	for i := range rows {
		r := &rows[i]
		switch {
		case r.Err != nil || r.Known == nil || !r.Known.Session:
		case c.copies[r.Path]:
			if s.wanted(r.When()) {
				s.copies++
			}
		default:
			until, converted := c.until[r.Path]
			if !converted {
				until = math.MinInt64
			}
			s.row(r, c.owners[r.Path], until)
		}
	}
}

// Report returns the sum of what was added.
func (s *Sum) Report() Report {
	report := Report{Total: s.total.Amount, Groups: map[Key][]Group{}, Copies: s.copies}
	for _, key := range s.opt.By {
		report.Groups[key] = s.list(key)
	}
	return report
}

// From returns the first time that counts for a value of Options.Since: the beginning of its quarter of an hour.
func From(since time.Time) time.Time {
	if since.IsZero() {
		return since
	}
	at, _ := (&index.Spell{Quarter: index.QuarterOf(since)}).Start()
	return at
}

// Sum is a sum of rows that are added in batches.
type Sum struct {
	opt    Options
	copies int
	model  func(string) bool // nil means all models
	total  group
	groups map[Key]map[string]*group
	days   map[int64]string // by quarter of an hour
	seen   int              // counts the rows, from 1
}

// group is an amount, and the last row that contributed to it.
type group struct {
	Amount
	last int
}

// row adds one session. whole means that messages copied from its parent count, too. Quarters of an hour up to until do not count.
func (s *Sum) row(r *place.Row, whole bool, until int64) {
	s.seen++
	spells := r.Known.Spells.List()
	if len(spells) == 0 && s.model == nil {
		spells = []index.Spell{{Model: -1}} // without messages it still counts as a session
	}
	for i := range spells {
		p := &spells[i]
		if p.Copied && !whole || p.Quarter <= until {
			continue
		}
		at, ok := p.Start()
		if !ok {
			at = r.When()
		}
		model := ""
		if p.Model >= 0 && p.Model < len(r.Known.Models) {
			model = r.Known.Models[p.Model]
		}
		if !s.wanted(at) || s.model != nil && !s.model(model) {
			continue
		}
		s.add(&s.total, p.Messages, p)
		for _, key := range s.opt.By {
			name, messages := "", p.Messages
			switch key {
			case Agent:
				name = r.Dialect.Name()
			case Model:
				if name, messages = model, p.Answers; messages == 0 && p.Tokens == (index.Tokens{}) && p.Cost == 0 {
					continue
				}
			case Project:
				name = r.CWD
			case Day:
				name = s.day(at)
			case AgentDay:
				name = r.Dialect.Name() + "\x00" + s.day(at)
			}
			g := s.groups[key][name]
			if g == nil {
				g = new(group)
				s.groups[key][name] = g
			}
			s.add(g, messages, p)
		}
	}
}

// wanted reports whether the quarter of an hour that begins at a time is selected.
func (s *Sum) wanted(at time.Time) bool {
	begin := index.QuarterOf(at)
	return (s.opt.Since.IsZero() || begin >= index.QuarterOf(s.opt.Since)) && (s.opt.Until.IsZero() || at.Before(s.opt.Until))
}

func (s *Sum) add(g *group, messages int, p *index.Spell) {
	g.add(messages, p)
	if g.last != s.seen {
		g.last = s.seen
		g.Sessions++
	}
}

// day returns the day of a quarter of an hour. It is cached, because formatting a date takes longer than everything else.
func (s *Sum) day(at time.Time) string {
	q := index.QuarterOf(at)
	name, ok := s.days[q]
	if !ok {
		name = at.In(s.opt.Zone).Format(time.DateOnly)
		s.days[q] = name
	}
	return name
}

// list returns the groups of a key, sorted.
func (s *Sum) list(key Key) []Group {
	list := []Group{}
	for name, g := range s.groups[key] {
		list = append(list, Group{name, g.Amount})
	}
	sorting.By(list, func(a, b Group) int {
		if key == Day || key == AgentDay {
			return strings.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Tokens.Total, a.Tokens.Total), cmp.Compare(b.Messages, a.Messages),
			cmp.Compare(b.Sessions, a.Sessions), strings.Compare(a.Name, b.Name))
	})
	return list
}
