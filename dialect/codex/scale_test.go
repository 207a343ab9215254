package codex_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// TestManyRollbacks: rollbacks after many events do not walk through all of these each time. In quadratic time this test
// would take a quarter of an hour.
func TestManyRollbacks(t *testing.T) {
	const n = 40_000
	const (
		event  = `{"timestamp":"2026-03-01T08:00:01.000Z","type":"event_msg","payload":{"type":"token_count"}}` + "\n"
		prompt = `{"timestamp":"2026-03-01T08:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}` + "\n"
		back   = `{"timestamp":"2026-03-01T08:00:01.000Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}` + "\n"
	)
	log := header + "\n" + prompt + strings.Repeat(event, n) + strings.Repeat(prompt+back, n) + strings.Repeat(event+prompt+back, n)
	tree, err := dialecttest.Decode(codex.Codex, "log", []byte(log))
	if err != nil {
		t.Fatal(err)
	}
	if leaf, want := tree.LeafID(), tree.At(0).ID; leaf != want {
		t.Errorf("the leaf is %s, not %s", leaf, want)
	}
}

// TestFrameCustom: the output of a custom tool gets the type that fits its call, also if both are written at once.
func TestFrameCustom(t *testing.T) {
	tree, err := dialecttest.Decode(codex.Codex, "log", []byte(header+"\n"+line("response_item", object{
		"type": text("custom_tool_call"), "name": text("patch"), "input": text("x"), "call_id": text("c0")})+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	var batch []dialect.NewRecord
	for _, m := range []string{
		`{"type":"function_call_output","call_id":"c0","output":"in the log"}`,
		`{"type":"custom_tool_call","name":"patch","input":"x","call_id":"c1"}`,
		`{"type":"function_call","name":"dig","arguments":"{}","call_id":"c2"}`,
		`{"type":"function_call_output","call_id":"c1","output":"custom"}`,
		`{"type":"function_call_output","call_id":"c2","output":"function"}`,
	} {
		n := dialect.NewEntry{Body: session.Message{JSON: []byte(m)}}
		record, err := codex.Codex.Record(n)
		if err != nil {
			t.Fatal(err)
		}
		batch = append(batch, dialect.NewRecord{NewEntry: n, Record: record})
	}
	var got []string
	for f, err := range codex.Codex.Frame(tree, slices.Values(batch)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rawjson.Str(rawjson.Get(f.Record, "payload"), "type"))
	}
	want := []string{"custom_tool_call_output", "custom_tool_call", "function_call", "custom_tool_call_output", "function_call_output"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the types (-want +got):\n%s", diff)
	}
}
