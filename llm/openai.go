package llm

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Beyond what all providers require, chat completions have these rules: arguments are JSON in a string, a result has only text, and
// thinking is not sent back.

// openaiBody encodes a request.
func openaiBody(r request) []byte {
	var list [][]byte
	for _, t := range r.turns {
		switch t.role {
		case session.RoleSystem:
			list = append(list, spoken("system", rawjson.Quote(dialect.TextOf(t.parts))))
		case session.RoleUser:
			list = append(list, spoken("user", openaiContent(t.parts)))
		case session.RoleAssistant:
			list = append(list, openaiAnswer(t)...)
		}
	}
	var o dialect.Object
	o.Optional("model", r.model)
	if len(r.tools) > 0 {
		o.Add("tools", openaiTools(r.tools))
	}
	o.Add("messages", dialect.Array(list))
	return o.End()
}

func openaiTools(tools []Tool) []byte {
	var list [][]byte
	for _, t := range tools {
		var f, o dialect.Object
		f.Str("name", t.Name)
		f.Optional("description", t.Description)
		f.Add("parameters", t.Parameters)
		o.Add("type", []byte(`"function"`))
		o.Add("function", f.End())
		list = append(list, o.End())
	}
	return dialect.Array(list)
}

func spoken(role string, content []byte) []byte {
	var o dialect.Object
	o.Str("role", role)
	o.Add("content", content)
	return o.End()
}

// openaiAnswer returns an answer and the results of its calls. Images in the results follow in a message of the user.
func openaiAnswer(t turn) (list [][]byte) {
	words := dialect.TextOf(t.parts)
	if len(t.calls) == 0 {
		return [][]byte{spoken("assistant", rawjson.Quote(words))}
	}
	var calls, results [][]byte
	var pictures []session.Part
	for _, c := range t.calls {
		calls = append(calls, function(c))
		var shown []session.Part
		for _, p := range c.result {
			if _, ok := p.(session.Image); ok {
				pictures = append(pictures, p)
				p = session.Text{Text: "(image below)"}
			}
			shown = append(shown, p)
		}
		var o dialect.Object
		o.Str("role", "tool")
		o.Str("tool_call_id", c.id)
		o.Str("content", dialect.TextOf(shown))
		results = append(results, o.End())
	}
	var o dialect.Object
	o.Str("role", "assistant")
	o.Optional("content", words)
	o.Add("tool_calls", dialect.Array(calls))
	list = append([][]byte{o.End()}, results...)
	if pictures != nil {
		pictures = append([]session.Part{session.Text{Text: "The images of the tool results:"}}, pictures...)
		list = append(list, spoken("user", openaiContent(pictures)))
	}
	return list
}

func function(c call) []byte {
	var f, o dialect.Object
	f.Str("name", c.name)
	f.Str("arguments", string(c.arguments))
	o.Str("id", c.id)
	o.Add("type", []byte(`"function"`))
	o.Add("function", f.End())
	return o.End()
}

// openaiContent returns a single text as a string, and anything else as a list.
func openaiContent(parts []session.Part) []byte {
	if len(parts) == 1 {
		if t, ok := parts[0].(session.Text); ok {
			return rawjson.Quote(t.Text)
		}
	}
	var list [][]byte
	for _, part := range parts {
		switch p := part.(type) {
		case session.Text:
			list = append(list, text(p.Text))
		case session.Image:
			var url, o dialect.Object
			url.Str("url", dialect.ImageURL(p))
			o.Add("type", []byte(`"image_url"`))
			o.Add("image_url", url.End())
			list = append(list, o.End())
		}
	}
	return dialect.Array(list)
}
