package goose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/goose"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// An answer of many texts is sent as one text without white space at its end. Quadratic code would take minutes.
func TestManyTexts(t *testing.T) {
	t.Parallel()
	const n, text = 50_000, "The wet corner drains badly, so we dig a trench and put gravel into it. "
	log := `{"sessions":{"id":"20260301_1","working_dir":"/w","created_at":"2026-03-01 08:00:00"}}` + "\n" +
		`{"messages":{"message_id":"a","session_id":"20260301_1","role":"user","content_json":[{"type":"text","text":"Dig."}],"created_timestamp":1}}` + "\n" +
		`{"messages":{"message_id":"b","session_id":"20260301_1","role":"assistant","content_json":[` +
		strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"`+text+`"},`, n), ",") + `],"created_timestamp":2}}` + "\n"
	tree, err := dialecttest.Decode(goose.Goose, "log", []byte(log))
	if err != nil {
		t.Fatal(err)
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		said = rawjson.Str(m.JSON, "content")
	}
	if want := strings.TrimSpace(strings.Repeat(text, n)); said != want {
		t.Errorf("%d bytes were sent, want %d", len(said), len(want))
	}
}

// A session that begins with very many answers has none of them in its context, nor their results. In quadratic time it would take minutes.
func TestManyAnswersFirst(t *testing.T) {
	t.Parallel()
	const n = 10_000
	var log strings.Builder
	log.WriteString(`{"sessions":{"id":"20260301_1","working_dir":"/w","created_at":"2026-03-01 08:00:00"}}` + "\n")
	for i := range n {
		fmt.Fprintf(&log, `{"messages":{"message_id":"a%d","role":"assistant","content_json":[{"type":"toolRequest","id":"%[1]d",`+
			`"toolCall":{"status":"success","value":{"name":"dig"}}},{"type":"toolRequest","id":"last%[1]d",`+
			`"toolCall":{"status":"success","value":{"name":"dig"}}}],"created_timestamp":1}}`+"\n", i)
		fmt.Fprintf(&log, `{"messages":{"message_id":"r%d","role":"user","content_json":[{"type":"toolResponse","id":"%[1]d",`+
			`"toolResult":{"status":"success","value":{"content":[]}}},{"type":"text","text":""}],"created_timestamp":1}}`+"\n", i)
	}
	log.WriteString(`{"messages":{"message_id":"u","role":"user","content_json":[{"type":"toolResponse","id":"last0",` +
		`"toolResult":{"status":"success","value":{"content":[]}}},{"type":"text","text":"Dig."}],"created_timestamp":1}}` + "\n")
	tree, err := dialecttest.Decode(goose.Goose, "log", []byte(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, string(m.JSON))
	}
	if want := `{"role":"user","content":"Dig."}`; strings.Join(sent, "\n") != want {
		t.Errorf("%q was sent, not %s", sent, want)
	}
}
