package fakeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// chatChunk is a piece of an answer of the chat-completions interface.
type chatChunk struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int          `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index  int       `json:"index"`
	Delta  chatDelta `json:"delta"`
	Finish *string   `json:"finish_reason"`
}

type chatDelta struct {
	Role    string     `json:"role,omitempty"`
	Content string     `json:"content,omitempty"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
}

type chatCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// answerChat answers with a stream of one text, or of one call of a tool.
func answerChat(w http.ResponseWriter, n int, id string, call *Call) {
	chunk := chatChunk{ID: fmt.Sprintf("chatcmpl-fake%06d", n), Object: "chat.completion.chunk", Created: 1, Model: "fake"}
	delta, finish := chatDelta{Role: "assistant", Content: fmt.Sprintf("reply %d", n)}, "stop"
	if call != nil {
		c := chatCall{ID: id, Type: "function"}
		c.Function.Name, c.Function.Arguments = call.Name, string(call.Arguments)
		delta, finish = chatDelta{Role: "assistant", Calls: []chatCall{c}}, "tool_calls"
	}
	newStream(w)
	for _, c := range []chatChoice{{Delta: delta}, {Finish: &finish}} {
		if c.Finish != nil {
			chunk.Usage = &chatUsage{11, 7, 18}
		}
		chunk.Choices = []chatChoice{c}
		text, err := json.Marshal(chunk)
		if err != nil {
			panic(err) // the data is ours
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", text) // the agent may have gone
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}
