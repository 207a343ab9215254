// Package goose reads and writes the sessions of Goose.
//
// # The format
//
// All sessions are in one SQLite database. Package backend/rows shows a session as a log, a record for each row:
//
//	{"sessions":{"id":"20260301_1","name"?:…,"working_dir":…,"created_at":"2026-03-01 08:00:00","extension_data"?:{…},"accumulated_cost"?:…,…}}
//	{"messages":{"message_id":…,"session_id":…,"role":"user"|"assistant","content_json":[…],"created_timestamp":seconds,"metadata_json"?:{…}}}
//
// A content is a text, an image, thinking, a call (toolRequest) or a result (toolResponse). Results are in messages of the user.
// The metadata has two flags: userVisible, for the user, and agentVisible, for the model. If one is missing, neither counts: both the user
// and the model see the message. The ids of messages are those of the provider, and may repeat.
//
// The log is linear, ordered by the times of the messages. A compaction hides all messages from the model, and adds a summary and
// a note that the user does not see. So the history is all rows, and the context is the rows that the model sees.
package goose

import (
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/chat"
	"github.com/treeline-dev/treeline/dialect/rowlog"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Dialect is the format of today's program.
type Dialect struct{ rowlog.Dialect }

// Goose is the only value.
var Goose = &Dialect{Dialect: rowlog.Dialect{
	Base: dialect.Base{Called: "goose", Format: "goose", Where: layout{}}, Form: form, CodecOf: codecOf,
}}

var (
	_ dialect.Dialect      = (*Dialect)(nil)
	_ session.EntryCodec   = (*reader)(nil)
	_ session.MessageCodec = (*messages)(nil)
	_ session.Replayer     = (*reader)(nil)
	_ session.Omitter      = (*reader)(nil)
)

// codecOf returns the codec of one log.
func codecOf(dec *rowlog.Decoder) session.Codec {
	return session.Codec{EntryCodec: &reader{dec: dec}, MessageCodec: &messages{}}
}

// version is our number for the format: the version of the program's schema.
const version = 16

// form describes the rows.
var form = &rowlog.Form{
	Agent: "Goose", Session: "sessions", Message: "messages",
	Columns: []string{"id", "name", "description", "user_set_name", "session_type", "working_dir", "created_at", "extension_data",
		"accumulated_cost", "schedule_id", "recipe_json", "user_recipe_values_json", "provider_name", "model_config_json", "goose_mode", "archived_at",
		"project_id", "parent_session_id"},
	Needed: []string{"working_dir", "created_at"},
	Header: headerOf, Entry: entryOf, Prompt: promptOf,
}

// ownMember is the member of a session's extension data that holds what the format itself cannot. The program keeps unknown
// members.
const ownMember = "treeline"

// headerOf reads the header.
func headerOf(_, row []byte) session.Header {
	h := session.Header{ID: session.ID(rawjson.Str(row, "id")), Version: version, CWD: rawjson.Str(row, "working_dir"),
		Title: rawjson.Str(row, "name"), Timestamp: timeOf(rawjson.Str(row, "created_at"))}
	if h.Title == "" {
		h.Title = rawjson.Str(row, "description") // written by older versions
	}
	if h.Parent = rawjson.Str(row, "parent_session_id"); h.Parent != "" || rawjson.Str(row, "session_type") == "sub_agent" {
		h.Task = true
	} else {
		h.Parent = rawjson.Str(rawjson.Get(rawjson.Get(row, "extension_data"), ownMember), "parent")
	}
	return h
}

// sqlTime is how the database spells times, in UTC.
const sqlTime = "2006-01-02 15:04:05"

func timeOf(text string) session.Time {
	for _, form := range []string{sqlTime, time.RFC3339Nano} {
		if t, err := time.Parse(form, text); err == nil {
			return session.TimeOf(t)
		}
	}
	return session.Time{}
}

// entryOf determines the kind and role of a message. A message that only holds results is that of a tool.
func entryOf(row []byte, env *session.Envelope) {
	env.Repeats = true
	if id := rawjson.Get(row, "message_id"); rawjson.IsString(id) {
		env.ID = rawjson.Inside(id)
	}
	role := rawjson.Get(row, "role")
	env.Type = rawjson.Inside(role)
	switch rawjson.Str(row, "role") {
	case "user":
		env.Role = session.RoleUser
		if onlyResults(rawjson.Get(row, "content_json")) {
			env.Role = session.RoleTool
		}
	case "assistant":
		env.Role = session.RoleAssistant
	default: // the program skips the message
		env.Kind = session.KindOpaque
	}
}

// onlyResults reports whether a content has only results of tools.
func onlyResults(content []byte) bool {
	any := false
	for c := range rawjson.Elements(content) {
		if rawjson.Str(c, "type") != "toolResponse" {
			return false
		}
		any = true
	}
	return any
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

// promptOf returns the text of a message that the user sees.
func promptOf(row []byte) string {
	if !flag(row, "userVisible") {
		return ""
	}
	return dialect.TextOf(contentParts(rawjson.Get(row, "content_json")))
}

// flag returns a flag of a message: userVisible or agentVisible. Both are true if one of them is missing.
func flag(row []byte, name string) bool {
	metadata := rawjson.Get(row, "metadata_json")
	for _, other := range [...]string{"userVisible", "agentVisible"} {
		if v := string(rawjson.Get(metadata, other)); v != "true" && v != "false" {
			return true
		}
	}
	return string(rawjson.Get(metadata, name)) != "false"
}

// Time returns when an entry was made.
func (d *entries) Time(raw []byte) session.Time {
	if row := form.Said(raw); row != nil {
		return rowlog.Time(rawjson.Get(row, "created_timestamp"))
	}
	return timeOf(rawjson.Str(form.Row(raw), "created_at"))
}
