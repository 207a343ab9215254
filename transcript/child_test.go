package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
)

func child(t *testing.T, d *transcript.Document) *transcript.Child {
	t.Helper()
	for _, b := range window(t, d, transcript.Request{}).Blocks {
		for _, p := range b.Pieces {
			if tools, ok := p.(transcript.Tools); ok && tools.Calls[0].Child != nil {
				return tools.Calls[0].Child
			}
		}
	}
	t.Fatal("no sub-agent")
	return nil
}

// The result of a call names the session of the sub-agent; the list of sessions says more about it.
func TestSessionOfASubAgent(t *testing.T) {
	w := world.New(t)
	d := open(t, w, w.Put("main.jsonl", `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"main","timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":"Find a spot."}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"main","timestamp":"2026-05-01T10:00:02.000Z","message":{"id":"m1","role":"assistant","model":"claude-opus-4-6","content":[{"type":"tool_use","id":"t1","name":"Agent","input":{"prompt":"Look north."}}]}}
{"type":"user","uuid":"r1","parentUuid":"a1","sessionId":"main","timestamp":"2026-05-01T10:00:05.000Z","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"shady"}]},"toolUseResult":{"agentId":"7f"}}
`))
	if d := difftest.Diff(transcript.Child{Session: "agent-7f"}, *child(t, d)); d != "" {
		t.Error(d)
	}
	row := func(path, id, parent string, task bool) place.Row {
		return place.Row{
			Path: path, Dialect: d.Session().Dialect(),
			Summary: dialect.Summary{ID: session.ID(id), Parent: parent, Task: task, Title: "about " + id, OK: true},
			Known:   &index.Summary{Entries: 12, Tokens: index.Tokens{Input: 5, Output: 6, CacheRead: 7}, Cost: 0.25},
		}
	}
	d.SetChildren([]place.Row{
		row(d.Session().Path(), "main", "", false), row("/x/fork.jsonl", "fork", "main", false),
		row("/x/other.jsonl", "other", "elsewhere", true), row("/x/agent-7f.jsonl", "agent-7f", "main", true),
	})
	want := transcript.Child{Session: "agent-7f", Path: "/x/agent-7f.jsonl", Title: "about agent-7f", Entries: 12, Tokens: 18, Cost: 0.25}
	if d := difftest.Diff(want, *child(t, d)); d != "" {
		t.Error(d)
	}
	if d := difftest.Diff([]transcript.Child{want}, d.SubAgents()); d != "" {
		t.Error(d)
	}
}

// The conversation of a sub-agent in the same log is not a branch. It is shown from its call, and as a path of its own.
func TestConversationBesideTheMainOne(t *testing.T) {
	w := world.New(t)
	d := open(t, w, "../dialect/claude/testdata/claude/sidechain-inside.jsonl")
	c := child(t, d)
	if c.First != "x1" || c.Tip != "x2" || c.Entries != 2 || d.Skeleton().Branches() != 1 {
		t.Errorf("%+v, %d branches", c, d.Skeleton().Branches())
	}
	side := window(t, d, transcript.Request{Leaf: &c.Tip})
	if diff := difftest.Diff([]session.EntryID{"x1", "x2"}, ids(side)); diff != "" || side.Onward != nil {
		t.Errorf(`%s %+v; want diff == "", side.Onward == nil`, diff, side.Onward)
	}
}

// An answer in several records reports its usage in each of them. It counts once, even in a side conversation.
func TestUsageCountsOnce(t *testing.T) {
	line := func(side bool, id, parent, message string) string {
		if parent != "null" {
			parent = `"` + parent + `"`
		}
		return fmt.Sprintf(`{"type":"assistant","isSidechain":%t,"uuid":%q,"parentUuid":%s,"sessionId":"main","timestamp":"2026-05-01T10:00:02.000Z","message":%s}`+"\n", side, id, parent, message)
	}
	answer := func(id, block string) string {
		return fmt.Sprintf(`{"id":%q,"role":"assistant","model":"m","content":[%s],"usage":{"input_tokens":10,"output_tokens":5}}`, id, block)
	}
	user := func(side bool, id, parent, text string) string {
		return strings.Replace(line(side, id, parent, fmt.Sprintf(`{"role":"user","content":%q}`, text)), `"assistant"`, `"user"`, 1)
	}
	w := world.New(t)
	d := open(t, w, w.Put("main.jsonl", user(false, "u1", "null", "Find a spot.")+
		line(false, "a1", "u1", answer("m1", `{"type":"text","text":"I send another."}`))+
		line(false, "a2", "a1", answer("m1", `{"type":"tool_use","id":"t1","name":"Task","input":{"prompt":"Look north."}}`))+
		user(true, "x1", "null", "Look north.")+
		line(true, "x2", "x1", answer("m2", `{"type":"text","text":"I look."}`))+
		line(true, "x3", "x2", answer("m2", `{"type":"text","text":"Shady."}`))))
	b := window(t, d, transcript.Request{}).Blocks[1]
	if b.Usage.Input != 10 || b.Usage.Output != 5 || len(b.Also) != 1 {
		t.Errorf("%+v; want b.Usage.Input == 10, b.Usage.Output == 5, len(b.Also) == 1", b)
	}
	if c := child(t, d); c.Entries != 3 || c.Tokens != 15 {
		t.Errorf("%+v; want c.Entries == 3, c.Tokens == 15", c)
	}
}
