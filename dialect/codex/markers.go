package codex

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

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
	{"<goal_context>", "</goal_context>"}, {"<codex_internal_context ", "</codex_internal_context>"},
	{"<agent_message_board_notification>", "</agent_message_board_notification>"}, {"<recommended_plugins>", "</recommended_plugins>"}, {"<hook_prompt ", "</hook_prompt>"}, {"<external_", ">"},
	{"Warning: The maximum number of unified exec processes", ""}, {"Warning: apply_patch was requested via exec_command", "instead of exec_command."}, summaryMarkers[0],
}

// summaryMarkers begin summaries. They are no turns, but stay when the turn after them is rolled back.
var summaryMarkers = []marker{{summaryPrefix + "\n", ""}}

// developerMarkers begin the texts of the program in messages of the developer's role.
var developerMarkers = []marker{
	{"<permissions instructions>", ""}, {"<model_switch>", ""}, {"<collaboration_mode>", ""}, {"<realtime_conversation>", ""},
	{"<skills_instructions>", ""}, {"<personality_spec>", ""}, {"<token_budget>", ""}, {"<apps_instructions>", ""}, {"<plugins_instructions>", ""},
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
