// Package listing is a list of sessions that makes rows on demand: of a hundred thousand sessions, rows would be most of the memory.
package listing

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/shortid"
	"github.com/treeline-dev/treeline/place"
)

// Source is a set of logs in a catalogue whose rows depend only on the log.
type Source struct {
	Logs   *index.Logs
	Origin string // origin of the logs; see place.Source
	// Row makes the row of a log.
	Row func(*index.Log) place.Row
	// When returns place.Row.When.
	When func(*index.Brief) time.Time
	// Rows are the rows of other logs, which follow.
	Rows []place.Row
}

// List is an ordered list of sessions and of logs that are not sessions. At first it has the order of its sources. It is not safe for
// concurrent use, because all rows are made in the same memory.
type List struct {
	sources []Source
	dirs    []string // see entry
	formats []string // see Formats
	agents  []string // see Agents
	entries []entry
	short   []string // short ids of the entries, if they are known
	log     index.Log
	row     place.Row
}

// entry is a log of a source or, if at is negative, the row -1-at of the source. It has what every list needs, since reading that again
// takes longer than anything else that is done with it.
type entry struct {
	when       int64 // nanoseconds since 1970
	source, at int32
	dir        int32 // index of its working directory in dirs, which may have a directory several times; -1 if it names none
	// bad: it is not a session. empty: the log is empty, and an agent is about to fill it. task: it is the session of a sub-agent.
	bad, empty, task bool
}

// New lists the logs and rows of some sources, in their order.
func New(sources []Source) *List {
	l, n := &List{sources: sources}, 0
	for i := range sources {
		n += sources[i].Logs.Len() + len(sources[i].Rows)
	}
	l.entries = make([]entry, 0, n)
	for i := range sources {
		s := &sources[i]
		var dialects []string // dialects of the logs; a row may have another
		for k := range s.Logs.Len() {
			b := s.Logs.Brief(k)
			e := entry{source: int32(i), at: int32(k), bad: b.NotSession(), empty: b.ID == "" && b.Size == 0, task: b.Task}
			l.add(e, s.When(&b), b.CWD)
			if e.begun() && !slices.Contains(dialects, b.Dialect) {
				dialects = append(dialects, b.Dialect)
				l.addAgent(l.make(e))
			}
		}
		for k := range s.Rows {
			r := &s.Rows[k]
			e := entry{source: int32(i), at: int32(-1 - k), bad: r.Err != nil, empty: r.ID == "" && r.Log.Size == 0, task: r.IsTask()}
			l.add(e, r.When(), r.CWD)
			if e.begun() {
				l.addAgent(r)
			}
		}
	}
	slices.Sort(l.formats)
	return l
}

// begun reports whether an entry is a session with content.
func (e entry) begun() bool { return !e.bad && !e.empty }

func (l *List) addAgent(r *place.Row) {
	if name := r.Dialect.Name(); !slices.Contains(l.formats, name) {
		l.formats = append(l.formats, name)
		if agent := dialect.Agent(r.Dialect); !slices.Contains(l.agents, agent) {
			l.agents = append(l.agents, agent)
		}
	}
}

// Of returns a list of rows in their order.
func Of(rows []place.Row) *List { return New([]Source{{Rows: rows}}) }

// add adds an entry with its time and its working directory.
func (l *List) add(e entry, when time.Time, cwd string) {
	const most = math.MaxInt64 / int64(time.Second) // beyond this, entries have no order
	e.when = min(max(when.Unix(), -most), most-1)*int64(time.Second) + int64(when.Nanosecond())
	e.dir = int32(len(l.dirs)) - 1
	switch {
	case cwd == "" || e.bad:
		e.dir = -1
	case e.dir < 0 || l.dirs[e.dir] != cwd: // sessions of one directory often follow one another
		l.dirs, e.dir = append(l.dirs, cwd), e.dir+1
	}
	l.entries = append(l.entries, e)
}

// rowOf returns the row of an entry that is a row.
func (l *List) rowOf(e entry) *place.Row { return &l.sources[e.source].Rows[-1-e.at] }

// Len returns the number of entries.
func (l *List) Len() int { return len(l.entries) }

// Row returns a row, which is valid until the next call. Its log may lack the generation.
func (l *List) Row(i int) *place.Row {
	r := l.make(l.entries[i])
	if l.short != nil {
		r.Short = l.short[i]
	}
	return r
}

// make makes the row of an entry, without its short id.
func (l *List) make(e entry) *place.Row {
	if e.at < 0 {
		l.row = *l.rowOf(e)
	} else {
		s := &l.sources[e.source]
		s.Logs.Read(int(e.at), &l.log)
		l.row = s.Row(&l.log)
	}
	return &l.row
}

// Rows returns all rows. They stay valid. Their logs may lack the generation.
func (l *List) Rows() []place.Row {
	rows := make([]place.Row, len(l.entries))
	for i := range rows {
		l.log = index.Log{} // so that the rows share no memory with it
		rows[i] = *l.Row(i)
		if rows[i].Known == &l.log.Summary {
			known := l.log.Summary
			rows[i].Known = &known
		}
	}
	l.log = index.Log{}
	return rows
}

// Formats returns the names of the dialects of sessions in the sources, in order. Agents counts their agents.
func (l *List) Formats() []string { return l.formats }

// Agents returns how many agents have sessions in the sources.
func (l *List) Agents() int { return len(l.agents) }

// IsTask reports whether an entry is the session of a sub-agent.
func (l *List) IsTask(i int) bool { return l.entries[i].task }

// FromOrigins reports whether a session is from an archive, which has those of several machines.
func (l *List) FromOrigins() bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool {
		return e.at >= 0 && l.sources[e.source].Origin != "" || e.at < 0 && l.rowOf(e).Source.Origin != ""
	})
}

// Dirs returns the working directories that sessions name, some of them several times.
func (l *List) Dirs() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range l.entries {
			if e.dir >= 0 && !yield(l.dirs[e.dir]) {
				return
			}
		}
	}
}

// Undirected returns the rows of sessions that name no working directory.
func (l *List) Undirected() []place.Row {
	return l.keep(func(e entry) bool { return e.dir < 0 && !e.bad }).Rows()
}

// part returns a list of some of the entries.
func (l *List) part(entries []entry) *List {
	return &List{sources: l.sources, dirs: l.dirs, formats: l.formats, agents: l.agents, entries: entries}
}

// keep returns the entries for which a condition holds.
func (l *List) keep(want func(entry) bool) *List {
	var kept []entry
	for _, e := range l.entries {
		if want(e) {
			kept = append(kept, e)
		}
	}
	return l.part(kept)
}

// InDirs returns the entries whose working directory is wanted, and those whose log does not name one.
func (l *List) InDirs(want func(cwd string) bool) *List {
	return l.keep(func(e entry) bool { return e.dir < 0 || want(l.dirs[e.dir]) })
}

// Keep returns the entries for whose rows a condition holds.
func (l *List) Keep(want func(*place.Row) bool) *List {
	var kept []entry
	for i, e := range l.entries {
		if want(l.Row(i)) {
			kept = append(kept, e)
		}
	}
	return l.part(kept)
}

// Sessions returns the entries that are sessions, and the paths of the others.
func (l *List) Sessions() (sessions *List, bad []string) {
	others := l.keep(func(e entry) bool { return e.bad })
	if others.Len() == 0 {
		return l, nil
	}
	for i := range others.entries {
		bad = append(bad, others.Row(i).Path)
	}
	return l.keep(func(e entry) bool { return !e.bad }), bad
}

// Begun returns the entries that are sessions with content.
func (l *List) Begun() *List { return l.keep(entry.begun) }

// First returns the first entries; most 0 means all.
func (l *List) First(most int) *List {
	if most > 0 && l.Len() > most {
		return l.part(l.entries[:most])
	}
	return l
}

// Forks orders the list as place.Forks does, and returns the depth of each entry.
func (l *List) Forks() (depth []int) {
	rows := l.Rows()
	byPath := make(map[string]entry, len(rows))
	for i := range rows {
		byPath[rows[i].Path] = l.entries[i]
	}
	rows, depth = place.Forks(rows)
	for i := range rows {
		l.entries[i] = byPath[rows[i].Path]
	}
	return depth
}

// WithoutTasks leaves out sub-agents whose session is in the list, since a session may have hundreds, and counts them.
func (l *List) WithoutTasks() (rest *List, tasks int) {
	if !slices.ContainsFunc(l.entries, func(e entry) bool { return e.task }) {
		return l, 0
	}
	var kept []entry
	for i, p := range l.Parents() {
		if e := l.entries[i]; p < 0 || !e.task {
			kept = append(kept, e)
		}
	}
	return l.part(kept), l.Len() - len(kept)
}

// Parents returns the index of each entry's parent, -1 for none, as place.Parents does.
func (l *List) Parents() []int {
	parents := make([]int, l.Len())
	for i := range parents {
		parents[i] = -1
	}
	kin := l.kin()
	some := l.part(make([]entry, len(kin)))
	for i, k := range kin {
		some.entries[i] = l.entries[k]
	}
	for i, p := range place.Parents(some.Rows()) {
		if p >= 0 {
			parents[kin[i]] = kin[p]
		}
	}
	return parents
}

// kin returns the indexes of the entries that have a parent, or that may be one.
func (l *List) kin() (kin []int) {
	parents := map[string]bool{}
	child := make([]bool, l.Len())
	for i, e := range l.entries {
		parent := ""
		if e.at < 0 {
			parent = l.rowOf(e).Parent
		} else {
			parent = l.sources[e.source].Logs.Parent(int(e.at))
		}
		if parent != "" {
			child[i], parents[parent], parents[index.LastPart(parent)] = true, true, true
		}
	}
	if len(parents) == 0 {
		return nil
	}
	for i := range l.entries {
		if r := l.Row(i); child[i] || parents[string(r.ID)] || parents[index.LastPart(r.Path)] {
			kin = append(kin, i)
		}
	}
	return kin
}

// Shorten fills in the short ids of the rows. They are unique among these and the others, if there are any; an entry may be in both lists.
func (l *List) Shorten(others *List) {
	entries := l.entries
	if others != nil {
		more := make(map[entry]bool, others.Len())
		for _, e := range others.entries {
			more[e] = true
		}
		for _, e := range l.entries {
			delete(more, e)
		}
		entries = append(slices.Clip(entries), others.keep(func(e entry) bool { return more[e] }).entries...)
	}
	l.short = shortid.All(l.ids(entries))[:len(l.entries)]
}

// ids returns the ids of entries. If they are many, those of logs are read in the order of the catalogue: any other order takes three times
// as long.
func (l *List) ids(entries []entry) []string {
	ids := make([]string, len(entries))
	first := make([]int, len(l.sources)+1) // index of each source's first log
	for i := range l.sources {
		first[i+1] = first[i] + l.sources[i].Logs.Len()
	}
	var places []int32 // 1 + position of a log in the list
	if len(entries) > first[len(l.sources)]/4 {
		places = make([]int32, first[len(l.sources)])
	}
	for i, e := range entries {
		switch {
		case e.at < 0:
			ids[i] = string(l.rowOf(e).ID)
		case places != nil:
			places[first[e.source]+int(e.at)] = int32(i) + 1
		default:
			ids[i] = string(l.sources[e.source].Logs.Brief(int(e.at)).ID)
		}
	}
	for i := range l.sources {
		for k := 0; places != nil && k < l.sources[i].Logs.Len(); k++ {
			if at := places[first[i]+k]; at > 0 {
				ids[at-1] = string(l.sources[i].Logs.Brief(k).ID)
			}
		}
	}
	return ids
}
