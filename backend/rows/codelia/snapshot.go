package codelia

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// row is a row of session_state. All columns but id and time may be NULL.
type row struct {
	id, updated                   string
	run, meta, last, root, schema sql.NullString
	seq, count                    sql.NullInt64
}

// selectRows reads a number of another type as NULL: one row must not hide the others.
const selectRows = `SELECT session_id, updated_at, run_id, iif(typeof(invoke_seq) = 'integer', invoke_seq, NULL), meta_json,
	iif(typeof(message_count) = 'integer', message_count, NULL), last_user_message, workspace_root, schema_version FROM session_state`

func (r *row) scan(s interface{ Scan(...any) error }) error {
	return s.Scan(&r.id, &r.updated, &r.run, &r.seq, &r.meta, &r.count, &r.last, &r.root, &r.schema)
}

// into fills in what a row says. A meta that is not an object is ignored, as the program does; putRow keeps it.
func (r *row) into(s *state) {
	s.updated, s.run, s.root = r.updated, r.run.String, r.root.String
	s.schema = otherSchema([]byte(r.schema.String))
	if s.schema != nil && !rawjson.Valid(s.schema) {
		s.schema = rawjson.Quote(r.schema.String)
	}
	if r.seq.Valid {
		s.seq = &r.seq.Int64
	}
	if meta := []byte(r.meta.String); rawjson.IsObject(meta) && rawjson.Valid(meta) {
		s.meta = meta
	}
	if s.root == "" {
		s.root = rawjson.Str(s.meta, "codelia_workspace_root")
	}
}

// matches reports whether the row was written for these messages, as far as it shows. Without a row there is nothing to wait for.
func (r *row) matches(s *state) bool {
	return r == nil || r.count.Valid && int(r.count.Int64) == len(s.messages) && r.last.String == lastUser(s.messages)
}

// snapshot is the database at one moment.
type snapshot struct {
	stamp litefile.Stamp
	rows  map[string]*row // by session id
}

// stamp returns the state of the database's files, zero if there is no database.
func (d *database) stamp() (litefile.Stamp, error) {
	s, err := litefile.StampOf(d.opt.FS, d.path())
	if errors.Is(err, fs.ErrNotExist) {
		return litefile.Stamp{}, nil
	}
	return s, err
}

// snapshot reads all rows: they are small, and a list needs all of them. It is kept while the database stays the same.
func (d *database) snapshot(ctx context.Context) (*snapshot, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var snap *snapshot
	err := litefile.Steady(ctx, d.opt.FS, d.path(), func(s litefile.Stamp) (final bool, err error) {
		if d.known != nil && d.known.stamp == s {
			snap = d.known
			return true, nil
		}
		snap = &snapshot{stamp: s}
		// An empty file is a database to which nothing was ever written.
		if s.DB.Size > 0 {
			snap.rows, err = d.readRows(ctx, s)
		}
		return false, d.explain(err)
	})
	switch {
	// All sessions may be messages without a row.
	case errors.Is(err, fs.ErrNotExist):
		return &snapshot{}, nil
	case err != nil:
		return nil, err
	}
	if d.settled(snap.stamp) {
		d.known = snap
	}
	return snap, nil
}

// forget drops the snapshot. The stamp alone might not show a change that follows the last one so soon. Not before the connection of a
// writer is closed: a reader that holds the lock waits for that.
func (d *database) forget() {
	d.mu.Lock()
	d.known = nil
	d.mu.Unlock()
}

// settled reports whether a later change would show in the stamp. The clocks of file systems move in steps: of some
// milliseconds if a time has a fraction, of up to two seconds otherwise.
func (d *database) settled(s litefile.Stamp) bool {
	newest := max(s.DB.Nanos, s.WAL.Nanos, s.Journal.Nanos)
	step := 50 * time.Millisecond
	if newest%int64(time.Second) == 0 {
		step = 2 * time.Second
	}
	return d.opt.Clock().UnixNano()-newest > int64(step)
}

// readRows reads the database, or a copy of it, without a trace. It waits for a save to end, which takes no longer than a
// copy.
func (d *database) readRows(ctx context.Context, s litefile.Stamp) (map[string]*row, error) {
	db, err := litefile.Read(d.path(), s, litefile.Reading{Wait: true})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	// A database without the table is just being made.
	var n int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'session_state'`).Scan(&n); err != nil || n == 0 {
		return nil, err
	}
	found, err := db.QueryContext(ctx, selectRows+` WHERE session_id IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	rows := map[string]*row{}
	for found.Next() {
		r := new(row)
		if err := r.scan(found); err != nil {
			return nil, err
		}
		rows[r.id] = r
	}
	return rows, found.Err()
}

// explain adds the path of the database to an error of SQLite, which does not name it.
func (d *database) explain(err error) error {
	if litefile.IsSQLite(err) {
		return fmt.Errorf("%s: %w", d.path(), err)
	}
	return err
}
