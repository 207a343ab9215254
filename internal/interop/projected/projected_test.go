package projected

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/session"
)

// projected returns the projection of the parts that a dialect finds in messages, as for messages of this library.
func projected(errors bool, role string, parts ...[]session.Part) []string {
	p := projection{errors: errors}
	for _, list := range parts {
		p.begin()
		for _, part := range list {
			p.part(part, p.text)
		}
		p.end(role)
	}
	return p.messages
}

// TestProjectMessages: a request to Anthropic's Messages has the same projection as its parts, without what the agent adds.
func TestProjectMessages(t *testing.T) {
	call := `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"},{"type":"tool_use","id":"c1","name":"Bash","input":{"b":1,"a":2}}]}`
	result := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":[{"type":"text","text":"out\n\n<system-reminder>x"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},{"type":"document"}]}`
	body := `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"one"},` + call + `,` + result +
		`,{"role":"user","content":[{"type":"text","text":"<system-reminder>today"},{"type":"text","text":"NEXT PROMPT"}]}]}`
	got, err := Messages([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"user\n\ttext \"one\"",
		"assistant\n\tthinking \"t\"\n\ttext \"a\"\n\tcall c1 Bash {\"a\":2,\"b\":1}",
		"user\n\tresult c1 true\n\t\ttext \"out\"\n\timage " + imageOf("AAAA") + "\n\topaque document",
	}
	if diff := difftest.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ours := projected(true, "assistant", claude.Claude.MessageParts([]byte(call)))
	ours = append(ours, projected(true, "user", claude.Claude.MessageParts([]byte(result)))...)
	if diff := difftest.Diff(want[1:], ours); diff != "" {
		t.Errorf("the parts of the same messages (-want +got):\n%s", diff)
	}
}

// TestProjectResponses: the same for a request to OpenAI's Responses, which has no mark for errors.
func TestProjectResponses(t *testing.T) {
	items := []string{
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"one"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}`,
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"t"}],"encrypted_content":"x"}`,
		`{"type":"function_call","call_id":"c1","name":"shell","arguments":"{\"b\":1,\"a\":2}"}`,
		`{"type":"function_call_output","call_id":"c1","output":"out"}`,
		`{"type":"custom_tool_call","call_id":"c2","name":"apply_patch","input":"***"}`,
		`{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"done"}]}`,
		`{"type":"web_search_call"}`,
	}
	body := `{"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"base"}]}`
	for _, i := range items {
		body += "," + i
	}
	body += `,{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"NEXT PROMPT"}]}]}`
	got, err := Responses([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"user\n\ttext \"one\"\n\timage " + imageOf("AAAA"),
		"assistant\n\tthinking \"t\"",
		"assistant\n\tcall c1 shell {\"a\":2,\"b\":1}",
		"user\n\tresult c1 false\n\t\ttext \"out\"",
		"assistant\n\tcall c2 apply_patch \"***\"",
		"user\n\tresult c2 false\n\t\ttext \"done\"",
		"assistant\n\topaque web_search_call",
	}
	if diff := difftest.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var ours []string
	for k, i := range items {
		role := "assistant"
		if k == 0 || k == 3 || k == 5 {
			role = "user"
		}
		ours = append(ours, projected(false, role, codex.Codex.MessageParts([]byte(i)))...)
	}
	if diff := difftest.Diff(want, ours); diff != "" {
		t.Errorf("the parts of the same items (-want +got):\n%s", diff)
	}
}

// A tool that takes a text has its own form, and a tool may have no name.
func TestCallsInChats(t *testing.T) {
	got, err := Chat([]byte(`{"messages":[{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"","arguments":"{\"a\":1}"}},` +
		`{"id":"c2","type":"custom","custom":{"name":"apply_patch","input":"***"}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := difftest.Diff([]string{"assistant\n\tcall c1  {\"a\":1}\n\tcall c2 apply_patch {\"input\":\"***\"}"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Where Goose runs is no part of a conversation, whether it stands behind the prompt or, after a picture, alone.
func TestPromptsOfGoose(t *testing.T) {
	picture := `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`
	for _, c := range []struct{ content, want string }{
		{`"one\n` + NextPrompt + `\n<turn-context>\nx</turn-context>"`, "user\n\ttext \"one\""},
		{`[` + picture + `,{"type":"text","text":"` + NextPrompt + `"},{"type":"text","text":"<turn-context>\nx</turn-context>"}]`, "user\n\timage " + imageOf("AAAA")},
	} {
		got, err := Chat([]byte(`{"messages":[{"role":"user","content":` + c.content + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := difftest.Diff([]string{c.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.content, diff)
		}
	}
}
