package convert_test

import (
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Several compactions that each keep everything do not make the converted session quadratically larger, and the model sees the same at its
// leaf.
func TestConvertRepeats(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	const records = 200
	i := slices.IndexFunc(gen.HostileLogs, func(h gen.Hostile) bool { return h.Name == "compactions" })
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", string(gen.HostileLogs[i].Log(records)))
	from := w.Format("omp")
	src := w.View(path, store.OpenOptions{Dialect: from})
	there := crossed(w, path, from, w.Format("wave"), folder())
	defer there.Close()
	if n := there.Tree().Len(); n > 2*records {
		t.Errorf("%d records became %d", records, n)
	}
	before, after := seenAt(w, src, src.Leaf()), seenAt(w, there, there.Leaf())
	if len(before) <= records/2 {
		t.Fatalf("only %d texts are seen", len(before))
	}
	if diff := sameSeen(before, after); diff != "" {
		t.Error(diff)
	}
}

// If there are more compactions than the limit allows, the last ones are converted and what precedes them is carried along: the model sees
// the same at the leaf, and nothing is lost on the way back.
func TestConvertManyCompactions(t *testing.T) { // not parallel: it changes a variable of the package
	const records = 200
	defer convert.SetMore(-64*records + 2000)()
	w, folder := inMemory(t)
	i := slices.IndexFunc(gen.HostileLogs, func(h gen.Hostile) bool { return h.Name == "compactions" })
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", string(gen.HostileLogs[i].Log(records)))
	from := w.Format("omp")
	src := w.View(path, store.OpenOptions{Dialect: from})
	for _, to := range []string{"codex", "gemini"} {
		there := crossed(w, path, from, w.Format(to), folder())
		defer there.Close()
		if diff := sameSeen(seenAt(w, src, src.Leaf()), seenAt(w, there, there.Leaf())); diff != "" {
			t.Errorf("%s: %s; want the same context", to, diff)
		}
		kept := 0
		for e := range there.Tree().Entries() {
			if e.Kind == session.KindCompaction {
				kept++
			}
		}
		if kept == 0 || kept >= records/2 {
			t.Errorf("%s: %d compactions, want some of %d", to, kept, records/2)
		}
		back := crossed(w, there.Path(), w.Format(to), from, folder())
		defer back.Close()
		if got := back.Tree().Len(); got != records {
			t.Errorf("%s: %d entries come back, want %d", to, got, records)
		}
	}
}

// A compaction may name a later entry as the first one that it keeps. It then keeps nothing, as in its own agent.
func TestConvertKeepsWhatComesLater(t *testing.T) {
	t.Parallel()
	const log = `{"type":"session","version":3,"id":"019cab00-0000-7000-8000-00000000000a","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/garden"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"user","content":"How deep?"}}
{"type":"compaction","id":"a2","parentId":"a1","timestamp":"2026-03-02T14:00:02.000Z","summary":"The pond was measured.","firstKeptEntryId":"a4","tokensBefore":100}
{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-03-02T14:00:03.000Z","message":{"role":"user","content":"And how wide?"}}
{"type":"message","id":"a4","parentId":"a3","timestamp":"2026-03-02T14:00:04.000Z","message":{"role":"user","content":"And how old?"}}
`
	w, folder := inMemory(t)
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", log)
	from := w.Format("omp")
	leaf := session.EntryID("a4")
	for _, to := range []string{"wave", "codex"} {
		if diff := convertedAt(w, path, from, w.Format(to), &leaf, folder()); diff != "" {
			t.Errorf("%s: %s; want the same context", to, diff)
		}
	}
}
