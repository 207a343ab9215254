package run

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// need is a member that a record must have, and its type.
type need struct {
	pointer string
	is      func([]byte) bool
	what    string
}

func isNumber(v []byte) bool { return len(v) > 0 && (v[0] == '-' || v[0]-'0' <= 9) }

func isInteger(v []byte) bool { _, ok := number(v); return ok }

// needs are the members that the format's document requires, without those that Append and AppendRaw fill in. They are
// checked when a record is written, not when one is read.
var needs = map[Type][]need{
	TypeRunStart:   {{"/input", rawjson.IsObject, "an object"}, {"/input/type", rawjson.IsString, "a string"}},
	TypeRunContext: {{"/context_left_percent", isNumber, "a number"}},
	TypeAgentEvent: {
		{"/seq", isInteger, "an integer"}, {"/event", rawjson.IsObject, "an object"}, {"/event/type", rawjson.IsString, "a string"},
	},
	TypeToolOutput: {
		{"/tool", rawjson.IsString, "a string"}, {"/tool_call_id", rawjson.IsString, "a string"}, {"/result_raw", rawjson.IsString, "a string"},
	},
	TypeLLMRequest:  {{"/seq", isInteger, "an integer"}, {"/input/messages", rawjson.IsArray, "an array"}},
	TypeLLMResponse: {{"/seq", isInteger, "an integer"}, {"/output/messages", rawjson.IsArray, "an array"}},
	TypeRunStatus:   {{"/status", rawjson.IsString, "a string"}},
	TypeRunError:    {{"/error/name", rawjson.IsString, "a string"}, {"/error/message", rawjson.IsString, "a string"}},
	TypeRunEnd:      {{"/outcome", rawjson.IsString, "a string"}},
}

// required says what a record lacks. Errors name members as the document does, with dots.
func required(w Written, record []byte) error {
	switch {
	case w.Type == "":
		return errors.New("it has no type")
	case w.Type == TypeHeader:
		return errors.New("the header is written once, before all else")
	case !w.Type.Known() && !w.Type.Extension():
		return fmt.Errorf("type %.60q is not part of the format; name your own types x.<org>.<name>", w.Type)
	}
	if ts := rawjson.Str(record, "ts"); !isTime(ts) {
		return fmt.Errorf("ts %.60q is not a time like 2026-02-03T12:34:56.789Z", ts)
	}
	for _, n := range needs[w.Type] {
		if !n.is(rawjson.At(record, n.pointer)) {
			return fmt.Errorf("%s: %s must be %s", w.Type, strings.ReplaceAll(n.pointer[1:], "/", "."), n.what)
		}
	}
	// extensions put their own members into meta
	if meta := rawjson.Get(record, "meta"); meta != nil && !rawjson.IsObject(meta) {
		return fmt.Errorf("%s: meta must be an object", w.Type)
	}
	return nil
}

func isTime(s string) bool {
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}
