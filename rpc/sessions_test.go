package rpc_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOpen(t *testing.T) {
	t.Parallel()
	c := dial(t)
	dir := filepath.Join(c.home, "logs")
	for _, tt := range []struct {
		name, dialect string
		text          *string
	}{
		{"missing.jsonl", "omp", nil},
		{"missing-pi.jsonl", "pi", nil},
		{"empty.jsonl", "omp", new(string)},
		{"empty-pi.jsonl", "pi", new(string)},
	} {
		file := filepath.Join(dir, tt.name)
		if tt.text != nil {
			write(t, file, *tt.text)
		}
		m := c.object("open", members{"path": file, "dialect": tt.dialect})
		equal(t, tt.name, []any{m["file"], m["leafId"]}, []any{file, nil})
		equal(t, tt.name+" has a header", exists(file) && strings.HasPrefix(read(t, file), `{"type":"session"`), true)
		h := m["session"].(string)
		user := c.say(h, "user", "hello")
		if exists(file) != true || !strings.Contains(read(t, file), user) {
			t.Errorf("%s: the first message is not in the file", tt.name)
		}
		// The next session is deferred like every new one.
		next := c.object("newSession", members{"session": h})
		equal(t, tt.name+" folder", filepath.Dir(next["file"].(string)), dir)
		equal(t, tt.name+" waits", exists(next["file"].(string)), false)
	}

	bad := filepath.Join(dir, "bad.jsonl")
	write(t, bad, "this is no session\n")
	r := c.try("open", members{"path": bad})
	if r.Error == nil || r.Error.Code != -32000 || !strings.Contains(r.Error.Message, "no session header") && !strings.Contains(r.Error.Message, "not a session") {
		t.Errorf("an unreadable file: %+v", r.Error)
	}
	equal(t, "it is left alone", read(t, bad), "this is no session\n")
	c.object("open", members{"path": bad, "replaceUnreadable": true})
	kept, _ := filepath.Glob(bad + ".unreadable-*")
	if len(kept) != 1 || read(t, kept[0]) != "this is no session\n" {
		t.Errorf("what was replaced is kept: %v", kept)
	}

	elsewhere := filepath.Join(c.home, "elsewhere")
	m := c.object("open", members{"path": filepath.Join(dir, "missing.jsonl"), "sessionDir": elsewhere})
	h := m["session"].(string)
	equal(t, "getSessionDir", c.raw("getSessionDir", members{"session": h}), `"`+elsewhere+`"`)
	equal(t, "fork goes there", filepath.Dir(c.object("fork", members{"session": h})["file"].(string)), elsewhere)
	c.hangUp()
}

func TestOpenMigrates(t *testing.T) {
	t.Parallel()
	c := dial(t)
	file := filepath.Join(c.home, "v1.jsonl")
	v1 := `{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"one"}}
{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"hookMessage","content":"two"}}
`
	write(t, file, v1)
	equal(t, "loadEntries leaves it as it is", c.raw("loadEntries", members{"path": file}), "["+strings.ReplaceAll(strings.TrimSpace(v1), "\n", ",")+"]")
	equal(t, "nothing written", read(t, file), v1)
	h := c.object("open", members{"path": file})["session"].(string)
	entries := c.list("getEntries", members{"session": h})
	equal(t, "chained", entries[1]["parentId"], entries[0]["id"])
	equal(t, "role", entries[1]["message"].(members)["role"], "custom")
	equal(t, "version", c.object("getHeader", members{"session": h})["version"], 3.0)
	equal(t, "backup", read(t, file+".v1.bak"), v1)
}

func TestRebinding(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"omp", "pi"} {
		c := dial(t)
		h, first := c.create(members{"dialect": dialect, "parentSession": "before"})
		at := members{"session": h}
		equal(t, "parent", c.object("getHeader", at)["parentSession"], "before")
		a := c.say(h, "user", "1")
		label := c.object("appendLabelChange", members{"session": h, "targetId": a, "label": "L"})["id"].(string)
		b := c.say(h, "assistant", "2")
		c.say(h, "user", "3")
		firstID := c.object("getHeader", at)["id"]

		m := c.object("createBranchedSession", members{"session": h, "leafId": b})
		equal(t, "handle", m["session"], h)
		branched := m["file"].(string)
		if branched == first || !exists(branched) || !exists(first) {
			t.Fatalf("branched: %s", branched)
		}
		equal(t, "its parent", c.object("getHeader", at)["parentSession"], first)
		entries := c.list("getEntries", at)
		equal(t, "its entries", ids(entries)[:2], []string{a, b})
		equal(t, "chained around the label", entries[1]["parentId"], a)
		equal(t, "the label is made again", []any{len(entries), entries[2]["type"], entries[2]["id"] != label, m["leafId"]}, []any{3, "label", true, entries[2]["id"]})
		equal(t, "getLabel", c.raw("getLabel", members{"session": h, "id": a}), `"L"`)

		branchedID := m["id"]
		c.object("fork", at)
		parent := map[string]any{"omp": branchedID, "pi": branched}[dialect]
		equal(t, "parent of the fork", c.object("getHeader", at)["parentSession"], parent)
		equal(t, "all entries", len(c.list("getEntries", at)), 3)

		m = c.object("forkFrom", members{"source": first, "cwd": filepath.Join(c.home, "other"), "dialect": dialect})
		other := members{"session": m["session"]}
		parent = map[string]any{"omp": firstID, "pi": first}[dialect]
		equal(t, "parent of forkFrom", c.object("getHeader", other)["parentSession"], parent)
		equal(t, "its cwd", c.raw("getCwd", other), `"`+filepath.Join(c.home, "other")+`"`)
		equal(t, "its entries", len(c.list("getEntries", other)), 4)
		equal(t, "written", exists(m["file"].(string)), true)
		old := m["file"].(string)
		m = c.object("move", members{"session": m["session"], "cwd": filepath.Join(c.home, "third")})
		equal(t, "moved", []bool{exists(old), exists(m["file"].(string))}, []bool{false, true})
		equal(t, "its folder", c.raw("getSessionDir", other), `"`+filepath.Dir(m["file"].(string))+`"`)

		m = c.object("newSession", members{"session": h, "id": "my.id", "parentSession": "p"})
		equal(t, "newSession", []any{m["id"], m["leafId"], exists(m["file"].(string))}, []any{"my.id", nil, false})
		equal(t, "no entries", c.raw("getEntries", at), "[]")
		c.hangUp()
	}
}

// Labels are appended again in their original order.
func TestRelabel(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"omp", "pi"} {
		c := dial(t)
		h := c.object("inMemory", members{"dialect": dialect})["session"].(string)
		a, b := c.say(h, "user", "1"), c.say(h, "assistant", "2")
		for _, l := range []struct{ target, label string }{{a, "gone"}, {b, "first"}, {a, ""}, {a, "second"}, {b, "first again"}} {
			c.raw("appendLabelChange", members{"session": h, "targetId": l.target, "label": l.label})
		}
		c.raw("createBranchedSession", members{"session": h, "leafId": b})
		entries := c.list("getEntries", members{"session": h})
		equal(t, dialect, []any{len(entries), entries[2]["label"], entries[3]["label"]}, []any{4, "first again", "second"})
		c.hangUp()
	}
}

// A branched session is written at once, even without a conversation.
func TestBranchedSessionWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"omp", "pi", "omp-doc"} {
		c := dial(t)
		h, first := c.create(members{"dialect": dialect})
		a := c.object("appendCustomEntry", members{"session": h, "customType": "x"})["id"]
		m := c.object("createBranchedSession", members{"session": h, "leafId": a})
		equal(t, dialect, exists(m["file"].(string)), true)
		equal(t, dialect+" parent", c.object("getHeader", members{"session": h})["parentSession"], first)
		c.say(h, "user", "1")
		c.say(h, "assistant", "2")
		equal(t, dialect+" lines", strings.Count(read(t, m["file"].(string)), "\n"), 4)
		c.hangUp()
	}
}

func TestContinueRecent(t *testing.T) {
	t.Parallel()
	c := dial(t)
	h, first := c.create(nil)
	c.say(h, "user", "1")
	leaf := c.say(h, "assistant", "2")
	c.raw("close", members{"session": h})
	dir := filepath.Join(c.home, "logs")
	m := c.object("continueRecent", members{"cwd": c.home, "sessionDir": dir})
	equal(t, "the newest", []any{m["file"], m["leafId"]}, []any{first, leaf})
	// The log of a sub-agent is in a deeper folder and is not chosen, although it is newer.
	write(t, filepath.Join(dir, "sub", "agent.jsonl"), read(t, first))
	m = c.object("continueRecent", members{"cwd": c.home, "sessionDir": dir})
	equal(t, "no subagent", m["file"], first)
	m = c.object("continueRecent", members{"cwd": filepath.Join(c.home, "nowhere"), "sessionDir": dir})
	equal(t, "a new one", []any{m["leafId"], exists(m["file"].(string))}, []any{nil, false})
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"omp", "pi"} {
		c := dial(t)
		h, file := c.create(members{"dialect": dialect})
		at := members{"session": h}
		equal(t, "no name", c.raw("getSessionName", at), "null")
		equal(t, "setSessionName", c.raw("setSessionName", members{"session": h, "name": "early"}), "null")
		equal(t, "before the file", c.raw("getSessionName", at), `"early"`)
		c.say(h, "user", "1")
		c.say(h, "assistant", "2")
		c.raw("setSessionName", members{"session": h, "name": "late"})
		equal(t, "late", c.raw("getSessionName", at), `"late"`)
		equal(t, "in the header", strings.Contains(strings.SplitN(read(t, file), "\n", 2)[0], `"title":"late"`), dialect == "omp")
		equal(t, "as an entry", strings.Contains(read(t, file), `"type":"session_info"`), dialect == "pi")
		c.raw("setSessionName", members{"session": h, "name": ""})
		equal(t, "taken away", c.raw("getSessionName", at), "null")
		c.hangUp()
	}
}

func TestRewrites(t *testing.T) {
	t.Parallel()
	c := dial(t)
	h, file := c.create(nil)
	at := members{"session": h}
	c.say(h, "user", "1")
	c.object("appendMessage", members{"session": h, "message": members{"role": "assistant", "content": []any{
		members{"type": "toolCall", "id": "call-1", "name": "read", "arguments": members{"path": "a"}}}}})
	leaf := c.raw("getLeafId", at)
	equal(t, "rewritten", c.raw("rewriteToolCallArgs", members{"session": h, "toolCallId": "call-1", "arguments": members{"path": "b"}}), "true")
	equal(t, "no such call", c.raw("rewriteToolCallArgs", members{"session": h, "toolCallId": "call-2", "arguments": members{}}), "false")
	equal(t, "in the file", strings.Contains(read(t, file), `"arguments":{"path":"b"}`), true)

	entries := c.list("getEntries", at)
	entries[0]["message"].(members)["content"] = "pruned"
	all := append([]members{c.object("getHeader", at)}, entries...)
	equal(t, "rewriteEntries", c.raw("rewriteEntries", members{"session": h, "entries": all}), "null")
	equal(t, "entries", c.list("getEntries", at), entries)
	equal(t, "lines", strings.Count(read(t, file), "\n"), 3)
	equal(t, "leaf", c.raw("getLeafId", at), leaf)
}

// Pictures are stored in blobs and restored, even after a rewrite.
func TestImages(t *testing.T) {
	t.Parallel()
	c := dial(t)
	h, file := c.create(nil)
	data := strings.Repeat("QUJD", 500)
	message := members{"role": "assistant", "content": []any{members{"type": "image", "data": data, "mimeType": "image/png"}}}
	c.object("appendMessage", members{"session": h, "message": message})
	check := func(when string) {
		t.Helper()
		if text := read(t, file); strings.Contains(text, data) || !strings.Contains(text, "blob:sha256:") {
			t.Errorf("%s: the picture is not in a blob: %.300s", when, text)
		}
		if text := c.raw("getEntries", members{"session": h}); !strings.Contains(text, data) {
			t.Errorf("%s: getEntries has no picture", when)
		}
		if text := c.raw("buildSessionContext", members{"session": h}); !strings.Contains(text, data) {
			t.Errorf("%s: the context has no picture", when)
		}
	}
	check("appended")
	c.raw("rewriteEntries", members{"session": h, "entries": c.list("getEntries", members{"session": h})})
	check("rewritten")
	c.raw("close", members{"session": h})
	h = c.object("open", members{"path": file})["session"].(string)
	check("reopened")
	c.hangUp()
}

// In memory nothing is cut, because there are no blobs.
func TestMemoryKeepsAll(t *testing.T) {
	t.Parallel()
	c := dial(t)
	h := c.object("inMemory", members{})["session"].(string)
	long := strings.Repeat("x", 600_000)
	id := c.say(h, "user", long)
	entry := c.object("getEntry", members{"session": h, "id": id})
	equal(t, "length", len(entry["message"].(members)["content"].(string)), len(long))
}

// What other programs write before a rewrite is kept, and the client is notified.
func TestForeignBeforeRewrite(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"setSessionName", "move", "rewriteToolCallArgs"} {
		c := dial(t)
		path := filepath.Join(c.home, "shared.jsonl")
		write(t, path, `{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:00.000Z","cwd":"/w"}`+"\n"+
			`{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-02-16T10:20:00.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"t","name":"x","arguments":{}}]}}`+"\n")
		h := c.object("open", members{"path": path, "events": true})["session"].(string)
		write(t, path, read(t, path)+`{"type":"custom","id":"0000000a","parentId":"00000001","timestamp":"2026-02-16T10:20:01.000Z","customType":"theirs"}`+"\n")
		c.raw(method, members{"session": h, "name": "new", "cwd": c.home, "toolCallId": "t", "arguments": members{"a": 1}})
		equal(t, method, c.notes, []string{`{"jsonrpc":"2.0","method":"session_foreign","params":{"session":"` + h + `","file":"` + path + `","entryId":null,"foreign":1}}` + "\n"})
		equal(t, method, strings.Contains(read(t, c.object("fork", members{"session": h})["file"].(string)), `"theirs"`), true)
		c.hangUp()
	}
}

// A file that another program keeps open is not rewritten, unless the client opened it with forceRewrite.
func TestForceRewrite(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("this system does not tell which programs have a file open")
		return
	}
	c := dial(t)
	path := filepath.Join(c.home, "held.jsonl")
	write(t, path, `{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:00.000Z","cwd":"/w"}`+"\n")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, force := range []bool{false, true} {
		h := c.object("open", members{"path": path, "forceRewrite": force, "events": true})["session"].(string)
		r := c.try("setSessionName", members{"session": h, "name": "new"})
		if refused := r.Error != nil && strings.Contains(r.Error.Message, "open for writing in another program"); refused == force {
			t.Errorf("force %v: %+v", force, r.Error)
		}
		equal(t, "renamed", strings.Contains(read(t, path), `"new"`), force)
		held := strings.Contains(strings.Join(c.notes, ""), `"method":"session_held","params":{"session":"`+h+`"`)
		equal(t, "told that the old file is open", held, force)
		c.raw("close", members{"session": h})
	}
	c.hangUp()
}
