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

// Cursor identifies the last row of a page of a list. It has the row's position in the order and not its index, so that sessions that
// appear or disappear between two pages cause no row to be repeated or skipped.
type Cursor struct {
	When time.Time
	Path string
}

// cursorJSON is the encoded form of a Cursor. JSON has neither times after the year 9999 nor strings that are not UTF-8; a log may have
// both.
type cursorJSON struct {
	Seconds int64  `json:"s"`
	Nanos   int64  `json:"n"`
	Path    []byte `json:"p"`
}

// ErrCursor is returned for a text that is not a cursor of a page.
var ErrCursor = errors.New("the cursor is not one that a page gave")

// ParseCursor parses what String returns.
func ParseCursor(text string) (c Cursor, err error) {
	var j cursorJSON
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &j)
	}
	if err != nil {
		return Cursor{}, ErrCursor
	}
	return Cursor{time.Unix(j.Seconds, j.Nanos), string(j.Path)}, nil
}

// String returns the cursor as clients see it.
func (c Cursor) String() string {
	text, err := json.Marshal(cursorJSON{c.When.Unix(), int64(c.When.Nanosecond()), []byte(c.Path)})
	if err != nil {
		return "" // numbers and bytes always encode
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// Compare orders rows: newest first, then by path.
func (c Cursor) Compare(o Cursor) int {
	return cmp.Or(o.When.Compare(c.When), strings.Compare(c.Path, o.Path))
}

// PageOf returns the n newest rows after the cursor, and the cursor of the next page, or nil on the last page. With "" it begins at the
// first row. Its error is ErrCursor.
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
			return cmp.Or(key(&r).Compare(last), -1) // the row of the cursor itself belongs to the page before
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
