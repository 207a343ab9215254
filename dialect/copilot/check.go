package copilot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// The program parses events into types. It refuses a session if an event lacks a member that its type requires. Events of unknown types
// may lack any.

// required are members of the data of some types, with the first characters of the JSON values that the program accepts: a
// string, a number, an object or a boolean.
var required = []struct{ typ, member, begins string }{
	{typeStart, "sessionId", `"`}, {typeStart, "version", number}, {typeStart, "producer", `"`}, {typeStart, "copilotVersion", `"`}, {typeStart, "startTime", `"`},
	{typeUser, "content", `"`},
	{typeAnswer, "messageId", `"`}, {typeAnswer, "content", `"`},
	{typeResult, "toolCallId", `"`}, {typeResult, "success", "tf"},
	{typeNotification, "content", `"`}, {typeNotification, "kind", "{"},
	{typeCompaction, "success", "tf"},
	{typeCleared, "messagesCleared", number},
	{typeUsage, "usage", "{"},
	{typeModel, "newModel", `"`},
	{typeTitle, "title", `"`},
	{"tool.execution_start", "toolCallId", `"`}, {"tool.execution_start", "toolName", `"`},
	{"subagent.started", "toolCallId", `"`}, {"subagent.started", "agentName", `"`}, {"subagent.started", "agentDisplayName", `"`}, {"subagent.started", "agentDescription", `"`},
	{"subagent.completed", "toolCallId", `"`}, {"subagent.completed", "agentName", `"`}, {"subagent.completed", "agentDisplayName", `"`},
	{"session.shutdown", "shutdownType", `"`}, {"session.shutdown", "totalApiDurationMs", number},
	{"session.truncation", "tokenLimit", number}, {"session.truncation", "performedBy", `"`},
	{"session.truncation", "preTruncationTokensInMessages", number}, {"session.truncation", "preTruncationMessagesLength", number},
	{"session.truncation", "postTruncationTokensInMessages", number}, {"session.truncation", "postTruncationMessagesLength", number},
	{"session.truncation", "tokensRemovedDuringTruncation", number}, {"session.truncation", "messagesRemovedDuringTruncation", number},
}

// number are the first characters of a number.
const number = "-0123456789"

// violation returns what the data of an event lacks, or "".
func violation(typ string, data []byte) string {
	if !rawjson.IsObject(data) {
		return "the data of an event is not an object"
	}
	for _, r := range required {
		if r.typ != typ {
			continue
		}
		if value := rawjson.Get(data, r.member); len(value) == 0 || strings.IndexByte(r.begins, value[0]) < 0 {
			return fmt.Sprintf("an event of the type %s has no valid %s", typ, r.member)
		}
	}
	return ""
}

// misplaced returns what is wrong with the members that every event has, or "".
func misplaced(f *fields) string {
	at, _ := rawjson.Unquote(f.timestamp)
	_, err := time.Parse(time.RFC3339, at)
	switch {
	case !dialect.IsAnyUUID(rawjson.Inside(f.id)):
		return "the id of an event is not a UUID"
	case err != nil:
		return "the timestamp of an event is not a time with a zone"
	case f.parent == nil || !rawjson.IsNull(f.parent) && !dialect.IsAnyUUID(rawjson.Inside(f.parent)):
		return "the parentId of an event is neither a UUID nor null"
	}
	return ""
}

// Omits implements session.Omitter.
func (d *reader) Omits(p session.Path) (list []session.Problem) {
	if d.refused != nil {
		return []session.Problem{*d.refused}
	}
	for k := range p.Len() {
		e := p.At(k)
		if e.Kind != session.KindMessage {
			continue
		}
		raw, err := p.Record(e)
		if err != nil {
			return list // building the context returns the error
		}
		unseen := func(why, advice string) {
			list = append(list, session.Problem{Line: e.Line, Offset: e.Span.Offset, Kind: session.ProblemUnseen,
				Message: "the model does not see " + why, Advice: "the entry is in the log and in the tree" + advice})
		}
		_, lost := slices.BinarySearch(d.lost, e.Index)
		switch {
		case lost && string(rawjson.Get(raw, "ephemeral")) == "true":
			unseen("the message: Copilot CLI does not read answers that are ephemeral", "")
		case lost:
			unseen("the message: Copilot CLI removes its line, because it holds more than the record", "; a repair puts it on a line of its own")
		case e.Role == session.RoleTool && hasPictures(raw):
			unseen("the pictures of a result: Copilot CLI does not send them over the API for chats", "")
		}
	}
	return list
}

// hasPictures reports whether a result has pictures.
func hasPictures(raw []byte) bool {
	result := rawjson.Get(rawjson.Get(raw, "data"), "result")
	return slices.ContainsFunc(resultParts(result, nil, nil), func(p session.Part) bool { _, ok := p.(session.Image); return ok })
}
