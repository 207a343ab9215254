// Package opencode reads and writes the sessions of OpenCode.
//
// # The format
//
// All sessions are in one SQLite database. Package backend/rows shows a session as a log, with a record for the session and one
// for each message:
//
//	{"session":{"id":"ses_…","slug":…,"directory":…,"title":…,"version":…,"revert"?:{"messageID":…,"partID"?},…,"time_created":ms}}
//	{"message":{"id":"msg_…","session_id":…,"time_created":ms,"time_updated":ms,"data":{…}},"part":[{"id":"prt_…",…,"data":{…}}]}
//
// The data of a message has its role, model and usage. A part is a text, reasoning, a file, or a tool call with its result. A
// message of the model is one call of its API.
//
// The log is linear, ordered by the times of the messages. A revert is a column of the session: it hides a message and all after
// it, which become an abandoned branch. The program deletes them at its next prompt. A compaction is a message of the user
// with a compaction part, followed by an answer that is the summary.
//
// An older version kept a file for each row (storage/). Package backend/rows/opencode shows these files in the same form.
package opencode

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/chat"
	"github.com/treeline-dev/treeline/dialect/rowlog"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Format reads sessions. Its values differ in where the sessions are.
type Format struct {
	chat.Wire
	dialect.Base
	dialect.NoBlobs
}

// Dialect is a Format that can also write.
type Dialect struct{ Format }

// The values: the database, and the files of older versions, which are only read.
var (
	OpenCode = &Dialect{Format{Base: dialect.Base{Called: "opencode", Format: "opencode", Where: layout{}}}}
	Storage  = &Format{Base: dialect.Base{Called: "opencode-storage", Format: "opencode", Where: layout{files: true}}}
)

var (
	_ dialect.Dialect      = (*Format)(nil)
	_ dialect.Continuer    = (*Format)(nil)
	_ session.EntryCodec   = (*reader)(nil)
	_ session.MessageCodec = (*Format)(nil)
	_ session.Navigator    = (*reader)(nil)
	_ session.Replayer     = (*reader)(nil)
	_ session.Omitter      = (*reader)(nil)
)

// Codec is the codec of a session without a revert.
func (d *Format) Codec() session.Codec {
	return session.Codec{EntryCodec: &reader{}, MessageCodec: d}
}

// version is our number for the format, which itself has none.
const version = 1

// entries looks inside entries.
type entries struct{ dialect.OneModel }

// reader is the codec of one log.
type reader struct {
	entries
	// revert is the message at which the conversation ends. part, if not "", is the first part of that message that is hidden.
	revert, part string
	// broken is the first line that the program cannot read; 0 if there is none.
	broken int
}

// form describes the row of a session. Messages have parts, which package rowlog does not handle.
var form = &rowlog.Form{
	Session: "session", Needed: []string{"directory", "time_created"},
	Columns: []string{
		"id", "parent_id", "slug", "directory", "title", "version", "share_url", "summary_additions", "summary_deletions", "summary_files",
		"summary_diffs", "metadata", "cost", "tokens_input", "tokens_output", "tokens_reasoning", "tokens_cache_read", "tokens_cache_write",
		"revert", "permission", "agent", "model", "time_created", "time_compacting", "time_archived",
	},
	Header: headerOf,
}

// rowOf returns the row of a session in a header record; nil for any other record.
func rowOf(record []byte) []byte { return form.Row(record) }

// Detect claims a log whose first object is the row of a session.
func (d *Format) Detect(first []dialect.Record) bool {
	return rowOf(dialect.FirstObject(first)) != nil
}

// headerOf reads the header.
func headerOf(record, row []byte) session.Header {
	h := session.Header{
		ID: session.ID(rawjson.Str(row, "id")), Version: version, CWD: rawjson.Str(row, "directory"), Title: rawjson.Str(row, "title"),
		Timestamp: session.Time{Text: string(rawjson.Get(row, "time_created"))}, Raw: bytes.Clone(record),
	}
	if strings.HasPrefix(h.Title, defaultTitle) {
		h.Title = "" // the program has not named it yet
	}
	if h.Parent = rawjson.Str(row, "parent_id"); h.Parent != "" {
		h.Task = true
	} else {
		h.Parent = rawjson.Str(rawjson.Get(rawjson.Get(row, "metadata"), ownMember), "parent")
	}
	return h
}

// ownMember is the member of a session's metadata that holds what the format itself cannot.
const ownMember = "treeline"

// decoder is the state of reading one log.
type decoder struct {
	dialect.Headed
	b      *session.Builder
	reader *reader
	env    session.Envelope
}

// NewDecoder starts to decode a log.
func (d *Format) NewDecoder(b *session.Builder) dialect.Decoder {
	r := &reader{}
	b.SetCodec(session.Codec{EntryCodec: r, MessageCodec: d})
	return &decoder{b: b, reader: r, Headed: dialect.Headed{
		Lines: dialect.Lines{Builder: b, Starts: []string{`{"message":`, `{"session":`}}, What: "row of a session", Log: "session of OpenCode",
	}}
}

// Continue implements dialect.Continuer: each message can be read alone.
func (d *Format) Continue(b *session.Builder) (dialect.Decoder, bool) {
	dec := d.NewDecoder(b).(*decoder)
	dec.reader.reverted(b.Header().Raw)
	dec.Continued()
	return dec, true
}

// reverted takes the revert from a header.
func (r *reader) reverted(header []byte) {
	at := rawjson.Get(rowOf(header), "revert")
	r.revert, r.part = rawjson.Str(at, "messageID"), rawjson.Str(at, "partID")
}

// Decode takes the next record.
func (dec *decoder) Decode(r dialect.Record) {
	before := dec.b.Len()
	begun := dec.Begun
	dec.Read(r, dec)
	if begun && dec.b.Len() == before && len(bytes.TrimSpace(r.Data)) > 0 && dec.reader.broken == 0 {
		dec.reader.broken = r.Line
	}
}

// IsRecord reports whether an object is a record rather than an object inside a torn record.
func (dec *decoder) IsRecord(object []byte) bool {
	return rowOf(object) != nil || rawjson.IsObject(rawjson.Get(object, "message"))
}

// recordKeys are the members of a record.
var recordKeys = []string{"session", "message"}

// Object takes a record.
func (dec *decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	end, err := rawjson.Skip(data, pos)
	if err != nil {
		return 0, err
	}
	record, span := data[pos:end], session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	var v [2][]byte
	rawjson.Pick(record, recordKeys, v[:])
	switch {
	case dec.Refused():
	case !dec.Begun:
		if rowOf(record) == nil {
			missing := ""
			if v[0] != nil {
				missing = "an id, a directory and a time"
			}
			dec.RefuseFirst(r, span, record, nil, missing)
			break
		}
		dec.Begun = true
		h := headerOf(record, rowOf(record))
		h.Span, h.Line = span, r.Line
		dec.b.SetHeader(h)
		dec.reader.reverted(record)
	case v[0] != nil:
		dec.Again(r, span)
	default:
		dec.message(r, record, v[1], span)
	}
	return end, nil
}

// infoKeys are the members of a message that determine the kind of its entry.
var infoKeys = []string{"role", "summary", "finish", "error"}

// message passes an envelope to the builder.
func (dec *decoder) message(r dialect.Record, record, row []byte, span session.Span) {
	var v [2][]byte
	rawjson.Pick(row, []string{"id", "data"}, v[:])
	var info [4][]byte
	rawjson.Pick(v[1], infoKeys, info[:])
	dec.env = session.Envelope{
		InOrder: true, Kind: session.KindMessage, Type: rawjson.Inside(info[0]), Span: span, Line: r.Line, Record: record,
	}
	if rawjson.IsString(v[0]) && len(v[0]) > 2 {
		dec.env.ID = rawjson.Inside(v[0])
	} else {
		dec.Lines.ProblemAt(r, span, session.ProblemField, "the message has no id", "it is kept as it is")
	}
	switch string(dec.env.Type) {
	case "user":
		dec.env.Role = session.RoleUser
	case "assistant":
		if dec.env.Role = session.RoleAssistant; completes(info[1], info[2], info[3]) {
			dec.env.Kind = session.KindCompaction
		}
	default:
		dec.env.Kind = session.KindOpaque
		if dec.env.Type = []byte("unknown"); rawjson.IsString(info[0]) {
			dec.env.Type = rawjson.Inside(info[0])
		}
	}
	dec.b.Add(&dec.env)
}

// completes reports whether an answer with these members is the summary of a compaction.
func completes(summary, finish, failed []byte) bool {
	return string(summary) == "true" && rawjson.Truthy(finish) && !rawjson.Truthy(failed)
}

// Leaf implements session.Navigator: a revert ends the conversation before its message, or inside it.
func (r *reader) Leaf(t *session.Tree, leaf int) int {
	if r.revert == "" {
		return leaf
	}
	e, err := t.Get(session.EntryID(r.revert))
	switch {
	case err != nil: // the program ignores the revert
		return leaf
	case r.part != "":
		return e.Index
	}
	return e.Index - 1
}

// Path implements session.Navigator: the messages up to an entry.
func (r *reader) Path(_ *session.Tree, to int) []int {
	list := make([]int, to+1)
	for i := range list {
		list[i] = i
	}
	return list
}

// Time returns when an entry was made.
func (d *entries) Time(raw []byte) session.Time {
	if row := rawjson.Get(raw, "message"); row != nil {
		return session.Time{Text: string(rawjson.Get(row, "time_created"))}
	}
	return session.Time{Text: string(rawjson.Get(rowOf(raw), "time_created"))}
}

func millis(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
