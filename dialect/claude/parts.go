package claude

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/blocks"
	"github.com/treeline-dev/treeline/dialect/claude/request"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ session.Skimmer = (*Dialect)(nil)

// Members that are found in one pass, because an index reads all messages.
var (
	skimKeys  = []string{"content", "model", "usage"}
	spentKeys = []string{"id", "model", "usage"}
	usageKeys = []string{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"}
	blockKeys = []string{"type", "text", "thinking", "signature", "id", "name", "input", "tool_use_id", "content", "is_error", "source", "data"}
)

// Skim implements session.Skimmer.
func (d *entries) Skim(e session.Entry, raw []byte, s *session.Skim) error {
	if e.Kind != session.KindMessage {
		parts, err := d.Parts(e, raw)
		s.Parts = append(s.Parts, parts...)
		return err
	}
	var v [3][]byte
	rawjson.PickIn(raw, "message", skimKeys, v[:])
	s.Parts = addParts(s.Parts, v[0], s, false)
	if e.Role == session.RoleTool {
		nameAgent(s.Parts, rawjson.Str(rawjson.Get(raw, "toolUseResult"), "agentId"))
	}
	if e.Role != session.RoleAssistant {
		return nil
	}
	if model, _ := s.Text(v[1]); model != request.Synthetic {
		s.Provider, s.Model = provider, model
		if u := usage(v[2]); u != nil {
			s.Usage = *u
		}
	}
	return nil
}

// usage reads the usage of an answer. The program does not record the cost of a single answer.
func usage(value []byte) *session.Usage {
	if !rawjson.IsObject(value) {
		return nil
	}
	var v [4][]byte
	rawjson.Pick(value, usageKeys, v[:])
	var tokens [5]float64
	for i := range v {
		tokens[i] = dialect.Number(v[i])
	}
	u := session.NewUsage(tokens, [5]float64{})
	u.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
	return &u
}

// contentParts returns the parts of a content, which is a text or a list of blocks.
func contentParts(content []byte) []session.Part { return addParts(nil, content, nil, false) }

// addParts adds the parts of a content. s decodes texts. In the content of a result, results are ignored: nested results would be
// read again at each level.
func addParts(parts []session.Part, content []byte, s *session.Skim, inResult bool) []session.Part {
	text := func(value []byte) string {
		t, _ := s.Text(value)
		return t
	}
	if rawjson.IsString(content) {
		if t := text(content); t != "" {
			parts = append(parts, session.Text{Text: t})
		}
		return parts
	}
	for b := range rawjson.Elements(content) {
		var v [12][]byte
		rawjson.Pick(b, blockKeys, v[:])
		switch kind := text(v[0]); kind {
		case blocks.TypeText:
			parts = append(parts, session.Text{Text: text(v[1])})
		case blocks.TypeThinking:
			parts = append(parts, session.Thinking{Text: text(v[2]), Signature: text(v[3])})
		case blocks.TypeRedacted:
			parts = append(parts, session.Thinking{Signature: text(v[11]), Redacted: true})
		case blocks.TypeCall:
			parts = append(parts, session.ToolCall{ID: text(v[4]), Name: text(v[5]), Arguments: v[6]})
		case blocks.TypeResult:
			if inResult {
				parts = append(parts, session.OpaquePart{Type: kind, JSON: b})
				continue
			}
			parts = append(parts, session.ToolResult{CallID: text(v[7]), Parts: addParts(nil, v[8], s, true), IsError: rawjson.Truthy(v[9])})
		case "image":
			parts = append(parts, image(b, v[10]))
		default:
			parts = append(parts, session.OpaquePart{Type: kind, JSON: b})
		}
	}
	return parts
}

// image reads an image: b is the block, source its member "source".
func image(b, source []byte) session.Part {
	switch rawjson.Str(source, "type") {
	case "base64":
		return session.Image{MIME: rawjson.Str(source, "media_type"), Data: rawjson.Str(source, "data")}
	case "url":
		return session.Image{Data: rawjson.Str(source, "url")}
	}
	return session.OpaquePart{Type: "image", JSON: b}
}
