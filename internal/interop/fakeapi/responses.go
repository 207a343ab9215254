package fakeapi

import (
	"fmt"
	"net/http"
	"slices"
)

// openaiResponse is an answer of the Responses API.
type openaiResponse struct {
	ID     string       `json:"id"`
	Object string       `json:"object"`
	Status string       `json:"status"`
	Output []openaiItem `json:"output"`
	Usage  *openaiUsage `json:"usage,omitempty"`
}

// openaiItem is a message, or a call of a tool.
type openaiItem struct {
	Type      string       `json:"type"`
	ID        string       `json:"id"`
	Role      string       `json:"role,omitempty"`
	Status    string       `json:"status"`
	Content   []openaiPart `json:"content,omitempty"`
	CallID    string       `json:"call_id,omitempty"`
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name,omitempty"`
	Arguments string       `json:"arguments,omitempty"`
}

type openaiPart struct {
	Type        string   `json:"type"`
	Text        string   `json:"text"`
	Annotations []string `json:"annotations"`
}

type openaiUsage struct {
	Input   int `json:"input_tokens"`
	Output  int `json:"output_tokens"`
	Total   int `json:"total_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// openaiEvent is an event of the stream. Each type uses some of the members.
type openaiEvent struct {
	Type     string          `json:"type"`
	Sequence int             `json:"sequence_number"`
	Response *openaiResponse `json:"response,omitempty"`
	Item     *openaiItem     `json:"item,omitempty"`
	ItemID   string          `json:"item_id,omitempty"`
	Index    *int            `json:"output_index,omitempty"`
	Part     *int            `json:"content_index,omitempty"`
	Delta    string          `json:"delta,omitempty"`
}

// answerResponses answers with a stream of one message, or of one call of a tool.
func answerResponses(w http.ResponseWriter, n int, id string, call *Call) {
	text := fmt.Sprintf("reply %d", n)
	item := openaiItem{
		Type: "message", ID: fmt.Sprintf("msg_fake%06d", n), Role: "assistant", Status: "completed",
		Content: []openaiPart{{"output_text", text, []string{}}},
	}
	if call != nil {
		item = openaiItem{
			Type: "function_call", ID: fmt.Sprintf("fc_fake%06d", n), Status: "completed",
			CallID: id, Namespace: call.Namespace, Name: call.Name, Arguments: string(call.Arguments),
		}
		text = ""
	}
	begun := openaiResponse{ID: fmt.Sprintf("resp_fake%06d", n), Object: "response", Status: "in_progress", Output: []openaiItem{}}
	done := begun
	done.Status, done.Output, done.Usage = "completed", []openaiItem{item}, &openaiUsage{Input: 11, Output: 7, Total: 18}
	s, first := newStream(w), 0
	events := []openaiEvent{
		{Type: "response.created", Response: &begun},
		{Type: "response.output_item.added", Index: &first, Item: &item},
		{Type: "response.output_text.delta", Index: &first, Part: &first, ItemID: item.ID, Delta: text},
		{Type: "response.output_item.done", Index: &first, Item: &item},
		{Type: "response.completed", Response: &done},
	}
	if call != nil {
		events = slices.Delete(events, 2, 3) // no text
	}
	for k, e := range events {
		e.Sequence = k
		s.event(e.Type, e)
	}
}
