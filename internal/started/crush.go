package started

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/backend/rows/crush"
)

// crushTables are the tables in which Crush keeps sessions.
const crushTables = `
CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL,
	tstamp TIMESTAMP DEFAULT (datetime('now')));
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
	message_count INTEGER NOT NULL DEFAULT 0 CHECK (message_count >= 0), prompt_tokens INTEGER NOT NULL DEFAULT 0 CHECK (prompt_tokens >= 0),
	completion_tokens INTEGER NOT NULL DEFAULT 0 CHECK (completion_tokens >= 0), cost REAL NOT NULL DEFAULT 0.0 CHECK (cost >= 0.0),
	updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL, summary_message_id TEXT, todos TEXT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL DEFAULT '[]', model TEXT,
	created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT, is_summary_message INTEGER DEFAULT 0 NOT NULL,
	FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE);
CREATE INDEX idx_messages_session_id ON messages (session_id);
CREATE TRIGGER update_messages_updated_at AFTER UPDATE ON messages BEGIN
	UPDATE messages SET updated_at = strftime('%s', 'now') WHERE id = new.id; END;
CREATE TRIGGER update_session_message_count_on_insert AFTER INSERT ON messages BEGIN
	UPDATE sessions SET message_count = message_count + 1 WHERE id = new.session_id; END;
CREATE TRIGGER update_session_message_count_on_delete AFTER DELETE ON messages BEGIN
	UPDATE sessions SET message_count = message_count - 1 WHERE id = old.session_id; END;
`

// crushTrigger records when a session was last changed.
const crushTrigger = `
CREATE TRIGGER update_sessions_updated_at AFTER UPDATE ON sessions BEGIN
	UPDATE sessions SET updated_at = strftime('%s', 'now') WHERE id = new.id; END;
`

// Project is a project that Crush was started in.
type Project struct {
	Dir string
	// Data is the folder of its database; "" is .crush in Dir.
	Data string
}

// Crush makes the registry of a Crush that was started once in each of some projects, and their databases. data is a data folder of the
// user ($XDG_DATA_HOME).
func Crush(data string, projects ...Project) error {
	var tables strings.Builder
	tables.WriteString(crushTables + crushTrigger)
	for _, id := range crush.Tables().Known {
		tables.WriteString("INSERT INTO goose_db_version (version_id, is_applied) VALUES (" + id + ", 1);\n")
	}
	type entry struct {
		Path     string `json:"path"`
		DataDir  string `json:"data_dir"`
		Accessed string `json:"last_accessed"`
	}
	var list []entry
	for _, p := range projects {
		own := cmp.Or(p.Data, filepath.Join(p.Dir, ".crush"))
		if err := os.MkdirAll(own, 0o700); err != nil {
			return err
		}
		if err := madeOnce(filepath.Join(own, "crush.db"), tables.String()); err != nil {
			return err
		}
		list = append(list, entry{p.Dir, own, "2026-03-01T08:00:00Z"})
	}
	text, err := json.Marshal(map[string][]entry{"projects": list})
	if err != nil {
		return err
	}
	folder := filepath.Join(data, "crush")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "projects.json"), bytes.TrimSpace(text), 0o600)
}
