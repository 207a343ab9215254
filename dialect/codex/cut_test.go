package codex_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
)

const header = `{"timestamp":"2026-03-01T08:00:00.000Z","type":"session_meta","payload":{"id":"019a2f00-0000-7000-8000-000000000001",` +
	`"timestamp":"2026-03-01T08:00:00.000Z","cwd":"/garden","originator":"codex_cli_rs","cli_version":"0.166.0"}}`

func line(kind string, payload any) string {
	p, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"timestamp":"2026-03-01T08:00:01.000Z","type":%q,"payload":%s}`, kind, p)
}

type object map[string]json.RawMessage

func text(s string) json.RawMessage { b, _ := json.Marshal(s); return b }

// seen returns the texts of the messages of a log, with runs of one letter shortened (see runs), and the number of its Problems.
func seen(t *testing.T, lines ...string) (texts []string, problems int) {
	t.Helper()
	tree, err := dialecttest.Decode(codex.Codex, "log", []byte(header+"\n"+strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range codex.Codex.MessageParts(m.JSON) {
			parts := []session.Part{p}
			if r, ok := p.(session.ToolResult); ok {
				parts = r.Parts
			}
			for _, p := range parts {
				if s, ok := p.(session.Text); ok {
					texts = append(texts, runs(s.Text))
				}
			}
		}
	}
	return texts, len(c.Problems())
}

// runs shortens a text: "aaaa" is "a4".
func runs(s string) string {
	var b strings.Builder
	r := []rune(s)
	for i := 0; i < len(r); {
		n := i
		for n < len(r) && r[n] == r[i] {
			n++
		}
		b.WriteRune(r[i])
		if n-i > 9 {
			fmt.Fprint(&b, n-i)
		} else {
			b.WriteString(string(r[i+1 : n]))
		}
		i = n
	}
	return b.String()
}

// TestCut: the middle of a long output is not sent. The limit depends on the model, and a Problem reports the cut.
func TestCut(t *testing.T) {
	call := line("response_item", object{"type": text("function_call"), "name": text("sh"), "arguments": text("{}"), "call_id": text("c")})
	out := func(value json.RawMessage) string {
		return line("response_item", object{"type": text("function_call_output"), "call_id": text("c"), "output": value})
	}
	list := func(texts ...string) json.RawMessage {
		var parts []object
		for _, s := range texts {
			parts = append(parts, object{"type": text("input_text"), "text": text(s)})
		}
		b, _ := json.Marshal(parts)
		return b
	}
	known := line("turn_context", object{"model": text("gpt-5.5")})
	for name, tc := range map[string]struct {
		lines    []string
		want     []string
		problems int
	}{
		"as long as allowed":  {[]string{call, out(text(strings.Repeat("a", 12000)))}, []string{"a12000"}, 0},
		"one too many":        {[]string{call, out(text(strings.Repeat("a", 12001)))}, []string{"a6000…1 chars truncated…a6000"}, 1},
		"bytes, whole runes":  {[]string{call, out(text(strings.Repeat("日", 4100)))}, []string{"日2000…100 chars truncated…日2000"}, 1},
		"a list":              {[]string{call, out(list(strings.Repeat("a", 8000), strings.Repeat("b", 8000), "c"))}, []string{"a8000", "b2000…4000 chars truncated…b2000", "[omitted 1 text items ...]"}, 1},
		"a known model":       {[]string{known, call, out(text(strings.Repeat("a", 48000)))}, []string{"a48000"}, 0},
		"a known model, more": {[]string{known, call, out(text(strings.Repeat("a", 100000)))}, []string{"a24000…13000 tokens truncated…a24000"}, 1},
	} {
		got, problems := seen(t, tc.lines...)
		if diff := difftest.Diff(tc.want, got); diff != "" || problems != tc.problems {
			t.Errorf("%s: %d problems (-want +got):\n%s", name, problems, diff)
		}
	}
}

// TestCompactedLong: a compaction without a replacement keeps the newest 20,000 tokens of the user's messages.
func TestCompactedLong(t *testing.T) {
	user := func(s string) string {
		return line("response_item", object{"type": text("message"), "role": text("user"), "content": json.RawMessage(`[{"type":"input_text","text":` + string(text(s)) + `}]`)})
	}
	got, _ := seen(t, user("old"), user(strings.Repeat("a", 70000)), line("compacted", object{"message": text("S1")}), user(strings.Repeat("b", 30000)), line("compacted", object{"message": text("S2")}))
	want := []string{"a24998", "…5001 tokens truncated…", "a24998", "S1", "b30000", "S2"}
	if diff := difftest.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLongLog: a long log takes linear time, and a line may be longer than any buffer.
func TestLongLog(t *testing.T) {
	var b strings.Builder
	b.WriteString(header + "\n")
	long := soaktest.Part(30_000, 6_000)
	for i := range long {
		switch i % 10 {
		case 0:
			b.WriteString(line("event_msg", object{"type": text("task_started")}))
		case 9:
			b.WriteString(`{"timestamp":"t","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}`)
		default:
			b.WriteString(`{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}}`)
		}
		b.WriteString("\n")
	}
	tree, err := dialecttest.Decode(codex.Codex, "log", []byte(b.String()))
	if err != nil || tree.Len() != long {
		t.Fatal(tree.Len(), err)
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != long*7/10 {
		t.Errorf("%d messages", n)
	}
}

// TestBase: the bytes of a base before the offset count, even the first half of a line if it is whole JSON. What the program refuses is
// refused, and the suffix is shown. A second header hides what stands before it in its own file, but not the base.
func TestBase(t *testing.T) {
	const a, z = "019a2f00-0000-7000-8000-00000000000a", "019a2f00-0000-7000-8000-00000000000b"
	head := func(id, extra string) string {
		return `{"timestamp":"t","ordinal":0,"type":"session_meta","payload":{"id":"` + id + `","timestamp":"t","cwd":"/","originator":"o","cli_version":"v","history_mode":"paginated"` + extra + `}}` + "\n"
	}
	on := func(id string, ordinal, bytes int) string {
		return fmt.Sprintf(`,"history_base":{"thread_id":%q,"end_ordinal_exclusive":%d,"end_byte_offset":%d}`, id, ordinal, bytes)
	}
	say := func(ordinal int, s string) string {
		return fmt.Sprintf(`{"timestamp":"t","ordinal":%d,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}}`, ordinal, s) + "\n"
	}
	root := head(a, "") + say(1, "one") + say(9, "two") + say(3, "three")
	two := len(head(a, "") + say(1, "one") + say(9, "two"))
	mid := head(z, on(a, 2, two)) + say(10, "mid") + say(11, "later")
	for name, tc := range map[string]struct {
		logs   map[string]string
		header string
		want   string
		seen   string // what the model sees if the file has a second header
	}{
		"bytes, not ordinals":   {map[string]string{a: root}, on(a, 2, two), "one two own", "one two later"},
		"before the newline":    {map[string]string{a: root}, on(a, 2, two-1), "one two own", ""},
		"in the middle":         {map[string]string{a: root}, on(a, 2, two-2), "one own", ""},
		"compressed":            {map[string]string{a + ".zst": root}, on(a, 2, two), "one two own", ""},
		"a base of the base":    {map[string]string{a: root, z: mid}, on(z, 11, len(head(z, on(a, 2, two))+say(10, "mid"))), "one two mid own", ""},
		"its own ordinals":      {map[string]string{a: root, z: mid}, on(z, 1, len(head(z, on(a, 2, two))+say(10, "mid"))), "one two mid own", ""},
		"missing":               {nil, on(a, 2, two), "refused own", ""},
		"past the end":          {map[string]string{a: root}, on(a, 2, len(root)+1), "refused one two three own", ""},
		"before the header":     {map[string]string{a: root}, on(a, 0, two), "refused one two own", ""},
		"rollouts in a circle":  {map[string]string{a: head(a, on(a, 1, 9)) + say(1, "one")}, on(a, 2, len(head(a, on(a, 1, 9))+say(1, "one"))), "refused one own", ""},
		"the base has no pages": {map[string]string{a: strings.Replace(root, "paginated", "legacy", 1)}, on(a, 2, two-3), "refused one two own", ""},
		"a base without offset": {map[string]string{a: root}, `,"history_base":{"thread_id":"` + a + `","end_ordinal_exclusive":2}`, "refused own", ""},
	} {
		const own = "019a2f00-0000-7000-8000-00000000000c"
		log := head(own, tc.header) + say(20, "own")
		tree, c := contextOf(t, log, tc.logs)
		var got []string
		for _, p := range c.Problems() {
			got = append(got, string(p.Kind))
		}
		for e := range tree.Entries() {
			parts, err := e.Parts()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, dialect.TextOf(parts))
		}
		if g := strings.Join(got, " "); g != tc.want {
			t.Errorf("%s: %q, want %q", name, g, tc.want)
		}
		if tc.seen == "" {
			continue
		}
		var seen []string
		_, c = contextOf(t, log+head(own, "")+say(22, "later"), tc.logs)
		for m, err := range c.Messages() {
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, dialect.TextOf(codex.Codex.MessageParts(m.JSON)))
		}
		if g := strings.Join(seen, " "); g != tc.seen {
			t.Errorf("%s, with a second header: %q, want %q", name, g, tc.seen)
		}
	}
}

// TestForkedRollback: a rollback also takes back the compactions of its turns, even in a file that continues another one.
func TestForkedRollback(t *testing.T) {
	const a = "019a2f00-0000-7000-8000-00000000000a"
	n := 0
	line := func(kind, payload string) string {
		n++
		return fmt.Sprintf(`{"timestamp":"t","ordinal":%d,"type":%q,"payload":%s}`, n-1, kind, payload) + "\n"
	}
	head := func(extra string) string {
		return line("session_meta", `{"id":"`+a+`","timestamp":"t","cwd":"/","originator":"o","cli_version":"v","history_mode":"paginated"`+extra+`}`)
	}
	turn := func(id string) string {
		return line("event_msg", `{"type":"task_started","turn_id":"`+id+`"}`) +
			line("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"`+id+`"}]}`)
	}
	compact := func(text string) string {
		return line("compacted", `{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"`+text+`"}]}]}`)
	}
	back := func(turns int) string {
		return line("event_msg", fmt.Sprintf(`{"type":"thread_rolled_back","num_turns":%d}`, turns))
	}
	base := head("") + compact("first") + turn("two")
	fork := func() string {
		return head(fmt.Sprintf(`,"history_base":{"thread_id":%q,"end_ordinal_exclusive":4,"end_byte_offset":%d}`, a, len(base)))
	}
	for log, want := range map[string]string{
		fork() + back(1) + compact("second") + turn("three"):                "first three",
		fork() + turn("three") + compact("second") + back(1) + turn("four"): "first two four",
		fork() + turn("three") + compact("second") + turn("four"):           "second four",
	} {
		_, c := contextOf(t, log, map[string]string{a: base})
		var seen []string
		for m, err := range c.Messages() {
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, dialect.TextOf(codex.Codex.MessageParts(m.JSON)))
		}
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("the model sees %q, want %q:\n%s", got, want, log)
		}
	}
}

// contextOf is what the model sees of a log. beside has the other rollouts, by id.
func contextOf(t *testing.T, log string, beside map[string]string) (*session.Tree, *session.Context) {
	b := session.NewBuilder("fork", whole(log))
	dec := dialect.Supplies{File: func(n dialect.Need) ([]byte, error) {
		for id, content := range beside {
			if strings.HasSuffix(id, ".zst") == strings.HasSuffix(n.Name, ".zst") && strings.Contains(n.Name, strings.TrimSuffix(id, ".zst")) {
				return []byte(content), nil
			}
		}
		return nil, fmt.Errorf("%s: not there", n.Name)
	}}.Meet(codex.Codex.NewDecoder(b))
	if err := dialect.DecodeLog(dec, []byte(log)); err != nil {
		t.Fatal(err)
	}
	tree := b.Finish()
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tree, c
}
