package place

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/session"
)

// Row is a session as a list shows it. List makes it from the two ends of the log; a catalogue from all of it.
type Row struct {
	Source  Source
	Dialect dialect.Dialect
	// Path is the log's path for people; Log is the log as it was.
	Path string
	Log  backend.Log
	dialect.Summary
	// Known is what a catalogue knows in addition; nil in lists that are made without one.
	Known *index.Summary
	// Short is the shortest prefix of ID, of eight characters or more, that is unique in the list.
	Short string
	// Err is why nothing is known of the log; the other fields are then empty.
	Err error
}

// Heading returns the session's heading in lists: its title, or the first prompt of the user; "" if it has neither.
func (r *Row) Heading() string {
	return cmp.Or(strings.TrimSpace(r.Title), strings.TrimSpace(r.Prompt), r.Command)
}

// IsTask reports whether the log is a sub-agent's: another agent began it for a task.
func (r *Row) IsTask() bool {
	p, ok := placer(r.Dialect)
	return r.Task || ok && !p.Main(r.Log.Name)
}

// When returns the time that lists are ordered by. As in the agent's own list it is the time of the log's last change, of the last message,
// or the one in the log's name. In an archive the log changed when it was copied, so the last message counts there.
func (r *Row) When() time.Time {
	var at session.Time
	if r.Named() {
		at = r.Created
	} else if r.Dialect != nil && ByActivity(r.Dialect, r.Source.Origin) {
		at = r.Active
	}
	// A log without such a time is ordered by its own.
	if t, ok := at.Time(); ok {
		return t
	}
	return r.Log.Time
}

// ByActivity reports whether sessions of a dialect and an origin are ordered by their last messages, unless they are ordered by their
// names.
func ByActivity(d dialect.Dialect, origin string) bool {
	o, ok := d.Layout().(dialect.Orderer)
	return origin != "" || ok && o.Order() == dialect.OrderActive
}

// Named reports whether the agent orders its sessions by their names.
func (r *Row) Named() bool {
	_, ok := byNames(r.Dialect)
	return ok
}

// NewestFirst sorts rows by a time, in place; the sort is stable. Names that are times are more precise than the times.
func NewestFirst(rows []Row, when func(*Row) time.Time) []Row {
	times := make([]time.Time, len(rows))
	for i := range rows {
		times[i] = when(&rows[i])
	}
	return reorder(rows, func(a, b int) int {
		order := times[b].Compare(times[a])
		if order == 0 && rows[a].Named() && rows[b].Named() {
			order = strings.Compare(path.Base(rows[b].Log.Name), path.Base(rows[a].Log.Name))
		}
		return order
	})
}

// reorder sorts rows in place by comparing their indexes; the sort is stable. Rows are large, so each is moved once: along the cycles of
// the permutation.
func reorder(rows []Row, compare func(a, b int) int) []Row {
	order := make([]int, len(rows))
	for i := range rows {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(compare(a, b), cmp.Compare(a, b)) })
	for start := range order {
		if order[start] < 0 {
			continue
		}
		first := rows[start]
		k := start
		for order[k] != start {
			from := order[k]
			rows[k], order[k] = rows[from], -1
			k = from
		}
		rows[k], order[k] = first, -1
	}
	return rows
}

// Drop removes the rows that are not wanted, in place. Rows are large: they are passed by pointer, and mostly none is
// moved.
//
//go:noinline // its copies took 7.3 KB
func Drop(rows []Row, unwanted func(*Row) bool) []Row {
	n := 0
	for i := range rows {
		if !unwanted(&rows[i]) {
			if n < i {
				rows[n] = rows[i]
			}
			n++
		}
	}
	clear(rows[n:]) // release what they point to
	return rows[:n]
}
