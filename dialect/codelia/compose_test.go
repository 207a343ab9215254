package codelia_test

import (
	"bytes"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/session"
)

// TestCompose: what neutral parts become in codelia's form.
func TestCompose(t *testing.T) {
	text := func(s string) session.Part { return session.Text{Text: s} }
	call := session.ToolCall{ID: "c1", Name: "bash", Arguments: session.Raw(`{"a":1}`)}
	result := session.ToolResult{CallID: "c1", Name: "bash", Parts: []session.Part{text("2 m")}}
	for name, test := range map[string]struct {
		role  session.Role
		parts []session.Part
		want  string // a line each; "" is refused
	}{
		"a text":     {session.RoleUser, []session.Part{text("hi")}, `{"role":"user","content":"hi"}`},
		"two texts":  {session.RoleUser, []session.Part{text("a"), text("b")}, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`},
		"a picture":  {session.RoleUser, []session.Part{session.Image{MIME: "image/png", Data: "AAAA"}}, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","media_type":"image/png"}}]}`},
		"an address": {session.RoleUser, []session.Part{session.Image{Data: "https://x.test/a"}}, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.test/a"}}]}`},
		"a prompt":   {session.RoleSystem, []session.Part{text("be brief")}, `{"role":"system","content":"be brief"}`},
		"thoughts first": {session.RoleAssistant, []session.Part{text("Look."), session.Thinking{Text: "hm"}, call},
			`{"role":"reasoning","content":"hm"}` + "\n" + `{"role":"assistant","content":"Look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"a\":1}"}}]}`},
		"a call alone": {session.RoleAssistant, []session.Part{session.ToolCall{ID: "c", Name: "n", Arguments: session.Raw(`"{bad"`)}},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{bad"}}]}`},
		"answered in place": {session.RoleAssistant, []session.Part{call, result},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"a\":1}"}}]}` + "\n" + `{"role":"tool","tool_call_id":"c1","tool_name":"bash","content":"2 m"}`},
		"an output":       {session.RoleTool, []session.Part{session.ToolResult{CallID: "c", Name: "n", IsError: true}}, `{"role":"tool","tool_call_id":"c","tool_name":"n","content":"","is_error":true}`},
		"no output":       {session.RoleTool, []session.Part{text("x")}, ""},
		"nothing":         {session.RoleUser, nil, ""},
		"an empty text":   {session.RoleUser, []session.Part{text("")}, ""},
		"an empty answer": {session.RoleAssistant, []session.Part{text("")}, ""},
		"another role":    {session.RoleOther, []session.Part{text("x")}, ""},
	} {
		list, err := codelia.State.Compose(dialect.NewMessage{Role: test.role, Parts: test.parts})
		if got := string(bytes.Join(list, []byte("\n"))); got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%s: %s (%v), want %s", name, got, err, test.want)
		}
		for _, m := range list {
			origin, bare := codelia.State.Origin(codelia.State.SetOrigin(m, []byte(`{"x":"`+"\u2028"+`"}`)))
			if string(origin) != `{"x":"\u2028"}` || !bytes.Equal(bare, m) {
				t.Errorf("%s: origin %s, rest %s", name, origin, bare)
			}
		}
	}
}
