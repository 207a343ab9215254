package copilot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/copilot"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// TestManyCompactions: each compaction repeats all prompts before it. Only the text of the last one is made: those of
// all of them would take gigabytes here.
func TestManyCompactions(t *testing.T) {
	const n = 20_000
	var log strings.Builder
	event := func(typ, data string, i int) {
		fmt.Fprintf(&log, `{"type":%q,"data":%s,"id":"c0b11070-0000-4000-8000-%012d","timestamp":"2026-05-01T09:00:00.000Z","parentId":null}`+"\n", typ, data, i)
	}
	event("session.start", `{"sessionId":"5e550000-0000-4000-8000-000000000001","version":1,"producer":"p","copilotVersion":"1","startTime":"2026-05-01T09:00:00.000Z"}`, 0)
	for i := range n {
		event("user.message", `{"content":"`+strings.Repeat("x", 100)+`"}`, 2*i+1)
		event("session.compaction_complete", `{"success":true,"summaryContent":"s"}`, 2*i+2)
	}
	tree, err := dialecttest.Decode(copilot.Copilot, "log", []byte(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, rawjson.Str(rawjson.Get(m.JSON, "data"), "content"))
	}
	if len(texts) != 1 || strings.Count(texts[0], "<user_message>") != n {
		t.Errorf("%d messages, want one with %d prompts", len(texts), n)
	}
}
