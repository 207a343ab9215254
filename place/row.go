package place

import (
	"cmp"
	"path"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/sorting"
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
	return newest(rows, when, (*Row).tieByName)
}

// Newest sorts rows in place as lists show them: by When, and those of one moment as Tie says. Other equals keep their order.
func Newest(rows []Row) []Row { return newest(rows, (*Row).When, (*Row).Tie) }

func newest(rows []Row, when func(*Row) time.Time, tie func(a, b *Row) int) []Row {
	times := make([]time.Time, len(rows))
	for i := range rows {
		times[i] = when(&rows[i])
	}
	return sorting.Large(rows, func(a, b int) int {
		if order := times[b].Compare(times[a]); order != 0 {
			return order
		}
		return tie(&rows[a], &rows[b])
	})
}

func (r *Row) tieByName(other *Row) int {
	if r.Named() && other.Named() {
		return strings.Compare(path.Base(other.Log.Name), path.Base(r.Log.Name))
	}
	return 0
}

// Tie orders rows of one moment, such as files that were copied together, the newest first: by their names if these are times, then by the
// last messages, by the logs, and by the creation: a fork has the messages of its original.
func (r *Row) Tie(other *Row) int {
	message, log, created := r.Moments()
	said, logged, made := other.Moments()
	return cmp.Or(r.tieByName(other), said.Compare(message), logged.Compare(log), made.Compare(created))
}

// Moments returns the times that order rows of one moment, as far as they are known: those of the last message, the log and the creation. A
// row that its name orders has none, nor has one of an archive, whose index orders it.
func (r *Row) Moments() (message, log, created time.Time) {
	if !r.Named() && r.Source.Origin == "" {
		message, _ = r.Active.Time()
		created, _ = r.Created.Time()
		log = r.Log.Time
	}
	return message, log, created
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
