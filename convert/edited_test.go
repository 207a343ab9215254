package convert_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/store"
)

// toolu matches the ids that Claude Code's calls have.
var toolu = regexp.MustCompile(`toolu_\w+`)

// The result of a call was changed in a copy. Converted back, it answers the call by the id that the call has there. In Claude Code the ids of
// the records with calls depend on the results, so that nothing can be restored, and the call keeps its id of Claude Code.
func TestConvertEditedResult(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	from := w.Format("operator")
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", answeredLog(answeredMessage("tool", "", "2 m")))
	for _, name := range []string{"claude", "codex", "gemini", "qwen", "copilot", "pi", "codelia-state"} {
		there := crossed(w, path, from, w.Format(name), folder())
		edited := w.Put(filepath.Join("in", name, filepath.Base(there.Path())), strings.ReplaceAll(bytesOf(w, there), "2 m", "3 m"))
		w.Must(there.Close())
		back := crossed(w, edited, w.Format(name), from, folder())
		if got, want := toolu.ReplaceAllString(texts(w, back), "c1"), "user: How deep?\nassistant: c1()\ntool: c1=3 m\n"; got != want {
			t.Errorf("from %s it sends\n%swant\n%s", name, got, want)
		}
		w.Must(back.Close())
	}
}

// A copy that was changed in any number of places keeps the changes when it is converted back.
func TestConvertEdited(t *testing.T) {
	t.Parallel()
	const n = 160
	log, parent := `{"type":"session","version":3,"id":"0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/work"}`+"\n", "null"
	for i := range n {
		role, content, more := "user", fmt.Sprintf(`"question %03d"`, i), ""
		if i%2 == 1 {
			role, content = "assistant", fmt.Sprintf(`[{"type":"text","text":"answer %03d"}]`, i)
			more = `,"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-6","stopReason":"stop","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}`
		}
		log += fmt.Sprintf(`{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-01-05T09:%02d:%02d.000Z","message":{"role":"%s","content":%s%s,"timestamp":%d}}`+"\n",
			i+1, parent, i/60, i%60, role, content, more, 1_767_603_600_000+1000*i)
		parent = fmt.Sprintf(`"%08x"`, i+1)
	}
	w, folder := inMemory(t)
	src := w.View(w.Put("in/0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl", log), store.OpenOptions{Dialect: w.Format("pi")})
	cross := func(s *store.Session, to dialect.Dialect) *store.Session {
		t.Helper()
		made, _, err := convert.Session(t.Context(), w.Store, s, convert.Options{To: to, Dir: folder(), Write: w.Write(store.WriteOptions{})})
		if err != nil {
			t.Fatalf("%s → %s: %v", s.Dialect().Name(), to.Name(), err)
		}
		t.Cleanup(func() { made.Close() })
		return made
	}
	for _, name := range soaktest.Share(t, []string{"operator", "wave", "claude", "codex", "gemini", "qwen", "copilot"}, 2) {
		there := cross(src, w.Format(name))
		for _, step := range []int{n, n / 4, 2} {
			text := bytesOf(w, there)
			for i := 0; i < n; i += step {
				text = strings.ReplaceAll(text, fmt.Sprintf("question %03d", i), fmt.Sprintf("QUESTION %03d", i))
			}
			edited := w.View(w.Put(filepath.Join("in", fmt.Sprint(name, step), filepath.Base(there.Path())), text), store.OpenOptions{Dialect: w.Format(name)})
			back := cross(edited, w.Format("pi"))
			before, after := seenAt(w, edited, edited.Leaf()), seenAt(w, back, back.Leaf())
			if diff := sameSeen(byRule(before, name, "pi"), byRule(after, name, "pi")); diff != "" || len(after) != n {
				t.Errorf("%s, every %d changed: %d messages, %s; want %d that say the same", name, step, len(after), diff, n)
			}
			again := cross(back, w.Format(name))
			if diff := sameSeen(byRule(before, name, name), byRule(seenAt(w, again, again.Leaf()), name, name)); diff != "" {
				t.Errorf("%s, every %d changed: there again %s", name, step, diff)
			}
		}
	}
}

// A call was changed in a copy, and its result was not. Converted back, the call has one result.
func TestConvertEditedCall(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	asked := talkCall{id: "call_0001", name: "bash", args: `{"path":"rain"}`}
	for _, name := range agents {
		talk := &talk{Rand: rand.New(rand.NewPCG(3, 1)), ops: []op{
			{kind: "user", parent: -1, texts: []string{`"How deep?"`}},
			{kind: "answer", parent: 0, texts: []string{`"I look."`}, calls: []talkCall{asked}},
			{kind: "result", parent: 1, call: asked, texts: []string{`"2 m"`}},
			{kind: "answer", parent: 2, texts: []string{`"Two metres."`}},
		}}
		from := w.Format(name)
		file := "0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl"
		if name == "codex" {
			file = "019cab00-0000-7000-8000-00000000000a.jsonl"
		}
		path := w.Put(filepath.Join("in", name, file), talk.write(name))
		for _, other := range agents {
			if other == name {
				continue
			}
			there := crossed(w, path, from, w.Format(other), folder())
			text := bytesOf(w, there)
			edited := w.Put(filepath.Join("in", name, other, filepath.Base(there.Path())), strings.ReplaceAll(text, "rain", "snow"))
			w.Must(there.Close())
			back := crossed(w, edited, w.Format(other), from, folder())
			if back == nil {
				t.Errorf("%s, edited in %s, is not converted back", name, other)
				continue
			}
			got := texts(w, back)
			sendable(w, back, name+", edited in "+other)
			if strings.Count(got, "2 m") != 1 || strings.Count(got, "()") != 1 || strings.Contains(bytesOf(w, back), `rain`) {
				t.Errorf("%s, edited in %s, sends\n%s", name, other, got)
			}
			w.Must(back.Close())
		}
	}
}
