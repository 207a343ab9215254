package codex_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/codex"
)

// TestPeekShown: a log without an item of the user is listed with the prompt in an event, as Codex does.
func TestPeekShown(t *testing.T) {
	const header = `{"timestamp":"2026-05-01T10:00:00.000Z","type":"session_meta","payload":{"id":"0f8fad5b-d9cb-469f-a165-70867728950e"}}` + "\n"
	line := func(typ, payload string) string {
		return `{"timestamp":"2026-05-01T10:00:00.000Z","type":"` + typ + `","payload":{` + payload + "}}\n"
	}
	event := line("event_msg", `"type":"user_message","message":"shown"`)
	item := line("response_item", `"type":"message","role":"user","content":[{"type":"input_text","text":"sent"}]`)
	for log, want := range map[string]string{
		event:        "shown",
		item + event: "sent",
		event + item: "sent",
		line("event_msg", `"type":"item_completed","item":{"type":"UserMessage","content":[{"type":"text","text":"paginated"}]}`): "paginated",
		line("event_msg", `"type":"item_completed","item":{"type":"AgentMessage","content":[{"type":"text","text":"answer"}]}`):   "",
	} {
		for _, whole := range []bool{true, false} {
			if got := codex.Codex.Peek([]byte(header+log), nil, whole).Prompt; got != want {
				t.Errorf("%q (whole: %v): %q, not %q", log, whole, got, want)
			}
		}
	}
}
