package contents

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// FromParts makes parts of the API. Parts for which the API has no form are left out. If spoken is set, the parts are the model's, and blank
// texts are left out as well.
func FromParts(parts []session.Part, spoken bool) (list [][]byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			if !spoken || dialect.Speaks([]session.Part{p}) {
				list = append(list, Text(p.Text))
			}
		case session.Thinking:
			if dialect.Speaks([]session.Part{p}) && !p.Redacted {
				list = append(list, thought(p))
			}
		case session.ToolCall:
			list = append(list, call(p))
		case session.ToolResult:
			list = append(list, result(p))
		case session.Image:
			list = append(list, image(p))
		}
	}
	return list
}

// Said returns the texts and images among some parts as the parts of a content.
func Said(parts []session.Part) []byte {
	return dialect.Array(FromParts(slices.DeleteFunc(slices.Clone(parts), func(p session.Part) bool {
		switch p.(type) {
		case session.Text, session.Image:
			return false
		}
		return true
	}), false))
}

// Text makes a part that is a text.
func Text(text string) []byte {
	var w dialect.Object
	w.Str("text", text)
	return w.End()
}

func thought(p session.Thinking) []byte {
	w := dialect.Object(`{"text":`)
	w = append(w, rawjson.Quote(p.Text)...)
	w.Add("thought", []byte("true"))
	w.Optional("thoughtSignature", p.Signature)
	return w.End()
}

// call makes a call. The API requires an object as arguments; any other value becomes its only member.
func call(p session.ToolCall) []byte {
	var c, w dialect.Object
	c.Optional("id", p.ID)
	c.Str("name", p.Name)
	c.Add("args", dialect.Arguments(p.Arguments))
	w.Add(Call, c.End())
	return w.End()
}

// result makes a result. Its images are in a separate list.
func result(p session.ToolResult) []byte {
	member := "output"
	if p.IsError {
		member = "error"
	}
	var response, r, w dialect.Object
	response.Str(member, dialect.TextOf(p.Parts))
	r.Optional("id", p.CallID)
	r.Str("name", p.Name)
	r.Add("response", response.End())
	var images [][]byte
	for _, inside := range p.Parts {
		if i, ok := inside.(session.Image); ok {
			images = append(images, image(i))
		}
	}
	if images != nil {
		r.Add(Inside, dialect.Array(images))
	}
	w.Add(Result, r.End())
	return w.End()
}

func image(p session.Image) []byte {
	var i, w dialect.Object
	if p.MIME == "" {
		i.Str("fileUri", p.Data)
		i.Str("mimeType", typeOf(p.Data)) // Qwen Code sends a note instead of a file without one
		w.Add("fileData", i.End())
		return w.End()
	}
	i.Str("mimeType", p.MIME)
	i.Str("data", p.Data)
	w.Add("inlineData", i.End())
	return w.End()
}

// typeOf is the type of a picture at an address, by how its path ends; PNG if that says nothing.
func typeOf(address string) string {
	path, _, _ := strings.Cut(address, "?")
	switch strings.ToLower(path[strings.LastIndexByte(path, '.')+1:]) {
	case "jpg", "jpeg":
		return "image/jpeg"
	case "gif":
		return "image/gif"
	case "webp":
		return "image/webp"
	}
	return "image/png"
}
