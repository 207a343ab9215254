package fakeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// chatAnswer is an answer of OpenAI's API for chats, and an event of its stream.
type chatAnswer struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index   int          `json:"index"`
	Message *chatMessage `json:"message,omitempty"`
	Delta   *chatMessage `json:"delta,omitempty"`
	Finish  *string      `json:"finish_reason"`
}

type chatMessage struct {
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

// answerChat answers with one text, or with one call of a tool, as a stream if the request wants one.
func answerChat(w http.ResponseWriter, body []byte, n int, id string, call *Call) {
	var request struct {
		Model  string
		Stream bool
	}
	if err := json.Unmarshal(body, &request); err != nil {
		send(w, http.StatusBadRequest, []byte(`{"error":{"type":"invalid_request_error","message":"not JSON"}}`))
		return
	}
	stop, said := "stop", &chatMessage{Role: "assistant", Content: fmt.Sprintf("reply %d", n)}
	if call != nil {
		c := chatCall{ID: id, Type: "function"}
		c.Function.Name, c.Function.Arguments = call.Name, string(call.Arguments)
		stop, said = "tool_calls", &chatMessage{Role: "assistant", Calls: []chatCall{c}}
	}
	answer := chatAnswer{ID: fmt.Sprintf("chatcmpl-fake%06d", n), Object: "chat.completion", Created: 1, Model: request.Model, Usage: &chatUsage{11, 7, 18},
		Choices: []chatChoice{{Message: said, Finish: &stop}}}
	if !request.Stream {
		send(w, http.StatusOK, chatText(&answer))
		return
	}
	s := newStream(w)
	last := answer
	answer.Object, answer.Usage, answer.Choices = "chat.completion.chunk", nil, []chatChoice{{Delta: said}}
	last.Object, last.Choices = "chat.completion.chunk", []chatChoice{{Delta: &chatMessage{}, Finish: &stop}}
	for _, a := range []*chatAnswer{&answer, &last} {
		_, _ = fmt.Fprintf(s.w, "data: %s\n\n", chatText(a)) // the agent may have gone
	}
	_, _ = fmt.Fprint(s.w, "data: [DONE]\n\n")
}

func chatText(a *chatAnswer) []byte {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // the answer is ours
	}
	return text
}
