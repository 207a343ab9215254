package rpc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// agentDirs are where the agents keep the sessions of all directories.
var agentDirs = map[string]string{"pi": ".pi/agent/sessions", "omp": ".omp/agent/sessions"}

// logOf is a session with one message.
func logOf(id, cwd, said string, at time.Time) string {
	stamp := at.UTC().Format("2006-01-02T15:04:05.000Z")
	return `{"type":"session","version":3,"id":"` + id + `","timestamp":"` + stamp + `","cwd":"` + cwd + "\"}\n" +
		`{"type":"message","id":"1","parentId":null,"timestamp":"` + stamp + `","message":{"role":"user","content":"` + said + "\"}}\n"
}

// writeAt writes a file with a modification time.
func writeAt(t *testing.T, path, text string, at time.Time) {
	t.Helper()
	write(t, path, text)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// Sessions with the same time are listed by name, the newest first: a fork has the messages of its parent and precedes it. For all
// directories, pi first goes by the times of the files.
func TestListOrder(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 16, 10, 0, 0, 0, time.UTC)
	for _, dialect := range []string{"pi", "omp"} {
		c := dial(t)
		cwd := filepath.Join(c.home, "work")
		made := c.object("create", members{"cwd": cwd, "dialect": dialect})
		dir := filepath.Dir(made["file"].(string))
		other := filepath.Dir(c.object("create", members{"cwd": filepath.Join(c.home, "other"), "dialect": dialect})["file"].(string))
		writeAt(t, filepath.Join(dir, "2026-02-16T10-00-00-000Z_a.jsonl"), logOf("parent", cwd, "x", at), at)
		writeAt(t, filepath.Join(dir, "2026-02-16T11-00-00-000Z_b.jsonl"), logOf("fork", cwd, "x", at), at)
		writeAt(t, filepath.Join(dir, "2026-02-16T09-00-00-000Z_c.jsonl"), logOf("later", cwd, "x", at.Add(time.Second)), at.Add(time.Second))
		equal(t, dialect+": list", ids(c.list("list", members{"cwd": cwd, "dialect": dialect})), []string{"later", "fork", "parent"})
		writeAt(t, filepath.Join(other, "2026-02-16T10-30-00-000Z_d.jsonl"), logOf("between", cwd, "x", at), at)
		equal(t, dialect+": all", ids(c.list("listAll", members{"dialect": dialect})), []string{"later", "fork", "between", "parent"})
		if dialect == "pi" { // by the times of messages, then of the files
			writeAt(t, filepath.Join(other, "2026-02-16T08-00-00-000Z_e.jsonl"), logOf("copied", cwd, "x", at), at.Add(time.Hour))
			equal(t, "all, by the files", ids(c.list("listAll", members{"dialect": dialect})), []string{"later", "copied", "fork", "between", "parent"})
		}
		c.hangUp()
	}
}

// Which files of its folders each program lists as sessions.
func TestListShows(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 16, 10, 0, 0, 0, time.UTC)
	for dialect, want := range map[string]struct{ list, all, recent []string }{
		"pi":  {[]string{"plain", "nameless", "hidden"}, []string{"plain", "nameless", "hidden"}, nil},
		"omp": {[]string{"plain"}, []string{"plain", "subagent", "above"}, []string{"plain", "nameless"}},
	} {
		c := dial(t)
		cwd := filepath.Join(c.home, "work")
		root := filepath.Join(c.home, filepath.FromSlash(agentDirs[dialect]))
		dir := filepath.Dir(c.object("create", members{"cwd": cwd, "dialect": dialect})["file"].(string))
		nameless := strings.Replace(logOf("", cwd, "nameless", at), `"id":""`, `"id":"","note":1`, 1)
		for i, f := range []struct{ path, text string }{
			{filepath.Join(dir, "d.jsonl"), logOf("plain", cwd, "plain", at)},
			{filepath.Join(dir, "c.jsonl"), nameless}, // one with an id, and an empty one
			{filepath.Join(dir, ".b.jsonl"), logOf("hidden", cwd, "hidden", at)},
			{filepath.Join(dir, "d", "a.jsonl"), logOf("subagent", cwd, "subagent", at)},
			{filepath.Join(root, "a.jsonl"), logOf("above", cwd, "above", at)},
			{filepath.Join(root, ".hidden", "deep", "a.jsonl"), logOf("deep", cwd, "deep", at)},
			{filepath.Join(dir, "d.jsonl.bak"), logOf("backup", cwd, "backup", at)},
			{filepath.Join(dir, "e.jsonl"), "no session\n"},
			{filepath.Join(dir, "f.jsonl"), ""},
		} {
			writeAt(t, f.path, f.text, at.Add(-time.Duration(i)*time.Minute))
		}
		said := func(rows []members, key string) (list []string) {
			for _, r := range rows {
				list = append(list, r[key].(string))
			}
			return list
		}
		equal(t, dialect+": list", said(c.list("list", members{"cwd": cwd, "dialect": dialect}), "firstMessage"), want.list)
		equal(t, dialect+": all", said(c.list("listAll", members{"dialect": dialect}), "firstMessage"), want.all)
		if want.recent != nil {
			equal(t, dialect+": recent", said(c.list("getRecentSessions", members{"sessionDir": dir, "dialect": dialect, "limit": 9}), "name"), want.recent)
		}
		c.hangUp()
	}
}

// These are unusual cases of session names in the list of recent sessions.
func TestRecentNames(t *testing.T) {
	t.Parallel()
	user := func(content string) string {
		return `{"type":"message","message":{"role":"user","content":` + content + "}}\n"
	}
	for name, tt := range map[string]struct{ title, entries, want string }{
		"nothing typed":            {"", user(`""`) + user(`"later"`), "the-id"},
		"an empty text":            {"", user(`[{"type":"text","text":""}]`) + user(`"later"`), "the-id"},
		"a picture only":           {"", user(`[{"type":"image"}]`) + user(`"later"`), "later"},
		"an answer first":          {"", `{"type":"message","message":{"role":"assistant","content":"no"}}` + "\n" + user(`"yes"`), "yes"},
		"a message of an add-on":   {"", `{"type":"custom_message","content":"no"}` + "\n" + user(`"yes"`), "yes"},
		"a title of spaces":        {`"  "`, user(`"typed"`), "the-id"},
		"an empty title":           {`""`, user(`"typed"`), "typed"},
		"a blank first line":       {`"\r\nsecond"`, user(`"typed"`), "the-id"},
		"a command":                {"", user(`"/compact now"`), "/compact now"},
		"torn after the header":    {"", `{"type":"message","mess`, "the-id"},
		"beyond what is looked at": {"", `{"type":"custom","data":"` + strings.Repeat("x", 4096) + "\"}\n" + user(`"typed"`), "the-id"},
		"forty":                    {`"` + strings.Repeat("x", 40) + `"`, "", strings.Repeat("x", 40)},
		"forty one":                {`"` + strings.Repeat("x", 41) + `"`, "", strings.Repeat("x", 39) + "…"},
		"forty, of UTF-16":         {`"` + strings.Repeat("😀", 20) + `"`, "", strings.Repeat("😀", 20)},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t)
			title := ""
			if tt.title != "" {
				title = `,"title":` + tt.title
			}
			write(t, filepath.Join(c.home, "logs", "a.jsonl"), `{"type":"session","version":3,"id":"the-id"`+title+"}\n"+tt.entries)
			rows := c.list("getRecentSessions", members{"sessionDir": filepath.Join(c.home, "logs")})
			equal(t, "name", []any{len(rows), rows[0]["name"]}, []any{1, tt.want})
		})
	}
}
