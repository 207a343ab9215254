package convert_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// unacceptable says why a provider would refuse a message, "" for one that it accepts. open are the calls of the last message
// with calls that have no result yet. The results in the message are removed from it.
func unacceptable(role session.Role, parts []session.Part, failed bool, open *[]string) string {
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			if strings.TrimSpace(p.Text) == "" {
				return "a text is empty"
			}
		case session.ToolCall:
			if p.ID == "" {
				return "a call has no id"
			}
		case session.ToolResult:
			k := slices.Index(*open, p.CallID)
			if k < 0 {
				return fmt.Sprintf("a result of %q has no call, or is its second one", p.CallID)
			}
			*open = slices.Delete(*open, k, k+1)
		}
	}
	if role != session.RoleTool && !failed && !dialect.Speaks(parts) {
		return "it says nothing"
	}
	return ""
}

// sendable checks what the target's program would send at the leaf of a converted session.
func sendable(w *world.World, s *store.Session, name string) (count int) {
	w.Helper()
	c, err := s.Context(w.Context(), s.Leaf(), store.ContextOptions{LLM: true, NoBlobs: true})
	w.Must(err)
	codec := s.Dialect().Codec()
	var open []string
	answering := false
	for m, err := range c.Messages() {
		w.Must(err)
		count++
		role, parts := codec.Role(m.JSON), s.MessageParts(m.JSON)
		var own []string
		for _, p := range parts {
			if call, ok := p.(session.ToolCall); ok {
				own = append(own, call.ID)
			}
		}
		_, results := dialect.Results(parts)
		asks := role == session.RoleAssistant
		if (asks || len(results) == 0) && !(asks && answering) { // calls in a row are of one answer
			if open != nil {
				w.Errorf("%s: the calls %q have no result before %.400s", name, open, m.JSON)
			}
			open = nil
		}
		open = append(open, own...)
		answering = asks
		if why := unacceptable(role, parts, codec.Failed(m.JSON), &open); why != "" {
			w.Errorf(`%s: %s: %.400s; want why == ""`, name, why, m.JSON)
		}
		if len(open) == 0 || codec.Failed(m.JSON) {
			open = nil // pi and omp 18 leave out answers that failed, with their calls
		}
	}
	return count
}

// lateResult has a result of an answer that was cut off, with a message between them that says nothing.
const lateResult = `{"type":"session","version":3,"id":"019cab00-0000-7000-8000-003b801a4289","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work/pond"}
{"type":"message","message":{"role":"user","content":"How deep?","timestamp":1772460001000},"id":"e0000001","parentId":null,"timestamp":"2026-03-02T14:00:01.000Z"}
{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{}}],"api":"acme","provider":"acme","model":"m2","stopReason":"aborted","timestamp":1772460002000},"id":"e0000002","parentId":"e0000001","timestamp":"2026-03-02T14:00:02.000Z"}
{"type":"message","message":{"role":"user","content":[],"timestamp":1772460003000},"id":"e0000003","parentId":"e0000002","timestamp":"2026-03-02T14:00:03.000Z"}
{"type":"message","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"2 m"}],"isError":false,"timestamp":1772460004000},"id":"e0000004","parentId":"e0000003","timestamp":"2026-03-02T14:00:04.000Z"}
`

// waveTalk has what only Wave knows: a command of the user's, a task that ended, and a message of several kinds.
const waveTalk = `{"type":"metadata","workdir":"/work/pond","createdAt":"2026-03-02T14:00:00.000Z"}
{"timestamp":"2026-03-02T14:00:01.000Z","id":"msg-1","role":"user","blocks":[{"type":"bang","command":"ls","output":"depth","stage":"end","exitCode":0}]}
{"timestamp":"2026-03-02T14:00:02.000Z","id":"msg-2","role":"user","blocks":[{"type":"text","content":"How deep?"},{"type":"bang","command":"cat depth","output":"","stage":"end","exitCode":null}]}
{"timestamp":"2026-03-02T14:00:03.000Z","id":"msg-3","role":"assistant","blocks":[{"type":"text","content":"","stage":"end"},{"type":"tool","parameters":"{bad","result":"2 m","id":"c1","name":"Bash","success":true,"stage":"end"},{"type":"tool","parameters":"{}","stage":"running","name":"Bash"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"model":"gpt-4"}}
{"timestamp":"2026-03-02T14:00:04.000Z","id":"msg-4","role":"user","blocks":[{"type":"task_notification","taskId":"t1","taskType":"shell","status":"completed","summary":"The pond is full."}]}
{"timestamp":"2026-03-02T14:00:05.000Z","id":"msg-5","role":"assistant","blocks":[{"type":"error","content":"broken"}]}
{"timestamp":"2026-03-02T14:00:06.000Z","id":"msg-6","role":"assistant","blocks":[{"type":"tool","parameters":"{}","result":"3 m","id":"c2","name":"Bash","success":true,"stage":"end"},{"type":"error","content":"cut off"}]}
{"timestamp":"2026-03-02T14:00:06.500Z","id":"msg-6b","role":"assistant","blocks":[]}
{"timestamp":"2026-03-02T14:00:07.000Z","id":"msg-7","role":"assistant","blocks":[{"type":"text","content":"Two metres."}]}
`

// codeliaRun is the second run of a session: the history before it is only in its requests.
const codeliaRun = `{"type":"header","schema_version":1,"run_id":"2a2dd96d-b3ac-4076-838e-d4d877114e39","session_id":"b90bef2d-94bd-40e8-bd3b-2c2b56e298bb","started_at":"2026-03-02T14:00:00.000Z"}
{"type":"run.start","run_id":"2a2dd96d-b3ac-4076-838e-d4d877114e39","session_id":"b90bef2d-94bd-40e8-bd3b-2c2b56e298bb","ts":"2026-03-02T14:00:00.000Z","input":{"type":"text","text":"And now?"}}
{"type":"llm.request","run_id":"2a2dd96d-b3ac-4076-838e-d4d877114e39","ts":"2026-03-02T14:00:01.000Z","seq":3,"input":{"messages":[{"role":"system","content":"You dive."},{"role":"user","content":"How deep?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"cmd\":\"cat depth\"}"}}]},{"role":"tool","tool_call_id":"c1","tool_name":"bash","content":"2 m"},{"role":"assistant","content":"Two metres."},{"role":"user","content":"And now?"}]}}
{"type":"llm.response","run_id":"2a2dd96d-b3ac-4076-838e-d4d877114e39","ts":"2026-03-02T14:00:02.000Z","seq":3,"output":{"messages":[{"role":"reasoning","content":"Look again."},{"role":"assistant","content":"","tool_calls":[{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}],"usage":{"model":"gpt-4","input_tokens":1,"output_tokens":1,"total_tokens":2}}}
{"type":"tool.output","run_id":"2a2dd96d-b3ac-4076-838e-d4d877114e39","ts":"2026-03-02T14:00:03.000Z","tool":"bash","tool_call_id":"c2","result_raw":"3 m"}
{"type":"llm.request","run_id":"2a2dd96d-b3ac-4076-838e-d4d877114e39","ts":"2026-03-02T14:00:04.000Z","seq":4,"input":{"messages":[{"role":"user","content":"And now?"},{"role":"assistant","content":"","tool_calls":[{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c2","tool_name":"bash","content":"[cut]"},{"role":"user","content":"Measure twice."}]}}
{"type":"llm.response","run_id":"2a2dd96d-b3ac-4076-838e-d4d877114e39","ts":"2026-03-02T14:00:05.000Z","seq":4,"output":{"messages":[{"role":"assistant","content":"Three metres."}],"usage":{"model":"gpt-4","input_tokens":1,"output_tokens":1,"total_tokens":2}}}
{"type":"run.error","run_id":"2a2dd96d-b3ac-4076-838e-d4d877114e39","ts":"2026-03-02T14:00:06.000Z","error":{"message":"late"}}
`

// crossed converts a session in memory and gives the new one, nil where there is nothing to convert.
func crossed(w *world.World, path string, from, to dialect.Dialect, dir string) *store.Session {
	w.Helper()
	src, err := w.Open(w.Context(), path, store.OpenOptions{Dialect: from})
	w.Must(err)
	defer src.Close()
	there, _, err := convert.Session(w.Context(), w.Store, src, convert.Options{To: to, Dir: dir, Write: w.Write(store.WriteOptions{})})
	if errors.Is(err, store.ErrUnsupported) {
		return nil
	}
	if err != nil {
		w.Fatalf("%s → %s: %v", from.Name(), to.Name(), err)
	}
	return there
}

// Whatever a session holds, each message of the converted one is one that the target's program would send and a provider
// accepts, and each call has one result directly after it. Within a family messages are copied, so that only whole sessions are tried there.
func TestConvertSendable(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	log := gen.Session(gen.Options{Seed: 5, Entries: 60, CompactEvery: 25, Branches: 2})
	whole := map[string]string{
		"omp": string(log), "pi": string(gen.Session(gen.Options{Seed: 6, Entries: 60, Pi: true})), "operator": string(gen.Operator(log)),
		"wave": string(gen.Wave(log)), "codelia-state": string(gen.State(log)), "codelia": string(gen.Run(log)),
	}
	check := func(name, seed, text string, damaged bool) {
		path := w.Put(filepath.Join("in", seed, name, "019cab00-0000-7000-8000-00000000000a.jsonl"), text)
		for i, to := range targets() {
			from := w.Format(name)
			if !soaktest.Every() && i%3 != len(name)%3 {
				continue // other agents have other thirds
			}
			if to == from || damaged && to.Family() == from.Family() {
				continue
			}
			there := crossed(w, path, from, to, folder())
			if there == nil {
				continue
			}
			if n := sendable(w, there, fmt.Sprintf("%s, seed %s → %s", name, seed, to.Name())); n == 0 && !damaged {
				t.Errorf("%s → %s: nothing is sent", name, to.Name())
			}
			w.Must(there.Close())
		}
	}
	for name, text := range whole {
		check(name, "whole", text, false)
	}
	check("wave", "talk", waveTalk, true)
	check("codelia", "second", codeliaRun, false)
	check("omp", "late result", lateResult, true)
	c := soaktest.Begin(t)
	for round := range c.Rounds(soaktest.Part(6, 3), 3) {
		seed := c.Seed(uint64(round))
		r := &dice{Rand: rand.New(rand.NewPCG(seed, 11))}
		r.whole = true
		name := r.one(agents...)
		check(name, fmt.Sprint(seed), r.log(name), true)
		name = r.one("pi", "omp", "operator")
		check(name, fmt.Sprint(seed, "c"), r.calling(name), true)
	}
}

// texts returns what a program sends, a line for each message.
func texts(w *world.World, s *store.Session) string {
	w.Helper()
	c, err := s.Context(w.Context(), s.Leaf(), store.ContextOptions{LLM: true})
	w.Must(err)
	var b strings.Builder
	for m, err := range c.Messages() {
		w.Must(err)
		fmt.Fprintf(&b, "%s:", s.Dialect().Codec().Role(m.JSON))
		for _, p := range s.MessageParts(m.JSON) {
			switch p := p.(type) {
			case session.Text:
				fmt.Fprintf(&b, " %s", strings.ReplaceAll(p.Text, "\n", " "))
			case session.ToolCall:
				fmt.Fprintf(&b, " %s()", p.ID)
			case session.ToolResult:
				fmt.Fprintf(&b, " %s=%s", p.CallID, dialect.TextOf(p.Parts))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// A command of Wave's user stays out of the context, and its notifications are in it.
func TestConvertWaveTalk(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", waveTalk)
	for _, name := range []string{"pi", "omp"} {
		there := crossed(w, path, w.Format("wave"), w.Format(name), folder())
		want := "user: How deep?\nassistant: c1()\ntool: c1=2 m\n" +
			"user: <task-notification> <task-id>t1</task-id> <task-type>shell</task-type> <status>completed</status> <summary>The pond is full.</summary> </task-notification>\n" +
			"assistant:\nassistant: c2()\ntool: c2=3 m\nassistant: Two metres.\n"
		if got := texts(w, there); got != want {
			t.Errorf("%s sends\n%swant\n%s", name, got, want)
		}
		first, err := there.Tree().At(0).Raw()
		w.Must(err)
		for _, part := range []string{`"role":"bashExecution"`, `"command":"ls"`, `"output":"depth"`, `"exitCode":0`, `"excludeFromContext":true`} {
			if !strings.Contains(string(first), part) {
				t.Errorf("%s: the command has no %s: %s", name, part, first)
			}
		}
		c, err := there.Context(t.Context(), there.Leaf(), store.ContextOptions{})
		w.Must(err)
		if m, _ := c.DefaultModel(); m.Name != "openai/gpt-4" {
			t.Errorf("%s: model %q", name, m.Name)
		}
		w.Must(there.Close())
	}
}

// Answers that name no model, or no provider, have those of the run's header.
func TestConvertRunModel(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	log := strings.Replace(codeliaRun, `"started_at"`, `"model":{"provider":"azure","name":"gpt-4"},"started_at"`, 1)
	log = strings.Replace(log, `{"model":"gpt-4",`, "{", 1) // of the first answer
	path := w.Put("in/2a2dd96d-b3ac-4076-838e-d4d877114e39.jsonl", log)
	there := crossed(w, path, w.Format("codelia"), w.Format("pi"), folder())
	answers := 0
	for e := range there.Tree().Entries() {
		body, err := e.Body()
		w.Must(err)
		if m, ok := body.(session.Message); ok && m.Role == session.RoleAssistant && m.Model != "unknown" { // that of earlier runs
			if answers++; m.Provider+"/"+m.Model != "azure/gpt-4" {
				t.Errorf("%s is of %s/%s", e.ID, m.Provider, m.Model)
			}
		}
	}
	if answers != 2 {
		t.Errorf("%d answers have a model", answers)
	}
	w.Must(there.Close())
}

// What was said before a run is in its first request, and comes before what the user asked in it.
func TestConvertRunHistory(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	path := w.Put("in/2a2dd96d-b3ac-4076-838e-d4d877114e39.jsonl", codeliaRun)
	want := "user: How deep?\nassistant: c1()\ntool: c1=2 m\nassistant: Two metres.\nuser: And now?\nassistant: c2()\ntool: c2=3 m\nuser: Measure twice.\nassistant: Three metres.\n"
	for _, to := range targets() {
		there := crossed(w, path, w.Format("codelia"), to, folder())
		got := texts(w, there)
		switch to.Family() {
		case "wave": // results are in the message with the call
			got = strings.NewReplacer("() c1=", "()\ntool: c1=", "() c2=", "()\ntool: c2=").Replace(got)
		case "claude": // results are in the message of the user
			got = strings.NewReplacer("user: c1=2 m", "tool: c1=2 m", "user: c2=3 m ", "tool: c2=3 m\nuser: ").Replace(got)
		case "codelia-state": // thinking is a message of its own
			got = strings.ReplaceAll(got, "assistant:\n", "")
		}
		if got != want {
			t.Errorf("%s sends\n%swant\n%s", to.Name(), got, want)
		}
		w.Must(there.Close())
	}
}
