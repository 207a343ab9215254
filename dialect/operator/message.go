package operator

import (
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Messages returns what an entry contributes to a context, as the program does. Messages of the log keep unknown members.
func (d *Dialect) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	var w dialect.Object
	switch e.Kind {
	case session.KindMessage:
		m := rawjson.Get(raw, "message")
		if !rawjson.IsObject(m) {
			return nil, nil // the program drops the entry
		}
		return [][]byte{m}, nil
	case session.KindCustomMessage:
		w = dialect.Object(`{"role":"custom"`)
		copyValues(&w, raw, "custom_type", "timestamp")
		w.Add("contents", blocks(rawjson.Get(raw, "content")))
		copyValues(&w, raw, "details")
	case session.KindBranchSummary:
		w = dialect.Object(`{"role":"branch_summary"`)
		copyValues(&w, raw, "summary", "from_id", "timestamp")
	case session.KindCompaction:
		w = dialect.Object(`{"role":"compaction_summary"`)
		copyValues(&w, raw, "summary")
		// The program requires the count; the document's compactions have none.
		tokens := value(raw, "tokens_before")
		if tokens == nil {
			tokens = noTokens
		}
		w.Add("tokens_before", tokens)
		copyValues(&w, raw, "timestamp")
	default:
		return nil, nil
	}
	return [][]byte{w.End()}, nil
}

// copyValues adds those of the members that raw has. Like the program, it leaves out members without a value.
func copyValues(w *dialect.Object, raw []byte, keys ...string) {
	for _, key := range keys {
		if v := value(raw, key); v != nil {
			w.Add(key, v)
		}
	}
}

// noTokens is the token count of a compaction that has none.
var noTokens = session.Raw("0")

// blocks returns the content of a custom message as the program does: a text becomes a block.
func blocks(content []byte) []byte {
	switch {
	case rawjson.IsArray(content):
		return content
	case rawjson.IsString(content):
		return block(content)
	}
	return []byte("[]")
}

// block is a content that consists of one text.
func block(quoted []byte) []byte {
	return append(append([]byte(`[{"type":"text","content":`), quoted...), "}]"...)
}

// The texts around a summary before it goes to a provider.
const (
	compactionText = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
	branchText     = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
	summaryEnd     = "\n</summary>"
)

// LLM returns a message in the form that goes to a provider; nil if it is not sent. Operator has no texts of its own for
// summaries, so they are wrapped like those of the pi family. A provider would refuse unknown roles.
func (d *Dialect) LLM(m []byte) ([]byte, error) {
	switch rawjson.Str(m, "role") {
	case "user", "assistant", "tool", "system":
		return m, nil
	case "custom":
		return asUser(m, blocks(rawjson.Get(m, "contents"))), nil
	case "branch_summary":
		return asUser(m, block(rawjson.Quote(branchText+rawjson.Str(m, "summary")+summaryEnd))), nil
	case "compaction_summary":
		return asUser(m, block(rawjson.Quote(compactionText+rawjson.Str(m, "summary")+summaryEnd))), nil
	}
	return nil, nil
}

// asUser is a message in the user's name that the program makes.
func asUser(m, contents []byte) []byte {
	w := dialect.Object(`{"contents":`)
	w = append(w, contents...)
	copyValues(&w, m, "timestamp")
	w.Str("role", "user")
	return w.End()
}

// Edit replaces the blocks of a message. A text becomes a block, because contents are always a list.
func (d *Dialect) Edit(m, content []byte) ([]byte, error) {
	if len(content) == 0 {
		return rawjson.Delete(m, "contents"), nil
	}
	return rawjson.Set(m, "contents", blocks(content)), nil
}

// Role says who speaks in a message.
func (d *Dialect) Role(m []byte) session.Role { return roleOf([]byte(rawjson.Str(m, "role"))) }

// ToolCalls returns the ids of the calls in an assistant's message.
func (d *Dialect) ToolCalls(m []byte) []string {
	if rawjson.Str(m, "role") != "assistant" {
		return nil
	}
	return dialect.BlockIDs(m, "contents", "tool_call")
}

// ToolResults returns the ids of all calls whose results the message has: one message has the results of a whole turn.
func (d *Dialect) ToolResults(m []byte) []string {
	if rawjson.Str(m, "role") == "assistant" {
		return nil
	}
	return dialect.BlockIDs(m, "contents", "tool_result")
}

// Failed reports whether the message is a turn that ended in an error or was aborted.
func (d *Dialect) Failed(m []byte) bool {
	if rawjson.Str(m, "role") != "assistant" {
		return false
	}
	stop := rawjson.Str(m, "stop_reason")
	return stop == "error" || stop == "abort"
}

// Strip removes tool calls from an assistant's message, and results from others.
func (d *Dialect) Strip(m []byte, drop func(id string) bool) ([]byte, error) {
	return dialect.Strip(m, "contents", "signature", drop, "tool_call", "tool_result"), nil
}

// Parts returns what is inside an entry in neutral form.
func (d *Dialect) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	switch e.Kind {
	case session.KindMessage:
		return d.MessageParts(rawjson.Get(raw, "message")), nil
	case session.KindCustomMessage:
		return contentParts(blocks(rawjson.Get(raw, "content"))), nil
	case session.KindCompaction, session.KindBranchSummary:
		return dialect.TextParts(rawjson.Str(raw, "summary")), nil
	case session.KindOpaque, session.KindCustom:
		return []session.Part{session.OpaquePart{Type: e.Type, JSON: raw}}, nil
	}
	return nil, nil
}

// MessageParts returns what is inside a message of a context in neutral form.
func (d *Dialect) MessageParts(m []byte) []session.Part {
	switch rawjson.Str(m, "role") {
	case "branch_summary", "compaction_summary":
		return dialect.TextParts(rawjson.Str(m, "summary"))
	}
	parts := contentParts(rawjson.Get(m, "contents"))
	if why := rawjson.Get(m, "error"); rawjson.IsString(why) && rawjson.Truthy(why) {
		parts = append(parts, session.OpaquePart{Type: "error", JSON: session.Raw(why)})
	}
	return parts
}

// contentParts returns the parts of a list of blocks. Blocks of an unknown type are kept, so that they can be shown.
func contentParts(contents []byte) []session.Part {
	var parts []session.Part
	for block := range rawjson.Elements(contents) {
		switch kind := rawjson.Str(block, "type"); kind {
		case "text":
			parts = append(parts, session.Text{Text: rawjson.Str(block, "content")})
		case "thinking":
			parts = append(parts, session.Thinking{Text: rawjson.Str(block, "content"), Signature: rawjson.Str(block, "signature")})
		case "tool_call":
			parts = append(parts, session.ToolCall{
				ID: rawjson.Str(block, "id"), Name: rawjson.Str(block, "name"), Arguments: value(block, "args")})
		case "tool_result":
			parts = append(parts, session.ToolResult{
				CallID: rawjson.Str(block, "id"), Name: rawjson.Str(block, "tool_name"),
				Parts: dialect.TextParts(rawjson.Str(block, "content")), IsError: rawjson.Truthy(rawjson.Get(block, "is_error"))})
		case "image":
			parts = append(parts, images(block)...)
		default:
			parts = append(parts, session.OpaquePart{Type: kind, JSON: block})
		}
	}
	return parts
}

// images returns the images of one block. Only their first bytes show the format.
func images(block []byte) []session.Part {
	var parts []session.Part
	for picture := range rawjson.Elements(rawjson.Get(block, "images")) {
		data, ok := rawjson.Unquote(picture)
		if !ok {
			parts = append(parts, session.OpaquePart{Type: "image", JSON: picture})
			continue
		}
		parts = append(parts, session.Image{MIME: mimeOf(data), Data: data})
	}
	if parts == nil {
		parts = append(parts, session.OpaquePart{Type: "image", JSON: block})
	}
	return parts
}

// mimeOf recognises an image by the first characters of its base64, like the program, which assumes PNG for all others; "" for an
// address.
func mimeOf(data string) string {
	if strings.Contains(data[:min(len(data), 12)], ":") {
		return ""
	}
	for _, p := range []struct{ begin, mime string }{
		{"/9j/", "image/jpeg"}, {"R0lGOD", "image/gif"}, {"UklGR", "image/webp"},
	} {
		if strings.HasPrefix(data, p.begin) {
			return p.mime
		}
	}
	return "image/png"
}
