package goose

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/chat"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// The messages of entries have the form in which the program exports them: {"role":…,"content":[…],"metadata":{…}}. The messages of a
// context are those of package chat.

// own returns the message of a row.
func own(row []byte) []byte {
	var w dialect.Object
	for _, m := range [...]struct{ key, column string }{{"role", "role"}, {"content", "content_json"}, {"metadata", "metadata_json"}} {
		if v := rawjson.Get(row, m.column); v != nil { // a damaged row may lack any
			w.Add(m.key, v)
		}
	}
	return w.End()
}

// isOwn reports whether a message is one of an entry rather than one of a context.
func isOwn(m []byte) bool {
	if rawjson.Get(m, "metadata") != nil {
		return true
	}
	for c := range rawjson.Elements(rawjson.Get(m, "content")) {
		if kind := rawjson.Str(c, "type"); kind != "text" && kind != "image_url" {
			return true
		}
	}
	return false
}

// Role says who speaks in a message.
func (d *messages) Role(m []byte) session.Role {
	if rawjson.Str(m, "role") == "user" && onlyResults(rawjson.Get(m, "content")) {
		return session.RoleTool
	}
	return d.Wire.Role(m)
}

// MessageParts returns what is inside a message in neutral form.
func (d *Dialect) MessageParts(m []byte) []session.Part {
	if isOwn(m) {
		return contentParts(rawjson.Get(m, "content"))
	}
	return chat.Parts(m)
}

// contentParts returns what is inside a content in neutral form.
func contentParts(content []byte) (list []session.Part) {
	for c := range rawjson.Elements(content) {
		switch kind := rawjson.Str(c, "type"); kind {
		case "text":
			if text := rawjson.Str(c, "text"); text != "" {
				list = append(list, session.Text{Text: text})
			}
		case "image":
			list = append(list, picture(c))
		case "thinking":
			list = append(list, session.Thinking{Text: rawjson.Str(c, "thinking"), Signature: rawjson.Str(c, "signature")})
		case "redactedThinking":
			list = append(list, session.Thinking{Signature: rawjson.Str(c, "data"), Redacted: true})
		case "toolRequest":
			list = append(list, callOf(c))
		case "toolResponse":
			list = append(list, resultOf(c))
		case "systemNotification", "toolConfirmationRequest", "actionRequired", "error":
			// the default case is content that the program shows to the user
		default:
			list = append(list, session.OpaquePart{Type: kind, JSON: c})
		}
	}
	return list
}

func picture(c []byte) session.Image {
	return session.Image{MIME: rawjson.Str(c, "mimeType"), Data: rawjson.Str(c, "data")}
}

// callOf reads a call. A call that the program could not read has no name.
func callOf(c []byte) session.ToolCall {
	call := rawjson.Get(c, "toolCall")
	value := rawjson.Get(call, "value")
	out := session.ToolCall{ID: rawjson.Str(c, "id"), Name: rawjson.Str(value, "name"), Arguments: session.Raw(rawjson.Get(value, "arguments"))}
	if rawjson.IsNull(out.Arguments) {
		out.Arguments = session.Raw("{}")
	}
	return out
}

// errorText is the text of an error, which is a text or an object with a code.
func errorText(value []byte) string {
	if s, ok := rawjson.Unquote(value); ok {
		return s
	}
	return rawjson.Str(value, "message")
}

// resultOf reads a result.
func resultOf(c []byte) session.ToolResult {
	result := rawjson.Get(c, "toolResult")
	r := session.ToolResult{CallID: rawjson.Str(c, "id")}
	if rawjson.Str(result, "status") == "error" {
		r.IsError, r.Parts = true, dialect.TextParts(errorText(rawjson.Get(result, "error")))
		return r
	}
	value := rawjson.Get(result, "value")
	r.IsError = rawjson.Truthy(rawjson.Get(value, "isError"))
	r.Session = session.ID(rawjson.Str(rawjson.Get(value, "_meta"), "subagent_session_id"))
	for inside := range rawjson.Elements(blocksOf(value)) {
		switch kind := rawjson.Str(inside, "type"); kind {
		case "text":
			r.Parts = append(r.Parts, session.Text{Text: rawjson.Str(inside, "text")})
		case "image":
			r.Parts = append(r.Parts, picture(inside))
		case "resource":
			resource := rawjson.Get(inside, "resource")
			if rawjson.IsString(rawjson.Get(resource, "blob")) { // the text that the model sees of it is not in the record
				r.Parts = append(r.Parts, session.OpaquePart{Type: kind, JSON: inside})
				continue
			}
			r.Parts = append(r.Parts, session.Text{Text: resourceText(resource)})
		default:
			r.Parts = append(r.Parts, session.OpaquePart{Type: kind, JSON: inside})
		}
	}
	return r
}

// resourceText is the text of a resource for the model. Bytes that are text count as such.
func resourceText(resource []byte) string {
	blob := rawjson.Get(resource, "blob")
	if !rawjson.IsString(blob) {
		return rawjson.Str(resource, "text")
	}
	text := rawjson.Str(resource, "blob")
	data, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		return text
	case utf8.Valid(data):
		return string(data)
	}
	return fmt.Sprintf("[Binary content (%s) - %d bytes]", cmp.Or(rawjson.Str(resource, "mimeType"), "application/octet-stream"), len(data))
}

// blocksOf returns the list of contents in a tool's result. Older versions kept the list without an object around it.
func blocksOf(value []byte) []byte {
	if rawjson.IsArray(value) {
		return value
	}
	return rawjson.Get(value, "content")
}

// Parts returns what is inside an entry in neutral form.
func (d *entries) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	if e.Kind == session.KindOpaque {
		return []session.Part{session.OpaquePart{Type: e.Type, JSON: raw}}, nil
	}
	return contentParts(rawjson.Get(form.Said(raw), "content_json")), nil
}

// Body decodes an entry.
func (d *entries) Body(e session.Entry, raw []byte) (session.Body, error) {
	if e.Kind == session.KindOpaque {
		return session.Opaque{Type: e.Type, JSON: raw}, nil
	}
	row := form.Said(raw)
	m := session.Message{Role: e.Role, Native: e.Type, JSON: own(row), Time: d.Time(raw), Meta: !flag(row, "userVisible")}
	if e.Role != session.RoleAssistant {
		return m, nil
	}
	metadata := rawjson.Get(row, "metadata_json")
	m.Provider, m.Model = modelOf(metadata)
	if u, ok := usageOf(metadata); ok {
		m.Usage = &u
	}
	if failed := rawjson.Get(metadata, failedMember); rawjson.IsObject(failed) {
		m.Stop, m.Error = rawjson.Str(failed, "stop"), rawjson.Str(failed, "error")
	}
	return m, nil
}

// failedMember is a member of the metadata: how an answer of another agent failed, {"stop":…,"error":…}.
const failedMember = "treelineFailed"

// modelOf returns the provider and the model of an answer.
func modelOf(metadata []byte) (provider, model string) {
	i := rawjson.Get(metadata, "inference")
	return rawjson.Str(i, "provider"), rawjson.Str(i, "requestedModel")
}

// usageOf reads the usage of an answer. The program counts what was in the cache as input, too.
func usageOf(metadata []byte) (session.Usage, bool) {
	u := rawjson.Get(metadata, "usage")
	if !rawjson.IsObject(u) {
		return session.Usage{}, false
	}
	n := func(key string) float64 { return dialect.Number(rawjson.Get(u, key)) }
	read, write := n("cacheReadTokens"), n("cacheWriteTokens")
	total := n("totalTokens")
	if total == 0 {
		total = n("inputTokens") + n("outputTokens")
	}
	return session.NewUsage([5]float64{max(n("inputTokens")-read-write, 0), n("outputTokens"), read, write, total}, [5]float64{}), true
}

// sees are prefixes of the names of models that, as far as the program knows, accept images.
var sees = []string{"claude-", "gpt-4o", "gpt-4.1", "gpt-5", "o1", "o3", "o4", "gemini-", "gemma-3", "grok-4", "llama-4", "pixtral", "qwen-vl", "qwen2.5-vl", "qwen3-vl"}

// seesPictures reports whether the program sends images to a model. It does so for models that it knows to accept them.
func seesPictures(model string) bool {
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, name := range sees {
		if strings.HasPrefix(model, name) {
			return true
		}
	}
	return false
}
