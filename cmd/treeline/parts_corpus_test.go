package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/wire"
)

// partsExceptions are the cases in which the context differs from what the program sent, each with its reason.
var partsExceptions = map[string]string{
	"codex/meta-other-provider": "the program refuses a session of another provider than the configured one, which no file of a session tells",
}

// TestPartsCorpus compares context --parts with what the real programs sent: NAME.sent.json next to NAME.jsonl. NAME.d has the other files
// of the session.
func TestPartsCorpus(t *testing.T) {
	corpus := os.Getenv("TREELINE_CORPUS")
	if corpus == "" {
		t.Skip("TREELINE_CORPUS names no folder of real sessions")
	}
	for _, agent := range []string{"claude", "codex", "gemini", "qwen"} {
		dir := filepath.Join(corpus, agent)
		files, err := filepath.Glob(filepath.Join(dir, "*.sent.json"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".sent.json")
			if file = filepath.Join(dir, name+".jsonl"); !exists(file) {
				file = filepath.Join(dir, name+".json")
			}
			t.Run(agent+"/"+name, func(t *testing.T) {
				text, err := os.ReadFile(filepath.Join(dir, name+".sent.json"))
				if err != nil {
					t.Fatal(err)
				}
				var sent struct{ Messages, Input, Contents []sentMessage }
				if err := json.Unmarshal(text, &sent); err != nil {
					t.Fatal(err)
				}
				a, stdout, stderr := testApp(t)
				code := run(t.Context(), a, []string{"context", layOut(t, agent, file), "--parts", "--json"})
				var got wire.PartsContext
				if code == exitFine {
					if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
						t.Fatal(err)
					}
				} else if sent.Messages != nil || sent.Input != nil || sent.Contents != nil {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				var want, have []string
				for _, m := range slices.Concat(sent.Messages, sent.Input, sent.Contents) {
					want = append(want, m.project()...)
				}
				for _, m := range got.Messages {
					if len(sent.Contents) > 0 && m.Role == "tool" {
						m.Role = "user" // results are parts of the user's message
					}
					have = append(have, projected(m)...)
				}
				diff := difftest.Diff(want, have)
				reason, excepted := partsExceptions[agent+"/"+name]
				switch {
				case diff != "" && !excepted:
					t.Errorf("(-sent +context):\n%s", diff)
				case diff == "" && excepted:
					t.Errorf("it is an exception without need: %s", reason)
				}
			})
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// layOut copies a case to where its program would keep it, since a session may need other files next to it.
func layOut(t *testing.T, agent, file string) string {
	t.Helper()
	base := strings.TrimSuffix(file, ".jsonl")
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	beside := strings.TrimSuffix(path, ".jsonl")
	if agent == "codex" {
		name := "sessions/2026/05/01/rollout-2026-05-01T10-00-00-" + codexID(t, file) + ".jsonl"
		if text, err := os.ReadFile(base + ".path"); err == nil {
			name = strings.TrimSpace(string(text))
		}
		path = filepath.Join(filepath.Dir(path), filepath.FromSlash(name))
		beside = filepath.Dir(path)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(base + ".d"); err == nil && info.IsDir() {
		if err := os.CopyFS(beside, os.DirFS(base+".d")); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// codexID returns the id in the first line of a rollout, or some id if it has none.
func codexID(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var meta struct{ Payload struct{ ID string } }
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if json.Unmarshal(first, &meta) != nil || len(meta.Payload.ID) != 36 {
		return "0198e028-0000-7000-8000-000000000000"
	}
	return meta.Payload.ID
}

// sentMessage has the compared members of a message of Anthropic's API or an item of OpenAI's.
type sentMessage struct {
	Role, Type, Name string
	Content, Output  json.RawMessage
	CallID           string `json:"call_id"`
	Arguments, Input json.RawMessage
	Action           json.RawMessage
	Text, ID         string
	ToolUseID        string `json:"tool_use_id"`
	IsError          bool   `json:"is_error"`
	ImageURL         string `json:"image_url"`
	Source           struct{ Data, URL string }
	// Of Google's API.
	Parts []sentPart
	// Of OpenAI's API for chats.
	ToolCallID string     `json:"tool_call_id"`
	ToolCalls  []sentCall `json:"tool_calls"`
}

type sentPart struct {
	Text         string
	FunctionCall *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID       string
		Response struct{ Output, Error *string }
	}
}

type sentCall struct {
	ID       string
	Function struct{ Name, Arguments string }
}

// contents projects the parts of a content.
func (m sentMessage) contents() (out []string) {
	role := strings.Replace(m.Role, "model", "assistant", 1)
	for _, p := range m.Parts {
		switch {
		case p.FunctionCall != nil:
			out = append(out, call(role, p.FunctionCall.ID, p.FunctionCall.Name, p.FunctionCall.Args))
		case p.FunctionResponse != nil:
			r := p.FunctionResponse.Response
			failed := r.Output == nil
			if failed {
				r.Output = r.Error
			}
			out = append(out, result(role, p.FunctionResponse.ID, failed, spokenText("", *r.Output)))
		default:
			out = append(out, spokenText(role, p.Text)...)
		}
	}
	return out
}

// project returns what must agree: role, texts, calls, results and images, in order. It omits system and developer messages, reminders, and
// what the new prompt adds.
func (m sentMessage) project() (out []string) {
	if m.Role == "system" || m.Role == "developer" {
		return nil
	}
	if m.Parts != nil {
		return m.contents()
	}
	if m.ToolCallID != "" {
		return []string{result(m.Role, m.ToolCallID, false, said("", blocks(m.Content)))}
	}
	switch m.Type {
	case "", "message":
		if m.Content != nil && string(m.Content) != "null" {
			out = said(m.Role, blocks(m.Content))
		}
		for _, c := range m.ToolCalls {
			out = append(out, call(m.Role, c.ID, c.Function.Name, json.RawMessage(c.Function.Arguments)))
		}
		return out
	case "agent_message":
		return said("user", blocks(m.Content))
	case "function_call":
		var args string
		if json.Unmarshal(m.Arguments, &args) == nil && json.Valid([]byte(args)) {
			m.Arguments = json.RawMessage(args)
		}
		return []string{call("assistant", m.CallID, m.Name, m.Arguments)}
	case "custom_tool_call":
		return []string{call("assistant", m.CallID, m.Name, m.Input)}
	case "local_shell_call":
		return []string{call("assistant", m.CallID, "local_shell", m.Action)}
	case "function_call_output", "custom_tool_call_output":
		return []string{result("tool", m.CallID, false, said("", blocks(m.Output)))}
	}
	return nil // reasoning and compaction are not compared
}

// blocks reads a content; a string is one text block.
func blocks(content json.RawMessage) (list []sentMessage) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []sentMessage{{Type: "text", Text: text}}
	}
	_ = json.Unmarshal(content, &list) // anything else has no blocks
	return list
}

// said projects the blocks of a message.
func said(role string, list []sentMessage) (out []string) {
	for _, b := range list {
		switch b.Type {
		case "text", "input_text", "output_text":
			out = append(out, spokenText(role, b.Text)...)
		case "tool_use":
			out = append(out, call(role, b.ID, b.Name, b.Input))
		case "tool_result":
			out = append(out, result(role, b.ToolUseID, b.IsError, said("", blocks(b.Content))))
		case "image":
			out = append(out, picture(role, b.Source.Data+b.Source.URL))
		case "input_image":
			out = append(out, picture(role, b.ImageURL))
		}
	}
	return out
}

// projected is project for the neutral form.
func projected(m wire.PartsMessage) []string {
	if m.Role == "system" {
		return nil
	}
	return projectedParts(m.Role, m.Parts)
}

func projectedParts(role string, parts []wire.Part) (out []string) {
	for _, p := range parts {
		switch p.Type {
		case "text":
			out = append(out, spokenText(role, *p.Text)...)
		case "toolCall":
			out = append(out, call(role, p.ID, p.Name, p.Arguments))
		case "toolResult":
			out = append(out, result(role, p.CallID, p.IsError, projectedParts("", *p.Parts)))
		case "image":
			out = append(out, picture(role, p.Data+p.URL))
		}
	}
	return out
}

// spokenText omits reminders, the new prompt, and what Codex says about its environment. A reminder may follow the text of a result.
func spokenText(role, text string) []string {
	text, _, _ = strings.Cut(text, "\n\n<system-reminder>")
	for _, begin := range []string{"<system-reminder>", "[context trimmed:", "<environment_context>", "# AGENTS.md", "<session_context>", "SAY resumed"} {
		if strings.HasPrefix(text, begin) {
			return nil
		}
	}
	if strings.TrimSpace(text) == "NEXT PROMPT" {
		return nil
	}
	return []string{role + " text " + text}
}

func call(role, id, name string, arguments json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, arguments) != nil {
		b.Write(arguments)
	}
	return fmt.Sprint(role, " call ", id, " ", name, " ", b.String())
}

func result(role, id string, failed bool, inside []string) string {
	return fmt.Sprintf("%s result %s %t%q", role, id, failed, inside)
}

// picture compares the data of an image, which may be written as an URL.
func picture(role, data string) string {
	if _, after, ok := strings.Cut(data, ";base64,"); ok {
		data = after
	}
	return fmt.Sprintf("%s image %.40s", role, data)
}
