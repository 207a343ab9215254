package mcp

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		if diff := cmp.Diff(test.passed, string(got)); diff != "" {
			t.Errorf("%s: what is passed on (-want +got):\n%s", test.name, diff)
		}
		if diff := cmp.Diff(test.answered, out.String()); diff != "" {
			t.Errorf("%s: answers (-want +got):\n%s", test.name, diff)
		}
	}
	for _, line := range []string{"null", "7", "{}", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`} {
		if code, err := checked([]byte(line)); err == nil || code != -32600 {
			t.Errorf("%s: code %d, error %v, want an invalid request", line, code, err)
		}
	}
}
