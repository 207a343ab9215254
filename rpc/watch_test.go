package rpc_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// appendLines adds lines to a file, as another program does.
func appendLines(t *testing.T, path, lines string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(lines)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func entryLine(i int) string {
	return fmt.Sprintf(`{"type":"message","id":"e%d","parentId":"1","timestamp":"2026-02-16T12:00:00.000Z","message":{"role":"user","content":"%d"}}`+"\n", i, i)
}

// change returns the next notification of a watch.
func (c *caller) change() members {
	c.tb.Helper()
	line := ""
	if len(c.notes) > 0 {
		line, c.notes = c.notes[0], c.notes[1:]
	} else {
		line = c.receive()
	}
	var note struct {
		Method string  `json:"method"`
		ID     any     `json:"id"`
		Params members `json:"params"`
	}
	if err := json.Unmarshal([]byte(line), &note); err != nil || note.Method != "change" || note.ID != nil {
		c.tb.Fatalf("not a change: %s", line)
	}
	promised.Lock()
	defer promised.Unlock()
	for _, n := range promised.Notifications {
		text, _ := json.Marshal(note.Params)
		if err := promised.Components.Schemas.Check(n.Schema, text); n.Name == "change" && err != nil {
			c.tb.Errorf(`%v: %s; want not (n.Name == "change" && err != nil)`, err, line)
		}
	}
	return note.Params
}

// What another program writes is sent once, after the answer, until unwatch.
func TestWatch(t *testing.T) {
	t.Parallel()
	c := dial(t)
	path := c.session("pi", "abc", "hello", noon)
	w := c.object("watch", members{"ref": "abc", "last": 1})
	equal(t, "no change before the answer", len(c.notes), 0)
	var events []string
	note := func() members {
		m := c.change()
		equal(t, "handle", m["watch"], w["watch"])
		events = append(events, m["event"].(string))
		return m
	}
	equal(t, "first", []any{note()["sessions"], events}, []any{1.0, []string{"start"}})
	equal(t, "the last entry", note()["entry"].(members)["id"], "1")
	appendLines(t, path, entryLine(1))
	m := note()
	equal(t, "entry", []any{m["event"], m["session"], m["path"], m["entry"].(members)["id"]}, []any{"entry", "abc", path, "e1"})
	equal(t, "unwatch", c.raw("unwatch", members{"watch": w["watch"]}), "null")
	appendLines(t, path, entryLine(2))
	equal(t, "it goes on", c.raw("parseEntries", members{"text": ""}), "[]")
	equal(t, "no change after unwatch", len(c.notes), 0)
	for _, r := range []reply{c.try("unwatch", w), c.try("watch", members{"last": -1})} {
		if r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%+v; want r.Error != nil, r.Error.Code == -32602", r)
		}
	}
	if r := c.try("watch", members{"ref": filepath.Join(c.home, "none.jsonl")}); r.Error == nil || r.Error.Code != -32000 {
		t.Errorf("%+v; want r.Error != nil, r.Error.Code == -32000", r)
	}
	c.raw("watch", nil) // the end of the input ends it
	c.hangUp()
}
