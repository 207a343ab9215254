package contents

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Wire is the common part of the session.MessageCodec of agents whose contexts are contents. A dialect embeds it.
type Wire struct{}

// LLM returns the content itself, which already has the form that goes to the provider.
func (*Wire) LLM(m []byte) ([]byte, error) { return m, nil }

// Edit replaces the parts of a content.
func (*Wire) Edit(m, content []byte) ([]byte, error) {
	return rawjson.Set(m, "parts", rawjson.Compact(dialect.Array(List(content)))), nil
}

// Role says who speaks in a content.
func (*Wire) Role(m []byte) session.Role { return Role(m) }

// ToolCalls returns the ids of the calls in a content.
func (*Wire) ToolCalls(m []byte) []string { return IDs(rawjson.Get(m, "parts"), Call) }

// ToolResults returns the ids of the calls that a content answers.
func (*Wire) ToolResults(m []byte) []string { return IDs(rawjson.Get(m, "parts"), Result) }

// Failed is always false, because a content does not say that its turn failed.
func (*Wire) Failed([]byte) bool { return false }

// Strip removes calls and results. A content that has only thoughts left is not worth sending.
func (*Wire) Strip(m []byte, drop func(id string) bool) ([]byte, error) {
	useful := false
	parts := rawjson.MapElements(rawjson.Get(m, "parts"), func(part []byte) []byte {
		for _, member := range [...]string{Call, Result} {
			if v := rawjson.Get(part, member); rawjson.IsObject(v) && drop(rawjson.Str(v, "id")) {
				return nil
			}
		}
		useful = useful || !Has(part, "thought")
		return part
	})
	if !useful {
		return nil, nil
	}
	return rawjson.Set(m, "parts", parts), nil
}

// Compose composes a message with the functions of a dialect: prompt makes a message of the user from parts, answer one of the
// model. The caller handles the tool results among the parts. name is the name of the dialect, for errors.
func Compose(m dialect.NewMessage, name string, prompt, answer func(parts [][]byte) []byte) (list [][]byte, results []session.ToolResult, err error) {
	parts, results := dialect.Results(m.Parts)
	switch m.Role {
	case session.RoleUser:
		prose := dialect.Prose(parts)
		if !dialect.Speaks(prose) {
			return nil, nil, dialect.ErrSilent
		}
		list = append(list, prompt(FromParts(prose, false)))
	case session.RoleAssistant:
		said := FromParts(parts, true)
		if len(said) == 0 && len(results) == 0 {
			return nil, nil, dialect.ErrSilent
		}
		if len(said) > 0 {
			list = append(list, answer(said))
		}
	case session.RoleTool:
		if len(results) == 0 {
			return nil, nil, dialect.NoCall(name)
		}
	default:
		return nil, nil, dialect.CannotSay(name, m.Role)
	}
	return list, results, nil
}
