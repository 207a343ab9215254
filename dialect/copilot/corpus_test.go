package copilot_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/copilot"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
)

// TestCorpus compares what the model would see with what the program sent.
func TestCorpus(t *testing.T) {
	dialecttest.Sent{
		Dialect: copilot.Copilot, Member: "messages", Losses: losses, Unknown: unknown, Content: content,
		Made: func(text string) bool { return strings.HasSuffix(text, "\n\nSAY resumed") },
	}.Run(t, dialecttest.Corpus(t, "copilot"))
}

// losses are the Problems of the cases in which the program loses something: kind and line. The other cases have none.
var losses = map[string]string{"torn-tail": "torn 29"}

// unknown are files that are not sessions.
var unknown = map[string]string{"import-interchange": "input of copilot sessions import"}

// content makes an event from a message of OpenAI's chat API, which the program used.
func content(message []byte) []byte {
	type request struct {
		ID   string          `json:"toolCallId"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	}
	type said struct {
		Content string `json:"content"`
	}
	type picture struct {
		Data string `json:"data"`
		MIME string `json:"mimeType"`
	}
	type data struct {
		Content  string    `json:"content,omitempty"`
		Pictures []picture `json:"attachments,omitempty"`
		Requests []request `json:"toolRequests,omitempty"`
		ID       string    `json:"toolCallId,omitempty"`
		Result   *said     `json:"result,omitempty"`
	}
	var m struct {
		Role    string
		Content json.RawMessage
		ID      string `json:"tool_call_id"`
		Calls   []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return nil
	}
	out := struct {
		Type string `json:"type"`
		Data data   `json:"data"`
	}{Type: map[string]string{"user": "user.message", "assistant": "assistant.message", "tool": "tool.execution_complete"}[m.Role]}
	var parts []struct {
		Text  string
		Image struct{ URL string } `json:"image_url"`
	}
	if json.Unmarshal(m.Content, &out.Data.Content) != nil && json.Unmarshal(m.Content, &parts) == nil && len(parts) > 0 {
		// The text, then a caption before each picture, which is not in the log.
		out.Data.Content = parts[0].Text
		for _, p := range parts[1:] {
			if head, bytes, ok := strings.Cut(strings.TrimPrefix(p.Image.URL, "data:"), ";base64,"); ok {
				out.Data.Pictures = append(out.Data.Pictures, picture{bytes, head})
			}
		}
	}
	if m.Role == "tool" {
		out.Data = data{ID: m.ID, Result: &said{out.Data.Content}}
	}
	for _, c := range m.Calls {
		out.Data.Requests = append(out.Data.Requests, request{c.ID, c.Function.Name, json.RawMessage(c.Function.Arguments)})
	}
	event, _ := json.Marshal(out)
	return event
}
