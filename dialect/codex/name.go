package codex

import (
	"bytes"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Registrar = (*Dialect)(nil)

// nameFile has the names of all sessions, one line for each renaming. The last line of a session counts.
const nameFile = "session_index.jsonl"

// Registry is the file with the names.
func (d *Dialect) Registry() string { return nameFile }

// Register gives the line that names a session.
func (d *Dialect) Register(id session.ID, name string, now time.Time) []byte {
	var w dialect.Object
	w.Str("id", string(id))
	w.Str("thread_name", name)
	w.Str("updated_at", now.UTC().Format(time.RFC3339Nano))
	return w.End()
}

// Registered reads the names; the last one of a session counts.
func (d *Dialect) Registered(content []byte) map[session.ID]string {
	names := map[session.ID]string{}
	for l := range bytes.Lines(content) {
		if l = bytes.TrimSpace(l); rawjson.IsObject(l) && rawjson.Valid(l) && rawjson.IsString(rawjson.Get(l, "thread_name")) {
			names[session.ID(rawjson.Str(l, "id"))] = rawjson.Str(l, "thread_name")
		}
	}
	return names
}
