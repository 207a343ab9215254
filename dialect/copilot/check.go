package copilot

import (
	"fmt"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// The program reads events into types. It refuses a session if one event lacks a member that its type must have, unless the type
// is unknown.

// violation says what the data of an event lacks, or "".
func violation(typ string, data []byte) string {
	if !rawjson.IsObject(data) {
		return "the data of an event is not an object"
	}
	want := func(key string, is func([]byte) bool) string {
		if value := rawjson.Get(data, key); value == nil || !is(value) {
			return fmt.Sprintf("an event of the type %s has no valid %s", typ, key)
		}
		return ""
	}
	var found string
	first := func(s string) {
		if found == "" {
			found = s
		}
	}
	switch typ {
	case typeUser, typeNotification:
		first(want("content", rawjson.IsString))
	case typeAnswer:
		first(want("messageId", rawjson.IsString))
		first(want("content", rawjson.IsString))
	case typeResult:
		first(want("toolCallId", rawjson.IsString))
		first(want("success", isBool))
	case typeCompaction:
		first(want("success", isBool))
	case typeCleared:
		first(want("messagesCleared", dialect.IsNumber))
	case "session.shutdown":
		first(want("shutdownType", rawjson.IsString))
	}
	return found
}

func isBool(value []byte) bool { return string(value) == "true" || string(value) == "false" }

// misplaced says what is wrong with the members of an event that every type has, or "".
func misplaced(f *fields) string {
	at, _ := rawjson.Unquote(f.timestamp)
	_, err := time.Parse(time.RFC3339, at)
	switch {
	case !isUUID(rawjson.Inside(f.id)):
		return "the id of an event is not a UUID"
	case err != nil:
		return "the timestamp of an event is not a time with a zone"
	case f.parent == nil || !rawjson.IsNull(f.parent) && !isUUID(rawjson.Inside(f.parent)):
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
		if _, lost := slices.BinarySearch(d.lost, e.Index); lost && e.Kind == session.KindMessage {
			list = append(list, session.Problem{Line: e.Line, Offset: e.Span.Offset, Kind: session.ProblemUnseen,
				Message: "the model does not see the message: Copilot CLI removes its line, because more than one record is on it",
				Advice:  "the entry is in the log and in the tree; a repair puts it on a line of its own"})
		}
	}
	return list
}
