package rpc_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/history"
	"github.com/treeline-dev/treeline/rpc"
)

// session writes a session of an agent into its own folder and returns its path.
func (c *caller) session(dialect, id, said string, at time.Time) string {
	c.tb.Helper()
	path := filepath.Join(c.home, filepath.FromSlash(agentDirs[dialect]), "--work--", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(logOf(id, "/work", said, at)), 0o600); err != nil {
		c.tb.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		c.tb.Fatal(err)
	}
	return path
}

// each returns a member of all elements of a list in an answer.
func each(m members, list, key string) (all []string) {
	for _, row := range m[list].([]any) {
		all = append(all, row.(members)[key].(string))
	}
	return all
}

var noon = time.Date(2026, 2, 16, 12, 0, 0, 0, time.UTC)

// The catalogue has the sessions of all agents. Pages follow each other without gaps, whatever happens in between.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	c := dial(t)
	for i := range 7 {
		c.session([]string{"pi", "omp"}[i%2], fmt.Sprintf("s%d", i), "hello", noon.Add(time.Duration(-i/2)*time.Hour))
	}
	first := c.object("catalogue", members{"limit": 3})
	equal(t, "first", []any{each(first, "rows", "id"), first["total"]}, []any{[]string{"s1", "s0", "s3"}, 7.0})
	os.Remove(c.session("omp", "s3", "gone", noon)) // the last row of the page disappears, and a new session appears
	c.session("omp", "s9", "new", noon.Add(time.Hour))
	second := c.object("catalogue", members{"limit": 3, "cursor": first["next"]})
	equal(t, "second", each(second, "rows", "id"), []string{"s2", "s5", "s4"})
	third := c.object("catalogue", members{"limit": 3, "cursor": second["next"]})
	equal(t, "third", []any{each(third, "rows", "id"), third["next"]}, []any{[]string{"s6"}, nil})
	for name, tt := range map[string]struct {
		params members
		want   int
	}{
		"source":    {members{"source": "pi"}, 4},
		"directory": {members{"cwd": "/elsewhere"}, 0},
		"since":     {members{"since": noon.Format(time.RFC3339)}, 3},
		"until":     {members{"until": noon.Format(time.RFC3339)}, 4},
		"title":     {members{"title": "n?w"}, 1},
		"model":     {members{"model": "opus"}, 0},
		"has":       {members{"has": []string{"compaction"}}, 0},
		"a run":     {members{"has": []string{"run"}}, 0},
	} {
		equal(t, name, c.object("catalogue", tt.params)["total"], float64(tt.want))
	}
	for name, params := range map[string]members{
		"no source": {"source": "none"}, "no time": {"since": "yesterday"}, "no feature": {"has": []string{"soul"}},
		"no rows": {"limit": 0}, "too many": {"limit": 1001}, "no cursor": {"cursor": "x"},
	} {
		if r := c.try("catalogue", params); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%s: %+v; want r.Error != nil, r.Error.Code == -32602", name, r)
		}
	}
	write(t, filepath.Join(c.home, filepath.FromSlash(agentDirs["pi"]), "--work--", "bad.jsonl"), "no session\n")
	if problems := c.object("catalogue", nil)["problems"].([]any); len(problems) != 1 || !strings.Contains(problems[0].(string), "bad.jsonl") {
		t.Errorf("problems: %v", problems)
	}
	if got := c.raw("sources", nil); !strings.Contains(got, `"sessions":5`) && !strings.Contains(got, `"sessions":4`) {
		t.Errorf("sources: %s", got)
	}
	c.hangUp()
}

func TestSearch(t *testing.T) {
	t.Parallel()
	c := dial(t)
	c.session("pi", "a", "the parser fails", noon)
	c.session("omp", "b", "the Parser works", noon.Add(time.Hour))
	got := c.object("search", members{"query": "parser", "in": []string{"user"}})
	equal(t, "hits", []any{each(got, "hits", "session"), got["matched"]}, []any{[]string{"b", "a"}, "words"})
	equal(t, "one", each(c.object("search", members{"query": "P.rser", "regexp": true, "case": true, "limit": 1}), "hits", "session"), []string{"b"})
	for _, params := range []members{{"query": "("}, {"query": "x", "in": []string{"dreams"}}, {"query": "x", "source": "none"}, {}} {
		params["regexp"] = true
		if r := c.try("search", params); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%v: %+v; want r.Error != nil, r.Error.Code == -32602", params, r)
		}
	}
	c.hangUp()
}

// A session can be continued in its own agent, from another entry, or in another agent.
func TestResumeCommand(t *testing.T) {
	t.Parallel()
	c := dial(t)
	path := c.session("pi", "abc", "hello", noon)
	before, _ := os.ReadFile(path)
	equal(t, "its own", c.object("resumeCommand", members{"ref": "abc"})["args"], []any{"pi", "--session", path})
	after, _ := os.ReadFile(path)
	equal(t, "nothing is written", string(after), string(before))

	h := c.object("open", members{"path": path})["session"].(string)
	first := c.raw("getLeafId", members{"session": h})
	c.object("appendUser", members{"session": h, "text": "more"})
	c.raw("close", members{"session": h})
	var leaf string
	if err := json.Unmarshal([]byte(first), &leaf); err != nil {
		t.Fatal(err)
	}
	equal(t, "from another entry", c.object("resumeCommand", members{"ref": "abc", "leafId": leaf})["path"], path)
	h = c.object("open", members{"path": path, "readOnly": true})["session"].(string)
	equal(t, "the leaf moved", len(c.object("buildParts", members{"session": h})["messages"].([]any)), 1)

	other := c.object("resumeCommand", members{"session": h, "agent": "operator"})
	equal(t, "another agent", []any{other["dialect"], other["madeFrom"], exists(other["path"].(string))}, []any{"operator", path, true})
	if _, ok := other["conversion"].(members); !ok {
		t.Errorf("no report: %v", other)
	}
	memory := c.object("inMemory", members{"dialect": "pi"})["session"]
	for _, r := range []reply{c.try("resumeCommand", members{"session": memory}), c.try("resumeCommand", members{"ref": "abc", "leafId": "nosuch"})} {
		if r.Error == nil || r.Error.Code != -32000 {
			t.Errorf("%+v; want r.Error != nil, r.Error.Code == -32000", r)
		}
	}
	c.hangUp()
}

func TestMaintenance(t *testing.T) {
	t.Parallel()
	c := dial(t)
	path := c.session("pi", "abc", "hello", noon)
	equal(t, "sound", c.raw("check", members{"ref": "abc"}), "[]")
	write(t, path, logOf("abc", "/work", "hello", noon)+`{"type":"message","id":"2"`)
	hour := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, hour, hour); err != nil { // a slow writer does not take that long
		t.Fatal(err)
	}
	problems := c.list("check", members{"ref": path})
	equal(t, "torn", []any{len(problems), problems[0]["kind"]}, []any{1, "torn"})
	plan := c.object("repair", members{"ref": "abc"})
	equal(t, "planned", []any{plan["applied"], len(plan["repairs"].([]any))}, []any{false, 1})
	equal(t, "applied", c.object("repair", members{"ref": "abc", "apply": true})["applied"], true)
	equal(t, "sound again", c.raw("check", members{"ref": "abc"}), "[]")
	text, _ := os.ReadFile(path)

	report := c.object("convert", members{"ref": "abc", "to": "operator"})
	target := report["target"].(members)
	equal(t, "converted", []any{target["dialect"], exists(target["path"].(string))}, []any{"operator", true})
	h := c.object("open", members{"path": path, "readOnly": true})["session"].(string)
	out := filepath.Join(c.home, "out")
	report = c.object("convert", members{"session": h, "to": "wave", "dir": out, "leafId": "1"})
	equal(t, "of an open one", filepath.Dir(report["target"].(members)["path"].(string)), out)
	equal(t, "check an open one", c.raw("check", members{"session": h}), "[]")
	c.raw("close", members{"session": h})

	gone := c.object("rm", members{"ref": path})
	equal(t, "gone", exists(path), false)
	equal(t, "trash", len(c.list("listTrash", nil)), 1)
	c.raw("restore", members{"id": gone["id"]})
	again, _ := os.ReadFile(path)
	equal(t, "restored", string(again), string(text))
	other := filepath.Join(c.home, "notes.txt.jsonl")
	write(t, other, "no session\n")
	for _, r := range []reply{
		c.try("rm", members{"ref": other}), c.try("rm", members{"ref": "nothing"}), c.try("restore", members{"id": "nothing"}),
		c.try("repair", members{"ref": other}), c.try("convert", members{"ref": other, "to": "pi"}),
		c.try("check", members{"ref": "nothing"}),
	} {
		if r.Error == nil || r.Error.Code != -32000 {
			t.Errorf("%+v; want r.Error != nil, r.Error.Code == -32000", r)
		}
	}
	equal(t, "not a session", c.list("check", members{"ref": other})[0]["kind"], "no-header")
	equal(t, "it is still there", exists(other), true)
	c.hangUp()
}

// A session that is opened for reading is not changed, and cannot be.
func TestOpenReadOnly(t *testing.T) {
	t.Parallel()
	c := dial(t)
	path := filepath.Join(c.home, "old.jsonl")
	old := `{"type":"session","id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}` + "\n" +
		`{"type":"message","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"hello"}}` + "\n"
	write(t, path, old)
	h := c.object("open", members{"path": path, "readOnly": true})["session"].(string)
	equal(t, "entries", len(c.list("getEntries", members{"session": h})), 1)
	for _, r := range []reply{
		c.try("appendSessionInfo", members{"session": h, "name": "x"}), c.try("setSessionName", members{"session": h, "name": "x"}),
		c.try("open", members{"path": filepath.Join(c.home, "none.jsonl"), "readOnly": true}),
	} {
		if r.Error == nil || r.Error.Code != -32000 {
			t.Errorf("%+v; want r.Error != nil, r.Error.Code == -32000", r)
		}
	}
	c.hangUp()
	text, _ := os.ReadFile(path)
	equal(t, "bytes", string(text), old)
	files, _ := filepath.Glob(filepath.Join(c.home, "*.jsonl*"))
	equal(t, "files", files, []string{path})
}

// The flat tree has the nodes of the nested one in the same order, and is not nested more deeply for a long session.
func TestFlatTree(t *testing.T) {
	t.Parallel()
	c := dial(t)
	h := c.object("inMemory", members{"dialect": "pi"})["session"].(string)
	a := c.say(h, "user", "1")
	b := c.say(h, "assistant", "2")
	d := c.say(h, "user", "3")
	c.raw("branch", members{"session": h, "id": a})
	e := c.say(h, "assistant", "4")
	label := c.object("appendLabelChange", members{"session": h, "targetId": b, "label": "L"})["id"].(string)
	var got []string
	for _, n := range c.list("getTree", members{"session": h, "flat": true}) {
		got = append(got, fmt.Sprint(n["id"], " ", n["parentId"], " ", n["depth"], " ", n["label"], " ", n["entry"].(members)["id"] == n["id"]))
	}
	equal(t, "flat", got, []string{
		a + " <nil> 0 <nil> true", b + " " + a + " 1 L true", d + " " + b + " 2 <nil> true", e + " " + a + " 1 <nil> true",
		label + " " + e + " 2 <nil> true",
	})
	for i := range 2000 {
		c.raw("appendSessionInfo", members{"session": h, "name": fmt.Sprint(i)})
	}
	text, deepest, depth := c.raw("getTree", members{"session": h, "flat": true}), 0, 0
	d2 := json.NewDecoder(strings.NewReader(text))
	for tok, err := d2.Token(); err == nil; tok, err = d2.Token() {
		switch tok {
		case json.Delim('['), json.Delim('{'):
			depth++
			deepest = max(deepest, depth)
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	if deepest > 6 {
		t.Errorf("it nests %d deep", deepest)
	}
	c.hangUp()
}

func TestHistory(t *testing.T) {
	t.Parallel()
	s, home := newStore(t)
	c := dialStore(t, s, home, rpc.Options{History: history.Options{State: filepath.Join(home, "state")}})
	equal(t, "none yet", c.raw("historyRecent", nil), "[]")
	c.raw("historyAdd", members{"prompt": "fix the parser", "cwd": "/work"})
	c.raw("historyAdd", members{"prompt": "run the tests"})
	prompts := func(list []members) (all []string) {
		for _, p := range list {
			all = append(all, p["prompt"].(string))
		}
		return all
	}
	equal(t, "recent", prompts(c.list("historyRecent", members{"limit": 1})), []string{"run the tests"})
	equal(t, "search", prompts(c.list("historySearch", members{"text": "par", "uses": true})), []string{"fix the parser"})
	equal(t, "directory", prompts(c.list("historyRecent", members{"cwd": "/work"})), []string{"fix the parser"})
	if r := c.try("historyRecent", members{"db": filepath.Join(home, "none.db")}); r.Error == nil {
		t.Errorf("%+v; want r.Error != nil", r)
	}
	if r := c.try("historyAdd", members{"prompt": " \n"}); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("an empty prompt: %+v; want r.Error.Code == -32602", r)
	}
	if r := c.try("historyAdd", members{"prompt": "more", "db": filepath.Join(home, "none.db")}); r.Error == nil {
		t.Errorf("no such database: %+v; want r.Error != nil", r)
	}
	c.hangUp()
}

// A run is recorded, interrupted, continued by another client, and read page by page, byte for byte.
func TestRunLogs(t *testing.T) {
	t.Parallel()
	c := dial(t)
	made := c.object("startRun", members{"sessionId": "abc"})
	record := `{"type":"run.status","status":"running","n":1.0,"run_id":"` + made["id"].(string) + `","ts":"2026-01-01T00:00:00.000Z"}`
	for range 3 {
		c.raw("appendRecord", members{"run": made["run"], "record": json.RawMessage(record)})
	}
	home := c.home
	c.hangUp() // without an end
	c = dialStore(t, reopen(t, home), home, rpc.Options{})
	list := c.object("listRuns", members{"sessionId": "abc"})
	equal(t, "runs", []any{each(list, "runs", "id"), list["next"]}, []any{[]string{made["id"].(string)}, nil})
	again := c.object("continueRun", members{"ref": made["id"]})
	equal(t, "the same log", again["file"], made["file"])
	c.raw("endRun", members{"run": again["run"], "outcome": "completed"})
	var got []string
	var next any = ""
	for next != nil {
		page := c.object("readRun", members{"ref": made["file"], "limit": 3, "cursor": next})
		for _, r := range page["records"].([]any) {
			got = append(got, r.(members)["type"].(string))
		}
		equal(t, "ended", []any{page["ended"], page["total"]}, []any{true, 4.0})
		next = page["next"]
	}
	equal(t, "records", got, []string{"run.status", "run.status", "run.status", "run.end"})
	if text := c.raw("readRun", members{"ref": "@last", "limit": 1}); !strings.Contains(text, `"n":1.0`) {
		t.Errorf("not byte for byte: %s", text)
	}
	if r := c.try("continueRun", members{"ref": "@last"}); r.Error == nil || r.Error.Code != -32000 {
		t.Errorf("an ended run: %+v", r)
	}
	c.hangUp()
}

// Wherever a session or a run is named, the agent may precede its id.
func TestAgentBeforeID(t *testing.T) {
	t.Parallel()
	c := dial(t)
	h := c.object("create", members{"cwd": c.home, "dialect": "pi"})
	c.say(h["session"].(string), "user", "hello")
	c.raw("close", members{"session": h["session"]})
	id := h["id"].(string)
	copied := c.object("forkFrom", members{"source": h["file"], "cwd": c.home, "dialect": "pi"})
	c.raw("close", members{"session": copied["session"]})
	several := c.try("check", members{"ref": "pi:" + id[:4]})
	if e := several.Error; e == nil || !strings.Contains(e.Message, h["file"].(string)) || !strings.Contains(e.Message, copied["file"].(string)) {
		t.Errorf("two sessions match: %+v", e)
	}
	made := c.object("startRun", members{"dialect": "codelia", "sessionId": id})
	c.raw("endRun", members{"run": made["run"], "outcome": "completed"})
	ended := c.try("continueRun", members{"ref": "codelia:" + made["id"].(string)})
	if ended.Error == nil || strings.Contains(ended.Error.Message, "no such run") {
		t.Errorf("continueRun: %+v", ended.Error)
	}
	for _, call := range []struct {
		method, right, wrong string
		params               members
	}{
		{"check", "pi:" + id, "omp:" + id, members{}},
		{"repair", "pi:" + id, "omp:" + id, members{}},
		{"convert", "pi:" + id, "wave:" + id, members{"to": "operator"}},
		{"watch", "pi:" + id, "omp:" + id, members{}},
		{"readRun", "codelia:" + made["id"].(string), "pi:" + made["id"].(string), members{}},
		{"rm", "pi:" + id, "omp:" + id, members{}},
	} {
		for _, ref := range []string{call.wrong, call.right} {
			found := ref == call.right
			call.params["ref"] = ref
			if r := c.try(call.method, call.params); found != (r.Error == nil) || !found && !strings.Contains(r.Error.Message, "no such") {
				t.Errorf(`%s %s: %+v; want found == %v, not (!found && !strings.Contains(r.Error.Message, "no such"))`, call.method, ref, r.Error, (r.Error == nil))
			}
		}
	}
	c.hangUp()
}
