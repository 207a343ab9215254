package llm_test

import (
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/llm"
	"github.com/treeline-dev/treeline/session"
)

// Ids of calls that are used twice get a number, also very many that begin alike and leave no room for it. Each trying the numbers of the others, it would take many times as long.
func TestManyLongIDs(t *testing.T) {
	t.Parallel()
	const n = 40_000
	var parts []session.Part
	add := func(id string) {
		parts = append(parts, session.ToolCall{ID: id, Name: "dig"}, session.ToolResult{CallID: id})
	}
	long := "the_same_beginning_of_all_of_these_ids" // 38 characters, of 40
	for i := range n {
		add(long + "aa")
		if i%20 == 0 { // other ids whose beginnings are the same
			add(fmt.Sprintf("%s%02x", long[:38], i/20%256))
		}
	}
	body, _, err := llm.OpenAI.Body(llm.Conversation{Messages: []llm.Message{
		{Role: session.RoleUser, Parts: []session.Part{session.Text{Text: "Dig."}}}, {Role: session.RoleAssistant, Parts: parts},
	}}, llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for m := range rawjson.Elements(rawjson.Get(body, "messages")) {
		if id := rawjson.Str(m, "tool_call_id"); id != "" {
			if seen[id] || len(id) > 40 {
				t.Fatalf("%q is too long, or was used before", id)
			}
			seen[id] = true
		}
	}
	if want := n + n/20; len(seen) != want {
		t.Errorf("%d ids, want %d", len(seen), want)
	}
}
