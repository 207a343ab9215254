package convert_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// agents are the dialects whose sessions are converted to each other, one for each program.
var agents = []string{"omp", "pi", "operator", "wave", "codelia-state", "claude", "codex", "gemini", "qwen", "copilot", "opencode", "goose", "crush"}

// branching are the agents whose sessions have branches.
var branching = []string{"omp", "pi", "operator", "claude", "qwen"}

// For every pair of agents, the model sees the same before and after, at the leaf and at every other tip.
func TestConvertPairs(t *testing.T) {
	for i, name := range agents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, folder := inMemory(t)
			from := w.Format(name)
			c := soaktest.Begin(t)
			for round := range c.Rounds(soaktest.Part(2, 1), 1) {
				seed := c.Seed(uint64(round))
				path := w.Put(filepath.Join("in", fmt.Sprint(seed), "0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl"), talkOf(name, seed))
				for k, other := range agents {
					to, ok := dialect.AsComposer(w.Format(other))
					if other == name || !ok || !soaktest.Every() && (i+k)%4 != 0 {
						continue // CI converts all pairs
					}
					tips := tipsOf(w, path, from, to.Habits().Branches)
					if diff := convertedTree(w, path, from, to.Dialect, tips, folder()); diff != "" {
						t.Errorf("seed %d, %s → %s: %s", seed, name, other, diff)
					}
					for _, leaf := range tips {
						if diff := convertedAt(w, path, from, to.Dialect, leaf, folder()); diff != "" {
							t.Errorf("seed %d, %s → %s at %s: %s", seed, name, other, *leaf, diff)
						}
					}
				}
			}
		})
	}
}

// tipsOf returns the leaf and, if all is set, every other entry without children that speaks.
func tipsOf(w *world.World, path string, from dialect.Dialect, all bool) (list []*session.EntryID) {
	w.Helper()
	s, err := w.Open(w.Context(), path, store.OpenOptions{Dialect: from})
	w.Must(err)
	defer s.Close() // now and not at the end of the test, because a soak has many rounds
	list = append(list, new(s.Leaf()))
	for e := range s.Tree().Entries() {
		if all && e.Kind == session.KindMessage && len(s.Tree().Children(e.ID)) == 0 && !e.Aside() && e.ID != s.Leaf() && e.Role != session.RoleTool {
			list = append(list, new(e.ID))
		}
	}
	return list
}

// says reports whether a form of a message has a text of a talk. Such texts end with a number: "plain 4" is not in "plain 42".
func says(form, text string) bool {
	for {
		_, rest, found := strings.Cut(form, text)
		if !found || rest == "" || rest[0] < '0' || rest[0] > '9' {
			return found
		}
		form = rest
	}
}

// convertedAt converts the path to an entry and returns the first difference in what the model sees there.
func convertedAt(w *world.World, path string, from, to dialect.Dialect, leaf *session.EntryID, dir string) string {
	w.Helper()
	src, err := w.Open(w.Context(), path, store.OpenOptions{Dialect: from})
	w.Must(err)
	defer src.Close()
	opt := convert.Options{To: to, Leaf: leaf, Dir: dir, Write: w.Write(store.WriteOptions{})}
	if *leaf == src.Leaf() {
		opt.Leaf = nil
	}
	there, report, err := convert.Session(w.Context(), w.Store, src, opt)
	before := seenAt(w, src, *leaf)
	empty := len(before) == 0
	if empty && errors.Is(err, store.ErrUnsupported) {
		return ""
	}
	w.Must(err)
	defer there.Close()
	if empty && to.Name() == "claude" {
		return "" // its program cannot start over in a session with messages
	}
	own(w, there)
	after := seenAt(w, there, there.Leaf())
	// The report must count the pictures that the rules hide.
	if a, b := countImages(before), countImages(after); a-b != report.Source.View.Images-report.Target.View.Images {
		return fmt.Sprintf("the model sees %d of %d pictures; the report has %+v and %+v", b, a, report.Source.View, report.Target.View)
	}
	if to.Name() != "codex" { // it has no place for it
		now := failures(w, there, there.Leaf())
		for _, text := range failures(w, src, *leaf) {
			if !slices.Contains(now, text) && slices.ContainsFunc(before, func(s seen) bool { return s.role == session.RoleTool && says(s.forms[0], text) }) {
				return fmt.Sprintf("a call failed with %q; now %q did", text, now)
			}
		}
	}
	if to.Name() == "goose" && countImages(after) == 0 {
		before = blinded(before)
	}
	// Goose leaves out answers before the first prompt. The report has fewer messages.
	if to.Name() == "goose" && report.Target.View.Messages < report.Source.View.Messages {
		for len(before) > 0 && before[0].role == session.RoleAssistant && before[0].call == "" {
			before = before[1:]
		}
	}
	return sameSeen(byRule(before, from.Name(), to.Name()), byRule(after, from.Name(), to.Name()))
}

// convertedTree converts a session once, with all its branches, and returns the first tip whose context no entry of the new session has.
func convertedTree(w *world.World, path string, from, to dialect.Dialect, tips []*session.EntryID, dir string) string {
	w.Helper()
	if len(tips) < 2 {
		return "" // convertedAt compares the leaf
	}
	src, err := w.Open(w.Context(), path, store.OpenOptions{Dialect: from})
	w.Must(err)
	defer src.Close()
	there, _, err := convert.Session(w.Context(), w.Store, src, convert.Options{To: to, Dir: dir, Write: w.Write(store.WriteOptions{})})
	w.Must(err)
	defer there.Close()
	var all [][]seen
	for e := range there.Tree().Entries() {
		if e.Kind == session.KindMessage || e.Kind == session.KindCompaction {
			all = append(all, byRule(seenAt(w, there, e.ID), from.Name(), to.Name()))
		}
	}
	for _, tip := range tips {
		before := byRule(seenAt(w, src, *tip), from.Name(), to.Name())
		if len(before) > 0 && !slices.ContainsFunc(all, func(after []seen) bool { return sameSeen(before, after) == "" }) {
			return fmt.Sprintf("no entry shows what the model sees at %s: %s", *tip, before)
		}
	}
	return ""
}

// own checks that all ids have the agent's own form, that there is no thinking of another model, and that times do not decrease along a
// path.
func own(w *world.World, s *store.Session) {
	w.Helper()
	namer, ok := s.Dialect().(dialect.CallNamer)
	if !ok {
		return
	}
	for e := range s.Tree().Entries() {
		parts, err := e.Parts()
		w.Must(err)
		for _, p := range parts {
			switch p := p.(type) {
			case session.Thinking:
				w.Errorf("%s: %s has thinking", s.Path(), e.ID)
			case session.ToolCall:
				if namer.CallID(p.ID) != p.ID {
					w.Errorf("%s: %s has the call %s", s.Path(), e.ID, p.ID)
				}
			}
		}
		if parent, ok := s.Tree().Lookup(e.Parent); ok && e.Kind == session.KindMessage {
			before, err := parent.Time()
			w.Must(err)
			after, err := e.Time()
			w.Must(err)
			a, hasA := before.Time()
			b, hasB := after.Time()
			if hasA && hasB && b.Before(a) {
				w.Errorf("%s: %s is older than its parent", s.Path(), e.ID)
			}
		}
	}
}

// failures returns the results on a path that report a failed call.
func failures(w *world.World, s *store.Session, leaf session.EntryID) (list []string) {
	w.Helper()
	path, err := s.Tree().Path(leaf)
	w.Must(err)
	for _, e := range path.Entries() {
		parts, err := e.Parts()
		w.Must(err)
		for _, p := range parts {
			if r, ok := p.(session.ToolResult); ok && r.IsError {
				list = append(list, strings.TrimSpace(dialect.TextOf(r.Parts)))
			}
		}
	}
	return list
}

func countImages(list []seen) (n int) {
	for _, s := range list {
		n += strings.Count(s.forms[0], "image data:")
	}
	return n
}

// blinded replaces pictures by a text, as Goose does for a model that may not support them.
func blinded(list []seen) []seen {
	list = slices.Clone(list)
	for i, s := range list {
		if strings.HasPrefix(s.forms[0], "image ") {
			list[i].forms = []string{"text [image omitted: model does not support vision]"}
		}
	}
	return list
}

// byRule adjusts for what one of the agents cannot express or adds itself.
func byRule(list []seen, from, to string) []seen {
	for i := range list {
		for k, form := range list[i].forms {
			// Some agents do not tell the model that a call failed. Their records do; see failures.
			if plain := []string{"codex", "qwen", "copilot", "opencode", "goose", "crush"}; slices.Contains(plain, from) || slices.Contains(plain, to) {
				form = strings.TrimSuffix(form, " (error)")
			}
			// In Operator, a result is only a text.
			if list[i].role == session.RoleTool && (strings.HasPrefix(from, "operator") || strings.HasPrefix(to, "operator")) {
				form, _, _ = strings.Cut(form, " image data:")
			}
			list[i].forms[k] = form
		}
	}
	// Gemini CLI puts the pictures of a result after it. Copilot CLI does not send them.
	if to == "gemini" || to == "copilot" {
		list = besideResults(list, to == "gemini")
	}
	// Qwen Code and OpenCode join the texts of answers, and a prompt of Copilot CLI is one text.
	if from == "qwen" || to == "qwen" || to == "opencode" {
		list = joined(list, session.RoleAssistant, "")
	}
	if from == "copilot" || to == "copilot" {
		list = joined(joined(list, session.RoleUser, "\n"), session.RoleAssistant, "\n")
	}
	// Claude Code itself answers a prompt that has no answer, and Gemini CLI results.
	if n := len(list); n > 0 && (list[n-1].forms[0] == "text "+interrupted || list[n-1].forms[0] == "text No response requested.") {
		list = list[:n-1]
	}
	// Crush puts the pictures of a prompt after its text.
	if from == "crush" || to == "crush" {
		list = picturesLast(list)
	}
	// Goose and Crush trim texts and join them, both within a message and across neighbouring messages of one side.
	if slices.ContainsFunc([]string{from, to}, func(name string) bool { return name == "goose" || name == "crush" }) {
		list = run(list)
	}
	return list
}

// besideResults removes pictures from results; with keep, they follow the results.
func besideResults(list []seen, keep bool) (out []seen) {
	for _, s := range list {
		form, images, found := strings.Cut(s.forms[0], " image data:")
		if s.role != session.RoleTool || !found {
			out = append(out, s)
			continue
		}
		s.forms = []string{form}
		out = append(out, s)
		for image := range strings.SplitSeq(images, " image data:") {
			if keep {
				out = append(out, seen{role: session.RoleUser, forms: []string{"image data:" + image}})
			}
		}
	}
	return out
}

// picturesLast moves the pictures of each prompt after its texts.
func picturesLast(list []seen) (out []seen) {
	var pictures []seen
	for _, s := range list {
		if s.role == session.RoleUser && strings.HasPrefix(s.forms[0], "image ") {
			pictures = append(pictures, s)
			continue
		}
		if s.role != session.RoleUser {
			out, pictures = append(out, pictures...), nil
		}
		out = append(out, s)
	}
	return append(out, pictures...)
}

// joined joins consecutive texts of a role, in each of their forms.
func joined(list []seen, role session.Role, with string) []seen {
	out := list[:0:0]
	for _, s := range list {
		last := len(out) - 1
		if last < 0 || s.role != role || out[last].role != role || !strings.HasPrefix(s.forms[0], "text ") || !strings.HasPrefix(out[last].forms[0], "text ") {
			out = append(out, s)
			continue
		}
		var forms []string
		for _, before := range out[last].forms {
			for _, text := range s.forms {
				forms = append(forms, before+with+strings.TrimPrefix(text, "text "))
			}
		}
		out[last].forms = forms
	}
	for _, s := range out {
		for k := range s.forms {
			for with != "" && s.role == role && strings.Contains(s.forms[k], with+with) { // Claude Code adds one itself
				s.forms[k] = strings.ReplaceAll(s.forms[k], with+with, with)
			}
		}
	}
	return out
}

// run joins neighbouring texts of one side, without white space.
func run(list []seen) []seen {
	joined := list[:0:0]
	for _, s := range list {
		if !strings.HasPrefix(s.forms[0], "text ") {
			joined = append(joined, s)
			continue
		}
		var texts []string
		for _, form := range s.forms {
			texts = append(texts, strings.Join(strings.Fields(strings.TrimPrefix(form, "text ")), ""))
		}
		before := []string{"text "}
		if last := len(joined) - 1; last >= 0 && joined[last].role == s.role && strings.HasPrefix(joined[last].forms[0], "text ") {
			before, joined = joined[last].forms, joined[:last]
		}
		s.forms = nil
		for _, form := range before {
			for _, text := range texts {
				s.forms = append(s.forms, form+text)
			}
		}
		joined = append(joined, s)
	}
	return joined
}

// interrupted is the answer that Gemini CLI invents.
const interrupted = "[The previous response was interrupted before it completed.]"

// A turn is taken back together with the compaction before it: the branch after it begins differently from the one that was left, and each
// has a compaction of its own.
func TestConvertTakenBack(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	from := w.Format("codex")
	for _, seed := range []uint64{81, 86} {
		path := w.Put(filepath.Join("in", fmt.Sprint(seed), "0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl"), newTalk(seed, true).write("codex"))
		for _, other := range []string{"claude", "pi", "operator"} {
			leaf := tipsOf(w, path, from, false)[0]
			if diff := convertedAt(w, path, from, w.Format(other), leaf, folder()); diff != "" {
				t.Errorf("seed %d, codex → %s: %s", seed, other, diff)
			}
		}
	}
}

// A header that lacks members comes back unchanged, even if nothing follows it.
func TestConvertOddHeader(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{
		"codex": `{"timestamp":"2026-03-01T08:00:00.000Z","type":"session_meta","payload":{"id":"019a2f00-0000-7000-8000-000000000001","timestamp":"2026-03-01T08:00:00.000Z","cwd":"/garden"}}`,
		"pi":    `{"type":"session","id":"019cab00-0000-7000-8000-000000000001","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work/pond"}`,
	} {
		w, folder := inMemory(t)
		for _, to := range targets() {
			if to.Name() == name {
				continue
			}
			src, err := w.Open(t.Context(), w.Put("in/019a2f00-0000-7000-8000-000000000001.jsonl", header+"\n"), store.OpenOptions{Dialect: w.Format(name)})
			w.Must(err)
			partThereAndBack(w, src, to, nil, folder)
			w.Must(src.Close())
		}
	}
}
