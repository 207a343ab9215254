package qwen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/qwen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
)

// contextOf decodes a log and gives the context at its leaf.
func contextOf(t *testing.T, log string) *session.Context {
	t.Helper()
	tree, err := dialecttest.Decode(qwen.Qwen, "s", []byte(log))
	if err != nil {
		t.Fatal(err)
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLong reads logs of many records whose shapes would take quadratic time, and so minutes, if read naively.
func TestLong(t *testing.T) {
	t.Parallel()
	n := soaktest.Part(20_000, 5_000)
	const long = "The wet corner drains badly, so we dig a trench and put gravel into it, and then we wait for the next rain."
	record := func(i int, uuid, typ, role, parts, end string) string {
		parent := "null"
		if i > 0 {
			parent = fmt.Sprintf(`"u%d"`, i-1)
		}
		return fmt.Sprintf(`{"uuid":"%s","parentUuid":%s,"sessionId":"s","timestamp":"2026-05-01T10:00:00.000Z","type":"%s","cwd":"/w","version":"0.24.4","message":{"role":"%s","parts":%s}}%s`,
			uuid, parent, typ, role, parts, end)
	}
	for _, test := range []struct {
		name           string
		record         func(i int) string
		messages, lost int
	}{
		{"on one line", func(i int) string {
			return record(i, fmt.Sprint("u", i), "user", "user", `[{"text":"`+long+`"}]`, "")
		}, n, 0},
		{"one uuid", func(i int) string {
			return record(min(i, 1), "u0", "user", "user", `[{"text":"Dig."}]`, "\n")
		}, 1, 0},
		{"answers in a row", func(i int) string {
			return record(i, fmt.Sprint("u", i), "assistant", "model", `[{"text":"`+long+`"}]`, "\n")
		}, 1, 0},
		{"answers that are dropped", func(i int) string {
			parts := `[{"text":"Dug."}]`
			if i == 0 {
				parts = `[{"text":""}]`
			}
			return record(i, fmt.Sprint("u", i), "assistant", "model", parts, "\n")
		}, 0, n - 1},
		{"answers with open calls", func(i int) string {
			return record(i, fmt.Sprint("u", i), "assistant", "model", fmt.Sprintf(`[{"functionCall":{"id":"c%d","name":"dig"}}]`, i), "\n")
		}, 2 * n, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			for i := range n {
				log.WriteString(test.record(i))
			}
			c := contextOf(t, log.String())
			messages, lost := 0, 0
			for _, err := range c.Messages() {
				if err != nil {
					t.Fatal(err)
				}
				messages++
			}
			for _, p := range c.Problems() {
				if p.Kind == session.ProblemUnseen {
					lost++
				}
			}
			if messages != test.messages || lost != test.lost {
				t.Errorf("%d messages, %d lost; want %d and %d", messages, lost, test.messages, test.lost)
			}
		})
	}
}

// TestManyParts: an answer of very many parts is read in linear time. Quadratic code would take minutes.
func TestManyParts(t *testing.T) {
	t.Parallel()
	n := soaktest.Part(600_000, 100_000)
	log := `{"uuid":"u","parentUuid":null,"sessionId":"s","timestamp":"2026-05-01T10:00:00.000Z","type":"assistant","cwd":"/w","version":"0.24.4","message":{"role":"model","parts":[` +
		strings.Repeat(`{"text":"dig "},{"text":"mud ","thought":true},`, n) + `{"text":"end"}]}}` + "\n"
	c := contextOf(t, log)
	for m, err := range c.Messages() {
		if err != nil || strings.Count(string(m.JSON), "dig ") != n || strings.Count(string(m.JSON), "mud ") != n {
			t.Errorf("a message of %d bytes, %v; want one with all texts", len(m.JSON), err)
		}
	}
}

// TestManyCalls: an answer of very many calls, half of which have results, takes linear time. Quadratic code would take minutes.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	n := soaktest.Part(100_000, 50_000)
	var calls, results []string
	for i := range n {
		calls = append(calls, fmt.Sprintf(`{"functionCall":{"id":"c%d","name":"dig%d"}}`, i, i))
		if i%2 == 0 {
			results = append(results, fmt.Sprintf(`{"functionResponse":{"id":"c%d","name":"dig","response":{"output":"mud"}}}`, i))
		}
	}
	log := `{"uuid":"u","parentUuid":null,"sessionId":"s","timestamp":"2026-05-01T10:00:00.000Z","type":"assistant","cwd":"/w","version":"0.24.4","message":{"role":"model","parts":[` + strings.Join(calls, ",") + `]}}
{"uuid":"r","parentUuid":"u","sessionId":"s","timestamp":"2026-05-01T10:00:00.000Z","type":"tool_result","cwd":"/w","version":"0.24.4","message":{"role":"user","parts":[` + strings.Join(results, ",") + `]}}
`
	c := contextOf(t, log)
	messages, made := 0, 0
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		if messages++; strings.Contains(string(m.JSON), "was not recorded") {
			made++
			if messages == n+1 && !strings.Contains(string(m.JSON), fmt.Sprintf(`"name":"dig%d"`, n-1)) {
				t.Errorf("the last message is %s", m.JSON)
			}
		}
	}
	if messages != n+1 || made != n/2 {
		t.Errorf("%d messages, %d of them made; want %d and %d", messages, made, n+1, n/2)
	}
}
