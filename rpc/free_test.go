package rpc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func message(id string, parent any, role, text string) members {
	return members{"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z",
		"message": members{"role": role, "content": text, "provider": "p", "model": "m"}}
}

func TestContextOfEntries(t *testing.T) {
	t.Parallel()
	entries := []members{message("1", nil, "user", "a"), message("2", "1", "assistant", "b"), message("3", "1", "user", "c"), message("4", "gone", "user", "d")}
	c := dial(t)
	for _, tt := range []struct {
		name string
		leaf any
		give bool
		want string
	}{
		{"the last entry", nil, false, "d"},
		{"null", nil, true, ""},
		{"a leaf", "2", true, "ab"},
		{"another branch", "3", true, "ac"},
		{"an unknown leaf", "none", true, "d"},
		{"an empty leaf", "", true, "d"},
	} {
		params := members{"entries": entries}
		if tt.give {
			params["leafId"] = tt.leaf
		}
		got := ""
		context := c.object("buildSessionContext", params)
		for _, m := range context["messages"].([]any) {
			got += m.(members)["content"].(string)
		}
		equal(t, tt.name, got, tt.want)
	}
	context := c.object("buildSessionContext", members{"entries": entries, "leafId": "2"})
	equal(t, "models", context["models"], members{"default": "p/m"})
	context = c.object("buildSessionContext", members{"entries": entries, "leafId": "2", "dialect": "pi"})
	equal(t, "model", context["model"], members{"provider": "p", "modelId": "m"})
	equal(t, "no entries", c.object("buildSessionContext", members{"entries": []any{}})["messages"], []any{})
	withHeader := append([]members{{"type": "session", "id": "x", "version": 3}}, entries[:2]...)
	equal(t, "a header is not a message", len(c.object("buildSessionContext", members{"entries": withHeader})["messages"].([]any)), 2)
	compacted := append(entries[:2:2], members{"type": "compaction", "id": "5", "parentId": "2", "summary": "S", "firstKeptEntryId": "2", "tokensBefore": 1}, message("6", "5", "user", "e"))
	var roles []any
	for _, m := range c.object("buildSessionContext", members{"entries": compacted})["messages"].([]any) {
		roles = append(roles, m.(members)["role"])
	}
	equal(t, "compaction", roles, []any{"compactionSummary", "assistant", "user"})
}

func TestMigrateEntries(t *testing.T) {
	t.Parallel()
	c := dial(t)
	v1 := []members{
		{"type": "session", "id": "x", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/"},
		{"type": "message", "timestamp": "2025-01-01T00:00:01.000Z", "message": members{"role": "user", "content": "a"}},
		{"type": "message", "timestamp": "2025-01-01T00:00:02.000Z", "message": members{"role": "hookMessage", "content": "b"}},
		{"type": "compaction", "timestamp": "2025-01-01T00:00:03.000Z", "summary": "s", "firstKeptEntryIndex": 1, "tokensBefore": 1},
	}
	got := c.list("migrateEntries", members{"entries": v1})
	list := ids(got)
	equal(t, "version", got[0]["version"], 3.0)
	equal(t, "parents", []any{got[1]["parentId"], got[2]["parentId"], got[3]["parentId"]}, []any{nil, list[1], list[2]})
	equal(t, "length of ids", []int{len(list[1]), len(list[2])}, []int{8, 8})
	equal(t, "role", got[2]["message"].(members)["role"], "custom")
	equal(t, "kept", got[3]["firstKeptEntryId"], list[1])
	if _, there := got[3]["firstKeptEntryIndex"]; there {
		t.Error("firstKeptEntryIndex is still there")
	}
	again := c.list("migrateEntries", members{"entries": got})
	equal(t, "once is enough", again, got)
	headless := c.list("migrateEntries", members{"entries": v1[1:3]})
	equal(t, "without a header", []any{headless[0]["parentId"], headless[1]["parentId"]}, []any{nil, headless[0]["id"]})
	equal(t, "nothing", c.raw("migrateEntries", members{"entries": []any{}}), "[]")
}

func TestParseAndLoadEntries(t *testing.T) {
	t.Parallel()
	c := dial(t)
	equal(t, "parse", c.raw("parseEntries", members{"text": "{\"a\": 1}\r\n\nnot json\n{\"b\":2}{\"c\":3}\n[1]"}), `[{"a": 1},{"b":2},{"c":3},[1]]`)
	equal(t, "parse nothing", c.raw("parseEntries", members{"text": ""}), `[]`)
	header := `{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}`
	entry := `{"type":"message","id":"1","parentId":null,"timestamp":"t","message":{"role":"user","content":"` + strings.Repeat("x", 100_000) + `"}}`
	for name, tt := range map[string]struct{ text, want string }{
		"empty":     {"", "[]"},
		"no header": {entry + "\n", "[]"},
		"garbage":   {"garbage\n", "[]"},
		"whole":     {header + "\n" + entry + "\n", "[" + header + "," + entry + "]"},
		"damaged":   {header + "\nnot json\n" + entry + "\n{\"type\":", "[" + header + "," + entry + "]"},
		"glued":     {header + entry + "\n", "[" + header + "," + entry + "]"},
		"slot":      {`{"type":"title","v":1,"title":"t"}` + "\n" + header + "\n", "[" + header + "]"},
	} {
		file := filepath.Join(c.home, "load.jsonl")
		write(t, file, tt.text)
		equal(t, name, c.raw("loadEntries", members{"path": file}), tt.want)
		equal(t, name+" unchanged", read(t, file), tt.text)
	}
	equal(t, "missing", c.raw("loadEntries", members{"path": filepath.Join(c.home, "none.jsonl")}), "[]")
}

func TestRecentAndMostRecent(t *testing.T) {
	t.Parallel()
	c := dial(t)
	dir := filepath.Join(c.home, "logs")
	equal(t, "no folder", []string{c.raw("findMostRecent", members{"dir": dir}), c.raw("getRecentSessions", members{"sessionDir": dir})}, []string{"null", "[]"})
	long := strings.Repeat("é", 50)
	header := func(more string) string {
		return `{"type":"session","version":3,"id":"the-id","cwd":"/"` + more + "}\n"
	}
	user := func(content string) string {
		return `{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":` + content + "}}\n"
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, tt := range []struct{ name, text, want, full string }{
		{"a.jsonl", header(`,"title":"Title\nsecond line"`), "Title", "Title"},
		{"b.jsonl", header("") + user(`[{"type":"image"},{"type":"text","text":"\u0007first\nprompt"}]`), "first", "first"},
		{"c.jsonl", header("") + user(`"`+long+`"`), strings.Repeat("é", 39) + "…", long},
		{"d.jsonl", header(""), "the-id", "the-id"},
		{"sub/e.jsonl", header(`,"title":"below"`), "", ""},
		{"f.txt", header(""), "", ""},
		{"g.jsonl", "no session\n", "", ""},
	} {
		file := filepath.Join(dir, tt.name)
		write(t, file, tt.text)
		at = at.Add(time.Minute)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
		if tt.want == "" {
			continue
		}
		rows := c.list("getRecentSessions", members{"sessionDir": dir})
		equal(t, tt.name, []any{rows[0]["path"], rows[0]["name"], rows[0]["fullName"], rows[0]["mtime"]}, []any{file, tt.want, tt.full, float64(at.UnixMilli())})
		equal(t, "how many", len(rows), min(i+1, 3))
		equal(t, "most recent", c.raw("findMostRecent", members{"dir": dir}), `"`+file+`"`)
	}
	equal(t, "limit", len(c.list("getRecentSessions", members{"sessionDir": dir, "limit": 10})), 4)
	equal(t, "limit 0", c.raw("getRecentSessions", members{"sessionDir": dir, "limit": 0}), "[]")
}

func TestLists(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"omp", "pi"} {
		c := dial(t)
		work := filepath.Join(c.home, "work")
		made := members{"cwd": work, "dialect": dialect}
		equal(t, "nothing", []string{c.raw("list", made), c.raw("listAll", members{"dialect": dialect})}, []string{"[]", "[]"})
		one := c.object("create", made)
		h := one["session"].(string)
		c.raw("appendMessage", members{"session": h, "message": members{"role": "user", "timestamp": 1700000000000, "content": []any{members{"type": "text", "text": "a"}, members{"type": "text", "text": "b"}}}})
		c.say(h, "assistant", "answer")
		c.raw("setSessionName", members{"session": h, "name": "called"})
		two := c.object("create", members{"cwd": filepath.Join(c.home, "other"), "dialect": dialect, "deferUntil": "never", "parentSession": "p"})

		rows := c.list("list", made)
		equal(t, "how many", len(rows), 1)
		name := map[string]string{"omp": "title", "pi": "name"}[dialect]
		header := c.object("getHeader", members{"session": h})
		modified := "2023-11-14T22:13:20.000Z"
		if dialect == "omp" {
			info, err := os.Stat(one["file"].(string))
			if err != nil {
				t.Fatal(err)
			}
			modified = info.ModTime().UTC().Format("2006-01-02T15:04:05.000Z")
		}
		equal(t, "row", rows[0], members{"path": one["file"], "id": one["id"], "cwd": work, name: "called", "created": header["timestamp"],
			"modified": modified, "messageCount": 2.0, "firstMessage": "a b", "allMessagesText": "a b answer"})
		all := c.list("listAll", members{"dialect": dialect})
		equal(t, "newest first", ids(all), []string{two["id"].(string), one["id"].(string)})
		equal(t, "an empty one", []any{all[0]["firstMessage"], all[0]["allMessagesText"], all[0]["messageCount"], all[0]["parentSessionPath"]}, []any{"(no messages)", "", 0.0, "p"})

		// For a named folder, pi lists the sessions of the working directory; omp lists the whole folder.
		dir := filepath.Dir(two["file"].(string))
		want := map[string]int{"omp": 1, "pi": 0}[dialect]
		equal(t, "another folder", len(c.list("list", members{"cwd": work, "sessionDir": dir, "dialect": dialect})), want)
		c.hangUp()
	}
}
