package history

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// The program's schema, space for space: SQLite keeps the text, and the text is compared.
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

// prepare makes a database what the program would make it.
func (h *History) prepare(ctx context.Context) error {
	// First of all: another journal is a change too, and not for us to make in what is not a history.
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
		l, err := lookAt(ctx, tx) // somebody else may have been faster
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

// layout is what a database consists of, as far as we know it. Names and the table's text are enough to tell the versions
// apart that there have been.
type layout struct {
	table                string // its text, "" where there is none
	index, text, trigger bool
	others               bool // tables that no history has
	version              int
	columns              map[string]bool
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// lookAt finds out what a database consists of. It reads the schema alone, no row.
func lookAt(ctx context.Context, db querier) (layout, error) {
	l := layout{columns: map[string]bool{}}
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&l.version); err != nil {
		return l, err
	}
	// What begins like a table of the history is what is left of one: its text index, or the table of an older layout.
	if err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'view' OR type = 'table'
		AND name <> 'history' AND name NOT GLOB 'history_*' AND name NOT GLOB 'sqlite_*')`).Scan(&l.others); err != nil {
		return l, err
	}
	rows, err := db.QueryContext(ctx, `SELECT name, ifnull(sql, '') FROM sqlite_master
		WHERE name IN ('history', 'idx_history_created_at', 'history_fts', 'history_ai') AND type <> 'view'`)
	if err != nil {
		return l, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return l, err
		}
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
	}
	if err := rows.Err(); err != nil {
		return l, err
	}
	columns, err := db.QueryContext(ctx, `SELECT name FROM pragma_table_info('history')`)
	if err != nil {
		return l, err
	}
	defer columns.Close()
	for columns.Next() {
		var name string
		if err := columns.Scan(&name); err != nil {
			return l, err
		}
		l.columns[name] = true
	}
	return l, columns.Err()
}

// readable says whether the columns are there that we read.
func (l layout) readable() bool {
	return l.columns["id"] && l.columns["prompt"] && l.columns["created_at"] && l.columns["cwd"]
}

// foreign says that the database is not one that we may write to: a newer program marks its own with a version and
// has more columns, with rules of their own.
func (l layout) foreign() bool {
	return l.version != 0 || l.table != "" && (!l.readable() || len(l.columns) != 4)
}

// alien says that the database belongs to something else: a path was mistyped.
func (l layout) alien() bool { return l.table == "" && l.others }

// refused is why the database may not be written to, nil where it may.
func (l layout) refused() error {
	switch {
	case l.alien():
		return ErrNotHistory
	case l.foreign():
		return ErrForeign
	}
	return nil
}

// old says that the table is one of the first ones, whose default needs a newer SQLite than some have.
func (l layout) old() bool { return strings.Contains(l.table, "unixepoch(") }

func (l layout) complete() bool {
	return l.table != "" && !l.old() && l.index && l.text && l.trigger
}

// missing is what turns the database into a complete one. Where the text index is new it is filled.
func (l layout) missing() string {
	// As oh-my-pi does it: a new table, into which the rows are copied. The ids stay, and with them the order of prompts of
	// one second.
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
	// What is there already is not made again: each begins with IF NOT EXISTS.
	s := createTable + createIndex + createText + createTrigger
	if !l.text {
		s += rebuildText
	}
	return s
}

// Check reads the whole database, the text index too, and says what is wrong with it: SQLite's own check has been known
// to call an index good that no query could use.
func (h *History) check(ctx context.Context) error {
	var answer string
	if err := h.db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&answer); err != nil {
		return h.explain(err)
	}
	if answer != "ok" {
		return fmt.Errorf("%s: %w: %s", h.path, ErrDamaged, strings.ReplaceAll(answer, "\n", " "))
	}
	// 1: also against the table, not only against itself.
	_, err := h.db.ExecContext(ctx, `INSERT INTO history_fts(history_fts, rank) VALUES('integrity-check', 1)`)
	return h.explain(err)
}
