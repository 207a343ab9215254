package codex

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// itemTypes are the types of items that the program knows. In a line it drops all others; in the history of a compaction
// they stay, as items of the type "other".
var itemTypes = []string{
	"message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "local_shell_call",
	"web_search_call", "compaction", "agent_message", "tool_search_call", "tool_search_output", "image_generation_call", "compaction_summary",
	"context_compaction",
}

// texts reports whether all members are texts.
func texts(object []byte, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return !rawjson.IsString(rawjson.Get(object, key)) })
}

// every reports whether a value is a list and all its elements are accepted.
func every(list []byte, ok func(element []byte) bool) bool {
	if !rawjson.IsArray(list) {
		return false
	}
	for e := range rawjson.Elements(list) {
		if !ok(e) {
			return false
		}
	}
	return true
}

// readable reports whether the members of an item of a known type have the types that the program expects. It skips a line
// with another item.
func readable(kind string, item []byte) bool {
	switch kind {
	case "message":
		return texts(item, "role") && every(rawjson.Get(item, "content"), readablePart)
	case "agent_message":
		return texts(item, "author", "recipient") && every(rawjson.Get(item, "content"), rawjson.IsObject)
	case "reasoning":
		summary := func(part []byte) bool { return rawjson.Str(part, "type") == "summary_text" && texts(part, "text") }
		secret := rawjson.Get(item, "encrypted_content")
		return every(rawjson.Get(item, "summary"), summary) && (rawjson.IsNull(secret) || rawjson.IsString(secret))
	case "function_call":
		return texts(item, "name", "arguments", "call_id")
	case "custom_tool_call":
		return texts(item, "name", "input", "call_id")
	case "function_call_output", "custom_tool_call_output":
		out := rawjson.Get(item, "output")
		return texts(item, "call_id") && (rawjson.IsString(out) || every(out, readablePart))
	case "local_shell_call":
		action := rawjson.Get(item, "action")
		return slices.Contains([]string{"completed", "in_progress", "incomplete"}, rawjson.Str(item, "status")) &&
			rawjson.Str(action, "type") == "exec" && every(rawjson.Get(action, "command"), rawjson.IsString)
	case "compaction", "compaction_summary":
		return texts(item, "encrypted_content")
	case "image_generation_call":
		return texts(item, "status", "result")
	}
	return true
}

// readablePart reports whether the program can read a part of a message or of an output.
func readablePart(part []byte) bool {
	switch rawjson.Str(part, "type") {
	case "input_text", "output_text":
		return texts(part, "text")
	case "input_image":
		return texts(part, "image_url")
	case "input_audio":
		return rawjson.IsObject(part)
	}
	return false
}

// numTurns gives how many turns an event rolls back: 0 where the program cannot read the number.
func numTurns(event []byte) int {
	n := 0
	digits := rawjson.Get(event, "num_turns")
	if len(digits) == 0 || len(digits) > 10 {
		return 0
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	if int64(n) > 1<<32-1 {
		return 0
	}
	return n
}

// marker is how a text begins and ends in which the program tells the model about its surroundings. Case does not matter.
type marker struct{ begin, end string }

// contextMarkers are those of messages of the user's role.
var contextMarkers = []marker{
	{"<environment_context>", "</environment_context>"}, {"# AGENTS.md instructions", "</INSTRUCTIONS>"}, {"<turn_aborted>", "</turn_aborted>"},
	{"<skill>", "</skill>"}, {"<user_shell_command>", "</user_shell_command>"}, {"<subagent_notification>", "</subagent_notification>"},
	{"<goal_context>", "</goal_context>"}, {"<recommended_plugins>", "</recommended_plugins>"}, {"<hook_prompt ", "</hook_prompt>"}, {"<external_", ">"},
	{"Warning: The maximum number of unified exec processes", ""}, {"Warning: apply_patch was requested via exec_command", ""}, {summaryPrefix + "\n", ""},
}

// developerMarkers begin the texts of the program in messages of the developer's role.
var developerMarkers = []marker{
	{"<permissions instructions>", ""}, {"<model_switch>", ""}, {"<collaboration_mode>", ""}, {"<realtime_conversation>", ""},
	{"<skills_instructions>", ""}, {"<personality_spec>", ""}, {"<token_budget>", ""},
}

func (m marker) matches(text string) bool {
	n, e := len(m.begin), len(text)-len(m.end)
	return len(text) >= n && e >= 0 && strings.EqualFold(text[:n], m.begin) && strings.EqualFold(text[e:], m.end)
}

// marked reports whether a text of a message is one of the program.
func marked(message []byte, markers []marker) bool {
	for part := range rawjson.Elements(rawjson.Get(message, "content")) {
		if rawjson.Str(part, "type") != "input_text" {
			continue
		}
		text := strings.TrimSpace(rawjson.Str(part, "text"))
		if slices.ContainsFunc(markers, func(m marker) bool { return m.matches(text) }) {
			return true
		}
	}
	return false
}
