package wave

import (
	"errors"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// codec looks inside messages. All values share it: a message of the old JSON documents is the same object.
type codec struct{ dialect.NoBlobs }

// Rules are the default.
func (*codec) Rules() session.Rules { return session.Rules{} }

// Time returns the time of a message.
func (*codec) Time(raw []byte) session.Time {
	return session.Time{Text: string(rawjson.Get(raw, "timestamp"))}
}

// Body decodes the content of an entry. The summary of a compaction is the text of its block; the rest of the message is in
// its parts.
func (*codec) Body(e session.Entry, raw []byte) (session.Body, error) {
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

// message reads a message. Meta is set if the message has isMeta or if hooks inserted all its texts.
func message(role session.Role, raw []byte) session.Message {
	m := session.Message{Role: role, JSON: raw}
	said, hooked := 0, 0 // number of texts, and of those inserted by a hook
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
			// Only an answer names its model.
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

// usage reads the members of the program or of the document, whichever are there.
func usage(value []byte) *session.Usage {
	if !rawjson.IsObject(value) {
		return nil
	}
	number := func(keys ...string) float64 {
		for _, key := range keys {
			if v := rawjson.Get(value, key); v != nil {
				return dialect.Number(v)
			}
		}
		return 0
	}
	u := session.NewUsage([5]float64{
		number("prompt_tokens", "inputTokens"), number("completion_tokens", "outputTokens"),
		number("cache_read_input_tokens"), number("cache_creation_input_tokens"), number("total_tokens", "totalTokens"),
	}, [5]float64{})
	// The document's usage has no total.
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	return &u
}

// Parts returns what is inside an entry in neutral form.
func (*codec) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	if e.Kind == session.KindOpaque {
		return []session.Part{session.OpaquePart{Type: e.Type, JSON: raw}}, nil
	}
	return messageParts(raw), nil
}

// Messages returns the message, which is the whole record without white space between tokens. A message with a compact block
// is the first that the model sees.
func (*codec) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	switch e.Kind {
	case session.KindMessage, session.KindCompaction:
		return [][]byte{rawjson.Compact(raw)}, nil
	}
	return nil, nil
}

// Edit returns an error, because Wave has no context edits.
func (*codec) Edit(m, _ []byte) ([]byte, error) {
	return nil, errors.New("a context of wave cannot be edited")
}

// Role says who speaks in a message.
func (*codec) Role(m []byte) session.Role { return roleOf([]byte(rawjson.Str(m, "role"))) }

// ToolCalls returns the calls without a result. The other calls are in one block with their result.
func (*codec) ToolCalls(m []byte) []string {
	var ids []string
	for _, b := range Blocks(rawjson.Get(m, "blocks")) {
		if t, ok := b.(ToolBlock); ok && !t.answered() {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// ToolResults returns nothing, because a result is in the block of its call.
func (*codec) ToolResults([]byte) []string { return nil }

// Failed reports whether the message is an answer that ended in an error.
func (*codec) Failed(m []byte) bool {
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

// Strip removes calls without a result. A message that has only reasoning left is not worth sending.
func (*codec) Strip(m []byte, drop func(id string) bool) ([]byte, error) {
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
