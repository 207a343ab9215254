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

// A long session that was resumed, and its Problems, are read in linear time. Quadratic code would take minutes.
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
	for range 3 { // the session is resumed
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

// Rewinds, repeated ids and lists of messages are read in linear time, too.
func TestHostile(t *testing.T) {
	t.Parallel()
	n := soaktest.Part(100_000, 40_000)
	const header = `{"sessionId":"s","projectHash":"h","startTime":"2026-05-01T10:00:00.000Z","lastUpdated":"2026-05-01T10:00:00.000Z","kind":"main"}` + "\n"
	const update = `{"$set":{"lastUpdated":"2026-05-01T10:00:00.000Z"}}` + "\n"
	message := func(id any, typ string) string {
		return fmt.Sprintf(`{"id":"%v","timestamp":"2026-05-01T10:00:00.000Z","type":"%s","content":[{"text":"Dig."}]}`+"\n", id, typ)
	}
	each := func(n int, record func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(record(i))
		}
		return b.String()
	}
	messages := func(i int) string { return message(i, "user") }
	for name, c := range map[string]struct{ log, leaf string }{
		"rewinds to the same updates": {strings.Repeat(update, n) + each(n, func(i int) string { return messages(i) + fmt.Sprintf(`{"$rewindTo":"%d"}`+"\n", i) }), ""},
		"repeated ids":                {each(n, messages) + each(n, messages) + `{"$rewindTo":"1"}` + "\n", "0"},
		"rewinds to the beginning":    {each(n, messages) + each(n, func(i int) string { return fmt.Sprintf(`{"$rewindTo":"%d"}`+"\n", n-1-i) }), ""},
		"a second header":             {strings.TrimSuffix(header, "}\n") + `,"messages":[` + each(n, func(i int) string { return fmt.Sprintf(`{"id":"%d"},`, i) }) + "{}]}\n" + message("last", "user"), "last"},
		"sets after updates": {
			message("a", "user") + strings.Repeat(update, n) + message("b", "info") + strings.Repeat(update, n) +
				strings.Repeat(`{"$set":{"messages":[{"id":"a"},{"id":"b"}]}}`+"\n", n) + message("last", "user"), "last",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, err := dialecttest.Decode(gemini.Gemini, "session-log.jsonl", []byte(header+c.log))
			if err != nil {
				t.Fatal(err)
			}
			if leaf := tree.LeafID(); string(leaf) != c.leaf {
				t.Errorf("the leaf is %q, want %q", leaf, c.leaf)
			}
			if p := tree.Problems(); len(p) > 0 {
				t.Errorf("%d problems, the first: %v", len(p), p[0])
			}
		})
	}
}
