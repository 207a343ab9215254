package rpc

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
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

// cursor names the last row of a page. It holds the row's place in the order and not its number, so that sessions that appear
// or disappear meanwhile neither repeat nor hide another.
type cursor struct {
	When time.Time `json:"when"`
	Path string    `json:"path"`
}

func (c cursor) String() string {
	text, err := json.Marshal(c)
	if err != nil {
		return "" // a time and a string can always be encoded
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(text string) (c cursor, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		err = badParams(`parameter "cursor": it is not one that a page gave`)
	}
	return c, err
}

// compare orders rows: newest first, then by path.
func (c cursor) compare(o cursor) int {
	return cmp.Or(o.When.Compare(c.When), strings.Compare(c.Path, o.Path))
}

// pageOf gives n rows, newest first, that follow the cursor, and the cursor of the next page, nil at the end.
func pageOf[T any](rows []T, key func(*T) cursor, n int, after string) (part []*T, next *string, err error) {
	keys, order := make([]cursor, len(rows)), make([]int, len(rows))
	for i := range rows {
		keys[i], order[i] = key(&rows[i]), i
	}
	slices.SortFunc(order, func(a, b int) int { return keys[a].compare(keys[b]) })
	if after != "" {
		last, err := parseCursor(after)
		if err != nil {
			return nil, nil, err
		}
		from, _ := slices.BinarySearchFunc(order, last, func(i int, last cursor) int {
			return cmp.Or(keys[i].compare(last), -1) // the row itself is on the page before
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
