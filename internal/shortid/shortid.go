// Package shortid shortens ids to as few characters as distinguish them.
package shortid

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// Least is the length of the shortest ids.
const Least = 8

// All returns the short form of each of some ids: the shortest prefix, of Least characters or more, that no other id has. An id that occurs
// more than once stays as it is.
func All(ids []string) []string {
	// Most ids differ in their first bytes: comparing those touches no other memory.
	type place struct {
		first uint64
		at    int32
	}
	order := make([]place, len(ids))
	for i, id := range ids {
		var first [8]byte
		copy(first[:], id)
		order[i] = place{binary.BigEndian.Uint64(first[:]), int32(i)}
	}
	slices.SortFunc(order, func(a, b place) int {
		if a.first != b.first {
			return cmp.Compare(a.first, b.first)
		}
		return strings.Compare(ids[a.at], ids[b.at])
	})
	sorted, list := make([]string, len(ids)), make([]string, len(ids))
	for k, p := range order {
		sorted[k] = ids[p.at]
	}
	for k, p := range order {
		list[p.at], _ = short(ids[p.at], sorted[max(k-1, 0):min(k+2, len(sorted))])
	}
	return list
}

// Some returns the short forms of some of the ids, and whether each occurs more than once.
func Some(some, all []string) (list []string, shared []bool) {
	const few = 100 // beyond this many, sorting is cheaper
	sorted := len(some) > few
	if sorted {
		all = slices.Sorted(slices.Values(all))
	}
	list, shared = make([]string, len(some)), make([]bool, len(some))
	for i, id := range some {
		near := all
		if sorted { // only neighbours can share the longest prefix
			at, _ := slices.BinarySearch(all, id)
			near = all[max(at-1, 0):min(at+2, len(all))]
		}
		list[i], shared[i] = short(id, near)
	}
	return list, shared
}

// short returns the short form of one id, and whether it occurs more than once. near are the ids that may begin alike, id itself among
// them.
func short(id string, near []string) (string, bool) {
	same, n := 0, Least
	for _, other := range near {
		if other == id {
			same++
			continue
		}
		if len(id) < Least || len(other) < Least || other[:Least] != id[:Least] {
			continue // the fast path: there may be ten thousand
		}
		alike := Least
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
