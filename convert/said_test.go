package convert_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// said gives all texts that the model sees at the leaf: prompts, answers, what tools were asked and put out. What it thought is
// not among them: most agents do not send that back.
func said(w *world.World, s *store.Session) []string {
	w.Helper()
	var list []string
	var take func(parts []session.Part)
	take = func(parts []session.Part) {
		for _, p := range parts {
			switch p := p.(type) {
			case session.Text:
				list = append(list, strings.TrimSpace(p.Text))
			case session.ToolCall:
				list = append(list, p.ID, p.Name)
			case session.ToolResult:
				take(p.Parts)
			}
		}
	}
	c, err := s.Context(w.Context(), s.Leaf(), store.ContextOptions{NoBlobs: true})
	w.Must(err)
	for e := range c.Entries() {
		body, err := e.Body()
		w.Must(err)
		if k, ok := body.(session.Compaction); ok {
			list = append(list, strings.TrimSpace(k.Summary))
			continue
		}
		parts, err := e.Parts()
		w.Must(err)
		take(parts)
	}
	return list
}

// A converted session goes on where the old one was: the model sees the same texts, calls and outputs, whatever the agent.
func TestConvertSaysTheSame(t *testing.T) {
	t.Parallel()
	log := gen.Session(gen.Options{Seed: 5, Entries: 120, CompactEvery: 50, Branches: 2})
	for name, text := range map[string][]byte{"pi": log, "operator": gen.Operator(log), "wave": gen.Wave(log), "codelia-state": gen.State(log)} {
		w := world.New(t)
		path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", string(text))
		for _, to := range targets() {
			if to.Name() == name {
				continue
			}
			src, err := w.Open(t.Context(), path, store.OpenOptions{Dialect: w.Format(name)})
			w.Must(err)
			there, _, err := convert.Session(t.Context(), w.Store, src, convert.Options{To: to, Dir: w.TempDir(), Write: w.Write(store.WriteOptions{})})
			w.Must(err)
			before, after := said(w, src), strings.Join(said(w, there), "\n")
			missing := 0
			for _, text := range before {
				if !strings.Contains(after, text) {
					if missing++; missing == 1 {
						t.Errorf("%s → %s: %.200q is not seen any more", name, to.Name(), text)
					}
				}
			}
			if missing > 0 || len(before) < 10 {
				t.Errorf("%s → %s: %d of %d texts are missing", name, to.Name(), missing, len(before))
			}
			w.Must(src.Close())
			w.Must(there.Close())
		}
	}
}
