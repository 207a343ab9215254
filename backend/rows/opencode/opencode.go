// Package opencode keeps OpenCode's sessions in OpenCode's own database.
//
// The database is opencode.db in the data folder of the program: a row of session, rows of message, and for each of these
// rows of part. Messages are ordered by time and id, parts by id. The program writes whole rows and changes them while an
// answer streams; a revert, and what prunes old outputs, change them later. Package rows has the form of a log.
//
// The column time_updated of a session is not shown: the header stays the same when messages are added. Neither is project_id, which
// depends on the machine. A new session gets the project that the database has for its directory, or else the one that the program would
// use there, as far as files tell.
//
// Before it had a database the program kept files, in storage/; see storage.
package opencode

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
)

// Tables returns the schema of the program.
func Tables() rows.Tables {
	return rows.Tables{
		Agent: "OpenCode",
		Session: rows.Table{
			Name: "session", ID: "id", Updated: "time_updated", Unit: time.Millisecond,
			JSON:   []string{"summary_diffs", "metadata", "revert", "permission", "model"},
			Hidden: []string{"project_id", "workspace_id", "path", "time_updated"},
		},
		Message: rows.Table{
			Name: "message", ID: "id", Session: "session_id", Order: []string{"time_created", "id"},
			JSON: []string{"data"}, Updated: "time_updated", Unit: time.Millisecond,
		},
		Part: rows.Table{
			Name: "part", ID: "id", Session: "session_id", Message: "message_id", Order: []string{"id"},
			JSON: []string{"data"}, Updated: "time_updated", Unit: time.Millisecond,
		},
		Migrations: `SELECT id FROM migration`,
		Known:      known,
		Complete:   complete,
		Touched:    touched,
		Removed:    removed,
	}
}

// known are the migrations of versions up to 1.18.33.
var known = []string{
	"20260127222353_familiar_lady_ursula", "20260211171708_add_project_commands", "20260213144116_wakeful_the_professor",
	"20260225215848_workspace", "20260227213759_add_session_workspace_id", "20260228203230_blue_harpoon",
	"20260303231226_add_workspace_fields", "20260309230000_move_org_to_state", "20260312043431_session_message_cursor",
	"20260323234822_events", "20260410174513_workspace-name", "20260413175956_chief_energizer",
	"20260423070820_add_icon_url_override", "20260427172553_slow_nightmare", "20260428004200_add_session_path",
	"20260501142318_next_venus", "20260504145000_add_sync_owner", "20260507164347_add_workspace_time",
	"20260510033149_session_usage", "20260511000411_data_migration_state", "20260511173437_session-metadata",
	"20260601010001_normalize_storage_paths", "20260601202201_amazing_prowler", "20260602002951_lowly_union_jack",
	"20260602182828_add_project_directories", "20260603001617_session_message_projection_indexes",
	"20260603040000_session_message_projection_order", "20260603141458_session_input_inbox",
	"20260603160727_jittery_ezekiel_stane", "20260604172448_event_sourced_session_input",
	"20260605003541_add_session_context_snapshot", "20260605042240_add_context_epoch_agent", "20260611035744_credential",
	"20260611192811_lush_chimera", "20260612174303_project_dir_strategy", "20260622142730_simplify_session_context_epoch",
	"20260622170816_reset_v2_session_state", "20260622202450_simplify_session_input",
}

// Driver opens databases of the program.
func Driver() backend.Driver { return rows.DatabaseDriver("opencode", Tables(), claims) }

// claims reports whether a path is that of a database: it is called as the program calls it and is a file, or lies in the
// program's folder. There, opening it reports what is no file.
func claims(path string) bool {
	name := filepath.Base(path)
	if !strings.HasPrefix(name, "opencode") || filepath.Ext(name) != ".db" {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() || filepath.Base(filepath.Dir(path)) == "opencode"
}

// complete finds the project of a new session, and makes its row if there is none.
func complete(ctx context.Context, tx *sql.Tx, session rows.Values) (rows.Values, error) {
	directory, _ := session.Get("directory").(string)
	id, worktree, err := projectOf(ctx, tx, directory)
	if err != nil {
		return nil, err
	}
	path := ""
	if rel, err := filepath.Rel(worktree, directory); err == nil && rel != "." {
		path = filepath.ToSlash(rel)
	}
	_, err = tx.ExecContext(ctx, `INSERT OR IGNORE INTO project (id, worktree, time_created, time_updated, sandboxes) VALUES (?, ?, ?, ?, '[]')`,
		id, worktree, session.Get("time_created"), session.Get("time_created"))
	return rows.Values{{Column: "project_id", Value: id}, {Column: "path", Value: path}, {Column: "time_updated", Value: session.Get("time_created")}}, err
}

// touched records when a session was last written: lists of the program are ordered by it.
func touched(ctx context.Context, tx *sql.Tx, id string, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE session SET time_updated = ? WHERE id = ?`, now.UnixMilli(), id)
	return err
}

// removed deletes the events of a session, which contain its texts again.
func removed(ctx context.Context, tx *sql.Tx, id string) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM event_sequence WHERE aggregate_id = ?`, id)
	return err
}
