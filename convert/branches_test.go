package convert_test

import (
	"testing"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A call may have different results on different branches, or none. On each branch, the model sees that branch's result.
func TestConvertAnsweredTwice(t *testing.T) {
	t.Parallel()
	const begin = `{"type":"session","version":3,"id":"019cab00-0000-7000-8000-00000000000a","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/garden"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"user","content":"How deep is the pond?"}}
{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-03-02T14:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I measure it."},{"type":"toolCall","id":"c1","name":"measure","arguments":{}}],"provider":"anthropic","model":"claude-sonnet-4","stopReason":"toolUse"}}
{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-03-02T14:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"measure","content":[{"type":"text","text":"2 m"}],"isError":false}}
{"type":"message","id":"a4","parentId":"a3","timestamp":"2026-03-02T14:00:04.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Two metres."}],"provider":"anthropic","model":"claude-sonnet-4","stopReason":"stop"}}
`
	const other = `{"type":"message","id":"b1","parentId":"a2","timestamp":"2026-03-02T14:00:05.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"measure","content":[{"type":"text","text":"9 m"}],"isError":false}}
`
	const said = `{"type":"message","id":"b2","parentId":"a2","timestamp":"2026-03-02T14:00:06.000Z","message":{"role":"user","content":"Never mind."}}
`
	const last = `{"type":"message","id":"a5","parentId":"a4","timestamp":"2026-03-02T14:00:07.000Z","message":{"role":"user","content":"And how wide?"}}
`
	for name, log := range map[string]string{
		"none":           begin + said + last,
		"another":        begin + other + last,
		"three branches": begin + other + said + last,
	} {
		for _, to := range branching {
			if to == "omp" {
				continue
			}
			t.Run(name+" "+to, func(t *testing.T) {
				t.Parallel()
				w, folder := inMemory(t)
				path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", log)
				from, other := w.Format("omp"), w.Format(to)
				tips := tipsOf(w, path, from, true)
				if diff := convertedTree(w, path, from, other, tips, folder()); diff != "" {
					t.Error(diff)
				}
				for _, leaf := range tips {
					if diff := convertedAt(w, path, from, other, leaf, folder()); diff != "" {
						t.Errorf("at %s: %s", *leaf, diff)
					}
				}
				partThereAndBack(w, w.View(path, store.OpenOptions{Dialect: from}), other, nil, folder)
			})
		}
	}
}

// TestConvertSpentOnce: the usage of an answer that is written twice, because branches answer its call differently, counts once.
func TestConvertSpentOnce(t *testing.T) {
	t.Parallel()
	const log = `{"type":"session","version":3,"id":"019cab00-0000-7000-8000-00000000000b","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/garden"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"user","content":"How deep is the pond?"}}
{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-03-02T14:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"measure","arguments":{}}],"provider":"anthropic","model":"claude-sonnet-4","stopReason":"toolUse","usage":{"input":100,"output":7,"cacheRead":0,"cacheWrite":0,"totalTokens":107}}}
{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-03-02T14:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"measure","content":[{"type":"text","text":"2 m"}],"isError":false}}
{"type":"message","id":"b1","parentId":"a2","timestamp":"2026-03-02T14:00:05.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"measure","content":[{"type":"text","text":"9 m"}],"isError":false}}
`
	for _, to := range branching {
		w, folder := inMemory(t)
		path := w.Put("in/019cab00-0000-7000-8000-00000000000b.jsonl", log)
		if to == "omp" {
			continue
		}
		s, _, err := convert.Session(t.Context(), w.Store, w.View(path, store.OpenOptions{Dialect: w.Format("omp")}), convert.Options{To: w.Format(to), Dir: folder()})
		w.Must(err)
		calls, output := 0, int64(0)
		for e := range s.Tree().Entries() {
			body, err := e.Body()
			w.Must(err)
			if m, ok := body.(session.Message); ok && m.Role == session.RoleAssistant {
				calls++
				if m.Usage != nil {
					output += m.Usage.Output
				}
			}
		}
		w.Must(s.Close())
		if output != 7 || calls == 0 || to == "claude" && calls != 2 {
			t.Errorf("%s: %d answers used %d tokens for output, want 7", to, calls, output)
		}
	}
}
