// Package projected compares a context of this library with a request of an agent: it turns both into texts with everything on which they
// must agree. It has one function for each API of a provider, and Context for this library.
package projected

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/session"
)

// NextPrompt is the prompt that the agents get when they resume a session.
const NextPrompt = "NEXT PROMPT"

// A projection of messages has everything on which both sides must agree: roles, texts, thinking, calls, results and images. It leaves out
// what an agent adds for the new prompt: system messages, reminders, descriptions of its environment, and the prompt. Each message is a
// text of several lines.
type projection struct {
	messages []string
	line     strings.Builder
	errors   bool // results are marked as errors
}

// reminder is the beginning of a text that Claude Code adds to messages.
const reminder = "<system-reminder>"

// surroundings are the beginnings of messages in which Codex and Gemini CLI describe their environment.
var surroundings = []string{"<session_context>", "<environment_context>", "<permissions instructions>", "<skills_instructions>", "# AGENTS.md instructions", "<user_instructions>"}

func (p *projection) begin() { p.line.Reset() }

// end adds the message unless nothing of it is compared. Roles that only one agent has count as the user.
func (p *projection) end(role string) {
	switch role {
	case "user", "assistant", "system", "developer":
	default:
		role = "user"
	}
	if p.line.Len() > 0 && role != "system" && role != "developer" {
		p.messages = append(p.messages, role+p.line.String())
	}
}

func (p *projection) say(kind string, words ...string) {
	p.line.WriteString("\n\t" + kind + " " + strings.Join(words, " "))
}

func (p *projection) text(text string) {
	if text = unprompted(text); text == "" || strings.HasPrefix(text, reminder) {
		return
	}
	for _, s := range surroundings {
		if strings.HasPrefix(strings.TrimSpace(text), s) {
			return
		}
	}
	p.say("text", fmt.Sprintf("%q", text))
}

// output adds a text of a result. Reminders after it, and the wording of an interrupted call, are the agent's own.
func (p *projection) output(text string) {
	text, _, _ = strings.Cut(text, "\n\n"+reminder)
	if strings.HasPrefix(text, "[Tool call interrupted") {
		text = "[Tool call interrupted"
	}
	if text != "" && !strings.HasPrefix(text, reminder) {
		p.say("\ttext", fmt.Sprintf("%q", text))
	}
}

func (p *projection) image(data string) { p.say("image", imageOf(data)) }

// imageOf returns a hash that represents the bytes of an image.
func imageOf(data string) string { return fmt.Sprintf("%.16x", sha256.Sum256([]byte(data))) }

// plain returns a value with the members of objects in order and without those that are null, which Codex adds. A value that is not JSON
// becomes a text.
func plain(value []byte) string {
	var v any
	if json.Unmarshal(value, &v) != nil {
		v = string(value)
	}
	return strings.NewReplacer(`,"env":null`, "", `,"timeout_ms":null`, "", `,"user":null`, "", `,"working_directory":null`, "").Replace(spell(v))
}

// spell encodes a value that was read, or is made of texts, as JSON; that does not fail.
func spell(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Context returns the projection of messages of this library. errors: the API has a mark for results that are errors.
func Context(messages iter.Seq2[treeline.Message, error], errors bool) ([]string, error) {
	p := projection{errors: errors}
	for m, err := range messages {
		if err != nil {
			return nil, err
		}
		p.begin()
		for _, part := range m.Parts {
			p.part(part, p.text)
		}
		if m.Role == session.RoleTool {
			m.Role = session.RoleUser
		}
		p.end(m.Role.String())
	}
	return p.messages, nil
}

// part adds a part. Texts of results have rules of their own.
func (p *projection) part(part session.Part, text func(string)) {
	switch part := part.(type) {
	case session.Text:
		text(part.Text)
	case session.Thinking:
		p.say("thinking", fmt.Sprintf("%q", part.Text))
	case session.ToolCall:
		p.say("call", part.ID, part.Name, plain(part.Arguments))
	case session.ToolResult:
		p.say("result", part.CallID, fmt.Sprint(part.IsError && p.errors))
		for _, inside := range part.Parts {
			p.part(inside, p.output)
		}
	case session.Image:
		p.image(part.Data)
	case session.OpaquePart:
		p.say("opaque", part.Type)
	}
}

// claudeBlock has the members of all content blocks.
type claudeBlock struct {
	Type, Text, Thinking, ID, Name string
	ToolUseID                      string `json:"tool_use_id"`
	Input, Content                 json.RawMessage
	IsError                        bool `json:"is_error"`
	Source                         struct{ Type, Data, URL string }
}

// Messages returns the projection of a request to Anthropic's Messages API.
func Messages(body []byte) ([]string, error) {
	var request struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	p := projection{errors: true}
	for _, m := range request.Messages {
		p.begin()
		if err := p.blocks(m.Content, p.text); err != nil {
			return nil, err
		}
		p.end(m.Role)
	}
	return p.messages, nil
}

// blocks adds a content: a text, or a list of blocks.
func (p *projection) blocks(content []byte, text func(string)) error {
	if len(content) == 0 || bytes.Equal(content, []byte("null")) {
		return nil
	}
	if content[0] == '"' {
		var s string
		err := json.Unmarshal(content, &s)
		text(s)
		return err
	}
	var list []claudeBlock
	if err := json.Unmarshal(content, &list); err != nil {
		return err
	}
	for _, b := range list {
		switch b.Type {
		case "text":
			text(b.Text)
		case "thinking":
			p.say("thinking", fmt.Sprintf("%q", b.Thinking))
		case "tool_use":
			p.say("call", b.ID, b.Name, plain(b.Input))
		case "tool_result":
			p.say("result", b.ToolUseID, fmt.Sprint(b.IsError))
			if err := p.blocks(b.Content, p.output); err != nil {
				return err
			}
		case "image":
			p.image(b.Source.Data + b.Source.URL)
		default:
			p.say("opaque", b.Type)
		}
	}
	return nil
}

// codexItem has the members of all items of the Responses API.
type codexItem struct {
	Type, Role, Name, Arguments string
	CallID                      string `json:"call_id"`
	Input, Output, Action       json.RawMessage
	Content, Summary            []codexPart
}

type codexPart struct {
	Type, Text string
	ImageURL   string `json:"image_url"`
}

// Responses returns the projection of a request to OpenAI's Responses API.
func Responses(body []byte) ([]string, error) {
	var request struct{ Input []codexItem }
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	var p projection
	for _, i := range request.Input {
		p.begin()
		role, err := p.item(i)
		if err != nil {
			return nil, err
		}
		p.end(role)
	}
	return p.messages, nil
}

// item adds an item and returns its role.
func (p *projection) item(i codexItem) (role string, err error) {
	switch i.Type {
	case "message":
		p.list(i.Content, p.text)
		return i.Role, nil
	case "agent_message":
		p.list(i.Content, p.text)
		return "user", nil
	case "reasoning":
		texts := i.Content
		if len(texts) == 0 {
			texts = i.Summary
		}
		var all []string
		for _, t := range texts {
			all = append(all, t.Text)
		}
		p.say("thinking", fmt.Sprintf("%q", strings.Join(all, "\n")))
	case "function_call":
		p.say("call", i.CallID, i.Name, plain([]byte(i.Arguments)))
	case "custom_tool_call":
		p.say("call", i.CallID, i.Name, plain(i.Input))
	case "local_shell_call":
		p.say("call", i.CallID, "local_shell", plain(i.Action))
	case "function_call_output", "custom_tool_call_output":
		p.say("result", i.CallID, "false")
		if len(i.Output) > 0 && i.Output[0] == '"' {
			var s string
			err = json.Unmarshal(i.Output, &s)
			p.output(s)
			return "user", err
		}
		var list []codexPart
		err = json.Unmarshal(i.Output, &list)
		p.list(list, p.output)
		return "user", err
	default:
		p.say("opaque", i.Type)
	}
	return "assistant", nil
}

func (p *projection) list(parts []codexPart, text func(string)) {
	for _, part := range parts {
		switch part.Type {
		case "input_text", "output_text":
			text(part.Text)
		case "input_image":
			data := part.ImageURL
			if _, after, ok := strings.Cut(data, ";base64,"); ok {
				data = after
			}
			p.image(data)
		default:
			p.say("opaque", part.Type)
		}
	}
}
