// Package goose keeps Goose's sessions in Goose's own database.
//
// The database is sessions/sessions.db in the data folder of the program: a row of sessions, and rows of messages, which are
// ordered by time and number. The program adds rows. A compaction changes the flags of old ones, and an edit deletes rows. Package rows
// has the form of a log.
//
// The columns of a session that change with each answer are not shown, so that the header stays the same when messages are added: the time
// of the last change and the sums of tokens, which each message has, too. The sum of the cost is shown, because it is recorded nowhere
// else. The numbers of messages are not shown, as the database assigns them.
package goose

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
)

// newest is the version of the schema that this package was made for.
const newest = 16

// Tables returns the schema of the program.
func Tables() rows.Tables {
	var known []string
	for v := range newest {
		known = append(known, strconv.Itoa(v+1))
	}
	return rows.Tables{
		Agent: "Goose",
		Session: rows.Table{
			Name: "sessions", ID: "id", Updated: "updated_at", JSON: []string{"extension_data"},
			Hidden: []string{"updated_at", "total_tokens", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
				"accumulated_total_tokens", "accumulated_input_tokens", "accumulated_output_tokens", "accumulated_cache_read_tokens",
				"accumulated_cache_write_tokens"},
		},
		Message: rows.Table{
			Name: "messages", ID: "id", Session: "session_id", Order: []string{"created_timestamp", "id"},
			JSON: []string{"content_json", "metadata_json"}, Hidden: []string{"id", "timestamp"},
		},
		Migrations: `SELECT CAST(version AS TEXT) FROM schema_version`,
		Known:      known,
		Touched:    touched,
	}
}

// Driver opens databases of the program.
func Driver() backend.Driver { return rows.DatabaseDriver("goose", Tables(), claims) }

// claims reports whether a path is that of a database: it is called as the program calls it, in a folder of that name below the
// program's folder, or one that GOOSE_PATH_ROOT names. There, opening it reports what is no file.
func claims(path string) bool {
	sessions := filepath.Dir(path)
	if filepath.Base(path) != "sessions.db" || filepath.Base(sessions) != "sessions" {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() || slices.Contains([]string{"goose", "data"}, filepath.Base(filepath.Dir(sessions)))
}

// touched records when a session was last written: lists of the program are ordered by it.
func touched(ctx context.Context, tx *sql.Tx, id string, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE sessions SET updated_at = ? WHERE id = ?`, now.UTC().Format("2006-01-02 15:04:05"), id)
	return err
}
