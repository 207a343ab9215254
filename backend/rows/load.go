package rows

import (
	"context"
	"database/sql"
	"slices"
)

// querier is a database or a transaction.
type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// each calls visit with the rows of a query. The values are valid until the next row.
func (t *table) each(ctx context.Context, db querier, query, id string, visit func(values []any)) error {
	found, err := db.QueryContext(ctx, query, id)
	if err != nil {
		return err
	}
	defer found.Close()
	values, to := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i := range values {
		to[i] = &values[i]
	}
	for found.Next() {
		if err := found.Scan(to...); err != nil {
			return err
		}
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				values[i] = blob(b)
			}
		}
		visit(values)
	}
	return found.Err()
}

// load reads a session, nil if there is none, and its stamp.
func (t *tables) load(ctx context.Context, db querier, id string) (*Session, *stamp, error) {
	var st *stamp
	err := t.session.each(ctx, db, t.selectSession, id, func(values []any) { st = t.begin(values) })
	if err != nil || st == nil {
		return nil, nil, err
	}
	var messages [][]any
	parts, size := map[string][][]any{}, len(st.header)+1
	take := func(of *table, k int, values []any) []any {
		if of.updated >= 0 {
			st.marks[k].take(values[of.updated])
		}
		size += of.roughly(values)
		return slices.Clone(values)
	}
	if t.part != nil {
		err := t.part.each(ctx, db, t.selectPts, id, func(values []any) {
			of, _ := values[t.part.message].(string)
			parts[of] = append(parts[of], take(t.part, 1, values))
			st.parts++
		})
		if err != nil {
			return nil, nil, err
		}
	}
	err = t.message.each(ctx, db, t.selectMsgs, id, func(values []any) {
		messages = append(messages, take(t.message, 0, values))
		st.messages++
	})
	if err != nil {
		return nil, nil, err
	}
	if t.coarse() {
		newest := `SELECT coalesce(max(rowid), 0) FROM ` + quoted(t.message.Name) + ` WHERE ` + quoted(t.message.Session) + ` = ?`
		if err := db.QueryRowContext(ctx, newest, id).Scan(&st.last); err != nil {
			return nil, nil, err
		}
	}
	t.settle(st)
	s := &Session{ID: id, Time: st.time, start: len(st.header) + 1}
	// All records in one piece, so that each value is copied once.
	s.text = append(append(make([]byte, 0, size), st.header...), '\n')
	ends := make([]int, 0, len(messages))
	for _, values := range messages {
		of, _ := values[t.message.id].(string)
		s.text = append(t.appendRecord(s.text, values, parts[of]), '\n')
		ends = append(ends, len(s.text)-1)
	}
	s.Header = s.text[: s.start-1 : s.start-1]
	from := s.start
	for _, end := range ends {
		s.Messages = append(s.Messages, s.text[from:end:end])
		from = end + 1
	}
	st.size = int64(len(s.text) - s.start)
	s.Version = st.version()
	return s, st, nil
}

// roughly returns a length that the JSON of a row usually does not exceed.
func (t *table) roughly(values []any) int {
	n := 32
	for i, v := range values {
		n += len(t.columns[i].key) + 16
		if s, ok := v.(string); ok {
			n += len(s)
		}
	}
	return n
}

// begin makes the stamp of a session from its row.
func (t *tables) begin(values []any) *stamp {
	st := &stamp{id: string(text(values[t.session.id])), header: t.header(values)}
	if t.session.updated >= 0 {
		st.marks[2].take(values[t.session.updated])
		st.time = t.session.time(values[t.session.updated])
	}
	return st
}

// header returns the first record of a log.
func (t *tables) header(values []any) []byte {
	dst := append([]byte(`{"`), t.session.Name...)
	return append(t.session.appendRow(append(dst, `":`...), values), '}')
}

// appendRecord adds the record of a message with its parts.
func (t *tables) appendRecord(dst []byte, values []any, parts [][]any) []byte {
	dst = append(append(dst, `{"`...), t.message.Name...)
	dst = t.message.appendRow(append(dst, `":`...), values)
	if t.part != nil {
		dst = append(append(append(dst, `,"`...), t.part.Name...), `":[`...)
		for i, p := range parts {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = t.part.appendRow(dst, p)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// frame returns how much longer a record is than the rows in it, with its newline.
func (t *tables) frame() int64 {
	n := len(`{"":}`) + len(t.message.Name) + 1
	if t.part != nil {
		n += len(`,"":[]`) + len(t.part.Name)
	}
	return int64(n)
}
