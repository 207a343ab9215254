// Package listing is a list of sessions without their rows. A row is made when it is asked for: of a hundred thousand sessions, rows
// would be most of the memory.
package listing

import (
	"cmp"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/shortid"
	"github.com/treeline-dev/treeline/place"
)

// Source is logs of a catalogue whose rows depend on nothing but the log.
type Source struct {
	Logs   *index.Logs
	Origin string // of the logs; see place.Source
	// Row makes the row of a log.
	Row func(*index.Log) place.Row
	// When gives place.Row.When.
	When func(*index.Brief) time.Time
	// Rows follow: those of other logs.
	Rows []place.Row
}

// List is sessions, and logs that are none, in an order: at first that of their sources. It is not safe for concurrent use: the row that is shown is used again.
type List struct {
	sources []Source
	entries []entry
	short   []string // of the entries, if they are known
	log     index.Log
	row     place.Row
}

// entry is a log of a source or, if at is negative, the row -1-at of it.
type entry struct {
	source, at int32
	// bad is not a session, a task the session of a sub-agent. loose is a session that names no working directory.
	bad, task, loose bool
}

// New lists the logs and rows of some sources, in their order.
func New(sources []Source) *List {
	l, n := &List{sources: sources}, 0
	for i := range sources {
		n += sources[i].Logs.Len() + len(sources[i].Rows)
	}
	l.entries = make([]entry, 0, n)
	for i := range sources {
		for k := range sources[i].Logs.Len() {
			b := sources[i].Logs.Brief(k)
			l.entries = append(l.entries, entry{int32(i), int32(k), b.NotSession(), b.Task, !b.NotSession() && b.CWD == ""})
		}
		l.addRows(i)
	}
	return l
}

// addRows adds the rows of a source.
func (l *List) addRows(source int) {
	for k, rows := 0, l.sources[source].Rows; k < len(rows); k++ {
		r := &rows[k]
		l.entries = append(l.entries, entry{int32(source), int32(-1 - k), r.Err != nil, r.IsTask(), r.Err == nil && r.CWD == ""})
	}
}

// newestFirst sorts the entries as place.NewestFirst does.
func (l *List) newestFirst() {
	type moment struct {
		seconds int64
		nanos   int32
		entry
	}
	moments := make([]moment, len(l.entries))
	for i, e := range l.entries {
		var t time.Time
		if s := &l.sources[e.source]; e.at < 0 {
			t = l.rowOf(e).When()
		} else {
			b := s.Logs.Brief(int(e.at))
			t = s.When(&b)
		}
		moments[i] = moment{t.Unix(), int32(t.Nanosecond()), e}
	}
	slices.SortFunc(moments, func(a, b moment) int {
		switch {
		case a.seconds != b.seconds:
			return cmp.Compare(b.seconds, a.seconds)
		case a.nanos != b.nanos:
			return cmp.Compare(b.nanos, a.nanos)
		}
		return l.compare(a.entry, b.entry)
	})
	for i := range moments {
		l.entries[i] = moments[i].entry
	}
}

// compare orders entries of one moment.
func (l *List) compare(a, b entry) int {
	if a.at < 0 && b.at < 0 {
		// Names that are times are more precise than the times.
		if x, y := l.rowOf(a), l.rowOf(b); x.Named() && y.Named() {
			if order := strings.Compare(path.Base(y.Log.Name), path.Base(x.Log.Name)); order != 0 {
				return order
			}
		}
	}
	place := func(e entry) int {
		if e.at >= 0 {
			return int(e.at)
		}
		return l.sources[e.source].Logs.Len() - 1 - int(e.at)
	}
	return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(place(a), place(b)))
}

// rowOf gives the row of an entry that is one.
func (l *List) rowOf(e entry) *place.Row { return &l.sources[e.source].Rows[-1-e.at] }

// Of is a list of rows in their order.
func Of(rows []place.Row) *List {
	l := &List{sources: []Source{{Rows: rows}}}
	l.addRows(0)
	return l
}

// Len is how many entries there are.
func (l *List) Len() int { return len(l.entries) }

// Row gives a row, which is valid until the next call.
func (l *List) Row(i int) *place.Row {
	e := l.entries[i]
	if e.at < 0 {
		l.row = *l.rowOf(e)
	} else {
		s := &l.sources[e.source]
		s.Logs.Read(int(e.at), &l.log)
		l.row = s.Row(&l.log)
	}
	if l.short != nil {
		l.row.Short = l.short[i]
	}
	return &l.row
}

// Rows gives all rows. They stay valid.
func (l *List) Rows() []place.Row {
	rows := make([]place.Row, len(l.entries))
	for i := range rows {
		l.log = index.Log{} // of which nothing is used again
		rows[i] = *l.Row(i)
		if rows[i].Known == &l.log.Summary {
			known := l.log.Summary
			rows[i].Known = &known
		}
	}
	l.log = index.Log{}
	return rows
}

// cwd gives the working directory that an entry names.
func (l *List) cwd(e entry) string {
	if e.at < 0 {
		return l.rowOf(e).CWD
	}
	return l.sources[e.source].Logs.Brief(int(e.at)).CWD
}

// FromOrigins reports whether a session is from an archive, where those of several machines are.
func (l *List) FromOrigins() bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool {
		return e.at >= 0 && l.sources[e.source].Origin != "" || e.at < 0 && l.rowOf(e).Source.Origin != ""
	})
}

// Dirs gives the working directories that sessions name, some of them several times.
func (l *List) Dirs() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range l.entries {
			if !e.bad && !e.loose && !yield(l.cwd(e)) {
				return
			}
		}
	}
}

// Undirected gives the rows of sessions that name no working directory.
func (l *List) Undirected() []place.Row {
	return l.keep(func(e entry) bool { return e.loose }).Rows()
}

// keep is the entries for which a condition holds.
func (l *List) keep(want func(entry) bool) *List {
	kept := &List{sources: l.sources}
	for _, e := range l.entries {
		if want(e) {
			kept.entries = append(kept.entries, e)
		}
	}
	return kept
}

// InDirs is the entries whose working directory is wanted, and those whose directory something else tells.
func (l *List) InDirs(want func(cwd string) bool) *List {
	return l.keep(func(e entry) bool { return e.bad || e.loose || want(l.cwd(e)) })
}

// Keep is the entries for whose rows a condition holds.
func (l *List) Keep(want func(*place.Row) bool) *List {
	kept := &List{sources: l.sources}
	for i, e := range l.entries {
		if want(l.Row(i)) {
			kept.entries = append(kept.entries, e)
		}
	}
	return kept
}

// Sessions is the entries that are sessions, and the paths of the others.
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

// First is the first entries; most 0 is all.
func (l *List) First(most int) *List {
	if most > 0 && l.Len() > most {
		return &List{sources: l.sources, entries: l.entries[:most]}
	}
	return l
}

// Sort orders the list; equals are sorted newest first.
func (l *List) Sort(by place.Order) {
	l.newestFirst()
	if by == place.OrderWhen {
		return
	}
	keys, order, sorted := make([]place.Key, l.Len()), make([]int32, l.Len()), make([]entry, l.Len())
	for i := range keys {
		keys[i], order[i] = l.Row(i).Key(by), int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(keys[a].Compare(&keys[b]), cmp.Compare(a, b)) })
	for i, k := range order {
		sorted[i] = l.entries[k]
	}
	l.entries = sorted
}

// WithoutTasks leaves out sub-agents whose session is in the list: a session may have hundreds. It counts them.
func (l *List) WithoutTasks() (rest *List, tasks int) {
	if !slices.ContainsFunc(l.entries, func(e entry) bool { return e.task }) {
		return l, 0
	}
	left := map[entry]bool{}
	kin := l.kin()
	for i, p := range place.Parents(kin.Rows()) {
		if e := kin.entries[i]; p >= 0 && e.task {
			left[e] = true
		}
	}
	return l.keep(func(e entry) bool { return !left[e] }), len(left)
}

// kin is the entries that have a parent, or that may be one.
func (l *List) kin() *List {
	parents := map[string]bool{}
	for i := range l.entries {
		if p := l.Row(i).Parent; p != "" {
			parents[p], parents[index.LastPart(p)] = true, true
		}
	}
	return l.Keep(func(r *place.Row) bool {
		return r.Parent != "" || parents[string(r.ID)] || parents[index.LastPart(r.Path)]
	})
}

// Shorten fills in the short ids of the rows: unique among these and the others, if there are any, which may be in the list as well.
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

// ids gives the ids of entries. Where there are many, they are read in the order of the catalogue: another one takes three times as long.
func (l *List) ids(entries []entry) []string {
	ids := make([]string, len(entries))
	id := func(e entry) string {
		if e.at < 0 {
			return string(l.rowOf(e).ID)
		}
		return string(l.sources[e.source].Logs.Brief(int(e.at)).ID)
	}
	if len(entries) < 1000 {
		for i, e := range entries {
			ids[i] = id(e)
		}
		return ids
	}
	order := make([]int32, len(entries))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return l.compare(entries[a], entries[b]) })
	for _, i := range order {
		ids[i] = id(entries[i])
	}
	return ids
}
