package rpc_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// A state is saved, found again, compared, and resumed somewhere else.
func TestStates(t *testing.T) {
	t.Parallel()
	c := dial(t)
	fails := func(method string, params members, code int, message string) {
		t.Helper()
		if r := c.try(method, params); r.Error == nil || r.Error.Code != code || !strings.Contains(r.Error.Message, message) {
			t.Errorf("%s: %+v, want %d %s", method, r.Error, code, message)
		}
	}
	const id = "0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a"
	equal(t, "none", c.raw("loadState", members{"id": id}), "null")
	state := members{
		"session_id": id, "run_id": "r", "invoke_seq": 2, "workspace_root": "/p", "meta": members{"todos": []any{"x"}},
		"messages": []any{
			members{"role": "user", "content": "hi"},
			members{"role": "assistant", "content": "I look.", "tool_calls": []any{members{"id": "c1"}}},
		},
	}
	for _, dialect := range []string{"codelia-state", "codelia-state-doc"} {
		id := id + dialect
		state["session_id"] = id
		saved := c.object("saveState", members{"state": state, "dialect": dialect, "version": "new"})
		loaded := c.object("loadState", members{"id": id, "root": "/q"})
		equal(t, "version", loaded["version"], saved["version"])
		equal(t, "dialect", loaded["dialect"], dialect)
		got := loaded["state"].(members)
		equal(t, "messages", got["messages"], state["messages"])
		equal(t, "run", got["run_id"], "r")
		equal(t, "root", got["workspace_root"], "/p")
		equal(t, "time", got["updated_at"], saved["updatedAt"])
		resume := loaded["resume"].([]any)
		equal(t, "resume", len(resume), 3)
		equal(t, "told", resume[0].(members)["role"], "system")
		equal(t, "healed", resume[2], members{"role": "assistant", "content": "I look."})
		equal(t, "told nothing", len(c.object("loadState", members{"id": id, "root": "/p"})["resume"].([]any)), 2)
		fails("saveState", members{"state": state, "dialect": dialect, "version": "new"}, -32000, "saved by another writer")
		c.object("saveState", members{"state": state, "dialect": dialect, "version": saved["version"]})
	}
	fails("saveState", members{"state": members{"messages": []any{}}}, -32602, "session_id is missing")
	fails("saveState", members{"state": members{"session_id": "x"}}, -32602, "messages")
	fails("saveState", members{"state": state, "dialect": "pi"}, -32000, "keeps none")
	fails("loadState", members{"id": "../x"}, -32602, "only letters")

	// A state of another version is reported with that version, and is never saved.
	state["schema_version"] = 2
	fails("saveState", members{"state": state}, -32000, "schema_version 2 is not known; only 1 is written")
	write(t, filepath.Join(c.home, ".codelia", "sessions", "state", "later.json"), `{"schema_version":2,"session_id":"later","updated_at":"2026-01-01T00:00:00.000Z","messages":[]}`)
	later := c.object("loadState", members{"id": "later"})
	equal(t, "version 2", later["state"].(members)["schema_version"], 2.0)
	state["schema_version"], state["session_id"] = 1, "later"
	fails("saveState", members{"state": state, "dialect": "codelia-doc"}, -32000, "written by a newer version")
}
