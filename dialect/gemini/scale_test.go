package gemini_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/gemini"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
)

// A long session that was resumed, and its Problems, take time in proportion to its length. In quadratic time they would take minutes.
func TestLong(t *testing.T) {
	t.Parallel()
	n := soaktest.Part(40_000, 10_000)
	var log, again strings.Builder
	log.WriteString(`{"sessionId":"s","projectHash":"h","startTime":"2026-05-01T10:00:00.000Z","lastUpdated":"2026-05-01T10:00:00.000Z","kind":"main"}` + "\n")
	for i := range n {
		typ := "user"
		if i%2 == 1 {
			typ = "gemini"
		}
		m := fmt.Sprintf(`{"id":"message %d","timestamp":"2026-05-01T10:00:00.000Z","type":"%s","content":[{"text":"Dig."}]}`, i, typ)
		log.WriteString(m + "\n")
		again.WriteString("," + m)
	}
	for range 3 { // resumes
		log.WriteString(`{"$set":{"messages":[` + again.String()[1:] + `]}}` + "\n")
	}
	tree, err := dialecttest.Decode(gemini.Gemini, "session-log.jsonl", []byte(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	for _, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		messages++
	}
	if p := c.Problems(); messages != n || len(p) > 0 {
		t.Errorf("%d messages, %d problems; want %d and none", messages, len(p), n)
	}
}
