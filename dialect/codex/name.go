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

// Register returns the line that names a session.
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
		if id, name, ok := naming(l); ok {
			names[id] = name
		}
	}
	return names
}

// naming parses a line of the file; ok is false if it names no session.
func naming(line []byte) (id session.ID, name string, ok bool) {
	line = bytes.TrimSpace(line)
	if !rawjson.IsObject(line) || !rawjson.Valid(line) || !rawjson.IsString(rawjson.Get(line, "thread_name")) {
		return "", "", false
	}
	return session.ID(rawjson.Str(line, "id")), rawjson.Str(line, "thread_name"), true
}

// nameIn is Registered for one session. It parses only lines that have the id: the file has the names of all
// sessions, and each session that is opened needs only one.
func nameIn(content []byte, of session.ID) (last string) {
	for of != "" {
		at := bytes.Index(content, []byte(of))
		if at < 0 {
			break
		}
		begin, end := bytes.LastIndexByte(content[:at], '\n')+1, len(content)
		if n := bytes.IndexByte(content[at:], '\n'); n >= 0 {
			end = at + n
		}
		if id, name, ok := naming(content[begin:end]); ok && id == of {
			last = name
		}
		content = content[end:]
	}
	return last
}
