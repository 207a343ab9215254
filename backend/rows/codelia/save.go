package codelia

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/internal/rawjson"
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

// An upsert instead of REPLACE, which would delete columns that a later program may have added to the row.
const upsert = `INSERT INTO session_state
	(session_id, updated_at, run_id, invoke_seq, schema_version, meta_json, message_count, last_user_message, workspace_root)
	VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)
	ON CONFLICT(session_id) DO UPDATE SET updated_at = excluded.updated_at, run_id = excluded.run_id,
	invoke_seq = excluded.invoke_seq, schema_version = excluded.schema_version, meta_json = excluded.meta_json,
	message_count = excluded.message_count, last_user_message = excluded.last_user_message,
	workspace_root = excluded.workspace_root`

// Save implements rows.Schema.
func (d *database) Save(ctx context.Context, session rows.Session) error {
	s, err := parseState(session)
	if err != nil {
		return err
	}
	return d.save(ctx, s)
}

// save does what the package comment says under Writing.
func (d *database) save(ctx context.Context, s state) error {
	if err := d.begin(&s, messagesName); err != nil {
		return err
	}
	// Opened before anything is staged: if the database cannot be opened, no file is left over.
	db, err := d.openWrite(ctx)
	if err != nil {
		return err
	}
	defer d.forget() // also after an error: some of it may have been written
	defer db.Close()
	staged, err := d.stage(s.messages, s.torn)
	if err != nil {
		return err
	}
	if err = d.commit(ctx, db, &s, staged); err != nil {
		_ = d.opt.FS.Remove(staged) // gone if it was renamed
	}
	return d.explain(err)
}

// commit does steps 2 and 3.
func (d *database) commit(ctx context.Context, db *litefile.DB, s *state, staged string) error {
	want, fresh := s.version, false // fresh: the row is new, and ours to delete after an error
	err := db.Transact(ctx, func(tx *sql.Tx) error {
		now, r, err := d.current(ctx, tx, s.id)
		if err == nil {
			err = compare(want, now)
		}
		if err == nil && now != nil && now.schema != nil {
			err = newerSchema(d.path(), now.schema)
		}
		if err == nil {
			err = s.check(now)
		}
		if err != nil || r != nil {
			return err
		}
		if doc := newDocument(d.dir, d.opt); doc.has(s.id) {
			// The row would take its place.
			return doc.replaceable(s.id)
		}
		fresh = true
		// With the messages that are there, if any: row and messages match at every moment.
		bare := *s
		if bare.messages = nil; now != nil {
			bare.messages = now.messages
		}
		if err := putRow(ctx, tx, &bare, nil); err != nil {
			return err
		}
		// The row changed the version.
		if now, _, err = d.current(ctx, tx, s.id); err == nil {
			want = now.version
		}
		return err
	})
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // a rollback would not take the rename back
	err = db.Transact(ctx, func(tx *sql.Tx) error {
		now, r, err := d.current(ctx, tx, s.id)
		if err == nil {
			err = compare(want, now)
		}
		if err == nil {
			err = putRow(ctx, tx, s, r)
		}
		if err == nil {
			// The last change before the commit. If the commit fails, the old row has the new messages, as after a crash.
			err = d.opt.FS.Rename(staged, d.messagesPath(s.id))
		}
		if err != nil {
			return err
		}
		return d.opt.FS.SyncDir(filepath.Join(d.dir, messagesName))
	})
	if err != nil && fresh {
		err = errors.Join(err, d.unmake(db, s))
	}
	return err
}

// current returns the state, nil if it does not exist, and its row. It reads in the transaction, so no other writer of this package comes
// between this read and the following write.
func (d *database) current(ctx context.Context, tx *sql.Tx, id string) (*state, *row, error) {
	r := new(row)
	err := r.scan(tx.QueryRowContext(ctx, selectRows+` WHERE session_id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		r = nil
	} else if err != nil {
		return nil, nil, err
	}
	s, err := d.join(r, id)
	if isNotExist(err) {
		return nil, nil, nil
	}
	return &s, r, err
}

// unmake deletes the row of a session whose first save failed, unless another process saved it meanwhile.
func (d *database) unmake(db *litefile.DB, s *state) error {
	// Not with the context of the save, which may be what failed it.
	return db.Transact(context.Background(), func(tx *sql.Tx) error {
		if _, err := d.opt.FS.Stat(d.messagesPath(s.id)); !errors.Is(err, fs.ErrNotExist) {
			return err // messages must have a row
		}
		_, err := tx.Exec(`DELETE FROM session_state WHERE session_id = ? AND updated_at = ? AND message_count = 0`, s.id, s.updated)
		return err
	})
}

// putRow writes the row of a state. The row's meta keeps its spelling if it has the same meaning. It also stays if it is not an object and
// the state has none: the caller never saw it.
func putRow(ctx context.Context, tx *sql.Tx, s *state, before *row) error {
	text := func(v string) sql.NullString { return sql.NullString{String: v, Valid: v != ""} }
	var seq sql.NullInt64
	if s.seq != nil {
		seq = sql.NullInt64{Int64: *s.seq, Valid: true}
	}
	meta := text(string(s.meta))
	if before != nil {
		old := []byte(before.meta.String)
		switch valid := rawjson.IsObject(old) && rawjson.Valid(old); {
		case valid && bytes.Equal(rawjson.Compact(old), s.meta), !valid && !meta.Valid:
			meta = before.meta
		}
	}
	_, err := tx.ExecContext(ctx, upsert, s.id, s.updated, text(s.run), seq, meta, len(s.messages), text(lastUser(s.messages)), text(s.root))
	return err
}

// stage writes the messages to a temporary file and syncs it. A crash leaves such a file, and one that exists may be
// another process's, so the first free number is used. A torn last message gets no newline.
func (d *database) stage(messages [][]byte, torn bool) (string, error) {
	for n := range 10_000 {
		path := filepath.Join(d.dir, messagesName, durable.TempPrefix+"state-"+strconv.Itoa(n))
		var lines []io.Reader // not joined: they may be large
		for _, m := range messages {
			lines = append(lines, bytes.NewReader(m), strings.NewReader("\n"))
		}
		if torn {
			lines = lines[:len(lines)-1]
		}
		_, err := durable.Create(d.opt.FS, path, 0o600, bufio.NewReaderSize(io.MultiReader(lines...), 64<<10))
		if !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
	return "", fmt.Errorf("%s: too many temporary files %s*", filepath.Join(d.dir, messagesName), durable.TempPrefix)
}

// openWrite opens the database for writing. It makes it, as the program would, if it is missing.
func (d *database) openWrite(ctx context.Context) (*litefile.DB, error) {
	db, err := litefile.Write(d.opt.FS, d.path(), litefile.Writing{Busy: busy, Lasting: true})
	if err != nil {
		return nil, err
	}
	if err := d.prepare(ctx, db); err != nil {
		_ = db.Close() // the first error says more
		return nil, d.explain(err)
	}
	return db, nil
}

// prepare switches to the journal that the program uses and makes what is missing. If nothing is, it writes nothing: the
// program does not wait for locks and would fail meanwhile.
func (d *database) prepare(ctx context.Context, db *litefile.DB) error {
	if err := db.UseWAL(ctx, busy); err != nil {
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

// Remove implements rows.Schema.
func (d *database) Remove(ctx context.Context, id, version string) error {
	if err := checkID(id); err != nil {
		return err
	}
	if _, err := d.opt.FS.Stat(d.path()); errors.Is(err, fs.ErrNotExist) {
		// Messages without a row need no database to be removed.
		s, err := d.join(nil, id)
		if err == nil {
			err = compare(version, &s)
		}
		if err == nil {
			err = d.removeMessages(id)
		}
		return err
	}
	db, err := d.openWrite(ctx)
	if err != nil {
		return err
	}
	defer d.forget()
	defer db.Close()
	return d.explain(db.Transact(ctx, func(tx *sql.Tx) error {
		now, _, err := d.current(ctx, tx, id)
		if err == nil && now == nil {
			err = notExist(id)
		}
		if err == nil {
			err = compare(version, now)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM session_state WHERE session_id = ?`, id)
		}
		if err == nil {
			err = d.removeMessages(id)
		}
		return err
	}))
}

// removeMessages removes the messages of a session. A session may have none.
func (d *database) removeMessages(id string) error {
	if err := d.opt.FS.Remove(d.messagesPath(id)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return d.opt.FS.SyncDir(filepath.Join(d.dir, messagesName))
}
