package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/difftest"
)

// TestRepeatedID: a call with the id of a call in progress is refused, and the first one is answered.
func TestRepeatedID(t *testing.T) {
	t.Parallel()
	const start = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	out := &answers{refused: make(chan struct{})}
	in := strings.NewReader(start + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_sessions","arguments":{"project":"all"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	if err := New(&waiting{until: out.refused}, Options{}).Serve(t.Context(), in, out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the id 1 is that of a call that is being answered"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"no sessions today`,
	} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("not once in the answers: %s\n%s", want, out.String())
		}
	}
}

// TestCodes: a call that comes too early or too late has an error with a code.
func TestCodes(t *testing.T) {
	t.Parallel()
	const start = `{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	var out strings.Builder
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n" + fmt.Sprintf(start, 2) + fmt.Sprintf(start, 3))
	if err := New(&waiting{}, Options{}).Serve(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), `"error":{"code":-32600,`); got != 2 {
		t.Errorf("%d errors with the code, want 2:\n%s", got, out.String())
	}
}

// answers are what a server wrote. refused is closed with the first answer without an id.
type answers struct {
	strings.Builder
	refused chan struct{}
}

func (a *answers) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"id":null`)) {
		close(a.refused)
	}
	return a.Builder.Write(p)
}

// waiting is a store that answers late.
type waiting struct {
	Store
	until <-chan struct{}
}

func (s *waiting) Page(context.Context, treeline.Filter, treeline.PageOptions) (treeline.Page, error) {
	<-s.until
	return treeline.Page{}, errors.New("no sessions today")
}

func TestLines(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	refusal := func(code int, text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`, code, text) + "\n"
	}
	for _, test := range []struct{ name, in, passed, answered string }{
		{"messages", call + "\n" + call + "\n", call + "\n" + call + "\n", ""},
		{"white space", "\r\n\n  " + call + "  \r\n", call + "\n", ""},
		{"no end of line", call, call + "\n", ""},
		{"not JSON", "hello\n" + call + "\n", call + "\n", refusal(-32700, "the line is not JSON")},
		{"two values", call + call + "\n" + call + "\n", call + "\n", refusal(-32700, "the line is not JSON")},
		{"batch", "[" + call + "]\n" + call + "\n", call + "\n", refusal(-32600, "batches are not supported: send one message per line")},
		{"too long", `{"a":"` + strings.Repeat("x", longest) + "\"}\n" + call + "\n", call + "\n", refusal(-32600, fmt.Sprintf("the line has more than %d bytes", longest))},
	} {
		var out strings.Builder
		got, err := io.ReadAll(&lines{in: bufio.NewReader(strings.NewReader(test.in)), out: &out})
		if err != nil {
			t.Fatalf("%s: %v, want no error", test.name, err)
		}
		if diff := difftest.Diff(test.passed, string(got)); diff != "" {
			t.Errorf("%s: what is passed on (-want +got):\n%s", test.name, diff)
		}
		if diff := difftest.Diff(test.answered, out.String()); diff != "" {
			t.Errorf("%s: answers (-want +got):\n%s", test.name, diff)
		}
	}
	// The answer to a refused line has the line's id, and does not use terms of Go.
	for line, id := range map[string]string{
		"null": "null", "7": "null", "{}": "null", `{"jsonrpc":"1.0","id":1,"method":"ping"}`: "1", `{"jsonrpc":"2.0","id":{},"method":"ping"}`: "null",
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`: "null", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`: "1.5", `{"jsonrpc":"2.0","id":true,"method":"ping"}`: "null",
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`: "9007199254740993", `{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}`: "12345678901234567890",
		`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`: "1e400", `{"jsonrpc":"2.0","id":"a"}`: `"a"`, `{"jsonrpc":"2.0","id":3,"METHOD":"ping"}`: "3",
		`{"jsonrpc":"2.0","id":3,"method":7}`: "3",
	} {
		if code, err := checked([]byte(line)); err == nil || code != -32600 || strings.Contains(err.Error(), "unmarshal") || idOf([]byte(line)) != id {
			t.Errorf("%s: id %s, code %d, error %v, want the id %s and an invalid request", line, idOf([]byte(line)), code, err, id)
		}
	}
	for _, line := range []string{`{"jsonrpc":"2.0","id":-9007199254740992,"method":"ping"}`, `{"jsonrpc":"2.0","id":"","method":"ping"}`, `{"jsonrpc":"2.0","method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`} {
		if _, err := checked([]byte(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
