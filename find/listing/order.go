package listing

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/place"
)

// Sort orders the list; ties are sorted newest first, as Newest does.
func (l *List) Sort(by place.Order) {
	slices.SortFunc(l.entries, func(a, b entry) int {
		if a.when != b.when {
			return cmp.Compare(b.when, a.when)
		}
		return l.compare(a, b)
	})
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

// compare orders entries of the same time.
func (l *List) compare(a, b entry) int {
	if a.at < 0 && b.at < 0 {
		// Names that are times are more precise than the times.
		if x, y := l.rowOf(a), l.rowOf(b); x.Named() && y.Named() {
			if order := strings.Compare(path.Base(y.Log.Name), path.Base(x.Log.Name)); order != 0 {
				return order
			}
		}
	}
	saidA, logA := l.written(a)
	saidB, logB := l.written(b)
	if order := cmp.Or(saidB.Compare(saidA), logB.Compare(logA)); order != 0 {
		return order
	}
	place := func(e entry) int {
		if e.at >= 0 {
			return int(e.at)
		}
		return l.sources[e.source].Logs.Len() - 1 - int(e.at)
	}
	return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(place(a), place(b)))
}

// written returns the times that order entries of the same time. An agent that orders its sessions by their names has rows.
func (l *List) written(e entry) (message, log time.Time) {
	s := &l.sources[e.source]
	switch {
	case e.at < 0:
		return written(l.rowOf(e))
	case s.Origin != "":
		return message, log
	}
	b := s.Logs.Brief(int(e.at))
	message, _ = b.Active()
	return message, time.Unix(0, b.Nanos)
}

// written returns the times that order rows of the same time: that of the last message, as far as it is known, and that of the log. A row that its
// name orders has none, nor has one of an archive, whose index orders it.
func written(r *place.Row) (message, log time.Time) {
	if r.Named() || r.Source.Origin != "" {
		return message, log
	}
	message, _ = r.Active.Time()
	return message, r.Log.Time
}

// Newest sorts rows by place.Row.When, in place, and those of one moment, such as files that were copied together, by their last messages
// and then by their logs; other equals keep their order.
func Newest(rows []place.Row) []place.Row {
	message := func(r *place.Row) time.Time { at, _ := written(r); return at }
	log := func(r *place.Row) time.Time { _, at := written(r); return at }
	return place.NewestFirst(place.NewestFirst(place.NewestFirst(rows, log), message), (*place.Row).When)
}
