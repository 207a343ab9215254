package codex

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// numTurns returns how many turns an event rolls back: 0 if the program cannot read the number.
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

// marker is the beginning and the end of a text in which the program tells the model about its surroundings. Case and white space
// around the text are ignored, unless exact is set.
type marker struct {
	begin, end string
	exact      bool
}

// contextMarkers are those in messages of the user's role.
var contextMarkers = []marker{
	{begin: "<environment_context>", end: "</environment_context>"}, {begin: "# AGENTS.md instructions", end: "</INSTRUCTIONS>"}, {begin: "<turn_aborted>", end: "</turn_aborted>"},
	{begin: "<skill>", end: "</skill>"}, {begin: "<user_shell_command>", end: "</user_shell_command>"}, {begin: "<subagent_notification>", end: "</subagent_notification>"},
	{begin: "<goal_context>", end: "</goal_context>"}, {begin: "<codex_internal_context ", end: "</codex_internal_context>"},
	{begin: "<agent_message_board_notification>", end: "</agent_message_board_notification>"}, {begin: "<recommended_plugins>", end: "</recommended_plugins>"}, {begin: "<hook_prompt ", end: "</hook_prompt>"}, {begin: "<external_", end: ">"},
	{begin: "Warning: The maximum number of unified exec processes"}, {begin: "Warning: apply_patch was requested via exec_command", end: "instead of exec_command."},
}

// summaryMarkers begin summaries. A summary is not a turn, but stays when the turn after it is rolled back.
var summaryMarkers = []marker{{begin: summaryPrefix + "\n", exact: true}}

// promptMarkers are those of messages of the user's role that are not turns.
var promptMarkers = slices.Concat(contextMarkers, summaryMarkers)

// developerMarkers begin the texts of the program in messages of the developer's role.
var developerMarkers = []marker{
	{begin: "<permissions instructions>"}, {begin: "<model_switch>"}, {begin: "<collaboration_mode>"}, {begin: "<realtime_conversation>"},
	{begin: "<skills_instructions>"}, {begin: "<personality_spec>"}, {begin: "<token_budget>"}, {begin: "<apps_instructions>"}, {begin: "<plugins_instructions>"},
}

func (m marker) matches(text string) bool {
	if m.exact {
		return strings.HasPrefix(text, m.begin)
	}
	text = strings.TrimSpace(text)
	n, e := len(m.begin), len(text)-len(m.end)
	return len(text) >= n && e >= 0 && strings.EqualFold(text[:n], m.begin) && strings.EqualFold(text[e:], m.end)
}

// marked reports whether a message has a text of the program.
func marked(message []byte, markers []marker) bool {
	for part := range rawjson.Elements(rawjson.Get(message, "content")) {
		if rawjson.Str(part, "type") != "input_text" {
			continue
		}
		text := rawjson.Str(part, "text")
		if slices.ContainsFunc(markers, func(m marker) bool { return m.matches(text) }) {
			return true
		}
	}
	return false
}
