package fakeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// googleAnswer is an answer of Google's API, and an event of its stream.
type googleAnswer struct {
	Candidates []googleCandidate `json:"candidates"`
	Usage      googleUsage       `json:"usageMetadata"`
	Model      string            `json:"modelVersion"`
	ID         string            `json:"responseId"`
}

type googleCandidate struct {
	Content googleContent `json:"content"`
	Finish  string        `json:"finishReason"`
	Index   int           `json:"index"`
}

type googleContent struct {
	Role  string       `json:"role"`
	Parts []googlePart `json:"parts"`
}

type googlePart struct {
	Text string `json:"text"`
}

type googleUsage struct {
	Prompt     int `json:"promptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Total      int `json:"totalTokenCount"`
}

// answerContents answers with one text, as a stream of one event if the request wants one.
func answerContents(w http.ResponseWriter, n int, streamed bool) {
	answer := googleAnswer{
		Candidates: []googleCandidate{{Content: googleContent{"model", []googlePart{{fmt.Sprintf("reply %d", n)}}}, Finish: "STOP"}},
		Usage:      googleUsage{11, 7, 18}, Model: "gemini-2.5-flash", ID: fmt.Sprintf("fake%06d", n),
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // the answer is ours
	}
	if !streamed {
		send(w, http.StatusOK, text)
		return
	}
	s := newStream(w)
	_, _ = fmt.Fprintf(s.w, "data: %s\n\n", text) // the agent may have gone
}
