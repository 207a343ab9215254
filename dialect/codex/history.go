package codex

import (
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Historian = layout{}

// HistoryFile is the file in which the program keeps the user's prompts.
func (layout) HistoryFile() string { return "history.jsonl" }

// ReadTyped parses a line of that file: {"session_id":id,"ts":seconds,"text":text}. It lacks the directory, which is in the thread.
func (layout) ReadTyped(line []byte) (t dialect.Typed, ok bool) {
	text := rawjson.Get(line, "text")
	if !rawjson.IsObject(line) || !rawjson.Valid(line) || !rawjson.IsString(text) {
		return t, false
	}
	t.Text, _ = rawjson.Unquote(text)
	t.Session = session.ID(rawjson.Str(line, "session_id"))
	if s := dialect.Integer(rawjson.Get(line, "ts")); s > 0 {
		t.At = time.Unix(s, 0)
	}
	return t, true
}
