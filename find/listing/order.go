package listing

import (
	"cmp"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/place"
)

// Sort orders the list; ties are sorted newest first, as place.Newest does.
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

// compare orders entries of the same time as place.Row.Tie does, and then in the order of the sources.
func (l *List) compare(a, b entry) int {
	if a.at < 0 && b.at < 0 {
		if order := l.rowOf(a).Tie(l.rowOf(b)); order != 0 {
			return order
		}
	} else {
		saidA, logA := l.written(a)
		saidB, logB := l.written(b)
		if order := cmp.Or(saidB.Compare(saidA), logB.Compare(logA)); order != 0 {
			return order
		}
		if order := l.created(b).Compare(l.created(a)); order != 0 {
			return order
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

// written returns the first two of place.Row.Moments without making a row. An agent that orders its sessions by their names has rows.
func (l *List) written(e entry) (message, log time.Time) {
	s := &l.sources[e.source]
	switch {
	case e.at < 0:
		message, log, _ = l.rowOf(e).Moments()
		return message, log
	case s.Origin != "":
		return message, log
	}
	b := s.Logs.Brief(int(e.at))
	message, _ = b.Active()
	return message, time.Unix(0, b.Nanos)
}

// created returns the third one.
func (l *List) created(e entry) time.Time {
	_, _, created := l.make(e).Moments()
	return created
}
