package rows

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Parse implements Schema.
func (d *Database) Parse(id string, records [][]byte) (Session, error) {
	if len(records) == 0 {
		return Session{}, fmt.Errorf("%w: a session begins with its row", backend.ErrRecord)
	}
	row := rawjson.Get(records[0], d.t.Session.Name)
	if !rawjson.Valid(records[0]) || !rawjson.IsObject(row) {
		return Session{}, fmt.Errorf("%w: the first is not a row of %s", backend.ErrRecord, d.t.Session.Name)
	}
	if said := rawjson.Str(row, d.t.Session.ID); said != id {
		return Session{}, fmt.Errorf("%w: the row is that of session %s", backend.ErrName, said)
	}
	s := Session{ID: id, Header: bytes.Clone(records[0])}
	for i, r := range records[1:] {
		if !rawjson.Valid(r) || !rawjson.IsObject(rawjson.Get(r, d.t.Message.Name)) {
			return Session{}, fmt.Errorf("%w: number %d is not a row of %s", backend.ErrRecord, i+2, d.t.Message.Name)
		}
		s.Messages = append(s.Messages, bytes.Clone(r))
	}
	return s, nil
}

// Touch implements Schema: the time of the last change is now.
func (d *Database) Touch(header []byte) []byte {
	t := d.t.Session
	row := rawjson.Get(header, t.Name)
	if t.Updated == "" || slices.Contains(t.Hidden, t.Updated) || rawjson.Get(row, t.Updated) == nil {
		return header
	}
	now := d.opt.Clock().UTC()
	value := rawjson.Quote(now.Format("2006-01-02 15:04:05"))
	if !rawjson.IsString(rawjson.Get(row, t.Updated)) {
		value = strconv.AppendInt(nil, now.UnixNano()/int64(max(t.Unit, 1)), 10)
	}
	return rawjson.Set(header, t.Name, rawjson.Set(row, t.Updated, value))
}

// Save implements Schema.
func (d *Database) Save(ctx context.Context, s Session) error {
	return d.write(ctx, func(tx *sql.Tx, t *tables) error {
		now, _, err := t.load(ctx, tx, s.ID)
		if err != nil {
			return err
		}
		if now == nil && s.Version != "" || now != nil && now.Version != s.Version {
			return backend.ErrConflict
		}
		for i, m := range s.Messages[:s.kept] {
			if i >= len(now.Messages) || !bytes.Equal(now.Messages[i], m) {
				return backend.ErrConflict
			}
		}
		if err := d.put(ctx, tx, t, now, s); err != nil {
			return err
		}
		if d.t.Touched != nil {
			if err := d.t.Touched(ctx, tx, s.ID, d.opt.Clock()); err != nil {
				return err
			}
		}
		return t.check(ctx, tx, s)
	})
}

// put writes the rows that differ from the existing ones.
func (d *Database) put(ctx context.Context, tx *sql.Tx, t *tables, now *Session, s Session) error {
	row := rawjson.Get(s.Header, t.session.Name)
	same := 0
	if now == nil {
		values, err := t.session.values(row)
		if err == nil && d.t.Complete != nil {
			var more Values
			more, err = d.t.Complete(ctx, tx, values)
			values = append(values, more...)
		}
		if err == nil {
			err = t.session.insert(ctx, tx, values)
		}
		if err != nil {
			return err
		}
	} else {
		for same < min(len(now.Messages), len(s.Messages)) && bytes.Equal(now.Messages[same], s.Messages[same]) {
			same++
		}
		if err := t.cut(ctx, tx, s.ID, same); err != nil {
			return err
		}
	}
	for _, r := range s.Messages[same:] {
		if err := t.insert(ctx, tx, r); err != nil {
			return err
		}
	}
	// Last, so that no trigger changes it again.
	return t.session.update(ctx, tx, row, s.ID)
}

// cut deletes the messages of a session after the first n, and their parts.
func (t *tables) cut(ctx context.Context, tx *sql.Tx, id string, n int) error {
	list := `SELECT rowid, +` + quoted(t.message.ID) + ` FROM` + strings.SplitN(t.selectMsgs, " FROM", 2)[1]
	found, err := tx.QueryContext(ctx, list, id)
	if err != nil {
		return err
	}
	defer found.Close()
	type row struct{ rowid, id any }
	var rows []row
	for found.Next() {
		var r row
		if err := found.Scan(&r.rowid, &r.id); err != nil {
			return err
		}
		rows = append(rows, r)
	}
	if err := found.Err(); err != nil {
		return err
	}
	for _, r := range rows[min(n, len(rows)):] {
		if t.part != nil {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+quoted(t.part.Name)+` WHERE `+quoted(t.part.Message)+` = ?`, r.id); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+quoted(t.message.Name)+` WHERE rowid = ?`, r.rowid); err != nil {
			return err
		}
	}
	return nil
}

// insert inserts the rows of a record.
func (t *tables) insert(ctx context.Context, tx *sql.Tx, record []byte) error {
	values, err := t.message.values(rawjson.Get(record, t.message.Name))
	if err == nil {
		err = t.message.insert(ctx, tx, values)
	}
	if t.part == nil || err != nil {
		return err
	}
	for part := range rawjson.Elements(rawjson.Get(record, t.part.Name)) {
		values, err := t.part.values(part)
		if err == nil {
			err = t.part.insert(ctx, tx, values)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check compares what was written with the records. A record that is spelled in another way would be read back with another length, and its
// reader would look for the next record in the wrong place.
func (t *tables) check(ctx context.Context, tx *sql.Tx, s Session) error {
	now, _, err := t.load(ctx, tx, s.ID)
	if err != nil {
		return err
	}
	if now == nil {
		return fmt.Errorf("%w: a trigger removed the row", backend.ErrRecord)
	}
	got, want := append([][]byte{now.Header}, now.Messages...), append([][]byte{s.Header}, s.Messages...)
	for i := range want {
		if i >= len(got) || !bytes.Equal(got[i], want[i]) {
			found := "nothing"
			if i < len(got) {
				found = shorten(got[i])
			}
			return fmt.Errorf("%w: number %d would be read back as %s", backend.ErrRecord, i+1, found)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%w: the table has %d more rows", backend.ErrRecord, len(got)-len(want))
	}
	return nil
}

func shorten(b []byte) string {
	const most = 200
	if len(b) > most {
		return string(bytes.ToValidUTF8(b[:most], nil)) + "…"
	}
	return string(b)
}

// values reads the columns of a row in a record.
func (t *table) values(row []byte) (Values, error) {
	if !rawjson.IsObject(row) {
		return nil, fmt.Errorf("%w: it has no row of %s", backend.ErrRecord, t.Name)
	}
	var list Values
	for name, v := range rawjson.Fields(row) {
		i := slices.IndexFunc(t.columns, func(c shownColumn) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%w: the table %s has no column %.40q", backend.ErrRecord, t.Name, name)
		}
		value, err := t.columns[i].parse(v)
		if err != nil {
			return nil, fmt.Errorf("%w: column %s of %s: %v", backend.ErrRecord, name, t.Name, err)
		}
		list = append(list, Value{name, value})
	}
	return list, nil
}

// parse reads what appendValue wrote.
func (c *shownColumn) parse(v []byte) (any, error) {
	if c.json {
		if string(v) == `""` {
			return "", nil
		}
		return string(v), nil
	}
	if s, ok := rawjson.Unquote(v); ok {
		return s, nil
	}
	if b, ok := rawjson.Unquote(rawjson.Get(v, "blob")); ok {
		return base64.StdEncoding.DecodeString(b)
	}
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n, nil
	}
	if rawjson.IsNull(v) {
		return nil, nil
	}
	return strconv.ParseFloat(string(v), 64)
}

// insert inserts a row.
func (t *table) insert(ctx context.Context, tx *sql.Tx, values Values) error {
	var names, marks []string
	var args []any
	for _, v := range values {
		names, marks, args = append(names, quoted(v.Column)), append(marks, "?"), append(args, v.Value)
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO `+quoted(t.Name)+` (`+strings.Join(names, ", ")+`) VALUES (`+strings.Join(marks, ", ")+`)`, args...)
	return err
}

// update gives a row the values of a record. Columns that the record leaves out get their default value.
func (t *table) update(ctx context.Context, tx *sql.Tx, row []byte, id string) error {
	values, err := t.values(row)
	if err != nil {
		return err
	}
	var set []string
	var args []any
	for _, c := range t.columns {
		k := slices.IndexFunc(values, func(v Value) bool { return v.Column == c.name })
		given, v := k >= 0, c.value
		if c.hidden || c.name == t.ID || c.other && !given {
			continue
		}
		if given {
			v = values[k].Value
		}
		set, args = append(set, quoted(c.name)+` = ?`), append(args, v)
	}
	_, err = tx.ExecContext(ctx, `UPDATE `+quoted(t.Name)+` SET `+strings.Join(set, ", ")+` WHERE `+quoted(t.ID)+` = ?`, append(args, id)...)
	return err
}

// Remove implements Schema.
func (d *Database) Remove(ctx context.Context, id, version string) error {
	return d.write(ctx, func(tx *sql.Tx, t *tables) error {
		now, _, err := t.load(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case now == nil:
			return backend.ErrNotExist
		case now.Version != version:
			return backend.ErrConflict
		}
		if d.t.Removed != nil {
			if err := d.t.Removed(ctx, tx, id); err != nil {
				return err
			}
		}
		if err := t.cut(ctx, tx, id, 0); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM `+quoted(t.session.Name)+` WHERE `+quoted(t.session.ID)+` = ?`, id)
		return err
	})
}

// write runs f in one transaction that excludes other writers, under the program's own locks.
func (d *Database) write(ctx context.Context, f func(*sql.Tx, *tables) error) error {
	if d.t.Known == nil {
		return fmt.Errorf("%s: %w", d.path, backend.ErrReadOnly)
	}
	if _, err := d.opt.FS.Stat(d.path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w: %s has not made it yet; start the program once", d.path, backend.ErrReadOnly, d.t.Agent)
		}
		return err
	}
	if d.t.Lock != nil {
		release, err := d.t.Lock(ctx, d.path)
		if err != nil {
			return err
		}
		defer release()
	}
	db, err := litefile.Write(d.opt.FS, d.path, litefile.Writing{Busy: d.t.Busy, Lasting: true})
	if err != nil {
		return err
	}
	defer db.Close()
	// A pragma does nothing in a transaction.
	if _, err := db.ExecContext(ctx, `PRAGMA foreign_keys = ON`); err != nil {
		return d.explain(err)
	}
	err = db.Transact(ctx, func(tx *sql.Tx) error {
		if err := d.known(ctx, tx); err != nil {
			return err
		}
		t, err := d.t.describe(ctx, tx)
		if err != nil {
			return err
		}
		if t == nil {
			return fmt.Errorf("%s: %w: %s has not made its tables yet; start the program once", d.path, backend.ErrReadOnly, d.t.Agent)
		}
		return f(tx, t)
	})
	if litefile.IsBusy(err) {
		return fmt.Errorf("%s: %w by %s for %v", d.path, backend.ErrLocked, d.t.Agent, d.t.Busy.Round(time.Millisecond))
	}
	return d.explain(err)
}

// known refuses a database with a migration that is not known.
func (d *Database) known(ctx context.Context, tx *sql.Tx) error {
	found, err := tx.QueryContext(ctx, d.t.Migrations)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		var id string
		if err := found.Scan(&id); err != nil {
			return err
		}
		if !slices.Contains(d.t.Known, id) {
			return fmt.Errorf("%s: %w: %s made a change to its database that is not known here (%s); reading works",
				d.path, backend.ErrReadOnly, d.t.Agent, id)
		}
	}
	return found.Err()
}
