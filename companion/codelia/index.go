package codelia

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// row is a row of session_state.
type row struct {
	id, updated string
	// The program leaves out what it does not know: all but id and time may be NULL.
	run, meta, last, root sql.NullString
	seq, count            sql.NullInt64
}

const selectRows = `SELECT session_id, updated_at, run_id, invoke_seq, meta_json, message_count, last_user_message, workspace_root
	FROM session_state`

func (r *row) scan(s interface{ Scan(...any) error }) error {
	return s.Scan(&r.id, &r.updated, &r.run, &r.seq, &r.meta, &r.count, &r.last, &r.root)
}

// into fills in what a row says. A meta that is no JSON is passed over, as the program does; it stays in its row until the
// session is saved with another.
func (r *row) into(s *store.State) {
	s.UpdatedAt, s.RunID, s.Root = r.updated, r.run.String, r.root.String
	if r.seq.Valid {
		s.InvokeSeq = &r.seq.Int64
	}
	// NULL is the empty text here, which is no object.
	if meta := []byte(r.meta.String); rawjson.IsObject(meta) && rawjson.Valid(meta) {
		s.Meta = meta
	}
	if s.Root == "" {
		s.Root = rawjson.Str(s.Meta, "codelia_workspace_root")
	}
}

// fits says whether the messages are those that the row was written for, as far as it tells. No row fits any messages:
// there is nothing to wait for.
func (r *row) fits(s *store.State) bool {
	return r == nil || r.count.Valid && int(r.count.Int64) == len(s.Messages) && r.last.String == lastUser(s.Messages)
}

// info says what a list shows of a session without reading its messages: that is what the program keeps count and last
// prompt for. An id that is no file name is shown with what is wrong with it, since Load refuses it.
func (r *row) info() store.StateInfo {
	i := store.StateInfo{
		ID: session.ID(r.id), UpdatedAt: r.updated, RunID: r.run.String, Root: r.root.String,
		Messages: int(r.count.Int64), LastUser: r.last.String,
	}
	i.Err = checkID(i.ID)
	return i
}

// snapshot is the database at a moment.
type snapshot struct {
	stamp litefile.Stamp
	rows  []row
}

// find gives the row of a session, nil where there is none.
func (s *snapshot) find(id session.ID) *row {
	for i := range s.rows {
		if s.rows[i].id == string(id) {
			return &s.rows[i]
		}
	}
	return nil
}

func (c *Companion) database() string { return filepath.Join(c.dir, databaseName) }

// stamp looks at the files of the database; where there is none it is zero.
func (c *Companion) stamp() (litefile.Stamp, error) {
	s, err := litefile.StampOf(c.opt.FS, c.database())
	if errors.Is(err, fs.ErrNotExist) {
		return litefile.Stamp{}, nil
	}
	return s, err
}

// snapshot reads all rows: they are small, and a list needs all of them. It is kept while the database stays the same.
func (c *Companion) snapshot(ctx context.Context) (*snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var snap *snapshot
	err := litefile.Steady(ctx, c.opt.FS, c.database(), func(s litefile.Stamp) (final bool, err error) {
		// final: nothing was read, so nothing can have changed meanwhile.
		if c.known != nil && c.known.stamp == s {
			snap = c.known
			return true, nil
		}
		snap = &snapshot{stamp: s}
		// An empty file is a database in which nothing was ever written.
		if s.DB.Size > 0 {
			snap.rows, err = c.readRows(ctx, s)
		}
		return false, c.explain(err)
	})
	switch {
	// No database is no error: all sessions may be messages without a row, or of the older place.
	case errors.Is(err, fs.ErrNotExist):
		return &snapshot{}, nil
	case err != nil:
		return nil, err
	}
	if c.settled(snap.stamp) {
		c.known = snap
	}
	return snap, nil
}

// settled says whether a change after this one would show: the clock of files moves in steps. A second is more than the
// steps of any file system in use but FAT, whose two seconds nobody keeps a database on.
func (c *Companion) settled(s litefile.Stamp) bool {
	newest := max(s.DB.Nanos, s.WAL.Nanos, s.Journal.Nanos)
	return c.opt.Clock().UnixNano()-newest > int64(time.Second)
}

// readRows reads the database, or a copy of it, without a trace. It waits for who saves: that takes no longer than a copy.
func (c *Companion) readRows(ctx context.Context, s litefile.Stamp) ([]row, error) {
	db, err := litefile.Read(c.database(), s, litefile.Reading{Wait: true})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	// Without the table it is a database that somebody is just making.
	var n int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'session_state'`).Scan(&n); err != nil || n == 0 {
		return nil, err
	}
	found, err := db.QueryContext(ctx, selectRows+` ORDER BY updated_at DESC`)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var rows []row
	for found.Next() {
		var r row
		if err := r.scan(found); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, found.Err()
}

// explain names the database in an error of SQLite's, which does not.
func (c *Companion) explain(err error) error {
	if litefile.IsSQLite(err) {
		return fmt.Errorf("%s: %w", c.database(), err)
	}
	return err
}
