package llm

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Beyond what all providers require, the Responses API has these rules: the input is a list of items, and a call, its output and each
// piece of reasoning are separate items. Reasoning is followed by what it led to. Arguments are JSON in a string; a tool
// that takes a text is called by another kind of item.

// responsesBody encodes a request.
func responsesBody(r request) []byte {
	var list [][]byte
	for _, t := range r.turns {
		switch t.role {
		case session.RoleSystem:
			list = append(list, item("developer", inputContent(t.parts)))
		case session.RoleUser:
			list = append(list, item("user", inputContent(t.parts)))
		case session.RoleAssistant:
			list = append(list, responsesAnswer(t)...)
		}
	}
	var o dialect.Object
	o.Optional("model", r.model)
	if len(r.tools) > 0 {
		o.Add("tools", responsesTools(r.tools))
	}
	o.Add("input", dialect.Array(list))
	return o.End()
}

// responsesTools defines tools. A schema is strict unless that is turned off, and then must have all members required.
func responsesTools(tools []Tool) []byte {
	var list [][]byte
	for _, t := range tools {
		var o dialect.Object
		o.Add("type", []byte(`"function"`))
		o.Str("name", t.Name)
		o.Optional("description", t.Description)
		o.Add("parameters", t.Parameters)
		o.Add("strict", []byte("false"))
		list = append(list, o.End())
	}
	return dialect.Array(list)
}

// item is a message.
func item(role string, content [][]byte) []byte {
	var o dialect.Object
	o.Add("type", []byte(`"message"`))
	o.Str("role", role)
	o.Add("content", dialect.Array(content))
	return o.End()
}

// content is a piece of a message: its type, and one member.
func content(kind, key, value string) []byte {
	var o dialect.Object
	o.Str("type", kind)
	o.Str(key, value)
	return o.End()
}

// inputContent encodes parts that the model gets as input.
func inputContent(parts []session.Part) (list [][]byte) {
	for _, part := range parts {
		switch p := part.(type) {
		case session.Text:
			list = append(list, content("input_text", "text", p.Text))
		case session.Image:
			list = append(list, content("input_image", "image_url", dialect.ImageURL(p)))
		}
	}
	return list
}

// responsesAnswer returns the items of an answer, then the outputs of its calls.
func responsesAnswer(t turn) (list [][]byte) {
	for _, part := range t.parts {
		switch p := part.(type) {
		case session.Text:
			list = append(list, item("assistant", [][]byte{content("output_text", "text", p.Text)}))
		case session.Thinking:
			var summary [][]byte
			if p.Text != "" {
				summary = append(summary, content("summary_text", "text", p.Text))
			}
			var o dialect.Object
			o.Add("type", []byte(`"reasoning"`))
			o.Add("summary", dialect.Array(summary))
			o.Str("encrypted_content", p.Signature)
			list = append(list, o.End())
		case session.OpaquePart:
			list = append(list, p.JSON)
		}
	}
	var outputs [][]byte
	for _, c := range t.calls {
		kind, key, value := "function_call", "arguments", string(c.arguments)
		if c.input != nil {
			kind, key, value = "custom_tool_call", "input", *c.input
		}
		var asked, given dialect.Object
		asked.Str("type", kind)
		asked.Str("call_id", c.id)
		asked.Str("name", c.name)
		asked.Str(key, value)
		given.Str("type", kind+"_output")
		given.Str("call_id", c.id)
		given.Add("output", output(c.result))
		list, outputs = append(list, asked.End()), append(outputs, given.End())
	}
	return append(list, outputs...)
}

// output encodes the output of a call: texts as a string, or a list if there are images.
func output(parts []session.Part) []byte {
	for _, p := range parts {
		if _, ok := p.(session.Image); ok {
			return dialect.Array(inputContent(parts))
		}
	}
	return rawjson.Quote(dialect.TextOf(parts))
}
