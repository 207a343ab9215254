package place

import (
	"slices"
	"strings"
)

// leastShort is the length of the shortest ids in lists.
const leastShort = 8

// shortID gives the shortest prefix of an id, of eight characters or more, that none of the others has, and whether another
// one is the same. near are the ids that may begin alike, id itself among them.
func shortID(id string, near []string) (short string, shared bool) {
	const least = leastShort
	same, n := 0, least
	for _, other := range near {
		if other == id {
			same++
			continue
		}
		if len(id) < least || len(other) < least || other[:least] != id[:least] {
			continue // fast: there may be ten thousand
		}
		alike := least
		for alike < len(id) && alike < len(other) && id[alike] == other[alike] {
			alike++
		}
		n = max(n, alike+1)
	}
	if same > 1 {
		return id, true
	}
	return id[:min(n, len(id))], false
}

// neighbours are the sorted ids beside the first one that equals id. Only neighbours can share the longest prefix.
func neighbours(sorted []string, id string) []string {
	at, _ := slices.BinarySearch(sorted, id)
	return sorted[max(at-1, 0):min(at+2, len(sorted))]
}

// Shorten fills in the short ids of some sessions: unique among these. Machine.Find understands those of all sessions, and
// those of all sessions of the project.
func Shorten(rows []Row) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = string(rows[i].ID)
	}
	for i, short := range ShortIDs(ids) {
		rows[i].Short = short
	}
}

// ShortenSome is Shorten for some of the sessions, with the ids of all; a row may come twice. It gives the rows whose id
// another session has, too.
func ShortenSome(rows []*Row, ids []string) (shared map[*Row]bool) {
	const few = 100 // beyond this many, sorting is cheaper
	sorted := len(rows) > few
	if sorted {
		ids = slices.Sorted(slices.Values(ids))
	}
	shared = map[*Row]bool{}
	for _, r := range rows {
		if r.Short != "" {
			continue
		}
		near := ids
		if sorted {
			near = neighbours(ids, string(r.ID))
		}
		r.Short, shared[r] = shortID(string(r.ID), near)
	}
	return shared
}

// ShortIDs gives the short form of each of some ids. Among sorted ids only neighbours can begin alike.
func ShortIDs(ids []string) []string {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(ids[a], ids[b]) })
	sorted, short := make([]string, len(ids)), make([]string, len(ids))
	for k, i := range order {
		sorted[k] = ids[i]
	}
	for k, i := range order {
		short[i], _ = shortID(ids[i], sorted[max(k-1, 0):min(k+2, len(sorted))])
	}
	return short
}
