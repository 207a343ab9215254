package rpc

import (
	"cmp"
	"slices"

	"github.com/treeline-dev/treeline/wire"
)

// mostRows bounds a page of a list, so that an answer fits in memory whatever the store holds.
const mostRows = 1000

// limit checks how many rows are wanted.
func limit(given *int, otherwise int) (int, error) {
	n := or(given, otherwise)
	if n < 1 || n > mostRows {
		return 0, badParams(`parameter "limit": must be a number from 1 to %d, not %d`, mostRows, n)
	}
	return n, nil
}

// pageOf gives n rows, newest first, that follow the cursor, and the cursor of the next page, nil at the end.
func pageOf[T any](rows []T, key func(*T) wire.Cursor, n int, after string) (part []*T, next *string, err error) {
	keys, order := make([]wire.Cursor, len(rows)), make([]int, len(rows))
	for i := range rows {
		keys[i], order[i] = key(&rows[i]), i
	}
	slices.SortFunc(order, func(a, b int) int { return keys[a].Compare(keys[b]) })
	if after != "" {
		last, err := wire.ParseCursor(after)
		if err != nil {
			return nil, nil, badParams(`parameter "cursor": it is not one that a page gave`)
		}
		from, _ := slices.BinarySearchFunc(order, last, func(i int, last wire.Cursor) int {
			return cmp.Or(keys[i].Compare(last), -1) // the row itself is on the page before
		})
		order = order[from:]
	}
	for _, i := range order[:min(n, len(order))] {
		part = append(part, &rows[i])
	}
	if len(order) > n {
		text := keys[order[n-1]].String()
		next = &text
	}
	return part, next, nil
}
