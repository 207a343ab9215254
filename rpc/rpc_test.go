package rpc_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A log is created with the first message, or when the dialect's document requires it; deferUntil overrides this.
func TestDeferredCreation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dialect, until          string
		header, user, assistant bool
	}{
		{"omp", "", false, true, true},
		{"omp-doc", "", false, false, true},
		{"operator-doc", "", false, false, true},
		{"pi", "", false, true, true},
		{"omp", "never", true, true, true},
		{"omp-doc", "message", false, true, true},
		{"pi", "assistant", false, false, true},
	} {
		t.Run(tt.dialect+tt.until, func(t *testing.T) {
			c := dial(t)
			more := members{"dialect": tt.dialect}
			if tt.until != "" {
				more["deferUntil"] = tt.until
			}
			h, file := c.create(more)
			equal(t, "after create", exists(file), tt.header)
			equal(t, "getSessionFile", c.raw("getSessionFile", members{"session": h}), `"`+file+`"`)
			equal(t, "isPersisted", c.raw("isPersisted", members{"session": h}), "true")
			for _, step := range []struct {
				role    string
				durable bool
			}{{"user", tt.user}, {"assistant", tt.assistant}} {
				m := members{"role": step.role, "content": "hello", "contents": []any{}}
				got := c.object("appendMessage", members{"session": h, "message": m})
				equal(t, "durable after the "+step.role, got["durable"], any(step.durable))
				equal(t, "on disk after the "+step.role, exists(file), step.durable)
			}
			c.hangUp()
		})
	}
}

// A text that the agent's format cuts stays whole for the server that appended it, and is restored for one that opens the file.
func TestWholeTexts(t *testing.T) {
	t.Parallel()
	c := dial(t)
	h, file := c.create(members{"dialect": "omp"})
	id := c.say(h, "user", strings.Repeat("x", 600_000))
	size := func(h string, whole bool) (context, entry int) {
		list := c.object("buildSessionContext", members{"session": h, "whole": whole})["messages"].([]any)
		m := c.object("getEntry", members{"session": h, "id": id})["message"].(members)
		return len(list[0].(members)["content"].(string)), len(m["content"].(string))
	}
	context, entry := size(h, false)
	equal(t, "in memory", []int{context, entry}, []int{600_000, 600_000})
	c.raw("close", members{"session": h})
	h = c.object("open", members{"path": file})["session"].(string)
	context, entry = size(h, false)
	equal(t, "opened again", []int{context, entry}, []int{500_000, 600_000})
	context, _ = size(h, true)
	equal(t, "whole", context, 600_000)
	c.hangUp()
}

// A context by parts has the same form for every dialect, and results name their tools.
func TestBuildParts(t *testing.T) {
	t.Parallel()
	c := dial(t)
	for _, name := range []string{"omp", "pi", "operator"} {
		h := c.object("inMemory", members{"dialect": name})["session"]
		c.object("appendUser", members{"session": h, "text": "look"})
		c.object("appendAssistant", members{"session": h, "provider": "p", "model": "m", "parts": []members{
			{"type": "text", "text": "I look."}, {"type": "toolCall", "id": "c1", "name": "ls", "arguments": members{"dir": "/"}}}})
		c.object("appendToolResult", members{"session": h, "callId": "c1", "parts": []members{{"type": "text", "text": "bin"}}})
		var calls, results []any
		list := c.object("buildParts", members{"session": h})["messages"].([]any)
		for _, m := range list {
			for _, p := range m.(members)["parts"].([]any) {
				switch p := p.(members); p["type"] {
				case "toolCall":
					calls = append(calls, m.(members)["role"], p["id"], p["name"], p["arguments"])
				case "toolResult":
					results = append(results, p["callId"], p["name"], p["parts"])
				}
			}
		}
		equal(t, name+": first", list[0], members{"role": "user", "parts": []any{members{"type": "text", "text": "look"}}})
		equal(t, name+": calls", calls, []any{"assistant", "c1", "ls", members{"dir": "/"}})
		equal(t, name+": results", results, []any{"c1", "ls", []any{members{"type": "text", "text": "bin"}}})
		equal(t, name+": before the first entry", c.object("buildParts", members{"session": h, "leafId": nil})["messages"], []any{})
	}
}

// Messages are made from parts in the form of each dialect, and appear in the context.
func TestTypedAppends(t *testing.T) {
	t.Parallel()
	text := func(s string) []any { return []any{members{"type": "text", "text": s}} }
	for _, dialect := range []string{"omp", "pi", "operator"} {
		c := dial(t)
		h, _ := c.create(members{"dialect": dialect})
		c.object("appendUser", members{"session": h, "text": "question", "images": []any{members{"mime": "image/gif", "data": "R0lG"}}})
		c.object("appendAssistant", members{"session": h, "provider": "p", "model": "m", "usage": members{"input": 3, "output": 4}, "parts": []any{
			members{"type": "thinking", "text": "hmm"}, members{"type": "toolCall", "id": "c1", "name": "read", "arguments": members{"a": 1}},
		}})
		a := c.object("appendToolResult", members{"session": h, "callId": "c1", "parts": text("result")})
		equal(t, dialect+" durable", a["durable"], any(true))
		context := c.raw("buildSessionContext", members{"session": h})
		for _, want := range []string{"question", "R0lG", "hmm", "c1", "read", "result"} {
			if !strings.Contains(context, want) {
				t.Errorf("%s: no %q in %s", dialect, want, context)
			}
		}
		equal(t, dialect+" messages", len(c.object("buildSessionContext", members{"session": h})["messages"].([]any)), 3)
		for method, params := range map[string]members{
			"appendToolResult": {"callId": "c2", "parts": text("x")},
			"appendAssistant":  {"parts": []any{members{"type": "poem"}}},
			"appendUser":       {"text": ""},
		} {
			params["session"] = h
			if r := c.try(method, params); r.Error == nil {
				t.Errorf("%s: %s is taken", dialect, method)
			}
		}
		c.hangUp()
	}
}

// Without a dialect, the answer says which one was chosen. omp's folder does not exist, so the session is in treeline's own.
func TestDefaultDialect(t *testing.T) {
	t.Parallel()
	c := dial(t)
	m := c.object("create", members{"cwd": c.home})
	equal(t, "dialect", m["dialect"], any("omp"))
	if err := os.RemoveAll(filepath.Join(c.home, ".omp")); err != nil {
		t.Fatal(err)
	}
	m = c.object("create", members{"cwd": c.home, "deferUntil": "never"})
	equal(t, "dialect", m["dialect"], any("omp"))
	equal(t, "place", strings.HasPrefix(m["file"].(string), filepath.Join(c.home, ".local", "share", "treeline", "sessions")), true)
	wave := c.object("create", members{"cwd": filepath.Join(c.home, "work"), "dialect": "wave"})
	c.object("appendMessage", members{"session": wave["session"], "message": members{"role": "user", "blocks": []any{members{"type": "text", "content": "x"}}}})
	m = c.object("create", members{"cwd": filepath.Join(c.home, "work")})
	equal(t, "dialect", m["dialect"], any("wave"))
	c.hangUp()
}

// Requests that look like mistakes are refused, unless the session was opened with force.
func TestRefused(t *testing.T) {
	t.Parallel()
	c := dial(t)
	none := filepath.Join(c.home, "none")
	r := c.try("create", members{"cwd": none})
	if r.Error == nil || !strings.Contains(r.Error.Message, "does not exist; nothing was written") {
		t.Errorf("a directory that does not exist: %+v", r.Error)
	}
	for _, force := range []bool{false, true} {
		h := c.object("create", members{"cwd": c.home, "force": force})["session"]
		c.say(h.(string), "user", "hello")
		for method, params := range map[string]members{
			"appendMessage":    {"message": members{"rol": "user"}},
			"appendCompaction": {"summary": "s", "firstKeptEntryId": "nothing", "tokensBefore": 1},
			"rewriteEntries":   {"entries": []any{members{"type": "custom", "id": "a", "parentId": "nothing", "timestamp": "2026-01-02T03:04:05.000Z", "customType": "x"}}},
		} {
			params["session"] = h
			if r := c.try(method, params); (r.Error == nil) != force || !force && !strings.Contains(r.Error.Message, "nothing was written") {
				t.Errorf("%s, force %v: %+v", method, force, r.Error)
			}
		}
	}
	equal(t, "forced", c.object("create", members{"cwd": none, "force": true})["dialect"], any("omp"))
	c.hangUp()
}

// flush writes what is deferred; close alone does not.
func TestFlushOfDeferred(t *testing.T) {
	t.Parallel()
	for _, flush := range []bool{true, false} {
		c := dial(t)
		h, file := c.create(members{"dialect": "omp-doc"})
		got := c.object("appendMessage", members{"session": h, "message": members{"role": "user", "content": "hello"}})
		equal(t, "durable", got["durable"], any(false))
		if flush {
			c.raw("flush", members{"session": h})
		}
		equal(t, "after flush", exists(file), flush)
		c.raw("close", members{"session": h})
		equal(t, "after close", exists(file), flush)
		c.hangUp()
	}
}

func TestAppendsAndGetters(t *testing.T) {
	t.Parallel()
	c := dial(t)
	h, _ := c.create(nil)
	in := func(more members) members {
		params := members{"session": h}
		for k, v := range more {
			params[k] = v
		}
		return params
	}
	equal(t, "leaf of nothing", c.raw("getLeafId", in(nil)), "null")
	equal(t, "leaf entry of nothing", c.raw("getLeafEntry", in(nil)), "null")
	equal(t, "tree of nothing", c.raw("getTree", in(nil)), "[]")
	equal(t, "branch of nothing", c.raw("getBranch", in(nil)), "[]")
	user := c.say(h, "user", "hello")
	for _, tt := range []struct {
		method string
		params members
		want   members // members of the entry, in addition to those that all have
	}{
		{"appendThinkingLevelChange", members{"thinkingLevel": "high"}, members{"type": "thinking_level_change", "thinkingLevel": "high"}},
		{"appendThinkingLevelChange", members{"thinkingLevel": nil}, members{"type": "thinking_level_change", "thinkingLevel": nil}},
		{"appendModelChange", members{"model": "openai/gpt", "role": "smol"}, members{"type": "model_change", "model": "openai/gpt", "role": "smol"}},
		{"appendModelChange", members{"provider": "openai", "modelId": "gpt"}, members{"type": "model_change", "model": "openai/gpt"}},
		{"appendCompaction", members{"summary": "s", "firstKeptEntryId": user, "tokensBefore": 7, "fromExtension": false},
			members{"type": "compaction", "summary": "s", "firstKeptEntryId": user, "tokensBefore": 7.0, "fromExtension": false}},
		{"appendCompaction", members{"summary": "s", "shortSummary": "ss", "firstKeptEntryId": user, "tokensBefore": 7, "details": members{"a": 1.0}, "preserveData": members{"b": 2.0}, "fromExtension": true},
			members{"type": "compaction", "summary": "s", "shortSummary": "ss", "firstKeptEntryId": user, "tokensBefore": 7.0, "details": members{"a": 1.0}, "preserveData": members{"b": 2.0}, "fromExtension": true}},
		{"appendCustomEntry", members{"customType": "x", "data": members{"n": 1.0}}, members{"type": "custom", "customType": "x", "data": members{"n": 1.0}}},
		{"appendCustomEntry", members{"customType": "x", "data": nil}, members{"type": "custom", "customType": "x"}},
		{"appendCustomMessageEntry", members{"customType": "x", "content": "c", "display": false}, members{"type": "custom_message", "customType": "x", "content": "c", "display": false, "attribution": "agent"}},
		{"appendCustomMessageEntry", members{"customType": "x", "content": "c", "display": true, "attribution": "user"}, members{"type": "custom_message", "customType": "x", "content": "c", "display": true, "attribution": "user"}},
		{"appendLabelChange", members{"targetId": user, "label": "L"}, members{"type": "label", "targetId": user, "label": "L"}},
		{"appendSessionInfo", members{"name": "a\nb"}, members{"type": "session_info", "name": "a b"}},
		{"appendModeChange", members{"mode": "plan", "data": members{"f": "p"}}, members{"type": "mode_change", "mode": "plan", "data": members{"f": "p"}}},
		{"appendTtsrInjection", members{"injectedRules": []string{"a"}}, members{"type": "ttsr_injection", "injectedRules": []any{"a"}}},
		{"appendSessionInit", members{"systemPrompt": "p", "task": "t", "tools": []string{"read"}, "outputSchema": nil},
			members{"type": "session_init", "systemPrompt": "p", "task": "t", "tools": []any{"read"}}},
		{"appendServiceTierChange", members{"serviceTier": members{"openai": "flex"}}, members{"type": "service_tier_change", "serviceTier": members{"openai": "flex"}}},
		{"appendServiceTierChange", members{"serviceTier": nil}, members{"type": "service_tier_change", "serviceTier": nil}},
		{"appendServiceTierChange", members{"serviceTier": "priority"}, members{"type": "service_tier_change", "serviceTier": "priority"}},
		{"appendMCPToolSelection", members{"selectedToolNames": []string{}}, members{"type": "mcp_tool_selection", "selectedToolNames": []any{}}},
		{"appendMCPToolSelection", members{"selectedToolNames": []string{"a", "b"}}, members{"type": "mcp_tool_selection", "selectedToolNames": []any{"a", "b"}}},
	} {
		var parent string
		json.Unmarshal([]byte(c.raw("getLeafId", in(nil))), &parent)
		id := c.object(tt.method, in(tt.params))["id"].(string)
		got := c.object("getEntry", in(members{"id": id}))
		equal(t, tt.method+" leaf", c.object("getLeafEntry", in(nil)), got)
		equal(t, tt.method+" id and parent", []any{got["id"], got["parentId"]}, []any{id, parent})
		for _, key := range []string{"id", "parentId", "timestamp"} {
			delete(got, key)
		}
		equal(t, tt.method, got, tt.want)
	}
	seen := c.object("buildSessionContext", in(nil))
	equal(t, "tier and tools", []any{seen["serviceTier"], seen["selectedMCPToolNames"], seen["hasPersistedMCPToolSelection"]}, []any{"priority", []any{"a", "b"}, true})
	equal(t, "getLabel", c.raw("getLabel", in(members{"id": user})), `"L"`)
	equal(t, "getLabel of none", c.raw("getLabel", in(members{"id": "none"})), `null`)
	equal(t, "getEntry of none", c.raw("getEntry", in(members{"id": "none"})), `null`)
	equal(t, "getBranch of none", c.raw("getBranch", in(members{"fromId": "none"})), `[]`)
	equal(t, "getPath", ids(c.list("getPath", in(members{"fromId": user}))), []string{user})
	equal(t, "getBranch is all", ids(c.list("getBranch", in(members{"fromId": nil}))), ids(c.list("getEntries", in(nil))))
	equal(t, "getCwd", c.raw("getCwd", in(nil)), `"`+c.home+`"`)
	equal(t, "getSessionDir", c.raw("getSessionDir", in(nil)), `"`+filepath.Join(c.home, "logs")+`"`)
	header := c.object("getHeader", in(nil))
	equal(t, "getSessionId", c.raw("getSessionId", in(nil)), `"`+header["id"].(string)+`"`)
	c.raw("appendLabelChange", in(members{"targetId": user, "label": nil}))
	equal(t, "flush", c.raw("flush", in(nil)), `null`)
	equal(t, "label cleared", c.raw("getLabel", in(members{"id": user})), `null`)
	c.hangUp()
}

// Answers have the bytes of the log: the spelling of numbers and strings, the order of members.
func TestMessagesByteForByte(t *testing.T) {
	t.Parallel()
	c := dial(t)
	h, file := c.create(nil)
	message := `{"z":1.0,"role":"assistant","content":"\u003c<>&\ud83d\ude00","n":12345678901234567890,"a":{"b":[]}}`
	c.send(`{"jsonrpc":"2.0","id":"x","method":"appendMessage","params":{"session":"` + h + `","message":` + message + `}}`)
	c.receive()
	for _, text := range []string{
		c.raw("getEntries", members{"session": h}), c.raw("buildSessionContext", members{"session": h}), c.raw("loadEntries", members{"path": file}),
	} {
		if !strings.Contains(text, message) {
			t.Errorf("%s is not in %s", message, text)
		}
	}
}

func TestTreeAndBranches(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"omp", "pi"} {
		c := dial(t)
		h := c.object("inMemory", members{"dialect": dialect})["session"].(string)
		at := members{"session": h}
		a := c.say(h, "user", "1")
		b := c.say(h, "assistant", "2")
		c1 := c.say(h, "user", "3")
		equal(t, "branch", c.raw("branch", members{"session": h, "id": b}), "null")
		equal(t, "leaf", c.raw("getLeafId", at), `"`+b+`"`)
		c2 := c.say(h, "user", "4")
		sum := c.object("branchWithSummary", members{"session": h, "id": a, "summary": "what was", "details": members{"x": 1}})["id"].(string)
		entry := c.object("getEntry", members{"session": h, "id": sum})
		from := map[string]string{"omp": a, "pi": c2}[dialect]
		equal(t, "summary", []any{entry["parentId"], entry["fromId"]}, []any{a, from})
		root := c.object("branchWithSummary", members{"session": h, "id": nil, "summary": "from nothing"})["id"].(string)
		c.raw("appendLabelChange", members{"session": h, "targetId": c1, "label": "here"})

		var tree []struct {
			Entry    members           `json:"entry"`
			Children []json.RawMessage `json:"children"`
			Label    *string           `json:"label"`
		}
		text := c.raw("getTree", at)
		if err := json.Unmarshal([]byte(text), &tree); err != nil {
			t.Fatal(err)
		}
		equal(t, "roots", []any{tree[0].Entry["id"], tree[1].Entry["id"], len(tree[0].Children)}, []any{a, root, 2})
		if tree[0].Label != nil || !strings.Contains(text, `"children":[],"label":"here"`) {
			t.Errorf("labels: %s", text)
		}
		equal(t, "children", ids(c.list("getChildren", members{"session": h, "parentId": b})), []string{c1, c2})
		equal(t, "roots as children", ids(c.list("getChildren", members{"session": h, "parentId": nil})), []string{a, root})
		equal(t, "children of none", c.raw("getChildren", members{"session": h, "parentId": "none"}), "[]")
		equal(t, "branch from", ids(c.list("getBranch", members{"session": h, "fromId": c2})), []string{a, b, c2})
		c.raw("resetLeaf", at)
		equal(t, "after reset", c.raw("getLeafId", at), "null")
		equal(t, "context after reset", c.object("buildSessionContext", at)["messages"], []any{})
		equal(t, "context elsewhere", len(c.object("buildSessionContext", members{"session": h, "leafId": c2})["messages"].([]any)), 3)
		equal(t, "file", []string{c.raw("getSessionFile", at), c.raw("isPersisted", at), c.raw("getSessionDir", at)}, []string{"null", "false", `""`})
		c.hangUp()
	}
}

// A durable branch writes an entry and survives a restart.
func TestDurableBranch(t *testing.T) {
	t.Parallel()
	c := dial(t)
	h, file := c.create(nil)
	a := c.say(h, "user", "1")
	c.say(h, "assistant", "2")
	c.raw("branch", members{"session": h, "id": a, "durable": true})
	c.raw("close", members{"session": h})
	h = c.object("open", members{"path": file})["session"].(string)
	leaf := c.object("getLeafEntry", members{"session": h})
	equal(t, "parent of the leaf", leaf["parentId"], a)
	equal(t, "context", len(c.object("buildSessionContext", members{"session": h})["messages"].([]any)), 1)
}

// A tree may have a million levels: nothing is recursive.
func TestDeepTree(t *testing.T) {
	t.Parallel()
	n := 1_000_000
	if !soaktest.Every() {
		n = 100_000
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "deep.jsonl")
	var b strings.Builder
	b.WriteString(`{"type":"session","version":3,"id":"deep","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}` + "\n")
	parent := "null"
	for i := range n {
		id := `"` + hex(i) + `"`
		b.WriteString(`{"type":"custom","id":` + id + `,"parentId":` + parent + `,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x"}` + "\n")
		parent = id
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := dial(t)
	h := c.object("open", members{"path": file})["session"].(string)
	c.last++
	c.send(`{"jsonrpc":"2.0","id":9,"method":"getTree","params":{"session":"` + h + `"}}`)
	text := c.receive()
	equal(t, "nodes", strings.Count(text, `{"entry":`), n)
	equal(t, "end", strings.HasSuffix(text, strings.Repeat("]}", n)+"]}\n"), true)
	c.hangUp()
}

// A request that is nested more deeply than encoding/json reads is refused with its id: otherwise its client would wait forever.
func TestDeepRequest(t *testing.T) {
	t.Parallel()
	c := dial(t)
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	c.send(`{"jsonrpc":"2.0","method":"version","params":{"x":` + deep + `},"id":"deep"}`)
	text := c.receive()
	equal(t, "answer", strings.Contains(text, `"id":"deep","error":{"code":-32600`), true)
	c.send(`{"jsonrpc":"2.0","method":"version","id":` + deep + `}`)
	text = c.receive()
	equal(t, "answer", strings.Contains(text, `"id":null,"error":{"code":-32600`), true)
	c.hangUp()
}

func hex(i int) string {
	const digits = "0123456789abcdef"
	b := []byte("00000000")
	for k := len(b) - 1; i > 0; k, i = k-1, i/16 {
		b[k] = digits[i%16]
	}
	return string(b)
}
