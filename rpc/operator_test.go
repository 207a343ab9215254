package rpc_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// said returns a message of Operator.
func said(role, text string) members {
	return members{"role": role, "contents": []members{{"type": "text", "content": text}}}
}

// A branch in a session of Operator is written, as its own program does, unless the client chooses otherwise. The program of pi writes
// none.
func TestBranchIsDurable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		dialect string
		durable any // nil: not set
		lasts   bool
	}{
		"operator":              {"operator", nil, true},
		"the document":          {"operator-doc", nil, true},
		"operator, not durable": {"operator", false, false},
		"pi":                    {"pi", nil, false},
		"pi, durable":           {"pi", true, true},
	} {
		c := dial(t)
		made := c.object("create", members{"cwd": c.home, "dialect": test.dialect, "deferUntil": "never"})
		message := func(role, text string) members {
			if test.dialect == "pi" {
				return members{"role": role, "content": text}
			}
			return said(role, text)
		}
		one := c.object("appendMessage", members{"session": made["session"], "message": message("user", "one")})["id"]
		c.object("appendMessage", members{"session": made["session"], "message": message("assistant", "two")})
		params := members{"session": made["session"], "id": one}
		if test.durable != nil {
			params["durable"] = test.durable
		}
		c.raw("branch", params)
		c.raw("close", members{"session": made["session"]})
		again := c.object("open", members{"path": made["file"]})
		path := c.list("getBranch", members{"session": again["session"]})
		if lasts := again["leafId"] == one || len(path) == 2 && path[1]["customType"] == "treeline.leaf"; lasts != test.lasts {
			t.Errorf("%s: the leaf is %v, the branch went to %v", name, again["leafId"], one)
		}
		c.hangUp()
	}
}

// A profile can be chosen for a new session, and to continue or list the profile's sessions.
func TestProfile(t *testing.T) {
	t.Parallel()
	c := dial(t)
	begin := func(more members) members {
		t.Helper()
		params := members{"cwd": c.home, "dialect": "operator", "deferUntil": "never"}
		for k, v := range more {
			params[k] = v
		}
		return c.object("create", params)
	}
	plain, work := begin(nil), begin(members{"profile": "work"})
	if dir := filepath.Dir(work["file"].(string)); dir != filepath.Join(c.home, ".operator", "profiles", "work", "sessions") {
		t.Error(dir)
	}
	at := members{"cwd": c.home, "dialect": "operator"}
	equal(t, "the default", ids(c.list("list", at)), []string{plain["id"].(string)})
	equal(t, "all", len(c.list("listAll", at)), 2)
	at["profile"] = "work"
	equal(t, "the profile", ids(c.list("list", at)), []string{work["id"].(string)})
	equal(t, "all of the profile", ids(c.list("listAll", at)), []string{work["id"].(string)})
	equal(t, "continued", c.object("continueRecent", at)["id"], work["id"])
	delete(at, "profile")
	equal(t, "continued by default", c.object("continueRecent", at)["id"], plain["id"])
	for _, bad := range []struct {
		params members
		code   int
	}{
		{members{"cwd": c.home, "dialect": "operator", "profile": "../x"}, -32602},
		{members{"cwd": c.home, "dialect": "omp", "profile": "work"}, -32000},
		{members{"cwd": c.home, "dialect": "operator", "profile": "work", "sessionDir": c.home}, -32602},
	} {
		for _, method := range []string{"create", "continueRecent", "list", "listAll"} {
			if r := c.try(method, bad.params); r.Error == nil || r.Error.Code != bad.code {
				t.Errorf("%s %v: %+v; want r.Error != nil, r.Error.Code == %v", method, bad.params, r.Error, bad.code)
			}
		}
	}
	c.hangUp()
}

// A client that subscribes gets the document's four events before the answer to the request that caused them.
func TestEvents(t *testing.T) {
	t.Parallel()
	c := dial(t)
	made := c.object("create", members{"cwd": c.home, "dialect": "operator", "deferUntil": "never", "events": true})
	s := made["session"]
	one := c.object("appendMessage", members{"session": s, "message": said("user", "one")})["id"]
	told := func(method string, params members) (events []members) {
		t.Helper()
		text, err := json.Marshal(members{"jsonrpc": "2.0", "id": "x", "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		c.send(string(text))
		for {
			var line members
			if err := json.Unmarshal([]byte(c.receive()), &line); err != nil {
				t.Fatal(err)
			}
			if line["id"] != nil {
				if line["error"] != nil {
					t.Fatal(line["error"])
				}
				return events
			}
			events = append(events, line)
		}
	}
	event := func(kind string, session, entry any) members {
		return members{"jsonrpc": "2.0", "method": kind, "params": members{"session": session, "file": made["file"], "entryId": entry}}
	}
	got := told("appendCompaction", members{"session": s, "summary": "S", "firstKeptEntryId": one, "tokensBefore": 1})
	leaf := c.raw("getLeafId", members{"session": s})
	equal(t, "a compaction", got, []members{event("session_before_compact", s, one), event("session_compact", s, strings.Trim(leaf, `"`))})
	equal(t, "a branch", told("branch", members{"session": s, "id": one}), []members{event("session_tree", s, one)})
	equal(t, "a reset", told("resetLeaf", members{"session": s}), []members{event("session_tree", s, nil)})
	equal(t, "a message", told("appendMessage", members{"session": s, "message": said("user", "two")}), []members(nil))
	equal(t, "a copy", told("forkFrom", members{"source": made["file"], "cwd": c.home, "events": true})[0]["params"].(members)["session"], nil)
	leaf = strings.Trim(c.raw("getLeafId", members{"session": s}), `"`)
	equal(t, "a fork", told("fork", members{"session": s}), []members{event("session_before_fork", s, leaf)})

	// Without a subscription, only answers are sent.
	other := c.object("create", members{"cwd": c.home, "dialect": "operator", "deferUntil": "never"})["session"]
	first := c.object("appendMessage", members{"session": other, "message": said("user", "one")})["id"]
	equal(t, "not asked for", told("branch", members{"session": other, "id": first}), []members(nil))
	c.hangUp()
}
