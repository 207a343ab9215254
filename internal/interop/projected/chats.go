package projected

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Joined joins neighbouring messages of one role.
func Joined(messages []string) (out []string) {
	role := ""
	for _, m := range messages {
		speaker, said, _ := strings.Cut(m, "\n")
		if n := len(out); n > 0 && speaker == role {
			out[n-1] += "\n" + said
			continue
		}
		out, role = append(out, m), speaker
	}
	return out
}

// googlePart has the members of all parts.
type googlePart struct {
	Text    *string
	Thought bool
	Call    *struct {
		ID, Name string
		Args     json.RawMessage
	} `json:"functionCall"`
	Result *struct {
		ID, Name string
		Response json.RawMessage
		Parts    []googlePart
	} `json:"functionResponse"`
	Inline *struct{ Data string }     `json:"inlineData"`
	File   *struct{ FileURI string }  `json:"fileData"`
	Other  map[string]json.RawMessage `json:"-"`
}

// Contents returns the projection of a request to Google's API.
func Contents(body []byte) ([]string, error) {
	var request struct {
		Contents []struct {
			Role  string
			Parts []googlePart
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	var p projection
	for _, c := range request.Contents {
		p.begin()
		for _, part := range c.Parts {
			p.google(part, p.text)
		}
		role := "user"
		if c.Role == "model" {
			role = "assistant"
		}
		p.end(role)
	}
	return p.messages, nil
}

// google adds a part.
func (p *projection) google(part googlePart, text func(string)) {
	switch {
	case part.Call != nil:
		args := part.Call.Args
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		p.say("call", part.Call.ID, part.Call.Name, plain(args))
	case part.Result != nil:
		p.say("result", part.Result.ID, "false")
		p.output(responseText(part.Result.Response))
		for _, inside := range part.Result.Parts {
			p.google(inside, p.output)
		}
	case part.Inline != nil:
		p.image(part.Inline.Data)
	case part.File != nil:
		p.image(part.File.FileURI)
	case part.Text != nil:
		text(*part.Text)
	default:
		p.say("opaque", "part")
	}
}

// responseText returns the text of a result: its output, its error, or all of it as JSON.
func responseText(response json.RawMessage) string {
	var said struct{ Output, Error *string }
	if json.Unmarshal(response, &said) == nil {
		switch {
		case said.Output != nil:
			return *said.Output
		case said.Error != nil:
			return *said.Error
		}
	}
	if string(response) == "null" {
		return ""
	}
	return string(response)
}

// Chat returns the projection of a request to OpenAI's API for chats.
func Chat(body []byte) ([]string, error) {
	var request struct {
		Messages []struct {
			Role      string
			Content   json.RawMessage
			Reasoning string `json:"reasoning_content"`
			ID        string `json:"tool_call_id"`
			Calls     []struct {
				ID       string
				Function struct{ Name, Arguments string }
				Custom   *struct{ Name, Input string } // of a tool that takes a text
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	var p projection
	for _, m := range request.Messages {
		p.begin()
		if m.Reasoning != "" {
			p.say("thinking", fmt.Sprintf("%q", m.Reasoning))
		}
		text := p.text
		if m.Role == "tool" {
			p.say("result", m.ID, "false")
			text = p.output
		}
		if err := p.chat(m.Content, text); err != nil {
			return nil, err
		}
		for _, c := range m.Calls {
			name, arguments := c.Function.Name, c.Function.Arguments
			if c.Custom != nil {
				name, arguments = c.Custom.Name, spell(map[string]string{"input": c.Custom.Input})
			}
			p.say("call", c.ID, name, plain([]byte(arguments)))
		}
		p.end(m.Role)
	}
	return p.messages, nil
}

// unprompted is a text without the new prompt, and what the agent adds to that. OpenCode puts a prompt of several words into quotes; Copilot CLI
// begins it with the time; Goose joins it with a prompt before it, and ends it with where it runs, which is a
// text of its own behind pictures.
func unprompted(text string) string {
	before, after, ok := strings.Cut(text, NextPrompt)
	switch {
	case strings.HasPrefix(text, "<turn-context>"):
		return ""
	case !ok:
		return text
	case strings.HasPrefix(after, "\n<turn-context>"):
		return strings.TrimSuffix(before, "\n")
	case strings.HasPrefix(before, "<current_datetime>"), before == `"` && after == `"`, strings.TrimSpace(before+after) == "":
		return ""
	}
	return text
}

// chat adds a content: a text, or a list of parts.
func (p *projection) chat(content json.RawMessage, text func(string)) error {
	if len(content) == 0 || string(content) == "null" {
		return nil
	}
	var s string
	if json.Unmarshal(content, &s) == nil {
		text(s)
		return nil
	}
	var parts []struct {
		Type, Text string
		Image      struct{ URL string } `json:"image_url"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		switch part.Type {
		case "text":
			text(part.Text)
		case "image_url":
			data := part.Image.URL
			if _, after, ok := strings.Cut(data, ";base64,"); ok {
				data = after
			}
			p.image(data)
		default:
			p.say("opaque", part.Type)
		}
	}
	return nil
}
