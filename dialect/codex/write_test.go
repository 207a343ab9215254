package codex_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

const thread = "01986976-a029-7065-8f7d-d5a64c4a61ff"

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// written is a log to which entries are appended.
type written struct {
	*testing.T
	lines []string
	n     int
}

// begin returns a log with a header. members are added to the header's payload, and ordinal, if any, to its line.
func begin(t *testing.T, members, ordinal string) *written {
	return &written{T: t, lines: []string{fmt.Sprintf(`{"timestamp":"2026-05-01T10:00:00.000Z"%s,"type":"session_meta","payload":{"id":%q,"timestamp":"2026-05-01T10:00:00.000Z","cwd":"/w","originator":"o","cli_version":"1"%s}}`,
		ordinal, thread, members)}}
}

func (w *written) tree() *session.Tree {
	w.Helper()
	log := []byte(strings.Join(w.lines, "\n") + "\n")
	b := session.NewBuilder("log", whole(log))
	if err := dialect.DecodeLog(codex.Codex.NewDecoder(b), log); err != nil {
		w.Fatal(err)
	}
	return b.Finish()
}

// try appends entries as one write.
func (w *written) try(parent *session.EntryID, bodies ...session.Body) error {
	w.Helper()
	var batch []dialect.NewRecord
	for i, body := range bodies {
		w.n++
		n := dialect.NewEntry{ID: session.EntryID(fmt.Sprint("new", w.n)), Time: noon, Body: body}
		if i == 0 && parent != nil {
			n.Parent = *parent
		}
		record, err := codex.Codex.Record(n)
		if err != nil {
			return err
		}
		batch = append(batch, dialect.NewRecord{NewEntry: n, Record: record, Moved: i == 0 && parent != nil})
	}
	var lines []string
	for f, err := range codex.Codex.Frame(w.tree(), slices.Values(batch)) {
		if err != nil {
			return err
		}
		for _, r := range f.Records() {
			lines = append(lines, string(r))
		}
	}
	w.lines = append(w.lines, lines...)
	return nil
}

func (w *written) add(bodies ...session.Body) {
	w.Helper()
	if err := w.try(nil, bodies...); err != nil {
		w.Fatal(err)
	}
}

// turn appends a prompt and its answer.
func (w *written) turn(prompt, answer string) {
	w.Helper()
	w.add(w.message(session.RoleUser, session.Text{Text: prompt})...)
	w.add(w.message(session.RoleAssistant, session.Text{Text: answer})...)
}

// message composes messages.
func (w *written) message(role session.Role, parts ...session.Part) (bodies []session.Body) {
	w.Helper()
	list, err := codex.Codex.Compose(dialect.NewMessage{Role: role, Parts: parts})
	if err != nil {
		w.Fatal(err)
	}
	for _, m := range list {
		bodies = append(bodies, session.Message{Role: codex.Codex.Role(m), JSON: m})
	}
	return bodies
}

// kinds names the lines from one on: the type of the line or of the event or item in it, after the ordinal if there is one.
func (w *written) kinds(from int) (list []string) {
	for _, l := range w.lines[from:] {
		payload := rawjson.Get([]byte(l), "payload")
		kind := rawjson.Str([]byte(l), "type")
		if inner := rawjson.Str(payload, "type"); inner != "" {
			kind = inner
		}
		if kind == "item_completed" {
			kind += " " + rawjson.Str(rawjson.Get(payload, "item"), "type")
		}
		if ordinal := rawjson.Get([]byte(l), "ordinal"); ordinal != nil {
			kind = string(ordinal) + " " + kind
		}
		list = append(list, kind)
	}
	return list
}

// heard returns the texts that the model would see.
func (w *written) heard() (list []string) {
	w.Helper()
	t := w.tree()
	c, err := session.BuildContext(t, t.LeafID(), session.ContextOptions{})
	if err != nil {
		w.Fatal(err)
	}
	for m, err := range c.Messages() {
		if err != nil {
			w.Fatal(err)
		}
		list = append(list, dialect.TextOf(codex.Codex.MessageParts(m.JSON)))
	}
	return list
}

// entry finds the message with a text.
func (w *written) entry(text string) session.EntryID {
	w.Helper()
	for e := range w.tree().Entries() {
		if raw, _ := e.Raw(); e.Kind == session.KindMessage && bytes.Contains(raw, []byte(text)) {
			return e.ID
		}
	}
	w.Fatalf("no message says %s", text)
	return ""
}

func (w *written) wants(what string, want, got []string) {
	w.Helper()
	if diff := difftest.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// A turn is written as the program writes it: it begins and ends with events, and its messages are shown by events.
func TestTurns(t *testing.T) {
	w := begin(t, "", "")
	w.turn("one", "two")
	w.wants("a turn", []string{"task_started", "message", "user_message", "agent_message", "message", "task_complete"}, w.kinds(1))
	w.add(w.message(session.RoleUser, session.Text{Text: "three"})...)
	from := len(w.lines)
	w.add(w.message(session.RoleAssistant, session.Thinking{Text: "hm"}, session.Text{Text: "look"}, session.ToolCall{ID: "c1", Name: "ls", Arguments: []byte(`{"a":1}`)})...)
	w.wants("an answer with a call goes on", []string{"agent_reasoning", "reasoning", "agent_message", "message", "function_call"}, w.kinds(from))
	from = len(w.lines)
	w.add(w.message(session.RoleTool, session.ToolResult{CallID: "c1", Parts: dialect.TextParts("out"), IsError: true})...)
	w.add(w.message(session.RoleAssistant, session.Text{Text: "four"})...)
	w.wants("the end of the turn", []string{"function_call_output", "agent_message", "message", "task_complete"}, w.kinds(from))
	// The event that ends a turn names the one that began it.
	if a, b := rawjson.Get(rawjson.Get([]byte(w.lines[7]), "payload"), "turn_id"), rawjson.Get(rawjson.Get([]byte(w.lines[len(w.lines)-1]), "payload"), "turn_id"); len(a) == 0 || !bytes.Equal(a, b) {
		t.Errorf("turn %s ends as %s", a, b)
	}
	// A prompt after an open turn without a message joins that turn.
	w.lines = append(w.lines, `{"timestamp":"2026-05-01T12:00:00.000Z","type":"event_msg","payload":{"type":"task_started","turn_id":"begun"}}`)
	from = len(w.lines)
	w.turn("five", "six")
	w.wants("a turn that was begun", []string{"message", "user_message", "agent_message", "message", "task_complete"}, w.kinds(from))
	if last := w.lines[len(w.lines)-1]; !strings.Contains(last, `"turn_id":"begun","last_agent_message":"six"`) {
		t.Error(last)
	}
}

// Every line of a paginated log gets the next ordinal, even after a header that continues another rollout.
func TestOrdinals(t *testing.T) {
	for name, test := range map[string]struct{ members, ordinal, first string }{
		"new":  {`,"history_mode":"paginated"`, `,"ordinal":0`, "1"},
		"fork": {`,"history_mode":"paginated"`, `,"ordinal":23`, "24"},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, test.members, test.ordinal)
			w.turn("one", "two")
			want := []string{"task_started", "message", "item_completed UserMessage", "item_completed AgentMessage", "message", "task_complete"}
			n := dialect.Integer([]byte(test.first))
			for i := range want {
				want[i] = fmt.Sprint(n+int64(i), " ", want[i])
			}
			w.wants("a turn", want, w.kinds(1))
			parent := w.entry("two")
			w.turn("three", "four")
			if err := w.try(&parent, w.message(session.RoleUser, session.Text{Text: "five"})...); err != nil {
				t.Fatal(err)
			}
			for i, l := range w.lines {
				if got := dialect.Integer(rawjson.Get([]byte(l), "ordinal")); got != n-1+int64(i) {
					t.Errorf("line %d has the ordinal %d", i+1, got)
				}
			}
			w.wants("the context", []string{"one", "two", "five"}, w.heard())
		})
	}
}

// The usage of an answer is an event with the sum of the thread, before the turn ends.
func TestUsed(t *testing.T) {
	w := begin(t, "", "")
	for i, want := range []string{
		`"total_token_usage":{"input_tokens":12,"cached_input_tokens":2,"cache_write_input_tokens":0,"output_tokens":5,"reasoning_output_tokens":0,"total_tokens":17}`,
		`"total_token_usage":{"input_tokens":24,"cached_input_tokens":4,"cache_write_input_tokens":0,"output_tokens":10,"reasoning_output_tokens":0,"total_tokens":34}`,
	} {
		w.add(w.message(session.RoleUser, session.Text{Text: "one"})...)
		list, err := codex.Codex.Compose(dialect.NewMessage{Role: session.RoleAssistant, Parts: dialect.TextParts("two"), Usage: &session.Usage{Input: 10, CacheRead: 2, Output: 5, Total: 17}})
		if err != nil {
			t.Fatal(err)
		}
		w.add(session.Message{Role: session.RoleAssistant, JSON: list[0]})
		w.wants("an answer", []string{"agent_message", "message", "token_count", "task_complete"}, w.kinds(len(w.lines)-4))
		if got := w.lines[len(w.lines)-2]; !strings.Contains(got, want) || strings.Contains(strings.Join(w.lines, ""), "treelineUsed") {
			t.Errorf("answer %d: %s", i, got)
		}
	}
	var spent []session.Usage
	for e := range w.tree().Entries() {
		raw, _ := e.Raw()
		codex.Codex.Spent(e, raw, func(s session.Spending) { spent = append(spent, s.Usage) })
	}
	if len(spent) != 2 || spent[1] != (session.Usage{Input: 10, CacheRead: 2, Output: 5, Total: 17}) {
		t.Errorf("%+v; want len(spent) == 2, spent[1] == %v", spent, (session.Usage{Input: 10, CacheRead: 2, Output: 5, Total: 17}))
	}
}

// The leaf goes back to the end of a turn that still counts, and nowhere else.
func TestRollback(t *testing.T) {
	w := begin(t, "", "")
	w.turn("one", "two")
	w.turn("three", "four")
	w.turn("five", "six")
	for _, text := range []string{"three", "five"} {
		at := w.entry(text)
		if err := w.try(&at, w.message(session.RoleUser, session.Text{Text: "x"})...); !errors.Is(err, dialect.ErrUnsupported) {
			t.Errorf("going on within the turn of %s: %v", text, err)
		}
	}
	at, from := w.entry("four"), len(w.lines)
	if err := w.try(&at, w.message(session.RoleUser, session.Text{Text: "seven"})...); err != nil {
		t.Fatal(err)
	}
	w.wants("a branch", []string{"thread_rolled_back", "task_started", "message", "user_message"}, w.kinds(from))
	w.wants("the context", []string{"one", "two", "three", "four", "seven"}, w.heard())
	gone := w.entry("six")
	if err := codex.Codex.Reach(w.tree(), gone); !errors.Is(err, dialect.ErrUnsupported) {
		t.Errorf("going on after what was rolled back: %v", err)
	}
	// A move of the leaf without a message: the tree shows where it leads.
	target := w.entry("two")
	w.add(session.Leaf{Target: target})
	tree := w.tree()
	if tree.LeafID() != target {
		t.Errorf("the leaf is %s, want %s", tree.LeafID(), target)
	}
	if body, err := tree.At(tree.Len() - 1).Body(); err != nil || body != (session.Leaf{Target: target}) {
		t.Errorf("%+v, %v; want no error, body == %v", body, err, (session.Leaf{Target: target}))
	}
	w.wants("the context", []string{"one", "two"}, w.heard())
	w.turn("eight", "nine")
	path, err := w.tree().Path(w.entry("nine"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range path.Entries() {
		if raw, _ := e.Raw(); bytes.Contains(raw, []byte("three")) || bytes.Contains(raw, []byte("seven")) {
			t.Errorf("on the path: %s", raw)
		}
	}
	w.add(session.Leaf{})
	w.wants("nothing is left", nil, w.heard())
}

// A rollback counts a compaction as the program does: a count that does not lead to the entry is not written.
func TestRollbackOverCompaction(t *testing.T) {
	w := begin(t, "", "")
	w.turn("one", "two")
	w.turn("three", "four")
	w.add(session.Compaction{Summary: "sum"})
	w.wants("compacted", []string{"sum"}, w.heard())
	w.turn("five", "six")
	sum := w.entry("six")
	w.turn("seven", "eight")
	if err := w.try(&sum, w.message(session.RoleUser, session.Text{Text: "nine"})...); err != nil {
		t.Fatal(err)
	}
	w.wants("after the compaction", []string{"sum", "five", "six", "nine"}, w.heard())
	// Lines between turns belong to the turn before them, so the compaction cannot be rolled back without that turn.
	four, two := w.entry("four"), w.entry("two")
	if err := codex.Codex.Reach(w.tree(), four); !errors.Is(err, dialect.ErrUnsupported) {
		t.Errorf("going on right before the compaction: %v", err)
	}
	if err := w.try(&two, w.message(session.RoleUser, session.Text{Text: "ten"})...); err != nil {
		t.Fatal(err)
	}
	w.wants("before the compaction", []string{"one", "two", "ten"}, w.heard())
}

// What the format cannot hold is refused, and so is what the program would drop.
func TestRefused(t *testing.T) {
	for name, body := range map[string]session.Body{
		"label": session.Label{Target: "1", Label: "x"}, "summary": session.BranchSummary{Summary: "x"}, "name": session.SessionInfo{Name: "x"},
		"thinking": session.ThinkingLevelChange{Level: "high"}, "event": session.Custom{Type: "thread_rolled_back", Data: []byte(`{"type":"thread_rolled_back","num_turns":1}`)},
	} {
		if _, err := codex.Codex.Record(dialect.NewEntry{Time: noon, Body: body}); !errors.Is(err, dialect.ErrUnsupported) {
			t.Errorf("%s: %v; want the error dialect.ErrUnsupported", name, err)
		}
	}
	for _, m := range []string{
		`[]`, `{"role":"user","content":"x"}`, `{"type":"message","role":"system","content":[]}`, `{"type":"message","role":"user","content":"x"}`,
		`{"type":"message","role":"user","content":[{"type":"odd"}]}`, `{"type":"odd"}`, `{"type":"function_call_output","call_id":"c","output":{}}`,
	} {
		if r, err := codex.Codex.Record(dialect.NewEntry{Time: noon, Body: session.Message{JSON: []byte(m)}}); err == nil {
			t.Errorf("%s becomes %s", m, r)
		}
	}
	if err := codex.Codex.CheckID("2026"); err == nil {
		t.Error("an id that is no UUID is accepted")
	}
}

// Entries of extensions, models of other providers and outputs of custom tools come back unchanged.
func TestCarried(t *testing.T) {
	w := begin(t, "", "")
	w.turn("one", "two")
	w.add(session.ModelChange{Provider: "orchard", ModelID: "pear/2", Model: "orchard/pear/2"})
	w.add(session.Custom{Type: "mine", Data: []byte(`{"a":1}`)})
	w.lines = append(w.lines, `{"timestamp":"2026-05-01T12:00:00.000Z","type":"response_item","payload":{"type":"custom_tool_call","call_id":"c1","name":"patch","input":"x","status":"completed"}}`)
	w.add(w.message(session.RoleTool, session.ToolResult{CallID: "c1", Parts: dialect.TextParts("done")})...)
	w.wants("the output", []string{"mine", "custom_tool_call", "custom_tool_call_output"}, w.kinds(len(w.lines)-3))
	tree := w.tree()
	for i, want := range map[int]session.Body{
		tree.Len() - 3: session.Custom{Type: "mine", Data: []byte(`{"a":1}`)},
		tree.Len() - 4: session.ModelChange{Role: "default", Provider: "orchard", ModelID: "pear/2", Model: "orchard/pear/2", JSON: []byte(`"pear/2"`)},
	} {
		body, err := tree.At(i).Body()
		if diff := difftest.Diff(want, body); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	// Settings of an earlier turn are kept when the model changes.
	w.lines = append(w.lines, `{"timestamp":"2026-05-01T12:00:00.000Z","type":"turn_context","payload":{"turn_id":"t","cwd":"/w","approval_policy":"never","model":"a","collaboration_mode":{"mode":"default","settings":{"model":"a"}}}}`)
	w.add(session.ModelChange{Provider: "openai", ModelID: "b"})
	payload := rawjson.Get([]byte(w.lines[len(w.lines)-1]), "payload")
	if want := `{"turn_id":"t","cwd":"/w","approval_policy":"never","model":"b","collaboration_mode":{"mode":"default","settings":{"model":"b"}}}`; string(payload) != want {
		t.Errorf("%s, want %s", payload, want)
	}
}
