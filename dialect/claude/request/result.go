package request

import (
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// plainResult returns a result as it is sent. An error has only texts, and a content that is not a list becomes a text. References to tools
// become a note.
func plainResult(item []byte) []byte {
	content := rawjson.Get(item, "content")
	if !rawjson.IsArray(content) {
		if rawjson.IsString(content) || rawjson.IsNull(content) {
			return item
		}
		return rawjson.Set(item, "content", rawjson.Quote(string(rawjson.Compact(content))))
	}
	var said []string
	texts, references := true, false
	for part := range rawjson.Elements(content) {
		switch rawjson.Str(part, "type") {
		case blockText:
			said = append(said, rawjson.Str(part, "text"))
		case "tool_reference":
			references = true
		default:
			texts = false
		}
	}
	switch {
	case references && len(said) == 0 && texts:
		return rawjson.Set(item, "content", dialect.Array([][]byte{textBlock(referencesGone).json}))
	case !texts && rawjson.Truthy(rawjson.Get(item, "is_error")):
		var left [][]byte
		if len(said) > 0 {
			left = append(left, textBlock(strings.Join(said, "\n\n")).json)
		}
		return rawjson.Set(item, "content", dialect.Array(left))
	}
	return item
}
