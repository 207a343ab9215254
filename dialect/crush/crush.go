// Package crush reads and writes the sessions of Crush.
//
// # The format
//
// Each project has a SQLite database with its sessions. Package backend/rows shows a session as a log, a record for each row.
// The first record also has the project's directory, which is in no table:
//
//	{"sessions":{"id":…,"parent_session_id"?:…,"title":…,"prompt_tokens"?:…,"completion_tokens"?:…,"cost"?:…,"created_at":seconds,"summary_message_id"?:…},"project":"/work/pond"}
//	{"messages":{"id":…,"session_id":…,"role":"user"|"assistant"|"tool","parts":[{"type":…,"data":{…}}],"model"?:…,"created_at":seconds,…}}
//
// A part is a text, reasoning, a call, a result, an image or another file, a command of the user, or the reason why the message
// ended.
//
// The log is linear. Messages are ordered by time; those of one second are in the order of insertion. A compaction is a column
// of the session that names the message with the summary. The context is that message, as one of the user, and what follows it.
// The session has the tokens of the last call and the sum of the cost; messages have neither.
package crush

import (
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/chat"
	"github.com/treeline-dev/treeline/dialect/rowlog"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Dialect is the format of today's program.
type Dialect struct {
	rowlog.Dialect
	dialect.FileIDs
}

// Crush is the only value.
var Crush = &Dialect{Dialect: rowlog.Dialect{
	Base: dialect.Base{Called: "crush", Format: "crush", Where: layout{}}, Form: form, CodecOf: codecOf,
}}

var (
	_ dialect.Dialect      = (*Dialect)(nil)
	_ session.EntryCodec   = (*reader)(nil)
	_ session.MessageCodec = (*messages)(nil)
	_ session.Replayer     = (*reader)(nil)
	_ session.Omitter      = (*reader)(nil)
	_ session.Spender      = (*reader)(nil)
)

// codecOf returns the codec of one log.
func codecOf(dec *rowlog.Decoder) session.Codec {
	return session.Codec{EntryCodec: &reader{dec: dec}, MessageCodec: &messages{}}
}

// version is our number for the format, which has none.
const version = 1

// projectMember is the member of the first record with the directory of the project.
const projectMember = "project"

// form describes the rows.
var form = &rowlog.Form{
	Agent: "Crush", Session: "sessions", Message: "messages",
	Columns: []string{"id", "parent_session_id", "title", "prompt_tokens", "completion_tokens", "cost", "created_at", "summary_message_id", "todos"},
	Needed:  []string{"title", "created_at"}, Without: []string{"working_dir"},
	Header: headerOf, Entry: entryOf, Prompt: promptOf,
}

// headerOf reads the header.
func headerOf(record, row []byte) session.Header {
	h := session.Header{ID: session.ID(rawjson.Str(row, "id")), Version: version, CWD: rawjson.Str(record, projectMember),
		Title: rawjson.Str(row, "title"), Timestamp: rowlog.Time(rawjson.Get(row, "created_at"))}
	if h.Title == untitled {
		h.Title = ""
	}
	if h.Parent = rawjson.Str(row, "parent_session_id"); h.Parent != "" {
		h.Task = true
	} else {
		h.Parent = rawjson.Str(ownOf(row), "parent")
	}
	return h
}

// ownPrefix begins a value of summary_message_id that names no message. The program ignores such a value. After it comes a JSON object
// with what the format itself cannot hold.
const ownPrefix = "treeline:"

// ownOf returns the object after ownPrefix, nil if the row has none.
func ownOf(row []byte) []byte {
	if text, ok := strings.CutPrefix(rawjson.Str(row, "summary_message_id"), ownPrefix); ok && rawjson.Valid([]byte(text)) {
		return []byte(text)
	}
	return nil
}

// entryOf determines the kind and role of a message.
func entryOf(row []byte, env *session.Envelope) {
	if id := rawjson.Get(row, "id"); rawjson.IsString(id) {
		env.ID = rawjson.Inside(id)
	}
	env.Type = rawjson.Inside(rawjson.Get(row, "role"))
	switch rawjson.Str(row, "role") {
	case "user":
		env.Role = session.RoleUser
	case "assistant":
		env.Role = session.RoleAssistant
	case "tool":
		env.Role = session.RoleTool
	default: // the program skips the message
		env.Kind = session.KindOpaque
	}
}

// entries looks inside entries.
type entries struct{ dialect.OneModel }

// reader is the codec of one log.
type reader struct {
	entries
	dec *rowlog.Decoder
}

// messages looks inside the messages of a context.
type messages struct {
	dialect.NoBlobs
	chat.Wire
}

// promptOf returns the text of a message.
func promptOf(row []byte) string { return dialect.TextOf(partsOf(rawjson.Get(row, "parts"))) }

// Time returns when an entry was made.
func (d *entries) Time(raw []byte) session.Time {
	row := form.Said(raw)
	if row == nil {
		row = form.Row(raw)
	}
	return rowlog.Time(rawjson.Get(row, "created_at"))
}

// Spent gives the tokens of the last call and the cost of the session, which the row of the session has.
func (d *entries) Spent(e session.Entry, raw []byte, take func(session.Spending)) {
	if e.Role != session.RoleAssistant || e.Tree() == nil {
		return
	}
	row := form.Row(e.Tree().Header().Raw)
	n := func(key string) float64 { return dialect.Number(rawjson.Get(row, key)) }
	in, out, cost := n("prompt_tokens"), n("completion_tokens"), n("cost")
	if in+out+cost == 0 {
		return
	}
	m := form.Said(raw)
	take(session.Spending{Of: rawjson.Str(row, "id"), Total: true, Provider: rawjson.Str(m, "provider"), Model: rawjson.Str(m, "model"),
		Usage: session.NewUsage([5]float64{in, out, 0, 0, in + out}, [5]float64{4: cost})})
}
