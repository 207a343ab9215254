package rpc_test

import (
	"strings"
	"testing"
)

// A run of a session is recorded. An invalid record is refused, and the run goes on.
func TestRuns(t *testing.T) {
	t.Parallel()
	c := dial(t)
	fails := func(method string, params members, code int, message string) {
		t.Helper()
		if r := c.try(method, params); r.Error == nil || r.Error.Code != code || !strings.Contains(r.Error.Message, message) {
			t.Errorf("%s: %+v, want %d %s", method, r.Error, code, message)
		}
	}
	s := c.object("create", members{"cwd": "/p", "force": true})
	r := c.object("startRun", members{"session": s["session"], "header": members{"model": members{"name": "m"}}})
	handle := r["run"]
	c.object("appendRecord", members{"run": handle, "record": members{"type": "run.start", "input": members{"type": "text", "text": "go"}}})
	request := members{"type": "llm.request", "input": members{"messages": []any{}}}
	equal(t, "request", c.object("appendRecord", members{"run": handle, "record": request}), members{"type": "llm.request", "seq": 1.0})
	response := members{"type": "llm.response", "output": members{"messages": []any{}}}
	equal(t, "response", c.object("appendRecord", members{"run": handle, "record": response}), members{"type": "llm.response", "seq": 1.0})
	fails("appendRecord", members{"run": handle, "record": response}, -32602, "0 requests wait")
	fails("appendRecord", members{"run": handle, "record": members{"type": "nosuch"}}, -32602, "x.<org>.<name>")
	fails("appendRecord", members{"run": handle}, -32602, `"record" is missing`)
	fails("appendRecord", members{"run": "r9", "record": request}, -32602, "no run")
	fails("endRun", members{"run": handle}, -32602, `"outcome" is missing`)
	equal(t, "end", c.raw("endRun", members{"run": handle, "outcome": "completed", "final": "done"}), "null")
	fails("endRun", members{"run": handle, "outcome": "completed"}, -32602, "no run")

	text := read(t, r["file"].(string))
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 5 || !strings.Contains(lines[0], `"session_id":"`+s["id"].(string)+`"`) || !strings.Contains(lines[0], `"model":{"name":"m"}`) ||
		!strings.HasPrefix(lines[4], `{"type":"run.end"`) {
		t.Errorf("%s; want len(lines) == 5, strings.Contains(lines[0], `\"session_id\":\"`+s[\"id\"].(string)+`\"`), strings.Contains(lines[0], `\"model\":{\"name\":\"m\"}`), strings.HasPrefix(lines[4], `{\"type\":\"run.end\"`)", text)
	}

	// This run has no session, and a record ends it.
	r = c.object("startRun", members{"sessionId": "elsewhere"})
	c.object("appendRecord", members{"run": r["run"], "record": members{"type": "run.end", "outcome": "cancelled"}})
	fails("appendRecord", members{"run": r["run"], "record": request}, -32000, "has ended")
	equal(t, "end", c.raw("endRun", members{"run": r["run"]}), "null")
	fails("startRun", members{"session": s["session"], "sessionId": "another"}, -32602, "own id")
	fails("startRun", members{"dialect": "pi"}, -32000, "keeps no runs")
	fails("startRun", members{"dialect": "nosuch"}, -32602, "unknown dialect")
	fails("startRun", members{"header": members{"type": "header", "run_id": "../x"}}, -32000, "not a UUID")
	fails("startRun", members{"header": "x"}, -32000, "not the header")
}
