package codex_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/session"
)

// said is a line with a message.
func said(role, words string) string {
	kind := "input_text"
	if role == "assistant" {
		kind = "output_text"
	}
	return line("response_item", object{"type": text("message"), "role": text(role), "content": fmt.Appendf(nil, `[{"type":%q,"text":%q}]`, kind, words)}) + "\n"
}

// compacted is a line with a compaction. replacement "" means that it has none.
func compacted(summary, replacement string) string {
	payload := object{"message": text(summary)}
	if replacement != "" {
		payload["replacement_history"] = fmt.Appendf(nil, `[{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}]`, replacement)
	}
	return line("compacted", payload) + "\n"
}

// seenAt returns the messages of the context at an entry.
func seenAt(t *testing.T, tree *session.Tree, at session.EntryID) string {
	c, err := session.BuildContext(tree, at, session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d %s\n", m.Entry.Index, m.JSON)
	}
	return b.String()
}

// TestManyCompactions: the contexts of all compactions, and the models of all entries, together read each line only a few times. This
// holds even if no line says where a turn begins, or only the first one does, and if compactions have no replacement.
func TestManyCompactions(t *testing.T) {
	const compactions, turns = 100, 10
	start := line("event_msg", object{"type": text("task_started"), "turn_id": text("t0")}) + "\n"
	named := line("turn_context", object{"turn_id": text("t0"), "model": text("m")}) + "\n"
	for name, test := range map[string]struct{ first, each, replacement string }{
		"replacements":              {replacement: "so far"},
		"no replacements":           {},
		"replacements after a turn": {first: start + said("user", "begin"), each: named, replacement: "so far"},
	} {
		var b strings.Builder
		b.WriteString(header + "\n" + test.first)
		for k := range compactions {
			for range turns {
				b.WriteString(said("user", "hi") + said("assistant", "ho"))
			}
			b.WriteString(test.each + compacted(fmt.Sprint("summary ", k), test.replacement))
		}
		log := &counted{log: []byte(b.String())}
		builder := session.NewBuilder(name, log)
		if err := dialect.DecodeLog(codex.Codex.NewDecoder(builder), slices.Clone(log.log)); err != nil {
			t.Fatal(err)
		}
		tree := builder.Finish()
		log.reads = 0
		for i := range tree.Len() {
			if e := tree.At(i); e.Kind == session.KindCompaction {
				seenAt(t, tree, e.ID)
			}
		}
		var mark session.ModelMark
		for i := range tree.Len() {
			if _, err := tree.DefaultModel(tree.At(i).ID, &mark); err != nil {
				t.Fatal(err)
			}
		}
		if most := 10 * tree.Len(); log.reads > most {
			t.Errorf("%s: the contexts of %d compactions and the models of all entries took %d reads of %d lines, more than %d", name, compactions, log.reads, tree.Len(), most)
		}
	}
}

// TestReplayInAnyOrder: what the model sees at an entry does not depend on the contexts that were built before, nor on later
// lines.
func TestReplayInAnyOrder(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		starts := seed%2 == 0
		lines := []string{header + "\n"}
		event := func(typ string, payload object) string {
			payload["type"] = text(typ)
			return line("event_msg", payload) + "\n"
		}
		turn := func() object {
			if r.IntN(3) == 0 {
				return object{}
			}
			return object{"turn_id": text(fmt.Sprint("t", r.IntN(4)))}
		}
		for k := range 10 + r.IntN(30) {
			word := fmt.Sprint("word ", k)
			switch n := r.IntN(14); n {
			case 0:
				lines = append(lines, compacted(word, ""))
			case 1, 2:
				lines = append(lines, compacted(word, "history "+word))
			case 3:
				lines = append(lines, event("thread_rolled_back", object{"num_turns": fmt.Append(nil, r.IntN(3))}))
			case 4:
				if starts {
					lines = append(lines, event("task_started", turn()))
				}
			case 5:
				lines = append(lines, event([]string{"task_complete", "turn_aborted", "token_count", "user_message"}[r.IntN(4)], turn()))
			case 6:
				payload := turn()
				payload["model"] = text(fmt.Sprint("model ", k))
				lines = append(lines, line("turn_context", payload)+"\n")
			case 7:
				lines = append(lines, strings.Replace(said("user", word), `"timestamp"`, `"time"`, 1)) // a line that the program skips
			default:
				lines = append(lines, said([]string{"user", "assistant", "developer"}[n%3], word))
			}
		}
		whole := strings.Join(lines, "")
		tree, err := dialecttest.Decode(codex.Codex, "log", []byte(whole))
		if err != nil {
			t.Fatal(err)
		}
		var mark session.ModelMark
		for _, i := range append(r.Perm(tree.Len()), r.Perm(tree.Len())...) {
			alone, err := dialecttest.Decode(codex.Codex, "log", []byte(whole))
			if err != nil {
				t.Fatal(err)
			}
			at := tree.At(i).ID
			if got, want := seenAt(t, tree, at), seenAt(t, alone, at); got != want {
				t.Fatalf("seed %d, entry %s: after other contexts the model sees\n%s\nand otherwise\n%s\nof\n%s", seed, at, got, want, whole)
			}
			c, err := session.BuildContext(alone, at, session.ContextOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := tree.DefaultModel(at, &mark)
			if want, _ := c.DefaultModel(); err != nil || got.Model != want.Model {
				t.Fatalf("seed %d, entry %s: the model is %q (%v), and in its context %q", seed, at, got.Model, err, want.Model)
			}
		}
	}
}
