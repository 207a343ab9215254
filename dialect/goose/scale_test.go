package goose_test

import (
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
