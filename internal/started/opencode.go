package started

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/backend/rows/opencode"
)

// openCode has the tables in which OpenCode keeps sessions.
const openCode = `
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text, name text, time_created integer NOT NULL,
	time_updated integer NOT NULL, time_initialized integer, sandboxes text NOT NULL, commands text);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL REFERENCES project(id) ON DELETE CASCADE, workspace_id text,
	parent_id text, slug text NOT NULL, directory text NOT NULL, path text, title text NOT NULL, version text NOT NULL, share_url text,
	summary_additions integer, summary_deletions integer, summary_files integer, summary_diffs text, metadata text,
	cost real DEFAULT 0 NOT NULL, tokens_input integer DEFAULT 0 NOT NULL, tokens_output integer DEFAULT 0 NOT NULL,
	tokens_reasoning integer DEFAULT 0 NOT NULL, tokens_cache_read integer DEFAULT 0 NOT NULL, tokens_cache_write integer DEFAULT 0 NOT NULL,
	revert text, permission text, agent text, model text, time_created integer NOT NULL, time_updated integer NOT NULL,
	time_compacting integer, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL REFERENCES session(id) ON DELETE CASCADE,
	time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL REFERENCES message(id) ON DELETE CASCADE, session_id text NOT NULL,
	time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE event_sequence (aggregate_id text PRIMARY KEY, seq integer NOT NULL);
CREATE TABLE migration (id text PRIMARY KEY, time_completed integer NOT NULL);
CREATE INDEX message_session ON message (session_id, time_created, id);
CREATE INDEX part_message ON part (message_id, id);
CREATE INDEX part_session ON part (session_id);
`

// OpenCode makes the database of an OpenCode that was started once, in a data folder of the user ($XDG_DATA_HOME). It returns
// its path.
func OpenCode(data string) (string, error) {
	path := filepath.Join(data, "opencode", "opencode.db")
	var known strings.Builder
	for _, id := range opencode.Tables().Known {
		fmt.Fprintf(&known, "INSERT INTO migration VALUES ('%s', 1);\n", id)
	}
	return path, madeOnce(path, openCode+known.String())
}
