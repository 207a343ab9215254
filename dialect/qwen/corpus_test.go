package qwen_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/qwen"
)

// TestCorpus compares what the model would see with what the program sent.
func TestCorpus(t *testing.T) {
	dialecttest.Sent{
		Dialect: qwen.Qwen, Member: "messages", Losses: losses, Joins: true, Content: content,
		Made: func(text string) bool {
			return strings.HasPrefix(text, "<system-reminder>") || strings.HasPrefix(text, "SAY resumed")
		},
	}.Run(t, dialecttest.Corpus(t, "qwen"))
}

// losses are the Problems of the cases in which the program loses something: kind and line. The other cases have none.
var losses = map[string]string{
	"glued":              "glued 2",
	"torn-tail":          "torn 7",
	"torn-then-appended": "malformed 3, unseen 3",
}

// content makes a content from a message of OpenAI's chat API, which the program used.
func content(message []byte) []byte {
	type text struct {
		Text string `json:"text"`
	}
	type call struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	type response struct {
		Output string `json:"output"`
	}
	type result struct {
		ID       string   `json:"id"`
		Response response `json:"response"`
	}
	type part struct {
		Text   string  `json:"text,omitempty"`
		Call   *call   `json:"functionCall,omitempty"`
		Result *result `json:"functionResponse,omitempty"`
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
	var texts []text
	var whole string
	if json.Unmarshal(m.Content, &whole) == nil {
		texts = []text{{whole}}
	} else {
		_ = json.Unmarshal(m.Content, &texts) // null has no texts
	}
	out := struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}{Role: "user"}
	for _, t := range texts {
		if m.Role == "tool" {
			out.Parts = append(out.Parts, part{Result: &result{m.ID, response{t.Text}}})
		} else if t.Text != "" {
			out.Parts = append(out.Parts, part{Text: t.Text})
		}
	}
	if m.Role == "assistant" {
		out.Role = "model"
	}
	for _, c := range m.Calls {
		out.Parts = append(out.Parts, part{Call: &call{c.ID, c.Function.Name, json.RawMessage(c.Function.Arguments)}})
	}
	data, _ := json.Marshal(out)
	return data
}
