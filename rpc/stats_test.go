package rpc_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/llm"
)

// Usage is summed up, and the requested lists are included.
func TestStats(t *testing.T) {
	t.Parallel()
	c := dial(t)
	for _, id := range []string{"s0", "s1"} {
		c.session("omp", id, "hello", noon.Add(-time.Hour))
	}
	sum := c.object("stats", members{"by": []string{"agent"}})
	equal(t, "sessions", []any{sum["sessions"], each(sum, "agents", "name"), sum["days"]}, []any{2.0, []string{"omp"}, nil})
	refused(t, c, "stats", members{"by": []string{"weather"}})
	refused(t, c, "stats", members{"source": "nosuch"})
}

// The body of a request has the conversation and the user's next message.
func TestBuildRequest(t *testing.T) {
	t.Parallel()
	c := dial(t)
	handle := c.object("inMemory", members{"dialect": "omp"})["session"]
	c.object("appendUser", members{"session": handle, "text": "plan the beds"})
	refused(t, c, "buildRequest", members{"session": handle})
	c.object("appendAssistant", members{"session": handle, "provider": "anthropic", "model": "m", "parts": []members{{"type": "text", "text": "six of them"}}})
	r := c.object("buildRequest", members{"session": handle, "prompt": "go on"})
	body, err := json.Marshal(r["body"])
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "request", []any{r["provider"], r["model"], r["answered"]}, []any{"anthropic", "m", false})
	for _, text := range []string{"plan the beds", "six of them", "go on"} {
		if !strings.Contains(string(body), text) {
			t.Errorf("%q is missing in %s", text, body)
		}
	}
	refused(t, c, "buildRequest", members{"session": handle, "provider": "acme"})
	for _, name := range llm.Names() {
		c.object("buildRequest", members{"session": handle, "provider": name})
	}
	refused(t, c, "buildRequest", members{"session": handle, "maxTokens": 0})
	r = c.object("buildRequest", members{"session": handle, "system": "be brief", "tools": []members{{"name": "bash", "parameters": members{"type": "object"}}}})
	if body, err = json.Marshal(r["body"]); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`"system":"be brief"`, `"tools":[{"input_schema":{"type":"object"},"name":"bash"}]`} {
		if !strings.Contains(string(body), text) {
			t.Errorf("%q is missing in %s", text, body)
		}
	}
	for _, tool := range []members{{}, {"name": "run it"}, {"name": "bash", "parameters": []int{1}}} {
		refused(t, c, "buildRequest", members{"session": handle, "tools": []members{tool}})
	}
}

// refused expects that the parameters are refused.
func refused(t *testing.T, c *caller, method string, params members) {
	t.Helper()
	if r := c.try(method, params); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("%s %v: %+v; want r.Error != nil, r.Error.Code == -32602", method, params, r)
	}
}
