package run

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// need is a member that a record must have, and what it must be.
type need struct{ pointer, what string }

// kinds are the checks of what a member must be.
var kinds = map[string]func([]byte) bool{
	"a string":   rawjson.IsString,
	"an object":  rawjson.IsObject,
	"an array":   rawjson.IsArray,
	"a number":   func(v []byte) bool { return len(v) > 0 && (v[0] == '-' || v[0]-'0' <= 9) },
	"an integer": func(v []byte) bool { _, ok := integer(v); return ok },
}

// needs are the members that the format's document requires, without those that Append and AppendRaw fill in. They are
// checked when a record is written, not when one is read.
var needs = map[Type][]need{
	TypeRunStart:    {{"/input", "an object"}, {"/input/type", "a string"}},
	TypeRunContext:  {{"/context_left_percent", "a number"}},
	TypeAgentEvent:  {{"/seq", "an integer"}, {"/event", "an object"}, {"/event/type", "a string"}},
	TypeToolOutput:  {{"/tool", "a string"}, {"/tool_call_id", "a string"}, {"/result_raw", "a string"}},
	TypeLLMRequest:  {{"/seq", "an integer"}, {"/input/messages", "an array"}},
	TypeLLMResponse: {{"/seq", "an integer"}, {"/output/messages", "an array"}},
	TypeRunStatus:   {{"/status", "a string"}},
	TypeRunError:    {{"/error/name", "a string"}, {"/error/message", "a string"}},
	TypeRunEnd:      {{"/outcome", "a string"}},
}

// required says what a record lacks. Errors name members as the document does, with dots.
func required(w Written, record []byte) error {
	switch {
	case w.Type == "":
		return errors.New("it has no type")
	case w.Type == TypeHeader:
		return errors.New("the header is written once, before all other records")
	case !w.Type.Known() && !w.Type.Extension():
		return fmt.Errorf("type %.60q is not part of the format; name your own types x.<org>.<name>", w.Type)
	}
	ts := rawjson.Str(record, "ts")
	if _, err := time.Parse(time.RFC3339Nano, ts); err != nil {
		return fmt.Errorf("ts %.60q is not a time like 2026-02-03T12:34:56.789Z", ts)
	}
	for _, n := range needs[w.Type] {
		if !kinds[n.what](rawjson.At(record, n.pointer)) {
			return fmt.Errorf("%s: %s must be %s", w.Type, strings.ReplaceAll(n.pointer[1:], "/", "."), n.what)
		}
	}
	// Extensions put their own members into meta.
	if meta := rawjson.Get(record, "meta"); meta != nil && !rawjson.IsObject(meta) {
		return fmt.Errorf("%s: meta must be an object", w.Type)
	}
	return nil
}
