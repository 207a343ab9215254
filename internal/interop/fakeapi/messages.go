package fakeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// anthropicMessage is an answer of the Messages API.
type anthropicMessage struct {
	ID           string           `json:"id"`
	Type         string           `json:"type"`
	Role         string           `json:"role"`
	Model        string           `json:"model"`
	Content      []anthropicBlock `json:"content"`
	StopReason   *string          `json:"stop_reason"`
	StopSequence *string          `json:"stop_sequence"`
	Usage        anthropicUsage   `json:"usage"`
}

// anthropicBlock is a text, or a call of a tool.
type anthropicBlock struct {
	Type  string          `json:"type"`
	Text  *string         `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

type anthropicUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

// anthropicEvent is an event of the stream. Each type uses some of the members.
type anthropicEvent struct {
	Type    string            `json:"type"`
	Message *anthropicMessage `json:"message,omitempty"`
	Index   *int              `json:"index,omitempty"`
	Block   *anthropicBlock   `json:"content_block,omitempty"`
	Delta   *anthropicDelta   `json:"delta,omitempty"`
	Usage   *anthropicUsage   `json:"usage,omitempty"`
}

type anthropicDelta struct {
	Type       string  `json:"type,omitempty"`
	Text       string  `json:"text,omitempty"`
	JSON       string  `json:"partial_json,omitempty"`
	StopReason *string `json:"stop_reason,omitempty"`
}

// answerMessages answers with one text, or with the call of a tool, as a stream if the request wants one.
func answerMessages(w http.ResponseWriter, body []byte, n int, id string, call *Call) {
	var request struct {
		Model  string
		Stream bool
	}
	if err := json.Unmarshal(body, &request); err != nil {
		send(w, http.StatusBadRequest, []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"not JSON"}}`))
		return
	}
	stop, text := "end_turn", fmt.Sprintf("reply %d", n)
	block, start, delta := anthropicBlock{Type: "text", Text: &text}, anthropicBlock{Type: "text", Text: new(string)}, anthropicDelta{Type: "text_delta", Text: text}
	if call != nil {
		stop = "tool_use"
		block = anthropicBlock{Type: stop, ID: id, Name: call.Name, Input: call.Arguments}
		start, delta = block, anthropicDelta{Type: "input_json_delta", JSON: string(call.Arguments)}
		start.Input = json.RawMessage("{}")
	}
	m := anthropicMessage{
		ID: fmt.Sprintf("msg_fake%06d", n), Type: "message", Role: "assistant", Model: request.Model,
		Content: []anthropicBlock{block}, StopReason: &stop, Usage: anthropicUsage{11, 7},
	}
	if !request.Stream {
		answer, err := json.Marshal(m)
		if err != nil {
			panic(err) // the answer is ours
		}
		send(w, http.StatusOK, answer)
		return
	}
	begun := m
	begun.Content, begun.StopReason, begun.Usage.Output = []anthropicBlock{}, nil, 1
	s, first := newStream(w), 0
	for _, e := range []anthropicEvent{
		{Type: "message_start", Message: &begun},
		{Type: "content_block_start", Index: &first, Block: &start},
		{Type: "content_block_delta", Index: &first, Delta: &delta},
		{Type: "content_block_stop", Index: &first},
		{Type: "message_delta", Delta: &anthropicDelta{StopReason: &stop}, Usage: &m.Usage},
		{Type: "message_stop"},
	} {
		s.event(e.Type, e)
	}
}
