package rpc_test

import (
	"path/filepath"
	"testing"
)

// said is a message of Operator.
func said(role, text string) members {
	return members{"role": role, "contents": []members{{"type": "text", "content": text}}}
}

// A branch in a session of Operator is written, as its own program writes it, unless the client wants otherwise. In pi the
// program writes none.
func TestBranchIsDurable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		dialect string
		durable any // nil: not given
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

// A profile is chosen for a new session, and to continue and list those of it.
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
	for _, bad := range []members{
		{"cwd": c.home, "dialect": "operator", "profile": "../x"},
		{"cwd": c.home, "dialect": "omp", "profile": "work"},
		{"cwd": c.home, "dialect": "operator", "profile": "work", "sessionDir": c.home},
	} {
		for _, method := range []string{"create", "continueRecent", "list", "listAll"} {
			if r := c.try(method, bad); r.Error == nil {
				t.Errorf("%s %v", method, bad)
			}
		}
	}
	c.hangUp()
}
