package wave

import (
	"errors"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// codec looks inside messages. All values share it: a message of the old JSON documents is the same object.
type codec struct{}

// Rules: nothing of what other families differ in exists here.
func (codec) Rules() session.Rules { return session.Rules{} }

// Time finds when a message was made.
func (codec) Time(raw []byte) session.Time {
	return session.Time{Text: string(rawjson.Get(raw, "timestamp"))}
}

// Body decodes what an entry says.
// The summary of a compaction is its block's text; what else the message holds stays in its parts.
func (codec) Body(e session.Entry, raw []byte) (session.Body, error) {
	switch e.Kind {
	case session.KindMessage:
		return message(e.Role, raw), nil
	case session.KindCompaction:
		c := session.Compaction{ReplacesAll: true}
		for _, b := range Blocks(rawjson.Get(raw, "blocks")) {
			if b, ok := b.(CompactBlock); ok {
				c.Summary = b.Content
			}
		}
		return c, nil
	}
	return session.Opaque{Type: e.Type, JSON: raw}, nil
}

// A message counts as the agent's own where it says so (isMeta), or where all its texts were put in by hooks.
func message(role session.Role, raw []byte) session.Message {
	m := session.Message{Role: role, JSON: raw}
	said, hooked := 0, 0 // texts, and those of them that a hook put in
	for key, value := range rawjson.Fields(raw) {
		switch key {
		case "role":
			m.Native, _ = rawjson.Unquote(value)
		case "timestamp":
			m.Time = session.Time{Text: string(value)}
		case "isMeta":
			m.Meta = rawjson.Truthy(value)
		case "usage":
			m.Usage = usage(value)
			// Only an answer names the model that answered.
			if model := rawjson.Get(value, "model"); role == session.RoleAssistant && rawjson.IsString(model) {
				m.Model, _ = rawjson.Unquote(model)
				m.ModelJSON = model
			}
		case "blocks":
			for _, b := range Blocks(value) {
				switch b := b.(type) {
				case ErrorBlock:
					m.Error = b.Content
				case TextBlock:
					if said++; b.Source == "hook" {
						hooked++
					}
				}
			}
		}
	}
	m.Meta = m.Meta || said > 0 && hooked == said
	return m
}

// usage takes the names of the program and those of the document.
// Which of the two it is cannot be told from anything else in the record, so the first name that is there counts.
func usage(value []byte) *session.Usage {
	if !rawjson.IsObject(value) {
		return nil
	}
	number := func(keys ...string) int64 {
		for _, key := range keys {
			if v := rawjson.Get(value, key); v != nil {
				return integer(v)
			}
		}
		return 0
	}
	u := &session.Usage{
		Input: number("prompt_tokens", "inputTokens"), Output: number("completion_tokens", "outputTokens"),
		CacheRead: number("cache_read_input_tokens"), CacheWrite: number("cache_creation_input_tokens"),
		Total: number("total_tokens", "totalTokens"),
	}
	// The document's form has no total, and zero would look as if nothing was used.
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	return u
}

// Parts gives what is inside an entry in neutral form.
func (codec) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	if e.Kind == session.KindOpaque {
		return []session.Part{session.OpaquePart{Type: e.Type, JSON: raw}}, nil
	}
	return messageParts(raw), nil
}

// Messages gives the message itself, which is the whole record. A message with a compact block is the first that the
// model sees: the program, too, loads it as it is.
// Compact takes white space between tokens away and nothing else.
func (codec) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	switch e.Kind {
	case session.KindMessage, session.KindCompaction:
		return [][]byte{rawjson.Compact(raw)}, nil
	}
	return nil, nil
}

// LLM gives the message as it is: how the program spells it for a provider depends on the provider.
func (codec) LLM(m []byte) ([]byte, error) { return m, nil }

// ResolveBlobs: Wave keeps no blobs.
func (codec) ResolveBlobs(m []byte, _ func(string) ([]byte, error)) ([]byte, error) { return m, nil }

// Edit: Wave has no edits of contexts.
func (codec) Edit(m, _ []byte) ([]byte, error) {
	return nil, errors.New("a context of wave cannot be edited")
}

// Role says who speaks in a message.
func (codec) Role(m []byte) session.Role { return roleOf([]byte(rawjson.Str(m, "role"))) }

// ToolCalls gives the calls that nothing has answered: call and answer are one block.
func (codec) ToolCalls(m []byte) []string {
	var ids []string
	for _, b := range Blocks(rawjson.Get(m, "blocks")) {
		if t, ok := b.(ToolBlock); ok && !t.answered() {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// ToolResults gives nothing: a result stands in the block of its call.
func (codec) ToolResults([]byte) []string { return nil }

// Failed says whether the message is an answer that ended in an error.
func (codec) Failed(m []byte) bool {
	if rawjson.Str(m, "role") != "assistant" {
		return false
	}
	for _, b := range Blocks(rawjson.Get(m, "blocks")) {
		if _, ok := b.(ErrorBlock); ok {
			return true
		}
	}
	return false
}

// Strip removes calls that nothing has answered.
// A message that only thought, and called what is stripped, says nothing any more.
func (codec) Strip(m []byte, drop func(id string) bool) ([]byte, error) {
	useful := false
	blocks := rawjson.MapElements(rawjson.Get(m, "blocks"), func(b []byte) []byte {
		block := decodeBlock(b)
		if t, ok := block.(ToolBlock); ok && !t.answered() && drop(t.ID) {
			return nil
		}
		if _, ok := block.(ReasoningBlock); !ok {
			useful = true
		}
		return b
	})
	if !useful {
		return nil, nil
	}
	return rawjson.Set(m, "blocks", blocks), nil
}
