package convert_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// answeredLog makes a log of Operator: a prompt, an answer with an empty thought and two calls, and what follows.
func answeredLog(entries ...string) string {
	lines := []string{
		`{"type":"session","version":3,"id":"019cab00-0000-7000-8000-00000000000a","timestamp":1772460000.25,"cwd":"/work/pond"}`,
		`{"id":"e1","timestamp":1772460001.5,"type":"message","message":{"contents":[{"type":"text","content":"How deep?"}],"id":"5f0c2a34-0000-4000-8000-000000000001","timestamp":1772460001.5,"role":"user"}}`,
		`{"id":"e2","timestamp":1772460002.5,"parent_id":"e1","type":"message","message":{"contents":[{"type":"thinking","content":"","signature":"s"},{"type":"tool_call","id":"c1","name":"bash","args":{},"metadata":{}}],"id":"5f0c2a34-0000-4000-8000-000000000002","timestamp":1772460002.5,"role":"assistant","stop_reason":"tool_calls","error":""}}`,
	}
	for i, entry := range entries {
		lines = append(lines, fmt.Sprintf(`{"id":"e%d","timestamp":17724600%02d.5,"parent_id":"e%d","type":%s}`, i+3, i+3, i+2, entry))
	}
	return strings.Join(lines, "\n") + "\n"
}

// answeredMessage is a message of Operator with results of the call, and a text.
func answeredMessage(role, text string, results ...string) string {
	var list []string
	for _, r := range results {
		list = append(list, fmt.Sprintf(`{"type":"tool_result","id":"c1","content":%q,"is_error":false,"metadata":{},"terminate":false}`, r))
	}
	if text != "" {
		list = append(list, fmt.Sprintf(`{"type":"text","content":%q}`, text))
	}
	return `"message","message":{"contents":` + join(list) + `,"id":"5f0c2a34-0000-4000-8000-000000000003","timestamp":1772460003.5,"role":"` + role + `"}`
}

// summed are the words of the agents around a summary.
var summed = regexp.MustCompile(`\w[^:\n]*(?:: )? <summary> (.*) </summary>`)

// On each branch a call has a result, before anything else is said, also if it is answered on another one.
func TestConvertAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	log := answeredLog(answeredMessage("tool", "", "2 m"))
	const asked = "user: How deep?\nassistant: c1()\ntool: c1=[no result: the tool did not finish]\n"
	w, folder := inMemory(t)
	from := w.Format("operator")
	for _, c := range []struct{ name, entry, want string }{
		{"the user", answeredMessage("user", "And wide?"), asked + "user: And wide?\n"},
		{"an answer", answeredMessage("assistant", "It is deep."), asked + "assistant: It is deep.\n"},
		{"an answer with a result", answeredMessage("assistant", "It is deep.", "2 m"), asked + "assistant: It is deep.\n"},
		{"a result of no call", strings.ReplaceAll(answeredMessage("tool", "", "2 m"), "c1", "c2"), asked},
		{"a model", `"model_change","model_id":"m","provider_id":"acme"`, asked},
	} {
		branch := `{"id":"e9","timestamp":1772460009.5,"parent_id":"e2","type":` + c.entry + "}\n"
		path := w.Put("in/"+c.name+"/019cab00-0000-7000-8000-00000000000a.jsonl", log+branch)
		for _, name := range []string{"omp18", "pi"} {
			there := crossed(w, path, from, w.Format(name), folder())
			sendable(w, there, c.name+" → "+name)
			if got := texts(w, there); got != c.want {
				t.Errorf("%s → %s sends\n%swant\n%s", c.name, name, got, c.want)
			}
			w.Must(there.Close())
		}
	}
}

// What a compaction keeps does not begin with the results that were put ahead of the first entry that it keeps.
func TestConvertKeptAfterResults(t *testing.T) {
	t.Parallel()
	log := answeredLog(answeredMessage("tool", "", "2 m")) + `{"id":"e8","timestamp":1772460008.5,"parent_id":"e2","type":` + answeredMessage("user", "And wide?") + "}\n" +
		`{"id":"e9","timestamp":1772460009.5,"parent_id":"e8","type":"compaction","summary":"It is deep.","first_kept_entry_id":"e8","tokens_before":7,"from_hook":false}` + "\n"
	w, folder := inMemory(t)
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", log)
	for _, name := range []string{"omp18", "pi"} {
		there := crossed(w, path, w.Format("operator"), w.Format(name), folder())
		if got, want := summed.ReplaceAllString(texts(w, there), "$1"), "user: It is deep.\nuser: And wide?\n"; got != want {
			t.Errorf("%s sends\n%swant\n%s", name, got, want)
		}
		w.Must(there.Close())
	}
}

// A child of an entry that moved the leaf follows what is before that entry, and not where the leaf moved to.
func TestConvertAfterLeafMove(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", answeredLog(`"leaf","target_id":"e1"`, answeredMessage("tool", "", "2 m")))
	for _, name := range []string{"omp18", "pi"} {
		there := crossed(w, path, w.Format("operator"), w.Format(name), folder())
		if got, want := texts(w, there), "user: How deep?\nassistant: c1()\ntool: c1=2 m\n"; got != want {
			t.Errorf("%s sends\n%swant\n%s", name, got, want)
		}
		w.Must(there.Close())
	}
}

// A call is answered by the first result that the agent sends, in whatever message it stands, and has no second one. What counts is
// what becomes of the entry with the result: a call whose result is not converted has none.
func TestConvertAnswered(t *testing.T) {
	t.Parallel()
	const (
		asked   = "user: How deep?\nassistant: c1()\n"
		missing = "tool: c1=[no result: the tool did not finish]\n"
		custom  = `"custom_message","custom_type":"x","content":[{"type":"text","content":"It rains."}],"display":true`
		compact = `"compaction","summary":"It is deep.","first_kept_entry_id":"%s","tokens_before":7,"from_hook":false`
	)
	cases := []struct {
		name    string
		entries []string
		want    string
	}{
		{"a result of the tool", []string{answeredMessage("tool", "", "2 m")}, asked + "tool: c1=2 m\n"},
		{"two results", []string{answeredMessage("tool", "", "2 m", "3 m")}, asked + "tool: c1=2 m\n"},
		{"two messages", []string{answeredMessage("tool", "", "2 m"), answeredMessage("tool", "", "3 m")}, asked + "tool: c1=2 m\n"},
		{"the user's", []string{answeredMessage("user", "", "2 m", "3 m")}, asked + "tool: c1=2 m\n"},
		{"the user's with a text", []string{answeredMessage("user", "And wide?", "2 m")}, asked + "tool: c1=2 m\nuser: And wide?\n"},
		{"the system's", []string{answeredMessage("system", "", "2 m")}, asked + "tool: c1=2 m\n"},
		{"what is not sent", []string{answeredMessage("odd", "", "2 m")}, asked + missing},
		{"an answer", []string{answeredMessage("assistant", "It is deep.", "2 m")}, asked + missing + "assistant: It is deep.\n"},
		{"after a word of the user", []string{answeredMessage("user", "And wide?"), answeredMessage("tool", "", "2 m")}, asked + "tool: c1=2 m\nuser: And wide?\n"},
		{"after a word of the program", []string{custom, answeredMessage("tool", "", "2 m")}, asked + "tool: c1=2 m\nuser: It rains.\n"},
		{"after an answer", []string{answeredMessage("assistant", "It is deep."), answeredMessage("tool", "", "2 m")}, asked + "tool: c1=2 m\nassistant: It is deep.\n"},
		{"after a compaction", []string{fmt.Sprintf(compact, "e2"), answeredMessage("tool", "", "2 m")}, "user: It is deep.\nassistant: c1()\ntool: c1=2 m\n"},
		{"after a compaction that keeps nothing", []string{fmt.Sprintf(compact, "none"), answeredMessage("tool", "", "2 m")}, "user: It is deep.\n"},
	}
	w, folder := inMemory(t)
	from := w.Format("operator")
	for _, c := range cases {
		path := w.Put("in/"+c.name+"/019cab00-0000-7000-8000-00000000000a.jsonl", answeredLog(c.entries...))
		for _, name := range []string{"omp18", "pi", "codelia-state", "wave"} {
			there := crossed(w, path, from, w.Format(name), folder())
			sendable(w, there, c.name+" → "+name)
			want := c.want
			if name == "wave" { // results are in the message with the call
				want = strings.ReplaceAll(want, "()\ntool: ", "() ")
			}
			if got := summed.ReplaceAllString(texts(w, there), "$1"); got != want {
				t.Errorf("%s → %s sends\n%swant\n%s", c.name, name, got, want)
			}
			w.Must(there.Close())
		}
	}
}

// A session ends with a call without a result and is continued in another agent. Converted back, the call has a result before what was
// added: the records that came back have none, and no provider accepts that. If these records say something after the call, a result would
// come too late. The leaf may be on a call that another branch answers: what was added follows the call.
func TestConvertOpenGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	const asked, missing, added = "user: How deep?\nassistant: c1()\n", "tool: c1=[no result: the tool did not finish]\n", "user: And wide?\n"
	branch := strings.Replace(answeredLog(answeredMessage("tool", "", "2 m"), answeredMessage("user", "How cold?")), `"e4","timestamp":1772460004.5,"parent_id":"e3"`, `"e4","timestamp":1772460004.5,"parent_id":"e2"`, 1)
	const second = `{"type":"tool_call","id":"c2","name":"bash","args":{},"metadata":{}}`
	two := strings.Replace(answeredLog(answeredMessage("tool", "", "2 m")), `"metadata":{}}]`, `"metadata":{}},`+second+`]`, 1)
	for _, c := range []struct {
		name, log, want string
		accepted        bool
	}{
		{"at the end", answeredLog(), asked + missing + added, true},
		{"one of two", two, "user: How deep?\nassistant: c1() c2()\ntool: c1=2 m\n" + strings.Replace(missing, "c1", "c2", 1) + added, true},
		{"leaf", answeredLog(answeredMessage("tool", "", "2 m"), answeredMessage("user", "How cold?"), `"leaf","target_id":"e2"`), asked + missing + added, true},
		{"leaf on a result", answeredLog(answeredMessage("tool", "", "2 m"), answeredMessage("user", "How cold?"), `"leaf","target_id":"e3"`), asked + "tool: c1=2 m\n" + added, true},
		{"two answers", answeredLog(calling("Two.", "c2")), asked + "assistant: Two. c2()\n" + strings.Replace(missing, "c1", "c2", 1) + added, false},
		{"before a prompt", branch, asked + "user: How cold?\n" + added, false},
	} {
		t.Run(c.name, func(t *testing.T) { t.Parallel(); convertContinued(t, c.log, c.want, c.accepted) })
	}
}

// calling is an answer of Operator that ends with a call.
func calling(text, id string) string {
	call := `{"type":"tool_call","id":"` + id + `","name":"bash","args":{},"metadata":{}}`
	if text != "" {
		call = `{"type":"text","content":"` + text + `"},` + call
	}
	return strings.Replace(answeredMessage("assistant", ""), `[]`, "["+call+"]", 1)
}

// Several calls in a row have the same id and no result. The session comes back when it was continued in an agent that numbers them.
func TestConvertSameIDGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", answeredLog(calling("", "c2"), calling("", "c2"), calling("", "c1")))
	for _, name := range []string{"claude", "codex", "gemini", "qwen", "copilot", "goose", "crush"} {
		there := crossed(w, path, w.Format("operator"), w.Format(name), folder())
		_, err := there.AppendText(t.Context(), session.RoleUser, "And wide?")
		w.Must(err)
		w.Must(there.Close())
		back := crossed(w, there.Path(), w.Format(name), w.Format("operator"), folder())
		if got := texts(w, back); !strings.HasSuffix(got, "user: And wide?\n") {
			t.Errorf("from %s it sends\n%s", name, got)
		}
		w.Must(back.Close())
	}
}

// headAndTip matches the entries that an origin names.
var headAndTip = regexp.MustCompile(`"head":"([^"]+)","tip":"([^"]+)"`)

// convertContinued converts a session of Operator to other agents, adds a prompt, and converts it back.
func convertContinued(t *testing.T, log, want string, accepted bool) {
	w, folder := inMemory(t)
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", log)
	for _, name := range append([]string{"omp18"}, agents...) {
		if name == "operator" {
			continue
		}
		there := crossed(w, path, w.Format("operator"), w.Format(name), folder())
		_, err := there.AppendText(t.Context(), session.RoleUser, "And wide?")
		w.Must(err)
		w.Must(there.Close())
		back := crossed(w, there.Path(), w.Format(name), w.Format("operator"), folder())
		if accepted {
			sendable(w, back, name)
		}
		if now := bytesOf(w, back); !strings.HasPrefix(now, log) {
			t.Errorf("from %s it came back as\n%swant\n%s", name, now, log)
		}
		for _, ids := range headAndTip.FindAllStringSubmatch(bytesOf(w, back), -1) {
			for _, id := range ids[1:] {
				if _, ok := there.Tree().Lookup(session.EntryID(id)); !ok {
					t.Errorf("from %s an origin names %s, which is no entry of the session there", name, id)
				}
			}
		}
		again := crossed(w, back.Path(), w.Format("operator"), w.Format(name), folder())
		w.Must(again.Close())
		twice := crossed(w, again.Path(), w.Format(name), w.Format("operator"), folder())
		for _, s := range []*store.Session{back, twice} {
			if got := texts(w, s); got != want {
				t.Errorf("from %s it sends\n%swant\n%s", name, got, want)
			}
			w.Must(s.Close())
		}
	}
}
