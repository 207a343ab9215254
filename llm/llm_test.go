package llm_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/llm"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// bodies makes the bodies for all providers from a session and checks them. It returns how many there were.
func bodies(w *world.World, path string, d dialect.Dialect, opt store.ContextOptions) (count int) {
	w.Helper()
	s, err := w.Open(w.Context(), path, store.OpenOptions{Dialect: d})
	if err != nil {
		return 0 // damaged beyond reading
	}
	defer s.Close()
	opt.LLM = true
	seen, err := s.Context(w.Context(), s.Leaf(), opt)
	w.Must(err)
	c, err := llm.Collect(seen, d)
	w.Must(err)
	for _, api := range []struct {
		*llm.API
		check func([]byte) error
	}{{llm.Anthropic, checkAnthropic}, {llm.OpenAI, checkOpenAI}, {llm.Responses, checkResponses}} {
		body, _, err := api.Body(c, llm.Options{Model: api.Model(c, "")})
		if errors.Is(err, llm.ErrEmpty) {
			continue
		}
		w.Must(err)
		count++
		if err := api.check(body); err != nil {
			w.Errorf("%s, %s, %s refuses it: %v\n%.2000s", d.Name(), path, api.Name(), err, body)
		}
		for _, member := range []string{`"timestamp"`, `"usage"`, `"stopReason"`, `"treelineOrigin"`} {
			if bytes.Contains(body, []byte(member+":")) && !bytes.Contains(body, []byte(`\`+member)) {
				w.Errorf("%s, %s: the body for %s has %s", d.Name(), path, api.Name(), member)
			}
		}
	}
	return count
}

// sessions returns one conversation in the format of every dialect.
func sessions(seed uint64, entries int) map[string][]byte {
	log := gen.Session(gen.Options{Seed: seed, Entries: entries, CompactEvery: 20, Branches: 1, Images: 2, ImageBytes: 400})
	return map[string][]byte{
		"omp": log, "pi": gen.Session(gen.Options{Seed: seed, Entries: entries, Pi: true}), "omp-doc": log, "operator": gen.Operator(log),
		"operator-doc": gen.Operator(log), "wave": gen.Wave(log), "wave-doc": gen.Wave(log), "codelia-state": gen.State(log),
		"codelia-state-doc": gen.State(log), "codelia": gen.Run(log), "codelia-doc": gen.Run(log),
	}
}

// wounds damage a line of a session in ways that providers care about.
var wounds = []struct {
	where *regexp.Regexp
	with  []string
}{
	{regexp.MustCompile(`"(text|content|thinking|output|result)":"(?:[^"\\]|\\.)*"`), []string{`"$1":""`, `"$1":" \n\t"`, `"$1":"\ud800"`, `"$1":null`, `"$1":"x "`}},
	{regexp.MustCompile(`"(id|toolCallId|tool_call_id)":"([^"]*)"`), []string{`"$1":""`, `"$1":"call|fc_1"`, `"$1":"tool call/é"`, `"$1":"` + strings.Repeat("long", 30) + `"`, `"$1":"same"`}},
	{regexp.MustCompile(`"(name|toolName)":"[^"]*"`), []string{`"$1":"my tool.x"`, `"$1":""`}},
	{regexp.MustCompile(`"(arguments|args)":\{`), []string{`"$1":null,"was":{`, `"$1":{"half":"\udc00",`, `"$1":{"half":"\ud83d\ude00",`}},
	{regexp.MustCompile(`"(mimeType|mediaType)":"[^"]*"`), []string{`"$1":"image/bmp"`, `"$1":"image/jpeg"`}},
	{regexp.MustCompile(`"data":"[^"]*"`), []string{`"data":"/a/path.png"`, `"data":"https://x.test/a.png"`, `"data":"iVBORw0KGgo="`, `"data":""`}},
	{regexp.MustCompile(`"provider":"[^"]*","model":"[^"]*"`), []string{`"provider":"anthropic","model":"claude-x"`, `"provider":"openai","model":"gpt-x"`}},
	{regexp.MustCompile(`"stopReason":"[^"]*"`), []string{`"stopReason":"aborted"`, `"stopReason":"error"`}},
	{regexp.MustCompile(`"role":"(?:toolResult|tool|assistant|user)"`), []string{`"role":"user"`, `"role":"assistant"`, `"role":"system"`, `"role":"toolResult"`, `"role":"tool"`}},
	{regexp.MustCompile(`"type":"thinking"`), []string{`"type":"thinking","redacted":true`, `"type":"novel"`}},
}

// wounded damages some lines, drops some and writes some twice.
func wounded(r *rand.Rand, log []byte) string {
	var out []string
	for i, line := range strings.Split(strings.TrimSuffix(string(log), "\n"), "\n") {
		if i > 0 {
			switch r.IntN(40) {
			case 0:
				continue
			case 1:
				out = append(out, line)
			}
			if r.IntN(3) == 0 {
				w := wounds[r.IntN(len(wounds))]
				line = w.where.ReplaceAllString(line, w.with[r.IntN(len(w.with))])
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n") + "\n"
}

// Whatever a session holds and whichever agent wrote it, each provider accepts the body.
func TestBodyAccepted(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	rounds := soaktest.Part(12, 5)
	if os.Getenv("TREELINE_SOAK") != "" {
		rounds = 300
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		for name, log := range sessions(uint64(seed), 50) {
			d := w.Format(name)
			text := string(log)
			if seed > 0 {
				text = wounded(r, log)
			}
			n := bodies(w, w.Put(fmt.Sprintf("in/%d/%s/019cab00-0000-7000-8000-00000000000a.jsonl", seed, name), text), d,
				store.ContextOptions{DropFailed: r.IntN(2) == 0, StripDangling: r.IntN(4) == 0})
			if seed == 0 && n != 3 {
				t.Errorf("%s: %d bodies", name, n)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// Every fixture of every dialect gives bodies that all providers accept.
func TestBodyFixtures(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	count := 0
	for _, pattern := range []string{"../dialect/*/testdata/*/*.jsonl", "../dialect/wave/testdata/wave-legacy/*.json", "../dialect/codelia/testdata-state/*/*.jsonl"} {
		files, err := filepath.Glob(pattern)
		w.Must(err)
		for _, path := range files {
			if d, err := w.Dialect(filepath.Base(filepath.Dir(path))); err == nil {
				count += bodies(w, path, d, store.ContextOptions{})
			}
		}
	}
	if count < 50 {
		t.Errorf("%d bodies", count)
	}
}

// one makes a body of some messages.
func one(t *testing.T, api *llm.API, messages ...llm.Message) string {
	t.Helper()
	body, _, err := api.Body(llm.Conversation{Messages: messages}, llm.Options{Model: "m", MaxTokens: 10})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func user(parts ...session.Part) llm.Message {
	return llm.Message{Role: session.RoleUser, Parts: parts}
}

func answer(parts ...session.Part) llm.Message {
	return llm.Message{Role: session.RoleAssistant, Parts: parts, Provider: "anthropic", Model: "claude-x"}
}

func words(s string) session.Part { return session.Text{Text: s} }

// TestBody: what each provider is sent, case by case.
func TestBody(t *testing.T) {
	t.Parallel()
	calls := answer(session.Thinking{Text: "hm", Signature: "c2ln"}, words("Look."), session.ToolCall{ID: "a|b", Name: "my tool", Arguments: session.Raw(`{ "x": 1 }`)},
		session.ToolCall{ID: "open", Name: "bash"})
	whole := answer(session.Thinking{Text: "hm", Signature: "c2ln"}, session.ToolCall{ID: "c", Name: "bash", Arguments: session.Raw(`{"x":"\ud800\\u"}`)})
	picture := session.Image{MIME: "image/jpeg", Data: "iVBORw0KGgo="}
	result := llm.Message{Role: session.RoleTool, Parts: []session.Part{session.ToolResult{CallID: "a|b", Parts: []session.Part{words("2 m"), picture}, IsError: true}}}
	foreign := answer(session.Thinking{Text: "hm", Signature: "c2ln"}, words("Yes. "))
	foreign.Provider, foreign.Model = "openai", "gpt-x"
	for name, c := range map[string]struct {
		messages                     []llm.Message
		anthropic, openai, responses string
	}{
		"a result follows its call": {
			[]llm.Message{user(words("How deep?")), calls, user(words("Well?")), result},
			`{"model":"m","max_tokens":10,"tools":[{"name":"my_tool","input_schema":{"type":"object"}}],"messages":[` +
				`{"role":"user","content":[{"type":"text","text":"How deep?"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"Look."},{"type":"tool_use","id":"a","name":"my_tool","input":{"x":1}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"2 m"},` +
				`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}],"is_error":true},{"type":"text","text":"Well?"}]}]}`,
			`{"model":"m","messages":[{"role":"user","content":"How deep?"},` +
				`{"role":"assistant","content":"Look.","tool_calls":[{"id":"a","type":"function","function":{"name":"my_tool","arguments":"{\"x\":1}"}}]},` +
				`{"role":"tool","tool_call_id":"a","content":"2 m\n(image below)"},` +
				`{"role":"user","content":[{"type":"text","text":"The images of the tool results:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},` +
				`{"role":"user","content":"Well?"}]}`,
			`{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"How deep?"}]},` +
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Look."}]},` +
				`{"type":"function_call","call_id":"a","name":"my_tool","arguments":"{\"x\":1}"},` +
				`{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"2 m"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]},` +
				`{"type":"message","role":"user","content":[{"type":"input_text","text":"Well?"}]}]}`,
		},
		"a tool that takes a text": {
			[]llm.Message{user(words("?")), answer(session.ToolCall{ID: "c", Name: "patch", Arguments: session.Raw(`"*** \"x\""`)}),
				{Role: session.RoleTool, Parts: []session.Part{session.ToolResult{CallID: "c", Parts: []session.Part{words("done")}}}}},
			`{"model":"m","max_tokens":10,"tools":[{"name":"patch","input_schema":{"type":"object"}}],"messages":[` +
				`{"role":"user","content":[{"type":"text","text":"?"}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"patch","input":{"input":"*** \"x\""}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"done"}]}]}]}`,
			`{"model":"m","messages":[{"role":"user","content":"?"},` +
				`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"patch","arguments":"{\"input\":\"*** \\\"x\\\"\"}"}}]},` +
				`{"role":"tool","tool_call_id":"c","content":"done"}]}`,
			`{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"?"}]},` +
				`{"type":"custom_tool_call","call_id":"c","name":"patch","input":"*** \"x\""},{"type":"custom_tool_call_output","call_id":"c","output":"done"}]}`,
		},
		"signed thinking stays with its provider": {
			[]llm.Message{user(words("?")), whole, {Role: session.RoleTool, Parts: []session.Part{session.ToolResult{CallID: "c"}}}},
			`{"model":"m","max_tokens":10,"tools":[{"name":"bash","input_schema":{"type":"object"}}],"messages":[` +
				`{"role":"user","content":[{"type":"text","text":"?"}]},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"c","name":"bash","input":{"x":"\ufffd\\u"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"(no output)"}]}]}]}`,
			`{"model":"m","messages":[{"role":"user","content":"?"},` +
				`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{\"x\":\"\\ufffd\\\\u\"}"}}]},` +
				`{"role":"tool","tool_call_id":"c","content":"(no output)"}]}`,
			`{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"?"}]},` +
				`{"type":"function_call","call_id":"c","name":"bash","arguments":"{\"x\":\"\\ufffd\\\\u\"}"},` +
				`{"type":"function_call_output","call_id":"c","output":"(no output)"}]}`,
		},
		"foreign thinking, empty texts and white space at the end": {
			[]llm.Message{{Role: session.RoleSystem, Parts: []session.Part{words("Dive.")}}, user(words(" "), words("?")), user(words("")), foreign},
			`{"model":"m","max_tokens":10,"system":"Dive.","messages":[{"role":"user","content":[{"type":"text","text":"?"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"Yes."}]}]}`,
			`{"model":"m","messages":[{"role":"system","content":"Dive."},{"role":"user","content":"?"},{"role":"assistant","content":"Yes. "}]}`,
			`{"model":"m","input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"Dive."}]},` +
				`{"type":"message","role":"user","content":[{"type":"input_text","text":"?"}]},` +
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes. "}]}]}`,
		},
		"an answer comes first": {
			[]llm.Message{answer(words("Hello."))},
			`{"model":"m","max_tokens":10,"messages":[{"role":"user","content":[{"type":"text","text":"(The conversation begins with an answer.)"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"Hello."}]}]}`,
			`{"model":"m","messages":[{"role":"assistant","content":"Hello."}]}`,
			`{"model":"m","input":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello."}]}]}`,
		},
	} {
		if got := one(t, llm.Anthropic, c.messages...); got != c.anthropic {
			t.Errorf("%s: anthropic\n%s\nwant\n%s", name, got, c.anthropic)
		}
		if got := one(t, llm.OpenAI, c.messages...); got != c.openai {
			t.Errorf("%s: openai\n%s\nwant\n%s", name, got, c.openai)
		}
		if got := one(t, llm.Responses, c.messages...); got != c.responses {
			t.Errorf("%s: responses\n%s\nwant\n%s", name, got, c.responses)
		}
	}
	if _, _, err := llm.OpenAI.Body(llm.Conversation{Messages: []llm.Message{user(words("\n"))}}, llm.Options{}); !errors.Is(err, llm.ErrEmpty) {
		t.Errorf("nothing to say: %v", err)
	}
}

// An agent that uses the Responses API records each item as a message: reasoning stays with what it led to, and items that only
// this interface has are sent back as they are.
func TestResponsesItems(t *testing.T) {
	t.Parallel()
	model := func(parts ...session.Part) llm.Message { return llm.Message{Role: session.RoleAssistant, Parts: parts} }
	encrypted := session.Thinking{Text: "hm", Signature: "ZW5j", Redacted: true}
	c := llm.Conversation{API: "responses", Messages: []llm.Message{
		model(session.OpaquePart{Type: "compaction", JSON: session.Raw(`{"type":"compaction","encrypted_content":"b2xk"}`)}),
		user(words("?")), model(encrypted), model(session.ToolCall{ID: "c", Name: "ls", Arguments: session.Raw(`{}`)}),
		{Role: session.RoleTool, Parts: []session.Part{session.ToolResult{CallID: "c", Parts: []session.Part{words("bin")}}}},
		model(session.OpaquePart{Type: "novel", JSON: session.Raw(`{"type":"novel"}`)}), model(words("Yes.")), model(encrypted),
	}}
	const want = `{"model":"m","input":[{"type":"compaction","encrypted_content":"b2xk"},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"?"}]},` +
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"ZW5j"},{"type":"function_call","call_id":"c","name":"ls","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"c","output":"bin"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}]}`
	body, _, err := llm.Responses.Body(c, llm.Options{Model: "m"})
	if err != nil || string(body) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, body, want)
	}
	// From another agent the same parts are useless to the provider.
	c.API = ""
	body, _, err = llm.Responses.Body(c, llm.Options{Model: "m"})
	if err != nil || bytes.Contains(body, []byte("encrypted_content")) {
		t.Errorf(`%v, %s; want no error, not bytes.Contains(body, []byte("encrypted_content"))`, err, body)
	}
}

// The API follows from the model that answered.
func TestFor(t *testing.T) {
	t.Parallel()
	for names, want := range map[[2]string]*llm.API{
		{"anthropic", "claude-x"}: llm.Anthropic, {"amazon-bedrock", "us.anthropic.claude-x"}: llm.Anthropic, {"", "claude-x"}: llm.Anthropic,
		{"openai", "gpt-x"}: llm.OpenAI, {"google", "gemini"}: llm.OpenAI, {"", "gpt-x"}: llm.OpenAI, {"openrouter", "anthropic/claude-x"}: llm.OpenAI,
		{"", ""}: nil,
	} {
		if got := llm.For(llm.Conversation{Provider: names[0], Model: names[1]}); got != want {
			t.Errorf("%v: %v; want got == %v", names, got, want)
		}
	}
	if got := llm.For(llm.Conversation{Provider: "anthropic", API: "responses"}); got != llm.Responses {
		t.Errorf("the agent's own interface: %v", got)
	}
}

// TestManyAnswers: very many consecutive answers are joined in linear time, and the caller keeps its own parts. Quadratic code would take
// minutes.
func TestManyAnswers(t *testing.T) {
	t.Parallel()
	const n = 50_000
	shared := []session.Part{session.Text{Text: "Dig."}, session.Text{Text: "Kept."}}
	c := llm.Conversation{Messages: []llm.Message{{Role: session.RoleUser, Parts: shared[:1]}}}
	for range n {
		c.Messages = append(c.Messages, llm.Message{Role: session.RoleAssistant, Parts: shared[:1]})
	}
	body, _, err := llm.Responses.Body(c, llm.Options{Model: "m"})
	if err != nil || bytes.Count(body, []byte("Dig.")) != n+1 || bytes.Contains(body, []byte("Kept.")) {
		t.Errorf("%d texts, %v; want %d", bytes.Count(body, []byte("Dig.")), err, n+1)
	}
	if shared[1] != (session.Text{Text: "Kept."}) {
		t.Error("the parts of the caller changed")
	}
}

// The system prompt precedes the messages, and tools are described as each provider wants them.
func TestTools(t *testing.T) {
	t.Parallel()
	tools := []llm.Tool{{Name: "bash", Description: "Runs a command.", Parameters: session.Raw(`{ "type": "object" }`)}, {Name: "pwd"}}
	c := llm.Conversation{Messages: []llm.Message{{Role: session.RoleSystem, Parts: []session.Part{words("Two.")}}, user(words("hi"))}}
	for _, test := range []struct {
		api  *llm.API
		want string
	}{
		{llm.Anthropic, `{"model":"m","max_tokens":8192,"system":"One.\n\nTwo.",` +
			`"tools":[{"name":"bash","description":"Runs a command.","input_schema":{"type":"object"}},{"name":"pwd","input_schema":{"type":"object","properties":{}}}],` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`},
		{llm.OpenAI, `{"model":"m","tools":[{"type":"function","function":{"name":"bash","description":"Runs a command.","parameters":{"type":"object"}}},` +
			`{"type":"function","function":{"name":"pwd","parameters":{"type":"object","properties":{}}}}],` +
			`"messages":[{"role":"system","content":"One."},{"role":"system","content":"Two."},{"role":"user","content":"hi"}]}`},
		{llm.Responses, `{"model":"m","tools":[{"type":"function","name":"bash","description":"Runs a command.","parameters":{"type":"object"},"strict":false},` +
			`{"type":"function","name":"pwd","parameters":{"type":"object","properties":{}},"strict":false}],` +
			`"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"One."}]},` +
			`{"type":"message","role":"developer","content":[{"type":"input_text","text":"Two."}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}`},
	} {
		body, _, err := test.api.Body(c, llm.Options{Model: "m", System: "One.", Tools: tools})
		if err != nil || string(body) != test.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", test.api.Name(), err, body, test.want)
		}
	}
	for _, bad := range [][]llm.Tool{{{}}, {{Name: "run it"}}, {{Name: strings.Repeat("a", 65)}}, {{Name: "a"}, {Name: "a"}}, {{Name: "a", Parameters: session.Raw(`[]`)}}, {{Name: "a", Parameters: session.Raw(`{`)}}} {
		if body, _, err := llm.OpenAI.Body(c, llm.Options{Tools: bad}); !errors.Is(err, llm.ErrTool) {
			t.Errorf("%v: %s, %v; want ErrTool", bad, body, err)
		}
	}
}
