package codex

import (
	"cmp"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Body decodes the content of an entry. Content that does not fit the entry's kind becomes Opaque.
func (d *entries) Body(e session.Entry, raw []byte) (session.Body, error) {
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
		// The record has only the number of turns.
		return session.Leaf{Target: leafOf(e)}, nil
	}
	return session.Opaque{Type: e.Type, JSON: raw}, nil
}

// IsNote reports whether an entry is an event, a state or a count, or names the model, which every turn repeats.
func (d *entries) IsNote(e session.Entry) bool {
	return e.Kind == session.KindCustom || e.Kind == session.KindModelChange
}

// Echoes reports whether an entry is an event that shows a message or reasoning that an item holds.
func (d *entries) Echoes(e session.Entry, raw []byte) bool {
	if e.Type != typeEvent {
		return false
	}
	switch eventOf(raw) {
	case "user_message", "agent_message", "agent_reasoning", eventComplete:
		return true
	case "item_completed":
		switch rawjson.Str(rawjson.Get(rawjson.Get(raw, "payload"), "item"), "type") {
		case "UserMessage", "AgentMessage", "Reasoning":
			return true
		}
	}
	return false
}

// API is the language model API that the program uses.
func (d *Dialect) API() string { return "responses" }

// Messages returns the item of an entry; see Replay for what is sent.
func (d *entries) Messages(e session.Entry, raw []byte) ([][]byte, error) {
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

// LLM returns the item itself, which already has the form that goes to the provider.
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

// ToolCalls returns the id of a call.
func (d *Dialect) ToolCalls(m []byte) []string {
	if outputOf(rawjson.Str(m, "type")) == "" {
		return nil
	}
	return []string{rawjson.Str(m, "call_id")}
}

// ToolResults returns the id of the call that an output answers.
func (d *Dialect) ToolResults(m []byte) []string {
	switch rawjson.Str(m, "type") {
	case "function_call_output", "custom_tool_call_output":
		return []string{rawjson.Str(m, "call_id")}
	}
	return nil
}

// Failed is always false: an item does not say that its turn failed.
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
