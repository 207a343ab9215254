package rpc

import "github.com/treeline-dev/treeline/wire"

// mostRows is the largest number of rows on a page, so that an answer fits in memory whatever the store holds.
const mostRows = 1000

// limit checks the number of rows that the client asks for.
func limit(given *int, otherwise int) (int, error) {
	n := or(given, otherwise)
	if n < 1 || n > mostRows {
		return 0, badParams(`parameter "limit": must be a number from 1 to %d, not %d`, mostRows, n)
	}
	return n, nil
}

// pageOf is wire.PageOf with an error that names the parameter.
func pageOf[T any](rows []T, key func(*T) wire.Cursor, n int, after string) ([]*T, *string, error) {
	part, next, err := wire.PageOf(rows, key, n, after)
	if err != nil {
		err = badParams(`parameter "cursor": it is not one that a page gave`)
	}
	return part, next, err
}
