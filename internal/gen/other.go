package gen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Operator, Wave, State and Run convert a session that Session made to the format of another agent. Texts keep their spelling; what does
// not fit the other format is left out. Sizes stay about the same, so that measurements of formats can be compared.

// entry is a record of a session, with the members that other formats have a place for. RawMessage keeps the spelling.
type entry struct {
	Type, ID, Timestamp         string
	ParentID                    *string
	Message                     *message
	Summary, Label, TargetID    json.RawMessage
	FirstKeptEntryID, ModelID   json.RawMessage
	TokensBefore, ThinkingLevel json.RawMessage
	Model, Provider, CWD        string
	Content                     json.RawMessage // content of an extension's message
}

// message is the message of an entry.
type message struct {
	Role, ToolCallID, ToolName string
	Content                    []block
	IsError                    bool
	Usage                      *used
	StopReason, Model          string
	Command, Output            json.RawMessage // of a command that the user ran
}

// used is the usage of an answer.
type used struct {
	Input, Output, CacheRead, CacheWrite, TotalTokens int
	Cost                                              struct{ Total float64 }
}

// block is a piece of a message; which members it has depends on its type.
type block struct {
	Type                                                string
	Text, Thinking, ID, Name, Arguments, Data, MIMEType json.RawMessage
	ThinkingSignature                                   json.RawMessage
}

// entries reads a session that Session made. It panics on anything else.
func entries(log []byte) []entry {
	var list []entry
	for line := range bytes.Lines(log) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			panic(fmt.Sprintf("gen: not a session that Session made: %v", err))
		}
		list = append(list, e)
	}
	return list
}

// seconds returns a time in the format of Operator.
func seconds(iso string) string {
	t, err := time.Parse(time.RFC3339Nano, iso)
	if err != nil {
		panic(fmt.Sprintf("gen: not a session that Session made: %v", err))
	}
	return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000)
}

func joined(items []string) string { return strings.Join(items, ",") }

// Operator returns the session in the format of Operator. Kinds of entries that Operator lacks get a line as well, so that
// every parent exists.
func Operator(log []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(log))
	for i, e := range entries(log) {
		at := seconds(e.Timestamp)
		if i == 0 {
			fmt.Fprintf(&out, `{"type":"session","version":3,"id":%q,"timestamp":%s,"cwd":%q}`+"\n", e.ID, at, e.CWD)
			continue
		}
		body := operatorBody(&e, at, i)
		parent := ""
		if e.ParentID != nil {
			parent = fmt.Sprintf(`,"parent_id":%q`, *e.ParentID)
		}
		fmt.Fprintf(&out, `{"id":%q,"timestamp":%s%s,"type":%s}`+"\n", e.ID, at, parent, body)
	}
	return out.Bytes()
}

// operatorBody returns a note for kinds of entries that Operator lacks.
func operatorBody(e *entry, at string, n int) string {
	switch e.Type {
	case "message":
		return `"message","message":` + operatorMessage(e.Message, at, n)
	case "compaction":
		return fmt.Sprintf(`"compaction","summary":%s,"first_kept_entry_id":%s,"tokens_before":%s,"from_hook":false`, e.Summary, e.FirstKeptEntryID, e.TokensBefore)
	case "branch_summary":
		return fmt.Sprintf(`"branch_summary","from_id":"root","summary":%s,"from_hook":false`, e.Summary)
	case "label":
		return fmt.Sprintf(`"label","label":%s,"target_id":%s`, e.Label, e.TargetID)
	case "thinking_level_change":
		return fmt.Sprintf(`"thinking_level_change","thinking_level":%s`, e.ThinkingLevel)
	case "model_change":
		return fmt.Sprintf(`"model_change","model_id":%q,"provider_id":"p"`, e.Model)
	}
	return `"custom","custom_type":"note"`
}

// operatorMessage has one block for each text of a tool result.
func operatorMessage(m *message, at string, n int) string {
	var contents []string
	role, rest := m.Role, ""
	for _, b := range m.Content {
		switch {
		case m.Role == "toolResult":
			role = "tool"
			if b.Type == "text" {
				contents = append(contents, fmt.Sprintf(`{"type":"tool_result","id":%q,"content":%s,"is_error":%t,"metadata":{},"terminate":false}`, m.ToolCallID, b.Text, m.IsError))
			}
		case b.Type == "text":
			contents = append(contents, fmt.Sprintf(`{"type":"text","content":%s}`, b.Text))
		case b.Type == "thinking":
			contents = append(contents, fmt.Sprintf(`{"type":"thinking","content":%s,"signature":%s}`, b.Thinking, orEmpty(b.ThinkingSignature)))
		case b.Type == "toolCall":
			contents = append(contents, fmt.Sprintf(`{"type":"tool_call","id":%s,"name":%s,"args":%s,"metadata":{}}`, b.ID, b.Name, b.Arguments))
		}
	}
	if m.Role == "assistant" {
		u := m.Usage
		rest = fmt.Sprintf(`,"usage":{"input_tokens":%d,"output_tokens":%d,"cache_read_tokens":%d,"cache_write_tokens":%d,`+
			`"cost":{"input":0.0,"output":0.0,"cache_read":0.0,"cache_write":0.0,"total":0.0}},"stop_reason":"stop","error":""`,
			u.Input, u.Output, u.CacheRead, u.CacheWrite)
	}
	return fmt.Sprintf(`{"contents":[%s],"id":"5f0c2a34-0000-4000-8000-%012x","timestamp":%s,"role":%q%s}`, joined(contents), n, at, role, rest)
}

// orEmpty replaces a missing text by an empty one, since these formats require a string.
func orEmpty(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage(`""`)
	}
	return value
}

// Wave returns the session in the format of Wave, where tool results are members of the calls. Wave has no branches: the
// messages are in the order of the log.
func Wave(log []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(log))
	list := entries(log)
	fmt.Fprintf(&out, `{"type":"metadata","workdir":%q,"createdAt":%q,"gitBranch":"main"}`+"\n", list[0].CWD, list[0].Timestamp)
	answers := map[string]string{}
	for _, e := range list {
		if m := e.Message; m != nil && m.Role == "toolResult" && len(m.Content) > 0 {
			answers[m.ToolCallID] = string(orEmpty(m.Content[0].Text))
		}
	}
	for i, e := range list {
		blocks, role := waveBlocks(&e, answers)
		if blocks == nil {
			continue
		}
		rest := ""
		if u := e.Message; u != nil && u.Usage != nil {
			rest = fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"model":%q}`, u.Usage.Input, u.Usage.Output, u.Usage.TotalTokens, u.Model)
		}
		fmt.Fprintf(&out, `{"timestamp":%q,"id":"msg-0cea9749-5549-481b-8f4f-%012x","role":%q,"blocks":[%s]%s}`+"\n", e.Timestamp, i, role, joined(blocks), rest)
	}
	return out.Bytes()
}

// waveBlocks returns nil for an entry that Wave has no message for.
func waveBlocks(e *entry, answers map[string]string) (blocks []string, role string) {
	if e.Type == "compaction" {
		return []string{fmt.Sprintf(`{"type":"compact","content":%s}`, e.Summary)}, "assistant"
	}
	if e.Type == "custom_message" {
		return []string{fmt.Sprintf(`{"type":"task_notification","taskId":%q,"taskType":"shell","status":"completed","summary":%s}`, e.ID, e.Content)}, "user"
	}
	if e.Message == nil || e.Message.Role == "toolResult" {
		return nil, ""
	}
	if e.Message.Role == "bashExecution" {
		return []string{fmt.Sprintf(`{"type":"bang","command":%s,"output":%s,"stage":"end","exitCode":0}`, e.Message.Command, e.Message.Output)}, "user"
	}
	for _, b := range e.Message.Content {
		switch b.Type {
		case "text":
			blocks = append(blocks, fmt.Sprintf(`{"type":"text","content":%s,"stage":"end"}`, b.Text))
		case "thinking":
			blocks = append(blocks, fmt.Sprintf(`{"type":"reasoning","content":%s,"stage":"end"}`, b.Thinking))
		case "toolCall":
			var id string
			_ = json.Unmarshal(b.ID, &id) // it is a string
			parameters, _ := json.Marshal(string(b.Arguments))
			blocks = append(blocks, fmt.Sprintf(`{"type":"tool","parameters":%s,"result":%s,"id":%s,"name":%s,"success":true,"stage":"end"}`,
				parameters, orEmpty(json.RawMessage(answers[id])), b.ID, b.Name))
		}
	}
	return blocks, e.Message.Role
}
