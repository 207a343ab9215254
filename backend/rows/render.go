package rows

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// table is a Table as it is in one database.
type table struct {
	Table
	root    uint32
	columns []shownColumn
	// Positions of columns; -1 for none.
	id, session, message, updated int
	// rowID is the position of the column that is another name of the row id; -1 for none.
	rowID int
	// ordered is an index with the rows of a session in their order; "" for none.
	ordered string
}

// shownColumn is a column of a table.
type shownColumn struct {
	name   string
	key    []byte // the name as a key, with its colon
	json   bool
	hidden bool
	real   bool // numbers are stored as integers where they are whole
	// value is the constant default value of the column; other means that the default is not constant.
	value any
	other bool
}

// describe reads the columns of a table from the database.
func describe(ctx context.Context, db querier, t Table) (*table, error) {
	d := &table{Table: t, id: -1, session: -1, message: -1, updated: -1, rowID: -1}
	err := db.QueryRowContext(ctx, `SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?`, t.Name).Scan(&d.root)
	if err != nil {
		return nil, err
	}
	found, err := db.QueryContext(ctx, `SELECT name, type, dflt_value, pk, "notnull" FROM pragma_table_info(?)`, t.Name)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	keys := 0
	for found.Next() {
		var c shownColumn
		var typ string
		var value sql.NullString
		var pk int
		var needed bool
		if err := found.Scan(&c.name, &typ, &value, &pk, &needed); err != nil {
			return nil, err
		}
		c.key = append(rawjson.Quote(c.name), ':')
		c.json, c.hidden = slices.Contains(t.JSON, c.name), slices.Contains(t.Hidden, c.name)
		typ = strings.ToUpper(typ)
		c.real = strings.Contains(typ, "REAL") || strings.Contains(typ, "FLOA") || strings.Contains(typ, "DOUB")
		if value.Valid {
			c.value, c.other = constant(value.String)
		}
		at := len(d.columns)
		if pk > 0 {
			if keys++; keys == 1 && typ == "INTEGER" {
				d.rowID = at
			}
		}
		for _, p := range []struct {
			name string
			at   *int
		}{{t.ID, &d.id}, {t.Session, &d.session}, {t.Message, &d.message}, {t.Updated, &d.updated}} {
			if p.name == c.name {
				*p.at = at
			}
		}
		d.columns = append(d.columns, c)
	}
	if keys > 1 {
		d.rowID = -1
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	for name, at := range map[string]int{t.ID: d.id, t.Session: d.session, t.Message: d.message, t.Updated: d.updated} {
		if name != "" && at < 0 {
			return nil, fmt.Errorf("the table %s %w %s", t.Name, errNoColumn, name)
		}
	}
	return d, nil
}

// errNoColumn is part of the error for a table without a column that the description names.
var errNoColumn = errors.New("has no column")

// constant parses the default value of a column; other is set if it is not a constant.
func constant(text string) (value any, other bool) {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, false
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f, false
	}
	if len(text) >= 2 && (text[0] == '\'' || text[0] == '"') && text[len(text)-1] == text[0] {
		q := text[:1]
		return strings.ReplaceAll(text[1:len(text)-1], q+q, q), false
	}
	switch strings.ToUpper(text) {
	case "NULL":
		return nil, false
	case "TRUE":
		return int64(1), false
	case "FALSE":
		return int64(0), false
	}
	return nil, true
}

// omits reports whether a value is left out of a record: INSERT would fill it in.
func (c *shownColumn) omits(v any) bool {
	switch {
	case c.hidden:
		return true
	case v == nil:
		return c.value == nil && !c.other
	case c.value == nil:
		return false
	}
	switch d := c.value.(type) {
	case int64:
		return number(v) == float64(d) && !isText(v)
	case float64:
		return number(v) == d && !isText(v)
	case string:
		return isText(v) && string(text(v)) == d
	}
	return false
}

func isText(v any) bool {
	switch v.(type) {
	case string, []byte:
		return true
	}
	return false
}

func text(v any) []byte {
	switch v := v.(type) {
	case string:
		return []byte(v)
	case []byte:
		return v
	}
	return nil
}

// number returns a number for comparisons; NaN for a value that is not a number.
func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// blob is a value of the type BLOB, which the driver and a Row return as bytes like a text.
type blob []byte

// appendValue adds a value to a record.
func (c *shownColumn) appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case int64:
		if c.real {
			return appendReal(dst, float64(v))
		}
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return appendReal(dst, v)
	case string:
		return c.appendText(dst, v)
	case []byte:
		return c.appendText(dst, string(v))
	case blob:
		return append(base64.StdEncoding.AppendEncode(append(dst, `{"blob":"`...), v), `"}`...)
	}
	return append(dst, "null"...)
}

func (c *shownColumn) appendText(dst []byte, v string) []byte {
	if !c.json {
		return rawjson.AppendString(dst, v)
	}
	if v == "" {
		return append(dst, `""`...)
	}
	from := len(dst)
	dst = append(dst, v...)
	for i := bytes.IndexByte(dst[from:], '\n'); i >= 0; i = bytes.IndexByte(dst[from:], '\n') {
		from += i
		dst[from] = ' '
	}
	return dst
}

// appendReal spells a number as JSON. What JSON cannot spell is null.
func appendReal(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return append(dst, "null"...)
	case math.Abs(f) < 1e21 && (math.Abs(f) >= 1e-6 || f == 0):
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'e', -1, 64)
}

// appendRow adds a row to a record as an object.
func (t *table) appendRow(dst []byte, values []any) []byte {
	dst = append(dst, '{')
	first := true
	for i := range t.columns {
		c := &t.columns[i]
		if c.omits(values[i]) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = c.appendValue(append(dst, c.key...), values[i])
	}
	return append(dst, '}')
}

// rowSize returns the length of what appendRow adds, computed from the head of a row as far as possible.
func (t *table) rowSize(r *litefile.Row, scratch []byte) (size int, _ []byte, err error) {
	size = 2
	shown := 0
	for i := range t.columns {
		c := &t.columns[i]
		if c.hidden {
			continue
		}
		if n, ok := c.known(r, i); ok {
			size += len(c.key) + n
			shown++
			continue
		}
		v, err := t.value(r, i)
		if err != nil {
			return 0, scratch, err
		}
		if c.omits(v) {
			continue
		}
		scratch = c.appendValue(scratch[:0], v)
		size += len(c.key) + len(scratch)
		shown++
	}
	return size + max(shown-1, 0), scratch, nil
}

// known returns the length of JSON, which need not be read unless it may be the default value.
func (c *shownColumn) known(r *litefile.Row, i int) (length int, ok bool) {
	kind, n := r.Len(i)
	usual, isText := c.value.(string)
	if !c.json || kind != litefile.Text || c.other || isText && len(usual) == n {
		return 0, false
	}
	if n == 0 {
		n = 2 // an empty text
	}
	return n, true
}

// tail appends to a list the pages, other than the row's own, that have data of the stamp.
func (t *table) tail(list []uint32, r *litefile.Row) (_ []uint32, err error) {
	for i := range t.columns {
		c := &t.columns[i]
		if _, ok := c.known(r, i); ok || i == t.rowID || c.hidden && i != t.updated {
			continue
		}
		if list, err = r.Pages(list, i); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// value returns the value of a column as a query does.
func (t *table) value(r *litefile.Row, i int) (any, error) {
	if i == t.rowID {
		return r.ID, nil
	}
	if i >= r.Columns() { // the column was added to the table after the row
		return t.columns[i].value, nil
	}
	v, err := r.Value(i)
	if kind, _ := r.Len(i); kind == litefile.Blob && err == nil {
		return blob(v.([]byte)), nil
	}
	return v, err
}
