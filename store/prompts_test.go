package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/store"
)

// TestPrompts: the prompts of every family with their times, and nothing that a program said in the user's name.
func TestPrompts(t *testing.T) {
	h := newDesk(t)
	for _, c := range []struct {
		name, log string
		want      []string // entry, time and text
	}{
		{".omp/agent/sessions/-a/1_a.jsonl", `{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/a"}
{"type":"message","id":"1","parentId":null,"timestamp":"2026-01-01T00:00:09.000Z","message":{"role":"user","content":"one","timestamp":1767225601000}}
{"type":"message","id":"2","parentId":"1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"text","text":"two"},{"type":"image","data":""},{"type":"text","text":"lines"}]}}
{"type":"message","id":"3","parentId":"1","message":{"role":"user","content":"without a time"}}
{"type":"message","id":"4","parentId":"1","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"user","content":"by the agent","attribution":"agent"}}
{"type":"message","id":"5","parentId":"1","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"user","content":"by a person","attribution":"user"}}
{"type":"message","id":"6","parentId":"1","timestamp":"2026-01-01T00:00:06.000Z","message":{"role":"user","content":"injected","synthetic":true}}
{"type":"message","id":"7","parentId":"1","timestamp":"2026-01-01T00:00:07.000Z","message":{"role":"assistant","content":"an answer"}}
{"type":"message","id":"8","parentId":"1","timestamp":"2026-01-01T00:00:08.000Z","message":{"role":"user","content":[{"type":"image","data":""}]}}
`, []string{"1 00:00:01 one", "2 00:00:02 two\nlines", "3 00:00:02 without a time", "5 00:00:05 by a person"}},
		{".omp/agent/sessions/-a/2_b.jsonl", `{"type":"session","version":3,"id":"b","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/a"}
{"type":"session_init","id":"0","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","systemPrompt":"s","task":"a task","tools":[]}
{"type":"message","id":"1","parentId":"0","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"a task"}}
`, nil},
		{".wave/projects/a/6ad003d7-56d0-44d2-abbc-72090b2117ad.jsonl", `{"type":"metadata","workdir":"/a","createdAt":"2026-01-01T00:00:00.000Z"}
{"timestamp":"2026-01-01T00:00:01.000Z","id":"1","role":"user","blocks":[{"type":"text","content":"one"}]}
{"timestamp":"2026-01-01T00:00:02.000Z","id":"2","role":"user","blocks":[{"type":"text","content":"of a hook","source":"hook"}]}
{"timestamp":"2026-01-01T00:00:03.000Z","id":"3","role":"user","blocks":[{"type":"text","content":"meta"}],"isMeta":true}
{"timestamp":"2026-01-01T00:00:04.000Z","id":"4","role":"user","blocks":[{"type":"tool","id":"x","name":"t","result":"of a tool"}]}
`, []string{"1 00:00:01 one"}},
		{".wave/projects/a/subagent-6ad003d7-56d0-44d2-abbc-72090b2117ae.jsonl", `{"type":"metadata","workdir":"/a","createdAt":"2026-01-01T00:00:00.000Z"}
{"timestamp":"2026-01-01T00:00:01.000Z","id":"1","role":"user","blocks":[{"type":"text","content":"one"}]}
`, nil},
		{".operator/sessions/a.jsonl", `{"type":"session","version":3,"id":"0198a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b","timestamp":1767225600.25,"cwd":"/a"}
{"id":"1","timestamp":1767225601.25,"type":"message","message":{"contents":[{"type":"text","content":"one"}],"id":"m","timestamp":1767225601.25,"role":"user"}}
{"id":"2","timestamp":1767225602.25,"type":"message","message":{"contents":[{"type":"text","content":"two"}],"id":"n","timestamp":1767225602.25,"role":"tool"}}
`, []string{"1 00:00:01 one"}},
	} {
		s, err := h.Open(t.Context(), h.Old(c.name, c.log), store.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for p, err := range s.Prompts(t.Context()) {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			got = append(got, string(p.Entry)+" "+p.At.UTC().Format(time.TimeOnly)+" "+p.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range s.Prompts(ctx) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v; want the error context.Canceled", c.name, err)
			}
		}
		s.Close()
	}
}
