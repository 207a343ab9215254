package fakeapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/interop/fakeapi"
)

// TestAnswers: each interface has its form of answer, and requests are kept in their order.
func TestAnswers(t *testing.T) {
	s, err := fakeapi.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		path, body string
		status     int
		want       []string // in the answer, in this order
	}{
		{"/v1/messages?beta=true", `{"model":"m","stream":true}`, 200, []string{
			"event: message_start\n", `"model":"m"`, `"stop_reason":null`, "event: content_block_start\n", "event: content_block_delta\n", `"text":"reply 1"`,
			"event: content_block_stop\n", "event: message_delta\n", `"stop_reason":"end_turn"`, "event: message_stop\n",
		}},
		{"/v1/messages", `{"model":"m"}`, 200, []string{`{"id":"msg_fake000002"`, `"content":[{"type":"text","text":"reply 2"}]`, `"stop_reason":"end_turn"`}},
		{"/v1/messages/count_tokens", `{}`, 200, []string{`{"input_tokens":10}`}},
		{"/v1/responses", `{"input":[]}`, 200, []string{
			"event: response.created\n", `"sequence_number":0`, "event: response.output_item.added\n", "event: response.output_text.delta\n", `"delta":"reply 3"`,
			"event: response.output_item.done\n", "event: response.completed\n", `"sequence_number":4`, `"total_tokens":18`,
		}},
		{"/v1/messages", `{"model":`, 400, []string{"invalid_request_error"}},
		{"/v1/chat/completions", `{"model":"m","stream":true}`, 200, []string{`"chat.completion.chunk"`, `"content":"reply 5"`, `"finish_reason":"stop"`, "data: [DONE]"}},
		{"/v1/chat/completions", `{"model":"m"}`, 200, []string{`"chat.completion"`, `"content":"reply 6"`}},
		{"/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[]}`, 200, []string{"data: {", `"text":"reply 7"`, `"STOP"`}},
		{"/v1beta/models/m:generateContent", `{"contents":[]}`, 200, []string{`"text":"reply 8"`}},
		{"/v1/files", `{}`, 404, []string{"not_found_error"}},
	} {
		answer, err := http.Post(s.URL()+c.path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != c.status {
			t.Errorf("%s: status %d, error %v", c.path, answer.StatusCode, err)
		}
		rest := string(text)
		for _, want := range c.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Fatalf("%s: %q is missing in, or too early in\n%s", c.path, want, text)
			}
			rest = after
		}
	}
	var got []string
	for _, r := range s.Take() {
		got = append(got, string(r.API)+" "+string(r.Body))
	}
	want := []string{`messages {"model":"m","stream":true}`, `messages {"model":"m"}`, `count_tokens {}`, `responses {"input":[]}`, `messages {"model":`,
		`completions {"model":"m","stream":true}`, `completions {"model":"m"}`, `streamGenerateContent {"contents":[]}`, `generateContent {"contents":[]}`}
	if diff := difftest.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if again := s.Take(); len(again) != 0 {
		t.Errorf("requests that were taken are still there: %v", again)
	}
}

// TestGet: agents ask for models and the like; that is not a request to a model.
func TestGet(t *testing.T) {
	s, err := fakeapi.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	answer, err := http.Get(s.URL() + "/v1/messages")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusNotFound || len(s.Take()) != 0 {
		t.Errorf("status %d", answer.StatusCode)
	}
}

// TestUse: a request that offers the tool is answered with a call until it has the result; other requests are not.
func TestUse(t *testing.T) {
	s, err := fakeapi.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Use(fakeapi.Call{Name: "look", Arguments: []byte(`{"at":"x"}`)}, fakeapi.Call{Namespace: "n", Name: "listen", Arguments: []byte(`{}`)})
	for _, c := range []struct{ path, body, want string }{
		{"/v1/messages", `{"messages":["look"]}`, `"text":"reply 1"`},
		{"/v1/messages", `{"tools":[{"name":"look"}]}`, `{"type":"tool_use","id":"toolu_fake000000","name":"look","input":{"at":"x"}}`},
		{"/v1/messages", `{"tools":[{"name":"look"}],"stream":true}`, `{"type":"input_json_delta","partial_json":"{\"at\":\"x\"}"}`},
		{"/v1/responses", `{"tools":[{"name":"listen"}],"input":["toolu_fake000000"]}`, `"call_id":"toolu_fake000001","namespace":"n","name":"listen","arguments":"{}"`},
		{"/v1/responses", `{"tools":[{"name":"listen"}],"input":["toolu_fake000000","toolu_fake000001"]}`, `"delta":"reply 5"`},
	} {
		answer, err := http.Post(s.URL()+c.path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: no %s in\n%s", c.body, c.want, text)
		}
	}
}
