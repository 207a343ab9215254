package history

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// The schema of oh-my-pi, space for space: SQLite stores its text, and oh-my-pi compares it.
const (
	createTable = `CREATE TABLE IF NOT EXISTS history (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	prompt TEXT NOT NULL,
	created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)),
	cwd TEXT
);`
	createIndex = `CREATE INDEX IF NOT EXISTS idx_history_created_at ON history(created_at DESC);`

	createText = `CREATE VIRTUAL TABLE IF NOT EXISTS history_fts USING fts5(prompt, content='history', content_rowid='id');`

	createTrigger = `CREATE TRIGGER IF NOT EXISTS history_ai AFTER INSERT ON history BEGIN
	INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt);
	END;`

	rebuildText = `INSERT INTO history_fts(history_fts) VALUES('rebuild');`
)

// prepare completes a database as oh-my-pi would.
func (h *History) prepare(ctx context.Context) error {
	// First, since changing the journal mode would already change the database of another program.
	l, err := lookAt(ctx, h.db)
	if err == nil {
		err = l.refused()
	}
	if err != nil {
		return err
	}
	if err := h.db.UseWAL(ctx, h.opt.Busy); err != nil || l.complete() {
		return err
	}
	return h.db.Transact(ctx, func(tx *sql.Tx) error {
		l, err := lookAt(ctx, tx) // another process may have been faster
		if err == nil {
			err = l.refused()
		}
		if err != nil || l.complete() {
			return err
		}
		_, err = tx.ExecContext(ctx, l.missing())
		return err
	})
}

// layout is the schema of a database. Names and the text of the table distinguish all versions so far.
type layout struct {
	table                string // its text, "" if there is none
	index, text, trigger bool
	others               bool // there are tables that no history has
	version              int
	columns              map[string]bool
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// lookAt reads the layout of a database, and no row.
func lookAt(ctx context.Context, db querier) (layout, error) {
	l := layout{columns: map[string]bool{}}
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&l.version); err != nil {
		return l, err
	}
	// Tables named history_* are remains of a history: its text index, or the table of an older layout.
	if err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'view' OR type = 'table'
		AND name <> 'history' AND name NOT GLOB 'history_*' AND name NOT GLOB 'sqlite_*')`).Scan(&l.others); err != nil {
		return l, err
	}
	err := each(ctx, db, func(rows *sql.Rows) error {
		var name, text string
		err := rows.Scan(&name, &text)
		switch name {
		case "history":
			l.table = text
		case "idx_history_created_at":
			l.index = true
		case "history_fts":
			l.text = true
		case "history_ai":
			l.trigger = true
		}
		return err
	}, `SELECT name, ifnull(sql, '') FROM sqlite_master
		WHERE name IN ('history', 'idx_history_created_at', 'history_fts', 'history_ai') AND type <> 'view'`)
	if err != nil {
		return l, err
	}
	return l, each(ctx, db, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		l.columns[name] = true
		return err
	}, `SELECT name FROM pragma_table_info('history')`)
}

// each calls row with every row of an answer, until one of them fails.
func each(ctx context.Context, db querier, row func(*sql.Rows) error, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// readable reports whether the table has the columns that are read.
func (l layout) readable() bool {
	return l.columns["id"] && l.columns["prompt"] && l.columns["created_at"] && l.columns["cwd"]
}

// foreign reports whether the database must not be written: a newer program sets a version and has further columns, with rules of its own.
func (l layout) foreign() bool {
	return l.version != 0 || l.table != "" && (!l.readable() || len(l.columns) != 4)
}

// alien reports whether the database belongs to another program: the path was mistyped.
func (l layout) alien() bool { return l.table == "" && l.others }

// refused returns why the database must not be written, nil if it may be.
func (l layout) refused() error {
	switch {
	case l.alien():
		return ErrNotHistory
	case l.foreign():
		return ErrForeign
	}
	return nil
}

// old reports whether the table has its first layout, whose default value needs a newer SQLite than some programs have.
func (l layout) old() bool { return strings.Contains(l.table, "unixepoch(") }

func (l layout) complete() bool {
	return l.table != "" && !l.old() && l.index && l.text && l.trigger
}

// missing returns the statements that complete the database, and fill the text index if it is new.
func (l layout) missing() string {
	// As oh-my-pi does it: the rows are copied to a new table, with their ids, which order the prompts of one second.
	if l.old() {
		return `ALTER TABLE history RENAME TO history_legacy;
DROP INDEX IF EXISTS idx_history_created_at;
DROP TRIGGER IF EXISTS history_ai;
DROP TABLE IF EXISTS history_fts;
` + createTable + createIndex + `
INSERT INTO history (id, prompt, created_at, cwd) SELECT id, prompt, created_at, cwd FROM history_legacy;
DROP TABLE history_legacy;
` + createText + createTrigger + rebuildText
	}
	// Each begins with IF NOT EXISTS.
	s := createTable + createIndex + createText + createTrigger
	if !l.text {
		s += rebuildText
	}
	return s
}

// check reads the whole database, including the text index: SQLite's own check may accept an index that no query can use.
func (h *History) check(ctx context.Context) error {
	var answer string
	if err := h.db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&answer); err != nil {
		return h.explain(err)
	}
	if answer != "ok" {
		return fmt.Errorf("%s: %w: %s", h.path, ErrDamaged, strings.ReplaceAll(answer, "\n", " "))
	}
	// rank 1 compares the index with the table as well.
	_, err := h.db.ExecContext(ctx, `INSERT INTO history_fts(history_fts, rank) VALUES('integrity-check', 1)`)
	return h.explain(err)
}
