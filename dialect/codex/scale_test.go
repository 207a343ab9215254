package codex_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
)

// TestManyRollbacks: rollbacks after many events do not each walk over all of these. Quadratic code would take
// a quarter of an hour.
func TestManyRollbacks(t *testing.T) {
	n := soaktest.Part(40_000, 10_000)
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
	// What stands before the first turn stays, and rollbacks do not each walk over it.
	tree, err = dialecttest.Decode(codex.Codex, "log", []byte(header+"\n"+strings.Repeat(said("assistant", "ho"), n)+strings.Repeat(prompt+back, n)))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(seenAt(t, tree, tree.LeafID()), "\n"); got != n {
		t.Errorf("the model sees %d messages, not %d", got, n)
	}
}

// TestFrameCustom: the output of a custom tool gets the type that fits its call, even if both are written at once.
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
	if diff := difftest.Diff(want, got); diff != "" {
		t.Errorf("the types (-want +got):\n%s", diff)
	}
}

// counted is a log in memory that counts how often it is read.
type counted struct {
	log   []byte
	reads int
}

func (c *counted) Bytes(s session.Span) ([]byte, error) {
	c.reads++
	return c.log[s.Offset:s.End()], nil
}

// TestFrameLongTurn: an append to a long turn does not read the turn again, and still belongs to it.
func TestFrameLongTurn(t *testing.T) {
	message := func(role, kind string) string {
		return line("response_item", object{"type": text("message"), "role": text(role), "content": []byte(`[{"type":"` + kind + `","text":"hi"}]`)}) + "\n"
	}
	event := func(typ, turn string) string {
		return line("event_msg", object{"type": text(typ), "turn_id": text(turn)}) + "\n"
	}
	long := strings.Repeat(message("assistant", "output_text")+event("token_count", ""), 1000)
	begun := event("task_started", "t1") + message("user", "input_text")
	for name, test := range map[string]struct {
		log, want string
	}{
		"open":          {begun + long, "t1"},
		"ended":         {begun + long + event("task_complete", "t1"), ""},
		"aborted":       {begun + long + event("turn_aborted", "t1"), ""},
		"no begin":      {message("user", "input_text") + long, ""},
		"begun too far": {event("task_started", "t1") + long + message("user", "input_text") + long, ""},
		"rolled back":   {begun + long + line("event_msg", object{"type": text("thread_rolled_back"), "num_turns": []byte("1")}) + "\n", ""},
	} {
		log := &counted{log: []byte(header + "\n" + test.log)}
		b := session.NewBuilder(name, log)
		if err := dialect.DecodeLog(codex.Codex.NewDecoder(b), slices.Clone(log.log)); err != nil {
			t.Fatal(err)
		}
		tree := b.Finish()
		n := dialect.NewEntry{ID: "n", Body: session.Message{JSON: []byte(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}`)}}
		record, err := codex.Codex.Record(n)
		if err != nil {
			t.Fatal(err)
		}
		log.reads = 0
		ended := ""
		for f, err := range codex.Codex.Frame(tree, slices.Values([]dialect.NewRecord{{NewEntry: n, Record: record}})) {
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range f.After {
				ended = rawjson.Str(rawjson.Get(r, "payload"), "turn_id")
			}
		}
		if ended != test.want || log.reads > 4 {
			t.Errorf("%s: the turn %q ends after %d reads, not %q", name, ended, log.reads, test.want)
		}
	}
}

// TestManyThoughts: reasoning with very many parts is read in linear time. Quadratic code would take minutes.
func TestManyThoughts(t *testing.T) {
	t.Parallel()
	n := soaktest.Part(1_000_000, 500_000)
	item := `{"type":"reasoning","summary":[` + strings.Repeat(`{"type":"summary_text","text":"dig on"},`, n) + `{"type":"summary_text","text":"end"}]}`
	parts := codex.Codex.MessageParts([]byte(item))
	if want := strings.Repeat("dig on\n", n) + "end"; len(parts) != 1 || parts[0].(session.Thinking).Text != want {
		t.Errorf("%d parts; want one text of %d bytes", len(parts), len(want))
	}
}
