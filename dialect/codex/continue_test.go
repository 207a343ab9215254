package codex

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// TestContinueRollback: to read a rollback, the turns that it rolls back and the one before them must be known.
func TestContinueRollback(t *testing.T) {
	const header = `{"timestamp":"2026-05-01T10:00:00.000Z","type":"session_meta","payload":{"id":"0f8fad5b-d9cb-469f-a165-70867728950e"%s}}`
	prompt := func(text string) string {
		return `{"timestamp":"2026-05-01T10:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"` + text + `"}]}}`
	}
	back := func(n int) string {
		return fmt.Sprintf(`{"timestamp":"2026-05-01T10:00:02.000Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":%d}}`, n)
	}
	two := []string{prompt("one"), prompt("two")}
	tests := []struct {
		name, meta string
		rest       []string
		want       error
		refused    bool
	}{
		{name: "no rollback", rest: two},
		{name: "known turns", rest: append(two[:2:2], back(1))},
		{name: "the first turn", rest: append(two[:2:2], back(2)), want: dialect.ErrEarlier},
		{name: "more turns", rest: append(two[:2:2], back(9)), want: dialect.ErrEarlier},
		{name: "no turn", rest: []string{back(1)}, want: dialect.ErrEarlier},
		{name: "nothing taken back", rest: []string{back(0)}},
		{name: "twice", rest: append(two[:2:2], back(1), back(1)), want: dialect.ErrEarlier},
		{name: "a base", meta: `,"history_mode":"paginated","history_base":{}`, refused: true},
	}
	for _, test := range tests {
		b := session.NewBuilder(test.name, nil)
		b.SetHeader(session.Header{ID: "x", Raw: fmt.Appendf(nil, header, test.meta)})
		b.StartAfter(session.Before{Entries: 7, Last: "8", Ends: [][]session.EntryID{{"8"}}}, nil)
		dec, ok := Codex.Continue(b)
		if ok == test.refused {
			t.Errorf("%s: it can be continued: %v", test.name, ok)
		}
		if !ok {
			continue
		}
		if err := dialect.DecodeLog(dec, []byte(strings.Join(test.rest, "\n")+"\n")); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, not %v", test.name, err, test.want)
		}
		if e := b.At(0); e.ID != "9" || e.Parent != "8" {
			t.Errorf("%s: it begins with %s below %s", test.name, e.ID, e.Parent)
		}
	}
}

// TestIsPrompt: the fast test of a message agrees with the one that reads the whole message.
func TestIsPrompt(t *testing.T) {
	texts := []string{"", "hello", "  hello", "a", "after", "Warn", "<", "<environment_context>x</environment_context>", "<ENVIRONMENT_context>x</environment_context>",
		`\u003cenvironment_context>x</environment_context>`, `\n <skill>x</skill>`, "\u00a0<skill>x</skill>", "# agents.md instructions x</INSTRUCTIONS>", "# title", `a \"quoted\" word`,
		`ends in \\`, `x"},{"type":"input_text","text":"<skill></skill>`, `x"},{"type":"bogus","text":"y`, `x"},{"foo":"y`, `x","text":"<skill></skill>`, `x","type":"output_audio`}
	rests := []string{"", `,"id":"msg_1"`, `,"id":7`, `,"phase":"commentary"`, `,"phase":"later"`, `,"internal_chat_message_metadata_passthrough":{}`,
		`,"internal_chat_message_metadata_passthrough":[]`, `,"internal_chat_message_metadata_passthrough":{"turn_id":5}`, `,"status":"completed"`, `,"status":5`, `,"note":"\ud800"`,
		`,"content":[]`, `,"content":"x"`, `,"role":"user"`}
	plain := 0
	for _, text := range texts {
		for _, rest := range rests {
			message := []byte(`{"type":"message","role":"user","content":[{"type":"input_text","text":"` + text + `"}]` + rest + `}`)
			if !rawjson.Valid(message) {
				t.Fatalf("%s is not JSON", message)
			}
			i, ok := itemOf(session.Entry{}, message)
			f := fields{inner: []byte("message"), role: []byte("user"), payload: append(message, `,"metadata":{}}`...)}
			if got, want := isPrompt(&f), ok && i.turn; got != want {
				t.Errorf("%s: %v, not %v", message, got, want)
			}
			if isPlainPrompt(f.payload) {
				plain++
			}
		}
	}
	if plain < 20 {
		t.Errorf("only %d messages are plain", plain)
	}
}
