// Package contents reads and makes the contents of Google's API for language models. A content is what one side says,
//
//	{"role":"user"|"model","parts":[…]}
//
// and a part is a text, a thought, a call, a result or a picture. Gemini CLI and Qwen Code keep sessions in contents.
package contents

import (
	"bytes"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// The roles of contents. Results are the user's.
const (
	User  = "user"
	Model = "model"
)

// Members of a part.
const (
	Call   = "functionCall"
	Result = "functionResponse"
	Inside = "parts" // member of a result: its images
)

// partKeys are the members of a part, found in one pass.
var partKeys = []string{"text", "thought", "thoughtSignature", Call, Result, "inlineData", "fileData"}

// Make returns a content with parts, which are JSON.
func Make(role string, parts [][]byte) []byte {
	var w dialect.Object
	w.Str("role", role)
	w.Add("parts", dialect.Array(parts))
	return w.End()
}

// List returns the parts of a value that is a text, a part or a list of both. null has none.
func List(value []byte) (list [][]byte) {
	one := func(v []byte) {
		switch {
		case rawjson.IsString(v):
			var w dialect.Object
			w.Add("text", v)
			v = w.End()
		case rawjson.IsNull(v):
			return
		}
		list = append(list, v)
	}
	if !rawjson.IsArray(value) {
		one(value)
		return list
	}
	for v := range rawjson.Elements(value) {
		one(v)
	}
	return list
}

// Has reports whether a part has a member that is true in JavaScript: null, false, 0 and "" count as absent.
func Has(part []byte, member string) bool { return rawjson.Truthy(rawjson.Get(part, member)) }

// HasResult reports whether a value, as in List, has a result.
func HasResult(value []byte) bool {
	if bytes.HasPrefix(value, []byte(`[{"`+Result+`":{`)) {
		return true
	}
	if !bytes.Contains(value, []byte(`"`+Result+`"`)) {
		return false
	}
	for _, part := range List(value) {
		if Has(part, Result) {
			return true
		}
	}
	return false
}

// AppendParts adds what is in a value, as in List, in neutral form. Texts are decoded by s, which may be nil.
func AppendParts(parts []session.Part, value []byte, s *session.Skim) []session.Part {
	if !rawjson.IsArray(value) {
		return appendPart(parts, value, s)
	}
	for v := range rawjson.Elements(value) {
		parts = appendPart(parts, v, s)
	}
	return parts
}

// appendPart adds one part. An empty text is left out.
func appendPart(parts []session.Part, part []byte, s *session.Skim) []session.Part {
	if text, ok := s.Text(part); ok {
		if text != "" {
			parts = append(parts, session.Text{Text: text})
		}
		return parts
	}
	if !rawjson.IsObject(part) {
		return parts
	}
	var v [7][]byte
	rawjson.Pick(part, partKeys, v[:])
	switch text, ok := s.Text(v[0]); {
	case rawjson.IsObject(v[3]):
		return append(parts, callOf(v[3], s))
	case rawjson.IsObject(v[4]):
		return append(parts, resultOf(v[4], s))
	case rawjson.Truthy(v[1]):
		signature, _ := s.Text(v[2])
		if text == "" && signature == "" {
			return parts
		}
		return append(parts, session.Thinking{Text: text, Signature: signature})
	case ok:
		if text != "" {
			parts = append(parts, session.Text{Text: text})
		}
		return parts
	}
	if image, ok := imageOf(v[5], v[6]); ok {
		return append(parts, image)
	}
	kind := "part"
	for key := range rawjson.Fields(part) {
		kind = key
		break
	}
	return append(parts, session.OpaquePart{Type: kind, JSON: part})
}

var callKeys = []string{"id", "name", "args"}

// callOf parses a functionCall.
func callOf(value []byte, s *session.Skim) session.ToolCall {
	var v [3][]byte
	rawjson.Pick(value, callKeys, v[:])
	var c session.ToolCall
	c.ID, _ = s.Text(v[0])
	c.Name, _ = s.Text(v[1])
	if c.Arguments = v[2]; rawjson.IsNull(v[2]) {
		c.Arguments = session.Raw("{}")
	}
	return c
}

var resultKeys = []string{"id", "name", "response", Inside}

// resultOf parses a functionResponse. The text of a tool is in "output", or in "error" if it failed; any other response is
// shown as JSON.
func resultOf(value []byte, s *session.Skim) session.ToolResult {
	var v [4][]byte
	rawjson.Pick(value, resultKeys, v[:])
	var r session.ToolResult
	r.CallID, _ = s.Text(v[0])
	r.Name, _ = s.Text(v[1])
	output, failed := rawjson.Get(v[2], "output"), rawjson.Get(v[2], "error")
	text, ok := s.Text(output)
	if !ok && failed != nil {
		r.IsError = true
		text, ok = s.Text(failed)
	}
	if !ok {
		if !rawjson.IsNull(v[2]) {
			text = s.Plain(v[2])
		}
	}
	if text != "" {
		r.Parts = append(r.Parts, session.Text{Text: text})
	}
	for part := range rawjson.Elements(v[3]) {
		if image, ok := imageOf(rawjson.Get(part, "inlineData"), rawjson.Get(part, "fileData")); ok {
			r.Parts = append(r.Parts, image)
		}
	}
	return r
}

// imageOf parses an inlineData with bytes, or a fileData with the address of a file.
func imageOf(inline, file []byte) (session.Image, bool) {
	switch {
	case rawjson.IsObject(inline):
		return session.Image{MIME: rawjson.Str(inline, "mimeType"), Data: rawjson.Str(inline, "data")}, true
	case rawjson.IsObject(file):
		return session.Image{Data: rawjson.Str(file, "fileUri")}, true
	}
	return session.Image{}, false
}

// Role says who speaks in a content: a tool, if the content has only results.
func Role(content []byte) session.Role {
	switch rawjson.Str(content, "role") {
	case Model:
		return session.RoleAssistant
	case User:
		results := 0
		for part := range rawjson.Elements(rawjson.Get(content, "parts")) {
			if !Has(part, Result) {
				return session.RoleUser
			}
			results++
		}
		if results > 0 {
			return session.RoleTool
		}
		return session.RoleUser
	}
	return session.RoleOther
}

// IDs returns the ids of the calls or of the results in a list of parts.
func IDs(parts []byte, member string) (ids []string) {
	for part := range rawjson.Elements(parts) {
		if v := rawjson.Get(part, member); rawjson.IsObject(v) {
			ids = append(ids, rawjson.Str(v, "id"))
		}
	}
	return ids
}
