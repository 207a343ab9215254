package place

import (
	"slices"
	"strings"
)

// shortID gives the shortest beginning of an id, of eight characters or more, that none of the others has, and says whether
// one of them is the same. near are the ids that may begin alike, id itself among them.
func shortID(id string, near []string) (short string, shared bool) {
	const least = 8
	same, n := 0, least
	for _, other := range near {
		if other == id {
			same++
			continue
		}
		if len(id) < least || len(other) < least || other[:least] != id[:least] {
			continue // most are: there may be ten thousand
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

// neighbours are those of sorted ids that begin most like one of them, of which they are the first if there are several.
func neighbours(sorted []string, id string) []string {
	at, _ := slices.BinarySearch(sorted, id)
	return sorted[max(at-1, 0):min(at+2, len(sorted))]
}

// Shorten fills in the short ids of all sessions. Among sorted ids only neighbours can begin alike.
func Shorten(rows []Row) {
	order := make([]int, len(rows))
	ids := make([]string, len(rows)) // rows are large: to look at one after another is slow
	for i := range order {
		order[i], ids[i] = i, string(rows[i].ID)
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(ids[a], ids[b]) })
	sorted := make([]string, len(rows))
	for k, i := range order {
		sorted[k] = ids[i]
	}
	for k, i := range order {
		rows[i].Short, _ = shortID(ids[i], sorted[max(k-1, 0):min(k+2, len(sorted))])
	}
}

// ShortenSome is Shorten for some of the sessions, where ids are those of all; a row may come twice. It gives the rows whose id
// others have, too.
func ShortenSome(rows []*Row, ids []string) (shared map[*Row]bool) {
	const few = 100 // from about as many on it is cheaper to sort
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

// ShortIDs gives the short form of each of some ids.
func ShortIDs(ids []string) []string {
	sorted := slices.Sorted(slices.Values(ids))
	short := make([]string, len(ids))
	for i, id := range ids {
		short[i], _ = shortID(id, neighbours(sorted, id))
	}
	return short
}
