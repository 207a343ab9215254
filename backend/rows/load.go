package rows

import (
	"context"
	"database/sql"
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
	s := &Session{ID: id, Header: st.header, Time: st.time}
	parts := map[string][]byte{}
	if t.part != nil {
		err := t.part.each(ctx, db, t.selectPts, id, func(values []any) {
			of, _ := values[t.part.message].(string)
			list := parts[of]
			if list == nil {
				list = make([]byte, 0, 256)
			} else {
				list = append(list, ',')
			}
			parts[of] = t.part.appendRow(list, values)
			st.parts++
			if t.part.updated >= 0 {
				st.marks[1].take(values[t.part.updated])
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	err = t.message.each(ctx, db, t.selectMsgs, id, func(values []any) {
		of, _ := values[t.message.id].(string)
		s.Messages = append(s.Messages, t.record(values, parts[of]))
		st.messages++
		st.size += int64(len(s.Messages[len(s.Messages)-1]) + 1)
		if t.message.updated >= 0 {
			st.marks[0].take(values[t.message.updated])
		}
	})
	if err != nil {
		return nil, nil, err
	}
	s.Version = st.version()
	return s, st, nil
}

// begin makes the stamp of a session from its row.
func (t *tables) begin(values []any) *stamp {
	st := &stamp{header: t.header(values)}
	if t.session.updated >= 0 {
		st.marks[2].take(values[t.session.updated])
		st.time = t.session.time(values[t.session.updated])
	}
	return st
}

// header is the first record of a log.
func (t *tables) header(values []any) []byte {
	dst := append([]byte(`{"`), t.session.Name...)
	return append(t.session.appendRow(append(dst, `":`...), values), '}')
}

// record is the record of a message with its parts.
func (t *tables) record(values []any, parts []byte) []byte {
	size := len(parts) + 64
	for _, v := range values {
		if s, ok := v.(string); ok {
			size += len(s) + 32
		}
	}
	dst := append(append(make([]byte, 0, size), `{"`...), t.message.Name...)
	dst = t.message.appendRow(append(dst, `":`...), values)
	if t.part != nil {
		dst = append(append(append(dst, `,"`...), t.part.Name...), `":[`...)
		dst = append(append(dst, parts...), ']')
	}
	return append(dst, '}')
}

// frame is how much longer a record is than the rows in it, with its newline.
func (t *tables) frame() int64 {
	n := len(`{"":}`) + len(t.message.Name) + 1
	if t.part != nil {
		n += len(`,"":[]`) + len(t.part.Name)
	}
	return int64(n)
}
