package codex_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/session"
)

// mends makes the changes that the dialect asks for, and returns their number.
func (w *written) mends() int {
	w.Helper()
	t := w.tree()
	mends := t.Codec().EntryCodec.(dialect.Mender).Mends(t)
	for _, m := range mends {
		if m.Kind == "" || m.Problem == "" || m.Action == "" {
			w.Errorf(`%+v; want m.Kind != "", m.Problem != "", m.Action != ""`, m)
		}
		switch {
		case m.Header:
			header, _, err := codex.Codex.EditHeader(t.Header(), nil, dialect.HeaderEdit{})
			if err != nil {
				w.Fatal(err)
			}
			w.lines[0] = string(header)
		case m.Edit != nil:
			at := t.At(m.Entry).Line - 1
			record, err := m.Edit([]byte(w.lines[at]))
			if err != nil {
				w.Fatal(err)
			}
			w.lines[at] = string(record)
		}
	}
	return len(mends)
}

// After a repair the model sees what the program dropped or refused, and a second repair has nothing to do.
func TestMends(t *testing.T) {
	const item = `{"timestamp":"2026-05-01T12:00:00.000Z","type":"response_item","payload":`
	for name, test := range map[string]struct {
		header string // replaces the header that begin makes
		lines  []string
		want   string
	}{
		"whole":       {lines: []string{item + `{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}`}},
		"no time":     {lines: []string{`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}`}, want: "one"},
		"system":      {lines: []string{item + `{"type":"message","role":"system","content":[{"type":"input_text","text":"one"}]}}`}, want: "one"},
		"plain text":  {lines: []string{item + `{"type":"message","role":"assistant","content":"one"}}`}, want: "one"},
		"part":        {lines: []string{item + `{"type":"message","role":"user","content":[{"type":"text","text":"one"}]}}`}, want: "one"},
		"unknown":     {lines: []string{item + `{"type":"message","role":"user","content":[{"type":"odd"}]}}`}},
		"output":      {lines: []string{item + `{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}}`, item + `{"type":"function_call_output","call_id":"c","output":{"content":"one","success":false}}}`}, want: `"output":"one","is_error":true`},
		"no version":  {header: `{"timestamp":"2026-05-01T10:00:00.000Z","type":"session_meta","payload":{"id":"` + thread + `","cwd":"/w"}}`, lines: []string{item + `{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}`}, want: "one"},
		"no path":     {header: `{"timestamp":"2026-05-01T10:00:00.000Z","type":"session_meta","payload":{"id":"` + thread + `","timestamp":"2026-05-01T10:00:00.000Z","cwd":["/a/list/that/is/long"],"originator":"o","cli_version":"1"}}`, lines: []string{item + `{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}`}, want: `"cwd":""`},
		"no ordinals": {header: `{"timestamp":"2026-05-01T10:00:00.000Z","ordinal":7,"type":"session_meta","payload":{"id":"` + thread + `","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/w","originator":"o","cli_version":"1","history_mode":"paginated"}}`, lines: []string{item + `{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}`}, want: `"ordinal":8`},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, "", "")
			if test.header != "" {
				w.lines[0] = test.header
			}
			w.lines = append(w.lines, test.lines...)
			if n := w.mends(); (n > 0) != (test.want != "") {
				t.Fatalf("%d changes", n)
			}
			if n := w.mends(); n != 0 {
				t.Errorf("%d changes more", n)
			}
			heard := strings.Join(w.heard(), " ")
			if test.want != "" && !strings.Contains(heard, "one") && name != "output" {
				t.Errorf("the model sees %q", heard)
			}
			if log := strings.Join(w.lines, "\n"); !strings.Contains(log, test.want) {
				t.Errorf("%s is not in\n%s", test.want, log)
			}
		})
	}
}

// Check reports nothing about a log that the program reads, and names what the program does not find.
func TestCheck(t *testing.T) {
	const name = "/h/.codex/sessions/2026/05/01/rollout-2026-05-01T10-00-00-"
	for what, test := range map[string]struct {
		name, members, ordinal, want string
	}{
		"fine":         {name: name + thread + ".jsonl"},
		"revert":       {name: name + thread + "_01986976-a029-7065-8f7d-d5a64c4a6200.jsonl"},
		"elsewhere":    {name: "/tmp/session.jsonl"},
		"another id":   {name: name + "01986976-a029-7065-8f7d-d5a64c4a6200.jsonl", want: "another id than the header"},
		"no id":        {name: name + "x.jsonl", want: "Codex does not find it"},
		"legacy base":  {name: name + thread + ".jsonl", members: `,"history_base":{"thread_id":"` + thread + `","end_ordinal_exclusive":1,"end_byte_offset":1}`, want: "does not read that rollout"},
		"no ordinal":   {name: name + thread + ".jsonl", members: `,"history_mode":"paginated"`, ordinal: `,"ordinal":0`, want: "1 lines have no ordinal"},
		"with ordinal": {name: name + thread + ".jsonl", members: `,"history_mode":"paginated"`, ordinal: `,"ordinal":0`},
	} {
		t.Run(what, func(t *testing.T) {
			w := begin(t, test.members, test.ordinal)
			w.turn("one", "two")
			if what == "no ordinal" {
				w.lines = append(w.lines, `{"timestamp":"2026-05-01T12:00:00.000Z","type":"event_msg","payload":{"type":"token_count"}}`)
			}
			problems := codex.Codex.Check(w.tree(), dialect.LogInfo{Name: test.name})
			switch {
			case test.want == "" && len(problems) > 0, test.want != "" && len(problems) != 1:
				t.Fatalf("%d problems, want one with %q: %v", len(problems), test.want, problems)
			case test.want != "" && (!strings.Contains(problems[0].Message, test.want) || problems[0].Advice == "" || problems[0].Kind != session.ProblemField || problems[0].Line == 0):
				t.Errorf("%+v; want a field problem with advice, a line and %q", problems[0], test.want)
			}
		})
	}
}
