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

// An upsert and no REPLACE: that would delete columns which a later program may have added to the row.
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
	// Before anything is staged: where the database cannot be opened, no file is left behind.
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
	// Also after an error: how far it got is not known here.
	c.forget()
	return c.explain(err)
}

// checkState says what cannot be saved.
func checkState(s *store.State) error {
	if err := checkID(s.ID); err != nil {
		return err
	}
	for _, o := range []session.Raw{s.Meta, s.Other} {
		// Checked before anything is written: what is spliced into a file must not end its object early.
		if o != nil && (!rawjson.IsObject(o) || !rawjson.Valid(o)) {
			return errors.New("the meta of a state must be a JSON object")
		}
	}
	return nil
}

// forget has the database read again. Its stamp alone might not show a change that came so soon after the last.
func (c *Companion) forget() {
	c.mu.Lock()
	c.known = nil
	c.mu.Unlock()
}

// save does steps 2 and 3 of the package comment. want is the version that must be there: the row of step 2 is a change of
// our own, so that from then on it is the one with that row. fresh says that this row is ours to take away again.
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
		// With the messages that are there, or none: row and messages fit each other at each moment.
		bare := *s
		if bare.Messages = nil; now != nil {
			bare.Messages = now.Messages
		}
		if err := putRow(ctx, tx, &bare, nil); err != nil {
			return err
		}
		// Without a version the caller takes whatever comes, and there is nothing to be compared.
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
			// The last change before the commit: from here on the row must follow. Where the commit fails, the old row has the
			// new messages, as after a crash.
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

// current gives what is there now, nil where there is nothing, and the row. It is read in the transaction, so that no other
// writer of ours comes between this look and what is written.
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
	// The context of the save may be what failed it.
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
	// We could not show it to the caller, so that he cannot have meant to delete it.
	if before != nil && !meta.Valid && !rawjson.Valid([]byte(before.meta.String)) {
		meta = before.meta
	}
	_, err := tx.ExecContext(ctx, upsert, string(s.ID), s.UpdatedAt, text(s.RunID), seq, meta, len(s.Messages),
		text(lastUser(s.Messages)), text(s.Root))
	return err
}

// stage writes the messages under another name, lastingly. Their mode is 0600, whatever that of the messages is
// that they replace.
func (c *Companion) stage(content []byte) (string, error) {
	// A crash leaves such files, and nobody may remove one that another process is about to rename: so the first free
	// number is taken.
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

// prepare switches to the journal that the program uses and makes what is missing. Where all is there nothing is written:
// the program, which waits for nobody, would fail meanwhile.
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

// Remove implements store.Companion. The document's file goes first: were it the last, a crash would bring the session back
// as it was long ago.
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
		// There is no row to remove, and for that no database is made.
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
		// A row without messages is a session, too. Where neither was there the transaction fails, and changes nothing.
		if err = c.removeMessages(id); err == nil || errors.Is(err, fs.ErrNotExist) && found {
			return nil
		}
		return err
	})
	return c.removed(found, c.explain(err), id)
}

// removed says what became of a removal: that there were no messages is an error only where there was nothing else either.
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
