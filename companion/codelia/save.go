package codelia

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// schema is what the program creates, space for space.
const schema = `CREATE TABLE IF NOT EXISTS session_state (
				session_id TEXT PRIMARY KEY,
				updated_at TEXT NOT NULL,
				run_id TEXT,
				invoke_seq INTEGER,
				schema_version INTEGER NOT NULL,
				meta_json TEXT,
				message_count INTEGER,
				last_user_message TEXT,
				workspace_root TEXT
			);
CREATE INDEX IF NOT EXISTS idx_session_state_updated_at
			ON session_state(updated_at DESC);`

const upsert = `INSERT INTO session_state
	(session_id, updated_at, run_id, invoke_seq, schema_version, meta_json, message_count, last_user_message, workspace_root)
	VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)
	ON CONFLICT(session_id) DO UPDATE SET updated_at = excluded.updated_at, run_id = excluded.run_id,
	invoke_seq = excluded.invoke_seq, schema_version = excluded.schema_version, meta_json = excluded.meta_json,
	message_count = excluded.message_count, last_user_message = excluded.last_user_message,
	workspace_root = excluded.workspace_root`

// Save implements store.Companion. See the package comment for the order of its steps.
func (c *Companion) Save(ctx context.Context, s store.State) error {
	if err := checkState(&s); err != nil {
		return err
	}
	if s.UpdatedAt == "" {
		s.UpdatedAt = iso(c.opt.Clock())
	}
	content, err := joinMessages(s.Messages)
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(c.opt.FS, filepath.Join(c.dir, messagesName), 0o700); err != nil {
		return err
	}
	db, err := c.openWrite(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	staged, err := c.stage(content)
	if err != nil {
		return err
	}
	err = c.save(ctx, db, &s, staged)
	if err != nil {
		_ = c.opt.FS.Remove(staged) // it has its own name only where all went well
	}
	c.forget()
	return c.explain(err)
}

// checkState says what cannot be saved.
func checkState(s *store.State) error {
	if err := checkID(s.ID); err != nil {
		return err
	}
	for _, o := range []session.Raw{s.Meta, s.Other} {
		if o != nil && (!rawjson.IsObject(o) || !rawjson.Valid(o)) {
			return errors.New("the meta of a state must be a JSON object")
		}
	}
	return nil
}

func (c *Companion) forget() {
	c.mu.Lock()
	c.known = nil
	c.mu.Unlock()
}

func (c *Companion) save(ctx context.Context, db *litefile.DB, s *store.State, staged string) error {
	want, fresh := s.Version, false
	err := db.Transact(ctx, func(tx *sql.Tx) error {
		now, r, err := c.current(ctx, tx, s.ID)
		if err == nil {
			err = check(want, now)
		}
		if err != nil || r != nil || c.doc.has(s.ID) {
			return err // the program finds it already
		}
		fresh = true
		bare := *s
		if bare.Messages = nil; now != nil {
			bare.Messages = now.Messages
		}
		if err := putRow(ctx, tx, &bare, nil); err != nil {
			return err
		}
		if want != "" {
			if now, _, err = c.current(ctx, tx, s.ID); err == nil {
				want = now.Version
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	err = db.Transact(ctx, func(tx *sql.Tx) error {
		now, r, err := c.current(ctx, tx, s.ID)
		if err == nil {
			err = check(want, now)
		}
		if err == nil {
			err = putRow(ctx, tx, s, r)
		}
		if err == nil {
			err = c.opt.FS.Rename(staged, c.messagesPath(s.ID))
		}
		if err != nil {
			return err
		}
		return c.opt.FS.SyncDir(filepath.Join(c.dir, messagesName))
	})
	if err != nil && fresh {
		err = errors.Join(err, c.unmake(db, s))
	}
	return err
}

// current gives what is there now, nil where there is nothing, and the row.
func (c *Companion) current(ctx context.Context, tx *sql.Tx, id session.ID) (*store.State, *row, error) {
	r := new(row)
	err := r.scan(tx.QueryRowContext(ctx, selectRows+` WHERE session_id = ?`, string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		r = nil
	} else if err != nil {
		return nil, nil, err
	}
	s, err := c.join(r, id)
	if errors.Is(err, store.ErrNoSession) && !c.opt.Alone {
		s, err = c.doc.Load(ctx, id)
	}
	if errors.Is(err, store.ErrNoSession) {
		return nil, nil, nil
	}
	return &s, r, err
}

// unmake takes away the row of a session that could not be saved for the first time, if nobody else did it meanwhile.
func (c *Companion) unmake(db *litefile.DB, s *store.State) error {
	return db.Transact(context.Background(), func(tx *sql.Tx) error {
		if _, err := c.opt.FS.Stat(c.messagesPath(s.ID)); !errors.Is(err, fs.ErrNotExist) {
			return err // it has messages: it must have a row
		}
		_, err := tx.Exec(`DELETE FROM session_state WHERE session_id = ? AND updated_at = ? AND message_count = 0`, string(s.ID), s.UpdatedAt)
		return err
	})
}

// putRow writes the row of a state. A meta of the row before that is no JSON stays where the state has none.
func putRow(ctx context.Context, tx *sql.Tx, s *store.State, before *row) error {
	text := func(v string) sql.NullString { return sql.NullString{String: v, Valid: v != ""} }
	var seq sql.NullInt64
	if s.InvokeSeq != nil {
		seq = sql.NullInt64{Int64: *s.InvokeSeq, Valid: true}
	}
	meta := text(string(s.Meta))
	if before != nil && !meta.Valid && !rawjson.Valid([]byte(before.meta.String)) {
		meta = before.meta
	}
	_, err := tx.ExecContext(ctx, upsert, string(s.ID), s.UpdatedAt, text(s.RunID), seq, meta, len(s.Messages),
		text(lastUser(s.Messages)), text(s.Root))
	return err
}

// stage writes the messages under another name, lastingly. Their mode is that of the messages they replace.
func (c *Companion) stage(content []byte) (string, error) {
	for n := range 10_000 {
		path := filepath.Join(c.dir, messagesName, durable.TempPrefix+"state-"+strconv.Itoa(n))
		_, err := durable.Create(c.opt.FS, path, 0o600, bytes.NewReader(content))
		if !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
	return "", fmt.Errorf("%s: too many left-over files %s*", filepath.Join(c.dir, messagesName), durable.TempPrefix)
}

// openWrite opens the database for writing and makes it, as the program would, where it is missing.
func (c *Companion) openWrite(ctx context.Context) (*litefile.DB, error) {
	db, err := litefile.Write(c.opt.FS, c.database(), litefile.Writing{Busy: c.opt.Busy, Lasting: true})
	if err != nil {
		return nil, err
	}
	if err := c.prepare(ctx, db); err != nil {
		_ = db.Close() // the first error says more
		return nil, c.explain(err)
	}
	return db, nil
}

func (c *Companion) prepare(ctx context.Context, db *litefile.DB) error {
	if err := db.UseWAL(ctx, c.opt.Busy); err != nil {
		return err
	}
	var n int
	err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name IN ('session_state', 'idx_session_state_updated_at')`).Scan(&n)
	if err != nil || n == 2 {
		return err
	}
	return db.Transact(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, schema)
		return err
	})
}

// Remove implements store.Companion.
func (c *Companion) Remove(ctx context.Context, id session.ID) error {
	if err := checkID(id); err != nil {
		return err
	}
	found := false
	if !c.opt.Alone {
		switch err := c.doc.Remove(ctx, id); {
		case err == nil:
			found = true
		case !errors.Is(err, store.ErrNoSession):
			return err
		}
	}
	if _, err := c.opt.FS.Stat(c.database()); errors.Is(err, fs.ErrNotExist) {
		return c.removed(found, c.removeMessages(id), id)
	}
	db, err := c.openWrite(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	defer c.forget()
	err = db.Transact(ctx, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, `DELETE FROM session_state WHERE session_id = ?`, string(id))
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err == nil && n > 0 {
			found = true
		}
		if err = c.removeMessages(id); err == nil || errors.Is(err, fs.ErrNotExist) && found {
			return nil
		}
		return err
	})
	return c.removed(found, c.explain(err), id)
}

func (c *Companion) removed(found bool, err error, id session.ID) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
		if !found {
			err = noSession(id)
		}
	}
	return err
}

func (c *Companion) removeMessages(id session.ID) error {
	if err := c.opt.FS.Remove(c.messagesPath(id)); err != nil {
		return err
	}
	return c.opt.FS.SyncDir(filepath.Join(c.dir, messagesName))
}
