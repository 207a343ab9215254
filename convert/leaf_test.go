package convert_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A leaf that is not the last entry keeps its position: the model sees the same at the leaf of the new session, and the abandoned turns are
// on another branch.
func TestConvertLeafBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for from, file := range map[string]string{"gemini": "rewind-last.jsonl", "claude": "last-prompt-explicit.jsonl"} {
		log := readFixture(t, from+"/"+file)
		for _, to := range branching {
			if to == from {
				continue
			}
			t.Run(from+" "+to, func(t *testing.T) {
				t.Parallel()
				w, folder := inMemory(t)
				path := w.Put("in/"+file, log)
				src := w.View(path, store.OpenOptions{Dialect: w.Format(from)})
				leaf := src.Leaf()
				if n := src.Tree().Len(); n == 0 || src.Tree().At(n-1).ID == leaf {
					t.Fatalf("the leaf %s is the last of %d entries", leaf, n)
				}
				if diff := convertedAt(w, path, src.Dialect(), w.Format(to), &leaf, folder()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// An entry that moves the leaf means the entry to which it moves it, in every format that has such entries. If that one does not exist,
// the leaf was not moved.
func TestConvertToLeafMove(t *testing.T) {
	t.Parallel()
	marked := `{"type":"session","version":3,"id":"019cab00-0000-7000-8000-00000000000a","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work/pond"}
{"type":"message","message":{"role":"user","content":"How deep?","timestamp":1772460001000},"id":"e0000001","parentId":null,"timestamp":"2026-03-02T14:00:01.000Z"}
{"type":"message","message":{"role":"user","content":"And wide?","timestamp":1772460002000},"id":"e0000002","parentId":"e0000001","timestamp":"2026-03-02T14:00:02.000Z"}
{"type":"custom","customType":"treeline.leaf","id":"e0000003","parentId":"e0000001","timestamp":"2026-03-02T14:00:03.000Z"}
`
	for name, logs := range map[string][]string{
		"gemini":   {readFixture(t, "gemini/rewind.jsonl"), readFixture(t, "gemini/rewind-all.jsonl"), readFixture(t, "gemini/rewind-last.jsonl"), talkOf("gemini", 14)}, // Gemini CLI refuses the talk
		"codex":    {readFixture(t, "codex/rolled-back.jsonl"), readFixture(t, "codex/rolled-back-all.jsonl")},
		"claude":   {readFixture(t, "claude/last-prompt-explicit.jsonl")},
		"operator": {readFixture(t, "operator/leaf-null.jsonl"), readFixture(t, "operator/leaf-missing.jsonl"), answeredLog(answeredMessage("tool", "", "2 m"), `"leaf","target_id":"e1"`)},
		"pi":       {marked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, folder := inMemory(t)
			moves := 0
			for i, log := range logs {
				path := w.Put(fmt.Sprintf("in/%d/rollout-2026-03-02T14-00-00-019cab00-0000-7000-8000-00000000000a.jsonl", i), log)
				src := w.View(path, store.OpenOptions{Dialect: w.Format(name)})
				for e := range src.Tree().Entries() {
					body, err := e.Body()
					w.Must(err)
					target := e.ID
					switch b := body.(type) {
					case session.Leaf:
						if _, ok := src.Tree().Lookup(b.Target); ok || b.Target == "" {
							target = b.Target
						}
					case session.Custom:
						if b.Type == "treeline.leaf" {
							target = e.Parent
						}
					}
					if target == e.ID && e.Kind != session.KindLeaf {
						continue
					}
					moves++
					for _, to := range targets() {
						if to.Family() == w.Format(name).Family() {
							continue
						}
						want, wantReport, wantErr := convert.Session(t.Context(), w.Store, src, convert.Options{To: to, Leaf: &target, Dir: folder(), Write: w.Write(store.WriteOptions{})})
						got, report, err := convert.Session(t.Context(), w.Store, src, convert.Options{To: to, Leaf: &e.ID, Dir: folder(), Write: w.Write(store.WriteOptions{})})
						if errors.Is(wantErr, store.ErrUnsupported) && errors.Is(err, store.ErrUnsupported) {
							continue // nothing is said there
						}
						if err := errors.Join(err, wantErr); err != nil {
							t.Errorf("log %d at %s → %s: %v", i, e.ID, to.Name(), err)
							continue
						}
						if diff := sameSeen(seenAt(w, want, want.Leaf()), seenAt(w, got, got.Leaf())); diff != "" || report.Dropped != wantReport.Dropped {
							t.Errorf("log %d at %s → %s: %s; %d entries dropped, want %d", i, e.ID, to.Name(), diff, report.Dropped, wantReport.Dropped)
						}
						w.Must(errors.Join(want.Close(), got.Close()))
					}
				}
			}
			if moves == 0 {
				t.Error("no entry moves the leaf")
			}
		})
	}
}

// readFixture reads a fixture of an agent.
func readFixture(t *testing.T, name string) string {
	t.Helper()
	agent, file, _ := strings.Cut(name, "/")
	log, err := os.ReadFile(filepath.Join("..", "dialect", agent, "testdata", agent, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(log)
}
