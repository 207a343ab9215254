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
	Role    string `json:"role,omitempty"`
	Content string `json:"content"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// answerChat answers with one text, as a stream if the request wants one.
func answerChat(w http.ResponseWriter, body []byte, n int) {
	var request struct {
		Model  string
		Stream bool
	}
	if err := json.Unmarshal(body, &request); err != nil {
		send(w, http.StatusBadRequest, []byte(`{"error":{"type":"invalid_request_error","message":"not JSON"}}`))
		return
	}
	stop, said := "stop", &chatMessage{"assistant", fmt.Sprintf("reply %d", n)}
	answer := chatAnswer{ID: fmt.Sprintf("chatcmpl-fake%06d", n), Object: "chat.completion", Model: request.Model, Usage: &chatUsage{11, 7, 18},
		Choices: []chatChoice{{Message: said, Finish: &stop}}}
	if !request.Stream {
		text, err := json.Marshal(answer)
		if err != nil {
			panic(err) // the answer is ours
		}
		send(w, http.StatusOK, text)
		return
	}
	s := newStream(w)
	last := answer
	answer.Object, answer.Usage, answer.Choices = "chat.completion.chunk", nil, []chatChoice{{Delta: said}}
	last.Object, last.Choices = "chat.completion.chunk", []chatChoice{{Delta: &chatMessage{}, Finish: &stop}}
	for _, a := range []chatAnswer{answer, last} {
		text, err := json.Marshal(a)
		if err != nil {
			panic(err) // the answer is ours
		}
		_, _ = fmt.Fprintf(s.w, "data: %s\n\n", text) // the agent may have gone
	}
	_, _ = fmt.Fprint(s.w, "data: [DONE]\n\n")
}
