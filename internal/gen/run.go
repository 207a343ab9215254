package gen

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// chatMessages returns a message as messages of the chat-completions interface, where thinking and tool results are messages of
// their own.
func chatMessages(m *message) []string {
	var said, list, calls []string
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			said = append(said, string(b.Text))
		case "thinking":
			list = append(list, fmt.Sprintf(`{"role":"reasoning","content":%s}`, b.Thinking))
		case "toolCall":
			arguments, _ := json.Marshal(string(b.Arguments))
			calls = append(calls, fmt.Sprintf(`{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}`, b.ID, b.Name, arguments))
		}
	}
	content := `""` // or the first text, which is enough for measurements
	if len(said) > 0 {
		content = said[0]
	}
	switch {
	case m.Role == "toolResult":
		return []string{fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"tool_name":%q,"content":%s}`, m.ToolCallID, m.ToolName, content)}
	case calls != nil:
		return append(list, fmt.Sprintf(`{"role":"assistant","content":%s,"tool_calls":[%s]}`, content, joined(calls)))
	}
	return append(list, fmt.Sprintf(`{"role":%q,"content":%s}`, m.Role, content))
}

// State returns the conversation as a state of codelia: a line for the session, then a line for each message. It has no tree:
// messages of all branches are in the order of the log.
func State(log []byte) []byte {
	var out bytes.Buffer
	list := entries(log)
	fmt.Fprintf(&out, `{"schema_version":1,"session_id":%q,"updated_at":%q,"workspace_root":%q}`+"\n", list[0].ID, list[0].Timestamp, list[0].CWD)
	for _, e := range list {
		if e.Message != nil {
			for _, m := range chatMessages(e.Message) {
				out.WriteString(m + "\n")
			}
		}
	}
	return out.Bytes()
}

// sentMessages is the number of earlier messages in a request. Whole conversations would be almost all of the log.
const sentMessages = 6

// Run returns the conversation as the log of one run: requests, responses, tool outputs, and events of calls and results.
func Run(log []byte) []byte {
	var out bytes.Buffer
	list := entries(log)
	const id = `"run_id":"0cea9749-5549-481b-8f4f-000000000000"`
	fmt.Fprintf(&out, `{"type":"header","schema_version":1,%s,"session_id":%q,"started_at":%q,"runtime":{"cwd":%q}}`+"\n", id, list[0].ID, list[0].Timestamp, list[0].CWD)
	var history []string
	seq, event := 0, 0
	for _, e := range list {
		m := e.Message
		if m == nil {
			continue
		}
		said := chatMessages(m)
		record := func(kind, rest string) {
			fmt.Fprintf(&out, `{"type":%q,%s,"ts":%q,%s}`+"\n", kind, id, e.Timestamp, rest)
		}
		tell := func(rest string) {
			record("agent.event", fmt.Sprintf(`"seq":%d,"event":%s`, event, rest))
			event++
		}
		switch m.Role {
		case "user":
			if seq == 0 {
				record("run.start", fmt.Sprintf(`"input":{"type":"text","text":%s}`, m.Content[0].Text))
				record("run.status", `"status":"running"`)
			}
		case "assistant":
			seq++
			record("llm.request", fmt.Sprintf(`"seq":%d,"input":{"messages":[%s],"tools":null}`, seq, joined(history[max(0, len(history)-sentMessages):])))
			record("llm.response", fmt.Sprintf(`"seq":%d,"output":{"messages":[%s],"usage":{"model":%q,"input_tokens":%d,"output_tokens":%d,"total_tokens":%d},"stop_reason":"stop"}`,
				seq, joined(said), m.Model, m.Usage.Input, m.Usage.Output, m.Usage.TotalTokens))
			for _, b := range m.Content {
				if b.Type == "toolCall" {
					tell(fmt.Sprintf(`{"type":"tool_call","tool":%s,"args":%s,"tool_call_id":%s}`, b.Name, b.Arguments, b.ID))
				}
			}
		case "toolResult":
			record("tool.output", fmt.Sprintf(`"tool":%q,"tool_call_id":%q,"result_raw":%s`, m.ToolName, m.ToolCallID, orEmpty(m.Content[0].Text)))
			tell(fmt.Sprintf(`{"type":"tool_result","tool":%q,"tool_call_id":%q,"result":%s}`, m.ToolName, m.ToolCallID, orEmpty(m.Content[0].Text)))
		}
		history = append(history, said...)
	}
	fmt.Fprintf(&out, `{"type":"run.end",%s,"ts":%q,"outcome":"completed"}`+"\n", id, list[len(list)-1].Timestamp)
	return out.Bytes()
}
