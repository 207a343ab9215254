package rpc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// wave creates a session of Wave with one message, and returns its id and path.
func (c *caller) wave(params members, said string, at time.Time) (id, path string) {
	c.tb.Helper()
	made := c.object("create", params)
	c.object("appendMessage", members{"session": made["session"], "message": members{
		"role": "user", "timestamp": at.UTC().Format("2006-01-02T15:04:05.000Z"),
		"blocks": []any{members{"type": "text", "content": said}},
	}})
	return made["id"].(string), made["file"].(string)
}

// The two lists of Wave: the document's is in the order of ids, the program's in that of the last messages. Both count messages and bytes,
// and recent sessions have names.
func TestListsOfWave(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"wave", "wave-doc"} {
		for _, dir := range []string{"", "own"} {
			c := dial(t)
			cwd := filepath.Join(c.home, "work")
			where := members{"cwd": cwd, "dialect": dialect}
			if dir != "" {
				where["sessionDir"] = filepath.Join(c.home, dir)
			}
			now := time.Now()
			older, path := c.wave(where, "first\nsecond line", now.Add(time.Hour))
			newer, newerPath := c.wave(where, "later", now)
			// The times of the files do not matter.
			for p, age := range map[string]time.Duration{path: time.Hour, newerPath: 2 * time.Hour} {
				if err := os.Chtimes(p, now.Add(-age), now.Add(-age)); err != nil {
					t.Fatal(err)
				}
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			sub := filepath.Join(filepath.Dir(path), "subagent-"+newer+".jsonl")
			write(t, sub, `{"role":"user","blocks":[{"type":"text","content":"sub"}],"timestamp":"2030-01-01T00:00:00.000Z"}`+"\n")
			want, names := []string{newer, older}, []any{"later", "first"}
			modified := now.Add(-time.Hour) // the document: the time of the file
			if dialect == "wave" {
				want, names, modified = []string{older, newer}, []any{"first", "later"}, now.Add(time.Hour)
			}
			rows := c.list("list", where)
			equal(t, dialect+": list", ids(rows), want)
			for _, row := range rows {
				if row["id"] != older {
					continue
				}
				equal(t, dialect+": a row", []any{row["path"], row["cwd"], row["messageCount"], row["fileSize"], row["firstMessage"], row["modified"]},
					[]any{path, cwd, 1.0, float64(info.Size()), "first\nsecond line", modified.UTC().Format("2006-01-02T15:04:05.000Z")})
			}
			equal(t, dialect+": all", ids(c.list("listAll", where)), want)
			folder := filepath.Dir(path)
			var recent []any
			for _, row := range c.list("getRecentSessions", members{"sessionDir": folder, "dialect": dialect}) {
				recent = append(recent, row["name"])
			}
			equal(t, dialect+": names", recent, names)
			first := map[string]string{older: path, newer: newerPath}[want[0]]
			equal(t, dialect+": newest", c.raw("findMostRecent", members{"dir": folder, "dialect": dialect}), `"`+first+`"`)
			if dir == "" { // the place determines the dialect
				equal(t, dialect+": newest there", c.raw("findMostRecent", members{"dir": folder}), `"`+first+`"`)
			}
			equal(t, dialect+": continued", c.object("continueRecent", where)["id"], want[0])
			c.hangUp()
		}
	}
}

// The document creates a session as an empty file, whose name is enough for a list.
func TestListOfEmptySessions(t *testing.T) {
	t.Parallel()
	c := dial(t)
	cwd := filepath.Join(c.home, "work")
	cwd, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		t.Fatal(err)
	}
	where := members{"cwd": cwd, "dialect": "wave-doc"}
	made := c.object("create", where)
	for _, method := range []string{"list", "listAll"} {
		rows := c.list(method, where)
		if len(rows) != 1 {
			t.Fatalf("%s: %v; want len(rows) == 1", method, rows)
		}
		equal(t, method, []any{rows[0]["id"], rows[0]["cwd"], rows[0]["messageCount"], rows[0]["fileSize"]}, []any{made["id"], cwd, 0.0, 0.0})
	}
	folder := filepath.Dir(made["file"].(string))
	equal(t, "name", c.list("getRecentSessions", members{"sessionDir": folder, "dialect": "wave-doc"})[0]["name"], made["id"])
}

// The sessions of codelia are listed under the name of the agent, including those of the document.
func TestListsOfCodelia(t *testing.T) {
	t.Parallel()
	c := dial(t)
	save := func(id, dialect, root, at string) {
		t.Helper()
		c.object("saveState", members{"dialect": dialect, "state": members{
			"session_id": id, "workspace_root": root, "updated_at": at, "messages": []any{members{"role": "user", "content": "I am " + id}},
		}})
	}
	save("old", "codelia-state", "/p", "2026-01-01T00:00:00.000Z")
	save("doc", "codelia-state-doc", "/p", "2026-01-02T00:00:00.000Z")
	save("new", "codelia-state", "/p", "2026-01-03T00:00:00.000Z")
	save("other", "codelia-state", "/q", "2026-01-04T00:00:00.000Z")
	equal(t, "list", ids(c.list("list", members{"cwd": "/p", "dialect": "codelia"})), []string{"new", "doc", "old"})
	equal(t, "all", ids(c.list("listAll", members{"dialect": "codelia"})), []string{"other", "new", "doc", "old"})
	equal(t, "the document's", ids(c.list("listAll", members{"dialect": "codelia-doc"})), []string{"doc"})
	equal(t, "the database's", ids(c.list("list", members{"cwd": "/p", "dialect": "codelia-state"})), []string{"new", "old"})
	row := c.list("list", members{"cwd": "/q", "dialect": "codelia"})[0]
	equal(t, "a row", []any{row["cwd"], row["firstMessage"], row["messageCount"], row["modified"]}, []any{"/q", "I am other", 1.0, "2026-01-04T00:00:00.000Z"})

	dir := filepath.Join(c.home, ".codelia", "sessions", "messages")
	recent := c.list("getRecentSessions", members{"sessionDir": dir})
	equal(t, "recent", []any{recent[0]["name"], recent[1]["name"]}, []any{"I am other", "I am new"})
	equal(t, "newest", c.raw("findMostRecent", members{"dir": dir, "dialect": "codelia"}), `"`+filepath.Join(dir, "other.jsonl")+`"`)

	// In a folder of the client, the program must find them, too.
	own := members{"cwd": "/p", "dialect": "codelia", "sessionDir": filepath.Join(c.home, "own"), "force": true}
	made := c.object("create", own)
	c.object("appendMessage", members{"session": made["session"], "message": members{"role": "user", "content": "hi"}})
	equal(t, "own", ids(c.list("list", own)), []string{made["id"].(string)})
	equal(t, "continued", c.object("continueRecent", own)["id"], made["id"])
}

// The document's states do not record a directory. Their last run does: they are listed for that directory, and the model is told if they
// are resumed elsewhere. The system prompt stays before that note.
func TestStateOfARun(t *testing.T) {
	t.Parallel()
	c := dial(t)
	sessions := filepath.Join(c.home, ".codelia", "sessions")
	run := func(day, id, members string) {
		write(t, filepath.Join(sessions, day, id+".jsonl"), `{"type":"header","schema_version":1,"run_id":"`+id+`"`+members+"}\n")
	}
	state := func(id, more string) {
		write(t, filepath.Join(sessions, "state", id+".json"), `{"schema_version":1,"session_id":"`+id+`","updated_at":"2026-02-03T12:00:02.900Z"`+more+
			`,"messages":[{"role":"system","content":"You are."},{"role":"user","content":"list files"}]}`)
	}
	const first, second, third = "8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a", "9f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a", "af1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a"
	run("2026/02/03", first, `,"started_at":"2026-02-03T12:00:00.123Z","runtime":{"cwd":"/work/app"}`)
	run("2026/02/04", second, `,"started_at":"2026-02-04T12:00:00.123Z","session_id":"silent","runtime":{"cwd":"/work/late"}`)
	run("2026/02/01", third, `,"started_at":"2026-02-01T12:00:00.123Z","session_id":"silent","runtime":{"cwd":"/work/early"}`)
	state("named", `,"run_id":"`+first+`"`)
	state("silent", "")
	state("homeless", `,"run_id":"0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a"`)
	for id, cwd := range map[string]string{"named": "/work/app", "silent": "/work/late"} {
		rows := c.list("list", members{"cwd": cwd, "dialect": "codelia"})
		if len(rows) != 1 || rows[0]["id"] != id || rows[0]["cwd"] != cwd {
			t.Errorf(`%s: %v; want len(rows) == 1, rows[0]["id"] == %v, rows[0]["cwd"] == %v`, id, rows, id, cwd)
		}
		var said []any
		for _, m := range c.object("loadState", members{"id": id, "cwd": "/elsewhere"})["resume"].([]any) {
			said = append(said, m.(members)["content"])
		}
		if len(said) != 3 || said[0] != "You are." || !strings.Contains(said[1].(string), "Working directory changed: "+cwd+" -> /elsewhere") {
			t.Errorf(`%s: %v; want len(said) == 3, said[0] == "You are.", strings.Contains(said[1].(string), "Working directory changed: "+cwd+" -> /elsewhere")`, id, said)
		}
		equal(t, "nothing changed", len(c.object("loadState", members{"id": id, "cwd": cwd})["resume"].([]any)), 2)
		for _, d := range []string{"codelia", "codelia-doc"} {
			equal(t, "continued as "+d, c.object("continueRecent", members{"cwd": cwd, "dialect": d})["id"], id)
		}
	}
	equal(t, "all", len(c.list("listAll", members{"dialect": "codelia"})), 3)
	equal(t, "nowhere", len(c.object("loadState", members{"id": "homeless", "cwd": "/elsewhere"})["resume"].([]any)), 2)
}
