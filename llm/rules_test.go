package llm_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The rules of the providers, as stated by their documentation and their error messages. A checker returns the first rule
// that a body breaks.

var (
	named   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	shortID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	// escape matches a surrogate pair, half a pair, or any other escape.
	escape = regexp.MustCompile(`(?i)\\ud[89ab]..\\ud[c-f]..|\\u(d[89a-f]..)|\\.`)
)

// strict decodes JSON and refuses members that the provider does not know.
func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// checkJSON checks what every server's parser requires.
func checkJSON(body []byte) error {
	if !json.Valid(body) || !utf8.Valid(body) {
		return fmt.Errorf("it is not JSON in UTF-8")
	}
	for _, m := range escape.FindAllSubmatch(body, -1) {
		if m[1] != nil {
			return fmt.Errorf("half a surrogate pair: %s", m[0])
		}
	}
	return nil
}

type anthropicRequest struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	System    string `json:"system"`
	Tools     []struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	Messages []struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	} `json:"messages"`
}

// block has the members of all content blocks; which ones it may have depends on its type.
type block struct {
	Type      string            `json:"type"`
	Text      *string           `json:"text"`
	Thinking  *string           `json:"thinking"`
	Signature *string           `json:"signature"`
	Data      *string           `json:"data"`
	ID        *string           `json:"id"`
	Name      *string           `json:"name"`
	Input     json.RawMessage   `json:"input"`
	ToolUseID *string           `json:"tool_use_id"`
	Content   []json.RawMessage `json:"content"`
	IsError   *bool             `json:"is_error"`
	Source    *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
}

// allowed are the blocks of each role, and those of a tool result.
var allowed = map[string][]string{
	"user": {"text", "image", "tool_result"}, "assistant": {"text", "thinking", "redacted_thinking", "tool_use"}, "result": {"text", "image"},
}

func checkAnthropic(body []byte) error {
	if err := checkJSON(body); err != nil {
		return err
	}
	var r anthropicRequest
	if err := strict(body, &r); err != nil {
		return err
	}
	var tools []string
	for _, t := range r.Tools {
		if !named.MatchString(t.Name) || slices.Contains(tools, t.Name) || !bytes.HasPrefix(t.Schema, []byte(`{"type":"object"`)) {
			return fmt.Errorf("tool %q", t.Name)
		}
		tools = append(tools, t.Name)
	}
	if r.MaxTokens < 1 || len(r.Messages) == 0 {
		return fmt.Errorf("max_tokens %d, %d messages", r.MaxTokens, len(r.Messages))
	}
	used := map[string]bool{}
	var open []string // the calls whose results the next message must have
	for i, m := range r.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("message %d is the %s's", i, m.Role)
		}
		var calls []string
		results := true // so far the message has only results
		last := block{}
		for k, raw := range m.Content {
			b, err := checkBlock(raw, m.Role)
			if err != nil {
				return fmt.Errorf("message %d, block %d: %w", i, k, err)
			}
			if b.Type == "tool_result" {
				at := slices.Index(open, *b.ToolUseID)
				if at < 0 || !results {
					return fmt.Errorf("message %d: the result of %q answers no call or is late", i, *b.ToolUseID)
				}
				open = slices.Delete(open, at, at+1)
			}
			results = results && b.Type == "tool_result"
			if b.Type == "tool_use" {
				if used[*b.ID] || !slices.Contains(tools, *b.Name) {
					return fmt.Errorf("message %d: the call %q is not unique, or its tool %q is not defined", i, *b.ID, *b.Name)
				}
				used[*b.ID] = true
				calls = append(calls, *b.ID)
			}
			last = b
		}
		if len(open) > 0 || len(m.Content) == 0 || strings.HasSuffix(last.Type, "thinking") {
			return fmt.Errorf("message %d: open calls %q, %d blocks, the last is %s", i, open, len(m.Content), last.Type)
		}
		if open = calls; i == len(r.Messages)-1 && (len(open) > 0 || m.Role == "assistant" && strings.TrimRight(*last.Text, " \t\r\n") != *last.Text) {
			return fmt.Errorf("the last message has open calls or ends in white space")
		}
	}
	return nil
}

func checkBlock(raw []byte, role string) (b block, err error) {
	if err := strict(raw, &b); err != nil {
		return b, err
	}
	fail := func(holds bool, rule string) {
		if !holds && err == nil {
			err = fmt.Errorf("%s: %.200s", rule, raw)
		}
	}
	fail(slices.Contains(allowed[role], b.Type), "type")
	switch b.Type {
	case "text":
		fail(b.Text != nil && strings.TrimSpace(*b.Text) != "", "text content blocks must contain non-whitespace text")
	case "thinking":
		fail(b.Thinking != nil && *b.Thinking != "" && b.Signature != nil && *b.Signature != "", "thinking needs its signature")
	case "redacted_thinking":
		fail(b.Data != nil && *b.Data != "", "redacted thinking needs its data")
	case "tool_use":
		fail(b.ID != nil && named.MatchString(*b.ID), "id")
		fail(b.Name != nil && named.MatchString(*b.Name), "name")
		fail(len(b.Input) > 0 && b.Input[0] == '{', "input is an object")
	case "tool_result":
		fail(b.ToolUseID != nil && len(b.Content) > 0, "a result names its call and is not empty")
		for _, part := range b.Content {
			if _, e := checkBlock(part, "result"); e != nil {
				fail(false, e.Error())
			}
		}
	case "image":
		fail(b.Source != nil, "source")
		if b.Source != nil && b.Source.Type == "base64" {
			fail(checkPicture(b.Source.MediaType, b.Source.Data), "picture")
		} else if b.Source != nil {
			fail(b.Source.Type == "url" && strings.HasPrefix(b.Source.URL, "http"), "address")
		}
	}
	return b, err
}

// checkPicture checks that the data has the format that the type names.
func checkPicture(mime, data string) bool {
	raw, err := base64.StdEncoding.Strict().DecodeString(data)
	begin := map[string]string{"image/png": "\x89PNG", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF"}[mime]
	return err == nil && begin != "" && bytes.HasPrefix(raw, []byte(begin))
}

type openaiMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

func checkOpenAI(body []byte) error {
	if err := checkJSON(body); err != nil {
		return err
	}
	var r struct {
		Model    string          `json:"model"`
		Messages []openaiMessage `json:"messages"`
	}
	if err := strict(body, &r); err != nil {
		return err
	}
	if len(r.Messages) == 0 {
		return fmt.Errorf("no messages")
	}
	used := map[string]bool{}
	var open []string
	for i, m := range r.Messages {
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Errorf("message %d: an assistant message with tool_calls must be followed by tool messages: %q", i, open)
		}
		switch m.Role {
		case "tool":
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return fmt.Errorf("message %d: a tool message must follow its tool_calls: %q", i, m.ToolCallID)
			}
			open = slices.Delete(open, at, at+1)
		case "assistant":
			for _, c := range m.ToolCalls {
				if used[c.ID] || !shortID.MatchString(c.ID) || c.Type != "function" || !named.MatchString(c.Function.Name) {
					return fmt.Errorf("message %d: call %+v", i, c)
				}
				if checkJSON([]byte(c.Function.Arguments)) != nil || c.Function.Arguments[0] != '{' {
					return fmt.Errorf("message %d: arguments %q", i, c.Function.Arguments)
				}
				used[c.ID] = true
				open = append(open, c.ID)
			}
		case "user", "system":
		default:
			return fmt.Errorf("message %d: role %q", i, m.Role)
		}
		if m.Content == nil && len(m.ToolCalls) > 0 {
			continue
		}
		if err := checkContent(m.Content, m.Role); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("open calls at the end: %q", open)
	}
	return nil
}

// checkContent checks a string, or the parts of a user's message.
func checkContent(content []byte, role string) error {
	var s string
	if json.Unmarshal(content, &s) == nil {
		if strings.TrimSpace(s) == "" {
			return fmt.Errorf("the content is empty")
		}
		return nil
	}
	var parts []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Image struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := strict(content, &parts); err != nil || role != "user" || len(parts) == 0 {
		return fmt.Errorf("content of the %s: %w: %.200s", role, err, content)
	}
	for _, p := range parts {
		mime, data, _ := strings.Cut(strings.TrimPrefix(p.Image.URL, "data:"), ";base64,")
		ok := p.Type == "text" && strings.TrimSpace(p.Text) != "" ||
			p.Type == "image_url" && (strings.HasPrefix(p.Image.URL, "http") || checkPicture(mime, data))
		if !ok {
			return fmt.Errorf("part %.200s", content)
		}
	}
	return nil
}

// responsesItem has the members of all items; which ones it may have depends on its type.
type responsesItem struct {
	Type      string            `json:"type"`
	Role      string            `json:"role"`
	Content   []json.RawMessage `json:"content"`
	CallID    string            `json:"call_id"`
	Name      string            `json:"name"`
	Arguments string            `json:"arguments"`
	Input     *string           `json:"input"`
	Output    json.RawMessage   `json:"output"`
	Summary   []json.RawMessage `json:"summary"`
	Encrypted string            `json:"encrypted_content"`
	ID        string            `json:"id"`
	Status    string            `json:"status"`
	Action    json.RawMessage   `json:"action"`
}

// searched and compacted check items that the API made itself and takes back unchanged: a web search, and a history that
// only the provider can read.
func (i *responsesItem) searched() bool {
	return i.Type == "web_search_call" && i.Encrypted == "" && (i.Action == nil || json.Unmarshal(i.Action, new(struct{ Type string })) == nil)
}

func (i *responsesItem) compacted() bool {
	return i.Type == "compaction" && i.Encrypted != "" && i.Status == "" && i.Action == nil
}

func checkResponses(body []byte) error {
	if err := checkJSON(body); err != nil {
		return err
	}
	var r struct {
		Model string            `json:"model"`
		Input []json.RawMessage `json:"input"`
	}
	if err := strict(body, &r); err != nil {
		return err
	}
	if len(r.Input) == 0 {
		return fmt.Errorf("no input")
	}
	open, used := map[string]string{}, map[string]bool{} // calls without an output, with their type; all calls
	reasoning := false                                   // the last item is reasoning
	for n, raw := range r.Input {
		var i responsesItem
		if err := strict(raw, &i); err != nil {
			return fmt.Errorf("item %d: %w", n, err)
		}
		if own := i.searched() || i.compacted(); !own && (i.ID != "" || i.Status != "" || i.Action != nil) {
			return fmt.Errorf("item %d has a member of another type: %.300s", n, raw)
		}
		if led := i.Type == "reasoning" || i.Type == "function_call" || i.Type == "custom_tool_call" || i.searched() || i.Role == "assistant"; reasoning && !led {
			return fmt.Errorf("item %d: reasoning is not followed by what it led to", n)
		}
		reasoning = false
		ok := false
		switch i.Type {
		case "message":
			ok = len(i.Content) > 0 && checkItemContent(i.Content, map[string]string{"user": "input_", "developer": "input_", "assistant": "output_"}[i.Role]) == nil
		case "function_call", "custom_tool_call":
			ok = named.MatchString(i.CallID) && named.MatchString(i.Name) && !used[i.CallID] &&
				(i.Type == "custom_tool_call" && i.Input != nil || checkJSON([]byte(i.Arguments)) == nil && strings.HasPrefix(i.Arguments, "{"))
			open[i.CallID], used[i.CallID] = i.Type, true
		case "function_call_output", "custom_tool_call_output":
			var list []json.RawMessage
			var text string
			ok = open[i.CallID]+"_output" == i.Type && (json.Unmarshal(i.Output, &text) == nil && text != "" ||
				json.Unmarshal(i.Output, &list) == nil && len(list) > 0 && checkItemContent(list, "input_") == nil)
			delete(open, i.CallID)
		case "reasoning":
			ok, reasoning = i.Summary != nil && i.Encrypted != "", true
		case "web_search_call":
			ok = i.searched()
		case "compaction":
			ok = i.compacted()
		}
		if !ok {
			return fmt.Errorf("item %d: %.300s", n, raw)
		}
	}
	if len(open) > 0 || reasoning {
		return fmt.Errorf("calls without output: %v; ends in reasoning: %t", open, reasoning)
	}
	return nil
}

// checkItemContent checks pieces of content whose types begin with a word.
func checkItemContent(list []json.RawMessage, kind string) error {
	for _, raw := range list {
		var p struct {
			Type  string `json:"type"`
			Text  string `json:"text"`
			Image string `json:"image_url"`
		}
		if err := strict(raw, &p); err != nil {
			return err
		}
		mime, data, _ := strings.Cut(strings.TrimPrefix(p.Image, "data:"), ";base64,")
		if !(kind != "" && p.Type == kind+"text" && strings.TrimSpace(p.Text) != "" ||
			p.Type == "input_image" && kind == "input_" && (strings.HasPrefix(p.Image, "http") || checkPicture(mime, data))) {
			return fmt.Errorf("%.200s", raw)
		}
	}
	return nil
}
