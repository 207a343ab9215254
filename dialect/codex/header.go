package codex

import (
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// headerNeeds are the optional members of the header whose type matters: if it is wrong, the program refuses the file.
var headerNeeds = []need{
	{"model_provider", '?'}, {"thread_source", '?'}, {"memory_mode", '?'}, {"agent_nickname", '?'}, {"agent_role", '?'}, {"agent_path", '?'},
	{"forked_from_ordinal_exclusive", 'n'}, {"subagent_history_start_ordinal", 'n'},
}

// headerObjects are the optional members of the header that are objects, with what the program requires in them.
var headerObjects = []struct {
	name  string
	needs []need
}{
	{"git", []need{{"commit_hash", '?'}, {"branch", '?'}, {"repository_url", '?'}}},
	{"base_instructions", []need{{"text", 's'}}},
	{"context_window", []need{{"window_id", 's'}}},
}

// badHeader returns which member of the header makes the program refuse a file, or "".
func badHeader(payload []byte) string {
	mode := rawjson.Get(payload, "history_mode")
	switch {
	case !isID(rawjson.Get(payload, "id")):
		return "the id in the header is not a UUID"
	case mode != nil && string(mode) != `"legacy"` && string(mode) != `"paginated"`:
		return "the header has an unknown history_mode"
	}
	for _, key := range []string{"session_id", "forked_from_id", "parent_thread_id"} {
		if !nullOr(payload, key, isID) {
			return key + " in the header is not a UUID"
		}
	}
	if name := lacks(payload, headerNeeds); name != "" {
		return name + " in the header is not valid"
	}
	for _, o := range headerObjects {
		v := rawjson.Get(payload, o.name)
		if !rawjson.IsNull(v) && (!rawjson.IsObject(v) || lacks(v, o.needs) != "") {
			return o.name + " in the header is not valid"
		}
	}
	if !nullOr(rawjson.Get(payload, "base_instructions"), "provenance", rawjson.IsObject) {
		return "base_instructions in the header is not valid"
	}
	tools := rawjson.Get(payload, "dynamic_tools")
	for tool := range rawjson.Elements(tools) {
		if !rawjson.IsObject(tool) {
			return "dynamic_tools in the header is not valid"
		}
	}
	if !rawjson.IsNull(tools) && !rawjson.IsArray(tools) {
		return "dynamic_tools in the header is not a list"
	}
	if source := rawjson.Get(payload, "source"); source != nil && !isSource(source) {
		return "source in the header is not valid"
	}
	return ""
}

// isSource reports whether the program reads a value as the source of a thread: a word, or the kind of a sub-agent.
func isSource(v []byte) bool {
	if rawjson.IsString(v) || rawjson.IsString(rawjson.Get(v, "custom")) {
		return true
	}
	agent := rawjson.Get(v, "subagent")
	switch rawjson.Str(v, "subagent") {
	case "review", "compact", "memory_consolidation":
		return true
	}
	spawn := rawjson.Get(agent, "thread_spawn")
	return rawjson.IsString(rawjson.Get(agent, "other")) || isID(rawjson.Get(spawn, "parent_thread_id")) && isOrdinal(rawjson.Get(spawn, "depth"))
}

// isID reports whether the program reads a value as a UUID. The program also accepts one without dashes, in braces, or as a URN.
func isID(value []byte) bool {
	id, ok := rawjson.Unquote(value)
	id = strings.TrimPrefix(id, "urn:uuid:")
	if strings.HasPrefix(id, "{") && strings.HasSuffix(id, "}") {
		id = id[1 : len(id)-1]
	}
	if len(id) == idLength-4 {
		id = id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
	}
	return ok && dialect.IsAnyUUID(id)
}
