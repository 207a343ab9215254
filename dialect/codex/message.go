package codex

import (
	"cmp"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Body decodes the content of an entry. What does not fit its kind is Opaque.
func (d *Dialect) Body(e session.Entry, raw []byte) (session.Body, error) {
	payload := rawjson.Get(raw, "payload")
	switch e.Kind {
	case session.KindMessage:
		m := session.Message{Role: e.Role, Native: rawjson.Str(payload, "role"), JSON: payload, Time: d.Time(raw)}
		if e.Type == typeAgents {
			m.JSON = agentMessage(payload)
		}
		m.Meta = e.Role == session.RoleSystem || e.Role == session.RoleUser && (marked(m.JSON, contextMarkers) || marked(m.JSON, summaryMarkers))
		return m, nil
	case session.KindCompaction:
		return session.Compaction{Summary: rawjson.Str(payload, "message"), Details: payload, ReplacesAll: true}, nil
	case session.KindModelChange:
		model, provider := rawjson.Str(payload, "model"), cmp.Or(rawjson.Str(payload, providerMember), "openai")
		return session.ModelChange{Role: "default", Provider: provider, ModelID: model, Model: provider + "/" + model, JSON: rawjson.Get(payload, "model")}, nil
	case session.KindCustom:
		switch e.Type {
		case typeEvent:
			return session.Custom{Type: rawjson.Str(payload, "type"), Data: payload}, nil
		case typeCustom:
			return session.Custom{Type: rawjson.Str(payload, "type"), Data: rawjson.Get(payload, "data")}, nil
		}
		return session.Custom{Type: e.Type, Data: payload}, nil
	case session.KindLeaf:
		// The record has only a number of turns.
		return session.Leaf{Target: leafOf(e)}, nil
	}
	return session.Opaque{Type: e.Type, JSON: raw}, nil
}

// IsNote: events, states and counts, and the model, which every turn repeats.
func (d *Dialect) IsNote(e session.Entry) bool {
	return e.Kind == session.KindCustom || e.Kind == session.KindModelChange
}

// Echoes: events that show a message or reasoning of the model's view.
func (d *Dialect) Echoes(e session.Entry, raw []byte) bool {
	if e.Type != typeEvent {
		return false
	}
	payload := rawjson.Get(raw, "payload")
	switch rawjson.Str(payload, "type") {
	case "user_message", "agent_message", "agent_reasoning", "task_complete":
		return true
	case "item_completed":
		switch rawjson.Str(rawjson.Get(payload, "item"), "type") {
		case "UserMessage", "AgentMessage", "Reasoning":
			return true
		}
	}
	return false
}

// Parts gives what is inside an entry in neutral form.
func (d *Dialect) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	payload := rawjson.Get(raw, "payload")
	switch e.Kind {
	case session.KindMessage:
		if e.Type == typeAgents { // what the program says before it is not in the record
			return dialect.TextParts(rawjson.Str(payload, "content")), nil
		}
		return d.MessageParts(payload), nil
	case session.KindCompaction:
		return dialect.TextParts(rawjson.Str(payload, "message")), nil
	case session.KindOpaque, session.KindCustom:
		if e.Type == typeEvent && repeats(rawjson.Str(payload, "type")) {
			return nil, nil
		}
		return []session.Part{session.OpaquePart{Type: e.Type, JSON: raw}}, nil
	}
	return nil, nil
}

// repeats reports whether an event shows people what an item says: it has no parts of its own.
func repeats(event string) bool {
	switch event {
	case "user_message", "agent_message", "agent_reasoning", "item_completed", "task_complete":
		return true
	}
	return false
}

// API is the interface that the program uses.
func (d *Dialect) API() string { return "responses" }

// MessageParts gives what is inside an item of the Responses API in neutral form.
func (d *Dialect) MessageParts(m []byte) []session.Part {
	switch kind := rawjson.Str(m, "type"); kind {
	case "message", "agent_message":
		return contentParts(rawjson.Get(m, "content"))
	case "reasoning":
		encrypted := rawjson.Str(m, "encrypted_content")
		return []session.Part{session.Thinking{Text: reasoning(m), Signature: encrypted, Redacted: encrypted != ""}}
	case "function_call":
		args := rawjson.Get(m, "arguments")
		if s, ok := rawjson.Unquote(args); ok && rawjson.Valid([]byte(s)) {
			args = []byte(s)
		}
		return []session.Part{session.ToolCall{ID: rawjson.Str(m, "call_id"), Name: rawjson.Str(m, "name"), Arguments: args}}
	case "custom_tool_call":
		return []session.Part{session.ToolCall{ID: rawjson.Str(m, "call_id"), Name: rawjson.Str(m, "name"), Arguments: rawjson.Get(m, "input")}}
	case "local_shell_call":
		return []session.Part{session.ToolCall{ID: rawjson.Str(m, "call_id"), Name: "local_shell", Arguments: rawjson.Get(m, "action")}}
	case "function_call_output", "custom_tool_call_output":
		out := rawjson.Get(m, "output")
		parts := contentParts(out)
		if s, ok := rawjson.Unquote(out); ok {
			parts = dialect.TextParts(s)
		}
		return []session.Part{session.ToolResult{CallID: rawjson.Str(m, "call_id"), Parts: parts, IsError: rawjson.Truthy(rawjson.Get(m, errorMember))}}
	default:
		return []session.Part{session.OpaquePart{Type: kind, JSON: m}}
	}
}

// reasoning gives the text of a reasoning item: its content or, where that is encrypted, its summary.
func reasoning(m []byte) (text string) {
	for _, key := range []string{"content", "summary"} {
		for part := range rawjson.Elements(rawjson.Get(m, key)) {
			if text != "" {
				text += "\n"
			}
			text += rawjson.Str(part, "text")
		}
		if text != "" {
			break
		}
	}
	return text
}

// contentParts gives the parts of a list of content.
func contentParts(content []byte) (parts []session.Part) {
	for p := range rawjson.Elements(content) {
		switch kind := rawjson.Str(p, "type"); kind {
		case "input_text", "output_text", "text":
			parts = append(parts, session.Text{Text: rawjson.Str(p, "text")})
		case "input_image":
			parts = append(parts, dialect.ImageOf(rawjson.Str(p, "image_url"), ""))
		default:
			parts = append(parts, session.OpaquePart{Type: kind, JSON: p})
		}
	}
	return parts
}

// Messages gives the item of an entry; see Replay for what is sent.
func (d *Dialect) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	if e.Kind != session.KindMessage {
		return nil, nil
	}
	payload := rawjson.Get(raw, "payload")
	if e.Type == typeAgents {
		return [][]byte{agentMessage(payload)}, nil
	}
	if it, ok := itemOf(e, payload); ok {
		return [][]byte{it.json}, nil
	}
	return nil, nil
}

// LLM gives an item in the form that goes to the provider, which it has already.
func (d *Dialect) LLM(m []byte) ([]byte, error) { return m, nil }

// Edit replaces the content of a message.
func (d *Dialect) Edit(m, content []byte) ([]byte, error) {
	if len(content) == 0 {
		return rawjson.Delete(m, "content"), nil
	}
	return rawjson.Set(m, "content", content), nil
}

// Role says who speaks in an item.
func (d *Dialect) Role(m []byte) session.Role {
	return roleOf([]byte(rawjson.Str(m, "type")), []byte(rawjson.Str(m, "role")))
}

// ToolCalls gives the id of a call.
func (d *Dialect) ToolCalls(m []byte) []string {
	if outputOf(rawjson.Str(m, "type")) == "" {
		return nil
	}
	return []string{rawjson.Str(m, "call_id")}
}

// ToolResults gives the id of the call that an output answers.
func (d *Dialect) ToolResults(m []byte) []string {
	switch rawjson.Str(m, "type") {
	case "function_call_output", "custom_tool_call_output":
		return []string{rawjson.Str(m, "call_id")}
	}
	return nil
}

// Failed: an item does not say that its turn failed.
func (d *Dialect) Failed([]byte) bool { return false }

// Strip removes a call or an output as a whole.
func (d *Dialect) Strip(m []byte, drop func(id string) bool) ([]byte, error) {
	for _, id := range append(d.ToolCalls(m), d.ToolResults(m)...) {
		if drop(id) {
			return nil, nil
		}
	}
	return m, nil
}
