package codex

import (
	"bytes"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// item is an item of the history on its way to the provider.
type item struct {
	entry   session.Entry
	kind    string
	id      string // call_id
	named   bool   // it has a call_id
	turn    bool   // it begins a turn of the user
	user    bool   // a message of the user
	lead    bool   // a message of the program that belongs to the next turn
	summary bool   // a user message with a text that is a summary, and none that describes the surroundings
	// unseen says why the program drops the item, which then is not sent. swapped: it is sent out of order.
	unseen  string
	swapped bool
	own     bool // the item is a line of the log, not part of a compaction
	json    []byte
	// kept: a compaction has kept the item whole, with this number of tokens, so the next one need not parse it again.
	kept   bool
	tokens int
}

// need is a member that the program requires: a string ('s'), a list ('[') or anything ('*'). Other members may also be null or
// missing: a string ('?'), strings in a list ('l') or in an object ('m'), or a natural number ('n').
type need struct {
	name string
	is   byte
}

// lacks returns the first member of an object that is not what the program requires, or "".
func lacks(object []byte, needs []need) string {
	for _, n := range needs {
		if !n.fits(rawjson.Get(object, n.name)) {
			return n.name
		}
	}
	return ""
}

func (n need) fits(v []byte) bool {
	switch n.is {
	case 's':
		return rawjson.IsString(v)
	case '[':
		return rawjson.IsArray(v)
	case '*':
		return v != nil
	}
	if rawjson.IsNull(v) {
		return true
	}
	switch n.is {
	case 'n':
		return isOrdinal(v)
	case 'l':
		for e := range rawjson.Elements(v) {
			if !rawjson.IsString(e) {
				return false
			}
		}
		return rawjson.IsArray(v)
	case 'm':
		for _, member := range rawjson.Members(v) {
			if !rawjson.IsString(member) {
				return false
			}
		}
		return rawjson.IsObject(v)
	}
	return rawjson.IsString(v)
}

// itemNeeds are the types of items that the program knows, with the members that it requires.
var itemNeeds = map[string][]need{
	"message":                 {{"role", 's'}, {"content", '['}, {"id", '?'}, {"status", '?'}, {"phase", '?'}},
	"reasoning":               {{"summary", '['}, {"id", '?'}, {"encrypted_content", '?'}},
	"function_call":           {{"name", 's'}, {"arguments", 's'}, {"call_id", 's'}, {"id", '?'}, {"namespace", '?'}},
	"function_call_output":    {{"call_id", '?'}, {"output", '*'}, {"id", '?'}},
	"custom_tool_call":        {{"name", 's'}, {"input", 's'}, {"call_id", 's'}, {"id", '?'}, {"status", '?'}},
	"custom_tool_call_output": {{"call_id", 's'}, {"output", '*'}, {"id", '?'}},
	"local_shell_call":        {{"call_id", '?'}, {"status", 's'}, {"action", '*'}, {"id", '?'}},
	"web_search_call":         {{"status", '?'}, {"id", '?'}},
	"tool_search_call":        {{"call_id", '?'}, {"execution", 's'}, {"arguments", '*'}},
	"tool_search_output":      {{"call_id", '?'}, {"execution", 's'}, {"status", 's'}, {"tools", '['}},
	"additional_tools":        {{"role", 's'}, {"tools", '['}},
	"image_generation_call":   {{"status", 's'}, {"result", 's'}, {"id", '?'}},
	"compaction":              {{"encrypted_content", 's'}},
	"compaction_summary":      {{"encrypted_content", 's'}},
	"context_compaction":      {{"encrypted_content", '?'}},
	"agent_message":           {{"author", 's'}, {"recipient", 's'}, {"content", '['}},
}

// actionNeeds are the actions of local_shell_call and web_search_call, with the members that the program requires.
var actionNeeds = map[string][]need{
	"exec":         {{"command", '['}, {"command", 'l'}, {"timeout_ms", 'n'}, {"working_directory", '?'}, {"env", 'm'}, {"user", '?'}},
	"search":       {{"query", '?'}, {"queries", 'l'}},
	"open_page":    {{"url", '?'}},
	"find_in_page": {{"url", '?'}, {"pattern", '?'}},
}

// messageParts are the types of parts that a message may have.
var messageParts = []string{"input_text", "output_text", "input_image", "input_audio"}

// ghost is an item that the program leaves out on purpose.
const ghost = "ghost_snapshot"

// itemOf reads an item; ok is false for an item that the program drops, and unseen then says why.
func itemOf(e session.Entry, payload []byte) (i item, ok bool) {
	i = item{entry: e, kind: rawjson.Str(payload, "type"), json: payload}
	i.id, i.named = rawjson.Unquote(rawjson.Get(payload, "call_id"))
	if i.unseen = missing(i.kind, payload); i.unseen != "" || i.kind == ghost {
		return i, false
	}
	switch i.kind {
	case "message":
		role := rawjson.Str(payload, "role")
		if role == "system" {
			i.unseen = "a message of the role system"
			return i, false
		}
		i.user = role == "user"
		context := i.user && marked(payload, contextMarkers)
		summary := i.user && marked(payload, summaryMarkers)
		i.turn, i.summary = i.user && !context && !summary, summary && !context
		i.lead = context && !summary || role == "developer" && marked(payload, developerMarkers)
	case "agent_message":
		i.turn = true
	case "compaction_summary":
		i.json = rawjson.Set(payload, "type", []byte(`"compaction"`))
	case "reasoning":
		// Texts of the general type "text" are not sent.
		if content := rawjson.Get(payload, "content"); rawjson.IsArray(content) && badPart(content, "text") == "" {
			i.json = rawjson.Delete(payload, "content")
		}
	case "web_search_call":
		if action := rawjson.Get(payload, "action"); rawjson.IsObject(action) && actionNeeds[rawjson.Str(action, "type")] == nil {
			i.json = rawjson.Set(payload, "action", []byte(`{"type":"other"}`))
		}
	case "local_shell_call":
		i.json = rawjson.Set(payload, "action", wholeAction(rawjson.Get(payload, "action")))
	}
	return i, true
}

// wholeAction adds the members of an action that the program sends even if they are missing.
func wholeAction(action []byte) []byte {
	for _, key := range []string{"timeout_ms", "working_directory", "env", "user"} {
		if rawjson.Get(action, key) == nil {
			action = rawjson.Set(action, key, []byte("null"))
		}
	}
	return action
}

// missing returns why the program cannot read an item, or "".
func missing(kind string, payload []byte) string {
	needs, known := itemNeeds[kind]
	switch {
	case kind == ghost:
		return ""
	case !known:
		return "an item of the unknown type " + dialect.Shorten([]byte(`"`+kind+`"`))
	}
	if !nullOr(payload, "internal_chat_message_metadata_passthrough", isPassed) {
		return "a " + kind + " whose metadata is not valid"
	}
	if name := lacks(payload, needs); name != "" {
		return "a " + kind + " whose " + name + " is missing or not valid"
	}
	if halfPair(payload) {
		return "a " + kind + " with half a surrogate pair"
	}
	switch kind {
	case "message":
		if phase := rawjson.Str(payload, "phase"); phase != "" && phase != "commentary" && phase != "final_answer" {
			return "a message of the unknown phase " + phase
		}
		return badPart(rawjson.Get(payload, "content"), messageParts...)
	case "agent_message":
		return badPart(rawjson.Get(payload, "content"), "input_text", "encrypted_content")
	case "function_call_output", "custom_tool_call_output":
		out := rawjson.Get(payload, "output")
		if rawjson.IsArray(out) {
			return badPart(out, "input_text", "input_image", "input_audio", "encrypted_content")
		}
		if !rawjson.IsString(out) {
			return "an output that is neither a text nor a list"
		}
	case "reasoning":
		if why := badPart(rawjson.Get(payload, "summary"), "summary_text"); why != "" {
			return why
		}
		return badPart(rawjson.Get(payload, "content"), "reasoning_text", "text")
	case "local_shell_call":
		action := rawjson.Get(payload, "action")
		if rawjson.Str(action, "type") != "exec" || lacks(action, actionNeeds["exec"]) != "" ||
			!slices.Contains([]string{"completed", "in_progress", "incomplete"}, rawjson.Str(payload, "status")) {
			return "a local_shell_call that is not valid"
		}
	case "web_search_call":
		action := rawjson.Get(payload, "action")
		if kind := rawjson.Get(action, "type"); !rawjson.IsNull(action) && (!rawjson.IsString(kind) || lacks(action, actionNeeds[rawjson.Str(action, "type")]) != "") {
			return "a web_search_call that is not valid"
		}
	}
	return ""
}

// isPassed reports whether the program reads the metadata of an item.
func isPassed(metadata []byte) bool {
	return rawjson.IsObject(metadata) && nullOr(metadata, "turn_id", rawjson.IsString) && nullOr(metadata, "create_time", dialect.IsNumber)
}

// halfPair reports whether a text of an object has only half of a surrogate pair, which the program does not read.
func halfPair(object []byte) bool {
	if !bytes.Contains(object, []byte(`\ud`)) && !bytes.Contains(object, []byte(`\uD`)) {
		return false
	}
	for i := 0; i < len(object); i++ {
		if object[i] != '\\' {
			continue
		}
		switch high := surrogate(object[i:]); {
		case high == 0:
			i++ // an escape of another kind
		case high < 'c' && surrogate(object[min(i+6, len(object)):]) >= 'c':
			i += 11
		default:
			return true
		}
	}
	return false
}

// surrogate returns the digit of an escape that shows the half of a surrogate pair: 8 to b for the first half, c to f for the second. It
// is 0 for any other text.
func surrogate(text []byte) byte {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' || text[2]|' ' != 'd' || text[3] < '8' {
		return 0
	}
	return text[3] | ' '
}

// nullOr reports whether a member is null, is missing or fits.
func nullOr(object []byte, key string, fits func([]byte) bool) bool {
	v := rawjson.Get(object, key)
	return rawjson.IsNull(v) || fits(v)
}

// badPart returns which part of a content the program cannot read, or "".
func badPart(content []byte, kinds ...string) string {
	for part := range rawjson.Elements(content) {
		if kind := rawjson.Str(part, "type"); !slices.Contains(kinds, kind) || !readablePart(part) {
			return "an item with a part of the type " + dialect.Shorten([]byte(`"`+kind+`"`)) + " that Codex cannot read"
		}
	}
	return ""
}

// readablePart reports whether a part of a content has the members that its type requires. It is false for types that the program
// does not know.
func readablePart(part []byte) bool {
	switch kind := rawjson.Str(part, "type"); kind {
	case "input_image":
		if detail := rawjson.Get(part, "detail"); !rawjson.IsNull(detail) && !slices.Contains([]string{"auto", "low", "high", "original"}, rawjson.Str(part, "detail")) {
			return false
		}
		return rawjson.IsString(rawjson.Get(part, "image_url")) || rawjson.IsString(rawjson.Get(part, "file_id"))
	case "input_audio":
		return rawjson.IsString(rawjson.Get(part, "audio_url"))
	case "encrypted_content":
		return rawjson.IsString(rawjson.Get(part, kind))
	case "input_text", "output_text", "summary_text", "reasoning_text", "text":
		return rawjson.IsString(rawjson.Get(part, "text"))
	}
	return false
}

// Texts that the program sends instead of content that a provider would refuse.
const (
	noRemoteImage = "image content omitted because remote image URLs are not supported"
	noImage       = "image content omitted because it could not be processed"
	noAudio       = "audio content omitted because you do not support audio input"
)

// replaced returns the text that is sent instead of a part of a content, "" if the part itself is sent.
func replaced(part []byte) string {
	switch rawjson.Str(part, "type") {
	case "input_audio":
		return noAudio
	case "input_image":
		url := rawjson.Str(part, "image_url")
		switch scheme, data, _ := strings.Cut(url, ":"); strings.ToLower(scheme) {
		case "http", "https":
			return noRemoteImage
		case "data":
			if !isImage(data) {
				return noImage
			}
		}
	}
	return ""
}
