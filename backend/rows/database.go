package rows

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/litefile"
)

// Database is the Schema of a database with Tables.
type Database struct {
	path string
	t    Tables
	opt  Options

	// mu is held while the database is read: concurrent readers share the result of one read.
	mu     sync.Mutex
	f      *litefile.Followed
	cookie [4]byte // the version of the schema that tables are of
	tables *tables
	seen   *litefile.Snapshot // the one that stamps are of
	stamps map[string]*stamp
	far    bool               // a change may show nowhere: everything is read again
	tails  map[uint32]string  // sessions by pages that hold the ends of long rows
	now    *litefile.Snapshot // the one that loaded are of
	loaded map[string]*Session
	held   int // size of loaded in bytes
}

var _ interface {
	Schema
	Stamper
} = (*Database)(nil)

func newDatabase(path string, t Tables, opt Options) *Database {
	if t.Busy == 0 {
		t.Busy = 5 * time.Second
	}
	return &Database{path: path, t: t, opt: opt, f: litefile.Follow(opt.FS, path)}
}

// tables are the tables of one database with the queries for one session.
type tables struct {
	session, message, part               *table // part is nil for an agent without parts
	selectSession, selectMsgs, selectPts string
}

// query makes the query for the rows of a table in which a column has a value. Without the plus the driver would take texts for
// times, and SQLite might read the whole table in the order of an index. An index that has the rows of a session in their order saves
// a sort of their texts.
func (t *table) query(where string) string {
	var b strings.Builder
	b.WriteString("SELECT ")
	for i := range t.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("+" + quoted(t.columns[i].name))
	}
	b.WriteString(" FROM " + quoted(t.Name))
	plus := "+"
	if t.ordered != "" && where == t.Session {
		plus = ""
		b.WriteString(" INDEXED BY " + quoted(t.ordered))
	}
	b.WriteString(" WHERE " + quoted(where) + " = ?")
	before := " ORDER BY "
	for _, name := range t.Order {
		b.WriteString(before + plus + quoted(name))
		before = ", "
	}
	return b.String()
}

// findOrder looks for an index on the session's column followed by the columns of the order. SQLite appends the row id to every index,
// so a final row id in the order needs no column.
func (t *table) findOrder(ctx context.Context, db querier) error {
	if t.Session == "" || len(t.Order) == 0 {
		return nil
	}
	// A column in the other direction, or with an order of its own, has no name here.
	found, err := db.QueryContext(ctx, `SELECT l.name, iif(x."desc" OR x.coll <> 'BINARY', '', coalesce(x.name, ''))
		FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) x WHERE NOT l.partial AND x.key ORDER BY l.name, x.seqno`, t.Name)
	if err != nil {
		return err
	}
	defer found.Close()
	indexes := map[string][]string{}
	for found.Next() {
		var index, column string
		if err := found.Scan(&index, &column); err != nil {
			return err
		}
		indexes[index] = append(indexes[index], column)
	}
	want := append([]string{t.Session}, t.Order...)
	last := want[len(want)-1]
	for index, columns := range indexes {
		if last == "rowid" || t.rowID >= 0 && last == t.columns[t.rowID].name {
			columns = append(columns, last)
		}
		if len(columns) >= len(want) && slices.Equal(columns[:len(want)], want) && index > t.ordered {
			t.ordered = index
		}
	}
	return found.Err()
}

// quoted spells a name for SQL.
func quoted(name string) string {
	if name == "rowid" {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// describe finds out the columns of a database's tables. If the tables are missing, the program is just making them.
func (t *Tables) describe(ctx context.Context, db querier) (*tables, error) {
	var d tables
	for _, p := range []struct {
		from Table
		to   **table
	}{{t.Session, &d.session}, {t.Message, &d.message}, {t.Part, &d.part}} {
		if p.from.Name == "" {
			continue
		}
		found, err := describe(ctx, db, p.from)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		if err == nil {
			err = found.findOrder(ctx, db)
		}
		if err != nil {
			return nil, err
		}
		*p.to = found
	}
	d.selectSession, d.selectMsgs = d.session.query(t.Session.ID), d.message.query(t.Message.Session)
	if d.part != nil {
		d.selectPts = d.part.query(t.Part.Session)
	}
	return &d, nil
}

// read calls f with the database as it is now, and its tables; both are nil if there are none. The caller holds mu.
func (d *Database) read(ctx context.Context, f func(*litefile.Snapshot, *tables) error) error {
	err := d.f.Read(ctx, func(s *litefile.Snapshot) error {
		if s == nil {
			d.forget()
			return f(nil, nil)
		}
		var cookie [4]byte
		if _, err := s.ReadAt(cookie[:], 40); err != nil {
			return err
		}
		// Another file may have taken the place of the database, with the same version and other tables.
		other := s != d.now && s.Before == nil
		if d.tables == nil || cookie != d.cookie || other {
			d.forget()
			db, err := s.DB()
			if err != nil {
				return err
			}
			if d.tables, err = d.t.describe(ctx, db); err != nil || d.tables == nil {
				if err != nil {
					return err
				}
				return f(nil, nil)
			}
			d.cookie = cookie
		}
		if s != d.now {
			d.now, d.loaded, d.held = s, nil, 0
		}
		return f(s, d.tables)
	})
	if errors.Is(err, fs.ErrNotExist) {
		d.forget()
		return f(nil, nil)
	}
	return d.explain(err)
}

// forget drops what is known of the database.
func (d *Database) forget() {
	d.tables, d.seen, d.stamps, d.far, d.tails, d.now, d.loaded, d.held = nil, nil, nil, false, nil, nil, nil, 0
}

// explain adds the path of the database to an error that does not name it: one of SQLite, a file that ends too early, or a table without
// a column.
func (d *Database) explain(err error) error {
	if litefile.IsSQLite(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errNoColumn) {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	return err
}

// Close closes the files of the database.
func (d *Database) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget()
	return d.f.Close()
}

// mark is the time of a change as the database spells it.
type mark struct {
	n    int64
	text string
}

func (m *mark) take(v any) {
	switch v := v.(type) {
	case int64:
		m.n = max(m.n, v)
	case float64:
		m.n = max(m.n, int64(v))
	case string:
		m.text = max(m.text, v)
	case []byte:
		if string(v) > m.text {
			m.text = string(v)
		}
	}
}

// mostSeconds is greater than any current time in seconds, and less than any in milliseconds.
const mostSeconds = 1e11

// time parses a time of change. A text is a time in UTC, with or without a zone. Some programs once wrote milliseconds in columns that have
// seconds today.
func (t *Table) time(v any) time.Time {
	var m mark
	m.take(v)
	if m.text == "" {
		unit := max(t.Unit, 1)
		if unit == time.Second && m.n > mostSeconds {
			unit = time.Millisecond
		}
		return time.Unix(0, 0).Add(time.Duration(m.n) * unit).UTC()
	}
	for _, form := range []string{"2006-01-02 15:04:05", time.RFC3339Nano} {
		if at, err := time.Parse(form, m.text); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// stamp has what distinguishes one state of a session from another.
type stamp struct {
	id              string
	header          []byte
	time            time.Time
	messages, parts int
	marks           [3]mark // of messages, parts and the session
	size            int64
	last            int64  // the greatest row id of the messages
	spelled         string // see version
}

// coarse reports whether the program records times of change of sessions in seconds.
func (t *tables) coarse() bool { return t.session.Unit == 0 || t.session.Unit >= time.Second }

// settle makes the time of a stamp more precise, once all messages are counted: of sessions that were written in the same second, the one
// with the last row is the newest.
func (t *tables) settle(st *stamp) {
	if t.coarse() {
		st.time = st.time.Add(time.Duration(st.last % int64(time.Second)))
	}
}

// version returns the version of a stamp, which must not change any more.
func (s *stamp) version() string {
	if s.spelled != "" {
		return s.spelled
	}
	h := sha256.Sum256(s.header)
	b := hex.AppendEncode(nil, h[:8])
	for _, n := range []int64{s.total(), int64(s.messages), int64(s.parts)} {
		b = strconv.AppendInt(append(b, '-'), n, 36)
	}
	for _, m := range s.marks {
		b = append(strconv.AppendInt(append(b, '-'), m.n, 36), m.text...)
	}
	s.spelled = string(b)
	return s.spelled
}

// total returns the length of the log.
func (s *stamp) total() int64 { return int64(len(s.header)) + 1 + s.size }

// List implements Schema.
func (d *Database) List(ctx context.Context) ([]string, error) {
	var ids []string
	err := d.eachStamp(ctx, func(id string, _ *stamp) { ids = append(ids, id) })
	return ids, err
}

// Stamps implements Stamper.
func (d *Database) Stamps(ctx context.Context) (list []Stamp, err error) {
	err = d.eachStamp(ctx, func(id string, s *stamp) {
		list = append(list, Stamp{ID: id, Version: s.version(), Size: s.total(), Time: s.time, Header: s.header})
	})
	return list, err
}

// validID reports whether an id can be the name of a log.
func validID(id string) bool { return backend.CheckName(id) == nil && !strings.Contains(id, "/") }

func (d *Database) eachStamp(ctx context.Context, f func(id string, s *stamp)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.read(ctx, func(s *litefile.Snapshot, t *tables) error {
		if t == nil {
			return nil
		}
		return d.look(ctx, s, t)
	})
	if err != nil {
		return err
	}
	for id, s := range d.stamps {
		if validID(id) {
			f(id, s)
		}
	}
	return nil
}

// Load implements Schema.
func (d *Database) Load(ctx context.Context, id string) (Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found *Session
	err := d.read(ctx, func(s *litefile.Snapshot, t *tables) error {
		if found = nil; t == nil {
			return nil
		}
		if found = d.loaded[id]; found != nil {
			return nil
		}
		db, err := s.DB()
		if err != nil {
			return err
		}
		found, _, err = t.load(ctx, db, id)
		return err
	})
	switch {
	case err != nil:
		return Session{}, err
	case found == nil:
		return Session{}, fmt.Errorf("%s: %w", id, backend.ErrNotExist)
	}
	d.keep(found)
	return *found, nil
}

// mostHeld is how many bytes of sessions are kept: a session is usually read several times in a row.
const mostHeld = 32 << 20

// keep keeps a session until the database changes.
func (d *Database) keep(s *Session) {
	size := len(s.Header)
	for _, m := range s.Messages {
		size += len(m)
	}
	if size > mostHeld {
		return
	}
	if d.loaded == nil || d.held+size > mostHeld {
		d.loaded, d.held = map[string]*Session{}, 0
	}
	if d.loaded[s.ID] == nil {
		d.loaded[s.ID] = s
		d.held += size
	}
}
