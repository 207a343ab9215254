package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/sorting"
)

// Cursor names the last row of a page of a list. It holds the row's place in the order and not its number, so that sessions
// that appear or disappear between two pages neither repeat nor hide another.
type Cursor struct {
	When time.Time `json:"when"`
	Path string    `json:"path"`
}

// ErrCursor is returned for a text that no page gave.
var ErrCursor = errors.New("the cursor is not one that a page gave")

// ParseCursor reads what String wrote.
func ParseCursor(text string) (c Cursor, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		return Cursor{}, ErrCursor
	}
	return c, nil
}

// String is the cursor as clients see it.
func (c Cursor) String() string {
	text, err := json.Marshal(c)
	if err != nil {
		return "" // a time and a string can always be encoded
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// Compare orders rows: newest first, then by path.
func (c Cursor) Compare(o Cursor) int {
	return cmp.Or(o.When.Compare(c.When), strings.Compare(c.Path, o.Path))
}

// PageOf gives n rows, newest first, that follow the cursor, and the cursor of the next page, nil at the end. "" begins with the first row. The
// error is ErrCursor.
func PageOf[T any](rows []T, key func(*T) Cursor, n int, after string) (part []*T, next *string, err error) {
	keys, order := make([]Cursor, len(rows)), make([]int, len(rows))
	for i := range rows {
		keys[i], order[i] = key(&rows[i]), i
	}
	sorting.By(order, func(a, b int) int { return keys[a].Compare(keys[b]) })
	order, next, err = PageOfSorted(order, func(i *int) Cursor { return keys[*i] }, n, after)
	for _, i := range order {
		part = append(part, &rows[i])
	}
	return part, next, err
}

// PageOfSorted is PageOf for rows that are in the order of their cursors.
func PageOfSorted[T any](rows []T, key func(*T) Cursor, n int, after string) (part []T, next *string, err error) {
	if after != "" {
		last, err := ParseCursor(after)
		if err != nil {
			return nil, nil, err
		}
		from, _ := slices.BinarySearchFunc(rows, last, func(r T, last Cursor) int {
			return cmp.Or(key(&r).Compare(last), -1) // the row itself is on the page before
		})
		rows = rows[from:]
	}
	if len(rows) > n {
		rows = rows[:n]
		text := key(&rows[n-1]).String()
		next = &text
	}
	return rows, next, nil
}
