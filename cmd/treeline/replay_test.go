package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordedRun is a run of two requests with a tool call between them.
const recordedRun = `{"type":"header","schema_version":1,"run_id":"9a7c1c5d-0e6b-4b7a-8f1d-7b7a7e8f4e0f","started_at":"2026-05-04T08:15:00.000Z","model":{"name":"m-small"}}
{"type":"run.start","run_id":"9a7c1c5d-0e6b-4b7a-8f1d-7b7a7e8f4e0f","ts":"2026-05-04T08:15:00.100Z","input":{"type":"text","text":"How many lines has a.txt?"}}
{"type":"llm.request","run_id":"9a7c1c5d-0e6b-4b7a-8f1d-7b7a7e8f4e0f","ts":"2026-05-04T08:15:00.200Z","seq":1,"input":{"model":"m-small","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"How many lines has a.txt?"}],"tools":[{"name":"count","parameters":{"type":"object"},"strict":false}],"tool_choice":null}}
{"type":"llm.response","run_id":"9a7c1c5d-0e6b-4b7a-8f1d-7b7a7e8f4e0f","ts":"2026-05-04T08:15:01.200Z","seq":1,"output":{"messages":[{"role":"reasoning","content":"I count."},{"role":"assistant","content":"One moment.","tool_calls":[{"id":"c-1","type":"function","function":{"name":"count","arguments":"{\"path\":\"a.txt\"}"}}]}],"usage":{"model":"m-small","input_tokens":40,"output_tokens":9,"total_tokens":49},"stop_reason":"tool_use"}}
{"type":"tool.output","run_id":"9a7c1c5d-0e6b-4b7a-8f1d-7b7a7e8f4e0f","ts":"2026-05-04T08:15:01.310Z","tool":"count","tool_call_id":"c-1","result_raw":"12"}
{"type":"llm.request","run_id":"9a7c1c5d-0e6b-4b7a-8f1d-7b7a7e8f4e0f","ts":"2026-05-04T08:15:01.400Z","seq":2,"input":{"model":"m-small","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"How many lines has a.txt?"},{"role":"reasoning","content":"I count."},{"role":"assistant","content":"One moment.","tool_calls":[{"id":"c-1","type":"function","function":{"name":"count","arguments":"{\"path\":\"a.txt\"}"}}]},{"role":"tool","tool_call_id":"c-1","tool_name":"count","content":"12"}],"tools":[{"name":"count","parameters":{"type":"object"},"strict":false}],"tool_choice":null}}
{"type":"llm.response","run_id":"9a7c1c5d-0e6b-4b7a-8f1d-7b7a7e8f4e0f","ts":"2026-05-04T08:15:02.200Z","seq":2,"output":{"messages":[{"role":"assistant","content":"Zwölf: \"12\"."}],"usage":{"model":"m-small","input_tokens":60,"output_tokens":4,"total_tokens":64},"stop_reason":"end_turn"}}
{"type":"run.end","run_id":"9a7c1c5d-0e6b-4b7a-8f1d-7b7a7e8f4e0f","ts":"2026-05-04T08:15:02.230Z","outcome":"completed","final":"Zwölf: \"12\"."}
`

// served is a running 'run replay --serve'.
type served struct {
	*testing.T
	url    string
	lines  chan string
	code   chan int
	cancel context.CancelFunc
	stderr *bytes.Buffer
}

func serveFor(t *testing.T, log string, flags ...string) *served {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	a, _, stderr := testApp(t)
	r, w := io.Pipe()
	a.Stdout = w
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{T: t, lines: make(chan string, 100), code: make(chan int, 1), cancel: cancel, stderr: stderr}
	go func() {
		s.code <- run(ctx, a, append([]string{"run", "replay", path, "--serve"}, flags...))
		w.Close()
	}()
	go func() {
		defer close(s.lines)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			s.lines <- lines.Text()
		}
	}()
	t.Cleanup(cancel)
	s.url = s.line()
	return s
}

// line returns the next line that the command prints.
func (s *served) line() string {
	s.Helper()
	line, ok := <-s.lines
	if !ok {
		s.Fatalf("no more lines; exit code %d: %s", <-s.code, s.stderr)
	}
	return line
}

// ends waits for the command to end.
func (s *served) ends(line string, code int) {
	s.Helper()
	if got := s.line(); got != line {
		s.Errorf("the last line is %q, not %q", got, line)
	}
	if got := <-s.code; got != code {
		s.Errorf("exit code %d instead of %d: %s", got, code, s.stderr)
	}
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// agent is a small agent: it asks the model, runs its tool calls, and ends with the last message.
type agent struct {
	system, tool string
	stream       bool
}

func (g agent) run(s *served) (final string, differences []string) {
	s.Helper()
	text := func(t string) *string { return &t }
	history := []chatMessage{{Role: "system", Content: text(g.system)}, {Role: "user", Content: text("How many lines has a.txt?")}}
	for range 5 {
		body, err := json.Marshal(struct {
			Model    string            `json:"model"`
			Messages []chatMessage     `json:"messages"`
			Tools    []json.RawMessage `json:"tools"`
			Stream   bool              `json:"stream,omitempty"`
		}{"m-small", history, []json.RawMessage{[]byte(`{"type":"function","function":{"name":"count","parameters":{"type":"object"}}}`)}, g.stream})
		if err != nil {
			s.Fatal(err)
		}
		resp, err := http.Post(s.url+"/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			s.Fatal(err)
		}
		if d := resp.Header.Get("X-Treeline-Difference"); d != "" {
			differences = append(differences, resp.Header.Get("X-Treeline-Seq")+" "+d)
		}
		answer := readAnswer(s, resp, g.stream)
		s.line() // the command's line for the request
		history = append(history, answer)
		if len(answer.ToolCalls) == 0 {
			return *answer.Content, differences
		}
		for _, c := range answer.ToolCalls {
			if c.Function.Name != "count" || c.Function.Arguments != `{"path":"a.txt"}` {
				s.Fatalf("call %+v", c)
			}
			history = append(history, chatMessage{Role: "tool", ToolCallID: c.ID, Content: &g.tool})
		}
	}
	s.Fatal("the agent does not come to an end")
	return "", nil
}

// readAnswer reads a response, whole or streamed.
func readAnswer(s *served, resp *http.Response, stream bool) chatMessage {
	s.Helper()
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.Fatalf("status %s", resp.Status)
	}
	if !stream {
		var answer struct {
			Choices []struct {
				Message      chatMessage `json:"message"`
				FinishReason string      `json:"finish_reason"`
			} `json:"choices"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			s.Fatal(err)
		}
		return answer.Choices[0].Message
	}
	m := chatMessage{Role: "assistant"}
	all, finish := "", ""
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string     `json:"content"`
					ToolCalls []chatCall `json:"tool_calls"`
				} `json:"delta"`
				FinishReason string `json:"finish_reason"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			s.Fatalf("%s: %v", data, err)
		}
		all += chunk.Choices[0].Delta.Content
		m.ToolCalls = append(m.ToolCalls, chunk.Choices[0].Delta.ToolCalls...)
		finish = chunk.Choices[0].FinishReason
	}
	m.Content = &all
	if want := map[bool]string{true: "tool_calls", false: "stop"}[len(m.ToolCalls) > 0]; finish != want {
		s.Errorf("finished because of %q", finish)
	}
	return m
}

// An agent that behaves like the recorded one gets the same last message, and the endpoint ends by itself.
func TestReplayServe(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint("stream=", stream), func(t *testing.T) {
			s := serveFor(t, recordedRun)
			final, differences := agent{system: "Be brief.", tool: "12", stream: stream}.run(s)
			if final != `Zwölf: "12".` || len(differences) > 0 {
				t.Errorf("%q, differences %q", final, differences)
			}
			s.ends("2 of 2 requests served, 0 differed", exitFine)
		})
	}
}

// The first difference of a request is reported in the response and on a line; the recorded response is sent nevertheless.
func TestReplayServeDifference(t *testing.T) {
	t.Parallel()
	s := serveFor(t, recordedRun)
	final, differences := agent{system: "Be brief.", tool: "13"}.run(s)
	if final != `Zwölf: "12".` || strings.Join(differences, ", ") != "2 /messages/3/content" {
		t.Errorf("%q, differences %q", final, differences)
	}
	s.ends("2 of 2 requests served, 1 differed", exitProblem)

	s = serveFor(t, recordedRun, "--json")
	s.url = strings.TrimSuffix(strings.TrimPrefix(s.url, `{"url":"`), `"}`)
	resp, err := http.Post(s.url+"/chat/completions", "application/json",
		strings.NewReader(`{"model":"m-small","messages":[{"role":"system","content":"Be long."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got, want := s.line(), `{"seq":1,"difference":{"pointer":"/messages/0/content","a":"\"Be brief.\"","b":"\"Be long.\""}}`; got != want {
		t.Errorf("%s instead of %s", got, want)
	}
	s.cancel() // Ctrl-C
	s.ends(`{"requests":2,"served":1,"differed":1}`, exitProblem)
}

// An invalid request uses up no response; a recorded failure is played.
func TestReplayServeOdd(t *testing.T) {
	t.Parallel()
	log := recordedRun[:strings.Index(recordedRun, `{"type":"llm.response"`)] +
		`{"type":"run.error","run_id":"9a7c1c5d-0e6b-4b7a-8f1d-7b7a7e8f4e0f","ts":"2026-05-04T08:15:03.000Z","error":{"name":"Busy","message":"come back later","status":503}}` + "\n"
	s := serveFor(t, log, "--addr", "localhost:0")
	try := func(method, path, host, body string, status int, want string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(s.url, "/v1")+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status || !strings.Contains(string(got), want) {
			t.Errorf("%s %s at %q: %d %s (%v)", method, path, host, resp.StatusCode, got, err)
		}
	}
	const chat = "/v1/chat/completions"
	try("POST", chat, "", "not JSON", 400, "must be a JSON object")
	try("POST", chat, "", `{"messages":"none"}`, 400, "list of messages")
	try("GET", chat, "", "", 404, "there is only")
	try("GET", "/", "", "", 404, "there is only")
	try("GET", "/v1/models", "", "", 200, `"id":"m-small"`)
	for _, host := range []string{"localhost", "localhost:80", "LocalHost", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:80"} {
		try("GET", "/v1/models", host, "", 200, `"id":"m-small"`)
	}
	// DNS rebinding: a page in a browser sends its own host name.
	for _, host := range []string{
		"rebound.example", "rebound.example:80", "localhost.rebound.example", "127.0.0.1.rebound.example", "192.0.2.1", "0.0.0.0",
		"[2001:db8::1]", "[2001:db8::1]:80", "[::]", "[::1", "[[::1]]",
	} {
		try("POST", chat, host, `{"messages":[]}`, 403, "only this machine")
	}
	try("POST", chat, "", `{"messages":[]}`, 503, "come back later")
	if got := s.line(); !strings.HasPrefix(got, "request 1 differs at /messages/0: recorded {") {
		t.Errorf(`%s; want strings.HasPrefix(got, "request 1 differs at /messages/0: recorded {")`, got)
	}
	s.ends("1 of 1 request served, 1 differed", exitProblem)
}
