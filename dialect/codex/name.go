package codex

import (
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Registrar = (*Dialect)(nil)

// nameFile has the names of all sessions, one line for each renaming. The last line of a session counts.
const nameFile = "session_index.jsonl"

// Register gives the line that names a session.
func (d *Dialect) Register(id session.ID, name string, now time.Time) (file string, record []byte) {
	var w dialect.Object
	w.Str("id", string(id))
	w.Str("thread_name", name)
	w.Str("updated_at", now.UTC().Format(time.RFC3339Nano))
	return nameFile, w.End()
}
