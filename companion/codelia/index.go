package codelia

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// row is a row of session_state.
type row struct {
	id, updated           string
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
	if meta := []byte(r.meta.String); rawjson.IsObject(meta) && rawjson.Valid(meta) {
		s.Meta = meta
	}
	if s.Root == "" {
		s.Root = rawjson.Str(s.Meta, "codelia_workspace_root")
	}
}

// fits says whether the messages are those that the row was written for, as far as it tells.
func (r *row) fits(s *store.State) bool {
	return r == nil || r.count.Valid && int(r.count.Int64) == len(s.Messages) && r.last.String == lastUser(s.Messages)
}

func (r *row) info() store.StateInfo {
	i := store.StateInfo{
		ID: session.ID(r.id), UpdatedAt: r.updated, RunID: r.run.String, Root: r.root.String,
		Messages: int(r.count.Int64), LastUser: r.last.String,
	}
	i.Err = checkID(i.ID)
	return i
}

// stamp tells whether the database changed.
type stamp struct{ db, wal, journal durable.Info }

// snapshot is the database at a moment.
type snapshot struct {
	stamp stamp
	rows  []row
}

func (s *snapshot) find(id session.ID) *row {
	for i := range s.rows {
		if s.rows[i].id == string(id) {
			return &s.rows[i]
		}
	}
	return nil
}

func (c *Companion) database() string { return filepath.Join(c.dir, databaseName) }

// stamp looks at the files of the database; one that is not there is a zero Info.
func (c *Companion) stamp() (s stamp, err error) {
	for suffix, info := range map[string]*durable.Info{"": &s.db, "-wal": &s.wal, "-journal": &s.journal} {
		*info, err = c.opt.FS.Stat(c.database() + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return s, nil
}

// snapshot reads all rows: they are small, and a list needs all of them. It is kept while the database stays the same.
func (c *Companion) snapshot(ctx context.Context) (*snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for try := 0; try < manyTries; try++ {
		before, err := c.stamp()
		if err != nil {
			return nil, err
		}
		if c.known != nil && c.known.stamp == before {
			return c.known, nil
		}
		s := &snapshot{stamp: before}
		if before.db != (durable.Info{}) && before.db.Size > 0 {
			s.rows, err = c.readRows(ctx, before)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		after, stampErr := c.stamp()
		if stampErr != nil {
			return nil, stampErr
		}
		if after != before { // what was read may be of two moments
			if err := pause(ctx, try); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.database(), err)
		}
		if c.settled(before) {
			c.known = s
		}
		return s, nil
	}
	return nil, fmt.Errorf("%s: %w", c.database(), errBusy)
}

// settled says whether a change after this one would show: the clock of files moves in steps.
func (c *Companion) settled(s stamp) bool {
	newest := max(s.db.Nanos, s.wal.Nanos, s.journal.Nanos)
	return c.opt.Clock().UnixNano()-newest > int64(time.Second)
}

// readRows reads the database, or a copy of it, without a trace.
func (c *Companion) readRows(ctx context.Context, s stamp) ([]row, error) {
	path, query := c.database(), "mode=ro&immutable=1"
	if s.wal != (durable.Info{}) || s.journal != (durable.Info{}) {
		temp, err := os.MkdirTemp("", "treeline-state-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(temp)
		if err := copyDatabase(path, filepath.Join(temp, databaseName)); err != nil {
			return nil, err
		}
		path, query = filepath.Join(temp, databaseName), "mode=rw"
	}
	db, err := openDB(path, query)
	if err != nil {
		return nil, err
	}
	defer db.Close()
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

// copying is held by who copies a database, and shared by those who write: when a process closes a file, the system takes
// away all locks that the process has on it, also those of SQLite, which must not lose them in the middle of its work.
var copying sync.RWMutex

// copyDatabase copies a database with what was not written into it yet.
func copyDatabase(from, to string) error {
	copying.Lock()
	defer copying.Unlock()
	for _, suffix := range []string{"-wal", "-journal", ""} {
		if err := copyFile(from+suffix, to+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return first(err, out.Close())
}

// openDB opens a database with one connection: pragmas and transactions belong to a connection.
func openDB(path, query string) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}
