package claude

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/blocks"
	"github.com/treeline-dev/treeline/dialect/claude/request"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// provider is the provider of every model of the program, under the name that other agents use.
const provider = "anthropic"

// Body decodes the content of an entry. Content that does not fit the entry's kind becomes Opaque.
func (d *entries) Body(e session.Entry, raw []byte) (session.Body, error) {
	switch e.Kind {
	case session.KindMessage:
		return message(e, raw), nil
	case session.KindCompaction:
		m := rawjson.Get(raw, "compactMetadata")
		return session.Compaction{
			Summary: rawjson.Str(raw, "content"), TokensBefore: int(dialect.Integer(rawjson.Get(m, "preTokens"))), TokensJSON: rawjson.Get(m, "preTokens"), Details: m, ReplacesAll: true,
		}, nil
	case session.KindCustomMessage:
		if e.Type == typeAttachment {
			a := rawjson.Get(raw, "attachment")
			return session.CustomMessage{Type: rawjson.Str(a, "type"), Content: attachmentContent(raw), Details: a, Display: false, Attribution: "agent"}, nil
		}
		return session.CustomMessage{Type: rawjson.Str(raw, "subtype"), Content: rawjson.Get(raw, "content"), Display: true}, nil
	case session.KindSessionInfo:
		return session.SessionInfo{Name: titleOf(raw)}, nil
	case session.KindLabel:
		return session.Label{Target: session.EntryID(rawjson.Str(raw, "targetUuid")), Label: rawjson.Str(raw, "label")}, nil
	case session.KindLeaf:
		return session.Leaf{Target: session.EntryID(rawjson.Str(raw, "leafUuid"))}, nil
	case session.KindCustom:
		kind := e.Type
		if e.Type == typeSystem {
			kind = rawjson.Str(raw, "subtype")
			if data := rawjson.Get(raw, memberData); data != nil {
				return session.Custom{Type: kind, Data: data}, nil
			}
		}
		return session.Custom{Type: kind, Data: raw}, nil
	}
	return session.Opaque{Type: e.Type, JSON: raw}, nil
}

// IsNote reports whether an entry is metadata, or an attachment, which the program makes for the model.
func (d *entries) IsNote(e session.Entry) bool {
	switch e.Kind {
	case session.KindCustom, session.KindLeaf, session.KindSessionInfo:
		return true
	}
	return e.Type == typeAttachment
}

// titleOf returns the title that a metadata line sets.
func titleOf(raw []byte) string {
	for _, key := range []string{"customTitle", "aiTitle", "summary"} {
		if v := rawjson.Get(raw, key); rawjson.IsString(v) {
			s, _ := rawjson.Unquote(v)
			return s
		}
	}
	return ""
}

// attachmentContent returns the texts of an attachment that the model sees, as content blocks.
func attachmentContent(raw []byte) []byte {
	items := [][]byte{}
	for item := range rawjson.Elements(rawjson.Get(raw, "rendered")) {
		items = append(items, blocks.Text(rawjson.Str(item, "content")))
	}
	return dialect.Array(items)
}

// message reads a message. A context uses only its role and its content.
func message(e session.Entry, raw []byte) session.Body {
	m := rawjson.Get(raw, "message")
	if !rawjson.IsObject(m) {
		return session.Opaque{Type: e.Type, JSON: raw}
	}
	body := session.Message{Role: e.Role, Native: rawjson.Str(m, "role"), JSON: m}
	body.Time = session.Time{Text: string(rawjson.Get(raw, "timestamp"))}
	body.Meta = e.Role == session.RoleUser && !realPrompt(raw)
	if e.Role != session.RoleAssistant {
		return body
	}
	body.Stop = rawjson.Str(m, "stop_reason")
	if rawjson.Truthy(rawjson.Get(raw, "isApiErrorMessage")) {
		body.Error = dialect.TextOf(contentParts(rawjson.Get(m, "content")))
	}
	if body.Model = rawjson.Str(m, "model"); body.Model == request.Synthetic {
		body.Model = "" // the program wrote the answer, not a model
		return body
	}
	body.Provider, body.Usage = provider, usage(rawjson.Get(m, "usage"))
	body.ModelJSON = rawjson.Get(m, "model")
	return body
}

// Parts returns what is inside an entry in neutral form.
func (d *entries) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	switch e.Kind {
	case session.KindMessage:
		parts := contentParts(rawjson.Get(rawjson.Get(raw, "message"), "content"))
		if e.Role == session.RoleTool {
			nameAgent(parts, rawjson.Str(rawjson.Get(raw, "toolUseResult"), "agentId"))
		}
		return parts, nil
	case session.KindCustomMessage:
		if e.Type == typeAttachment {
			return contentParts(attachmentContent(raw)), nil
		}
		return dialect.TextParts(rawjson.Str(raw, "content")), nil
	case session.KindCompaction:
		return dialect.TextParts(rawjson.Str(raw, "content")), nil
	case session.KindOpaque, session.KindCustom:
		return []session.Part{session.OpaquePart{Type: e.Type, JSON: raw}}, nil
	}
	return nil, nil
}

// MessageParts returns what is inside a message of a context in neutral form.
func (d *Dialect) MessageParts(m []byte) []session.Part {
	content := rawjson.Get(m, "content")
	if s, ok := rawjson.Unquote(content); ok {
		return []session.Part{session.Text{Text: s}} // an empty text is sent as well
	}
	return contentParts(content)
}

// Messages returns the message of an entry as the program sends it if no other entry changes it; see reader.Replay.
func (d *entries) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	if e.Kind != session.KindMessage && e.Kind != session.KindCustomMessage {
		return nil, nil
	}
	t := request.Read(e, raw)
	if t == nil {
		return nil, nil
	}
	return [][]byte{t.JSON()}, nil
}

// LLM returns the message itself, which already has the form that goes to the provider.
func (d *Dialect) LLM(m []byte) ([]byte, error) { return m, nil }

// Edit replaces the content of a message.
func (d *Dialect) Edit(m, content []byte) ([]byte, error) {
	if len(content) == 0 {
		return rawjson.Delete(m, "content"), nil
	}
	return rawjson.Set(m, "content", content), nil
}

// Role says who speaks in a message.
func (d *Dialect) Role(m []byte) session.Role {
	return dialect.RoleOf([]byte(rawjson.Str(m, "role")), "tool")
}

// ToolCalls returns the ids of the calls in a message.
func (d *Dialect) ToolCalls(m []byte) []string {
	if rawjson.Str(m, "role") != "assistant" {
		return nil
	}
	return dialect.BlockIDs(m, "content", blocks.TypeCall)
}

// ToolResults returns the ids of the calls whose results a message has.
func (d *Dialect) ToolResults(m []byte) (ids []string) {
	if rawjson.Str(m, "role") == "assistant" {
		return nil
	}
	for b := range rawjson.Elements(rawjson.Get(m, "content")) {
		if rawjson.Str(b, "type") == blocks.TypeResult {
			ids = append(ids, rawjson.Str(b, "tool_use_id"))
		}
	}
	return ids
}

// Failed is always false, because failed turns are not sent anyway.
func (d *Dialect) Failed([]byte) bool { return false }

// Strip removes calls, or results, from a message. A signature of thinking is invalid without the calls beside it.
func (d *Dialect) Strip(m []byte, drop func(id string) bool) ([]byte, error) {
	useful := false
	content := rawjson.Get(m, "content")
	if !rawjson.IsArray(content) {
		return m, nil
	}
	left := rawjson.MapElements(content, func(b []byte) []byte {
		switch rawjson.Str(b, "type") {
		case blocks.TypeThinking, blocks.TypeRedacted:
			return nil
		case blocks.TypeCall:
			if drop(rawjson.Str(b, "id")) {
				return nil
			}
		case blocks.TypeResult:
			if drop(rawjson.Str(b, "tool_use_id")) {
				return nil
			}
		}
		useful = true
		return b
	})
	if !useful {
		return nil, nil
	}
	return rawjson.Set(m, "content", left), nil
}

// programTexts are the beginnings of texts that the program writes in the user's name: commands, their output, and remarks on both.
var programTexts = []string{
	"<command-name>", "<command-message>", "<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<task-notification>",
	"<system-reminder>", "Caveat: The messages below were generated by the user", "[Request interrupted by user",
}

// typedCommand returns the command as the user typed it, from the text that the program made of it.
func typedCommand(text string) string {
	inside := func(tag string) string {
		_, rest, _ := strings.Cut(text, "<"+tag+">")
		value, _, _ := strings.Cut(rest, "</"+tag+">")
		return strings.TrimSpace(value)
	}
	switch {
	case strings.HasPrefix(text, "<command-"):
		return strings.TrimSpace(inside("command-name") + " " + inside("command-args"))
	case strings.HasPrefix(text, "<bash-input>"):
		return "!" + inside("bash-input")
	}
	return ""
}

// realPrompt reports whether the user typed a user line.
func realPrompt(raw []byte) bool {
	content := rawjson.Get(rawjson.Get(raw, "message"), "content")
	text, whole := rawjson.Unquote(content)
	if !whole {
		text = dialect.TextOf(contentParts(content))
	}
	if slices.ContainsFunc(programTexts, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
		return false
	}
	return !slices.ContainsFunc([]string{"isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"}, func(key string) bool {
		return rawjson.Truthy(rawjson.Get(raw, key))
	})
}
