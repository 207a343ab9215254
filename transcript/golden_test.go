package transcript_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/transcript"
)

var update = flag.Bool("update-transcripts", false, "write the goldens of this package anew")

// goldens are the fixtures with golden transcripts: each has something that no other one has.
var goldens = []string{
	"claude/claude/parallel", "claude/claude/compaction", "claude/claude/compaction-kept-list", "claude/claude/sidechain-inside",
	"claude/claude/last-prompt-other-branch", "claude/claude/commands-and-errors", "claude/claude/blocks",
	"codex/codex/calls", "codex/codex/calls-open", "codex/codex/rolled-back", "codex/codex/compacted", "codex/codex/images",
	"pi/omp/branches", "pi/omp/kinds", "pi/omp/cycles", "pi/omp/child-before-parent", "pi/omp/duplicate-ids",
	"operator/operator/branches", "operator/operator/two-compactions", "operator/operator/dangling-calls",
	"wave/wave/blocks", "wave/wave/compact-twice", "wave/wave/subagent", "codelia/codelia/tools",
}

// open returns the document of a log, or nil if the log is not a session.
func open(t testing.TB, w *world.World, path string) *transcript.Document {
	t.Helper()
	s, err := w.Open(t.Context(), path, store.OpenOptions{})
	if errors.Is(err, store.ErrNotSession) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return transcript.New(s, nil)
}

func TestGolden(t *testing.T) {
	w := world.New(t)
	for _, pattern := range goldens {
		files, err := filepath.Glob("../dialect/" + strings.Replace(pattern, "/", "/testdata/", 1) + ".jsonl")
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no fixture", pattern)
		}
		for _, file := range files {
			name := filepath.Base(filepath.Dir(file)) + "-" + strings.TrimSuffix(filepath.Base(file), ".jsonl")
			t.Run(name, func(t *testing.T) { golden(t, open(t, w, file), name) })
		}
	}
}

func golden(t *testing.T, d *transcript.Document, name string) {
	var b strings.Builder
	win, err := d.Window(t.Context(), transcript.Request{})
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString(dump(win))
	rail, err := d.Rail(t.Context(), transcript.RailRequest{})
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n-- rail --\n" + dumpRail(rail))
	changes, err := d.Changes(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) > 0 {
		b.WriteString("\n-- changes --\n")
		for _, c := range changes {
			dumpEdit(&b, &c.Edit, "")
		}
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := dialecttest.Diff(string(want), b.String()); d != "" {
		t.Errorf("%s; go test ./transcript -run Golden -update-transcripts writes it anew:\n%s", path, d)
	}
}

// TestEveryFixture checks of all fixtures that each entry that speaks on a path is in exactly one block, whatever the size of
// the windows, and that paging gives the same blocks as one window.
func TestEveryFixture(t *testing.T) {
	w := world.New(t)
	files, _ := filepath.Glob("../dialect/*/testdata/*/*.jsonl")
	if len(files) < 100 {
		t.Fatalf("%d fixtures", len(files))
	}
	for _, file := range files {
		if strings.Contains(file, "refused") {
			continue
		}
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			d := open(t, w, file)
			if d == nil {
				return
			}
			leaves := []session.EntryID{d.Session().Leaf()}
			rail, err := d.Rail(t.Context(), transcript.RailRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rail.Rows {
				leaves = append(leaves, r.Link)
			}
			slices.Sort(leaves)
			for _, leaf := range slices.Compact(leaves) {
				checkPaging(t, d, leaf, allModes...)
			}
		})
	}
}

var allModes = []transcript.Mode{transcript.Everything, transcript.Focused, transcript.Model}

// checkPaging checks that windows of any size show the same blocks as one window.
func checkPaging(t *testing.T, d *transcript.Document, leaf session.EntryID, modes ...transcript.Mode) {
	t.Helper()
	for _, mode := range modes {
		whole := window(t, d, transcript.Request{Leaf: &leaf, Limit: 100000, Mode: mode})
		if whole.Earlier || whole.Later {
			t.Errorf("leaf %s, mode %d: the whole path has blocks before or after it", leaf, mode)
		}
		for _, limit := range []int{1, 3} {
			if mode == transcript.Model && longestRow(whole) > limit {
				continue // the messages of an entry stay together
			}
			forth := page(t, d, transcript.Request{Leaf: &leaf, Limit: limit, First: true, Mode: mode}, true)
			back := page(t, d, transcript.Request{Leaf: &leaf, Limit: limit, Mode: mode}, false)
			for name, got := range map[string][]transcript.Block{"forth": forth, "back": back} {
				v, w := *whole, *whole
				v.Problems, w.Problems, w.Blocks = nil, nil, got
				alike(v.Blocks, mode)
				alike(w.Blocks, mode)
				if diff := dialecttest.Diff(dump(&v), dump(&w)); diff != "" {
					t.Errorf("leaf %s, mode %d, %d blocks at a time, %s:\n%s", leaf, mode, limit, name, diff)
				}
			}
		}
	}
}

// alike removes what depends on the size of a window: a problem is reported with the first record that was read, an entry whose results
// belong to several blocks is found at its own block only if that is in the window, and small windows omit a fork far before a focused
// block.
func alike(list []transcript.Block, mode transcript.Mode) {
	own := map[session.EntryID]bool{}
	for i := range list {
		own[list[i].ID] = true
	}
	for i := range list {
		b := &list[i]
		b.Also = slices.DeleteFunc(b.Also, func(id session.EntryID) bool { return own[id] })
		if b.Problems = nil; mode == transcript.Focused {
			b.Fork = nil
		}
	}
}

// longestRow returns the largest number of consecutive blocks with the same place, or with none.
func longestRow(w *transcript.Window) (most int) {
	n := 0
	for i := range w.Blocks {
		if i > 0 && w.Blocks[i].Place == w.Blocks[i-1].Place {
			n++
		} else {
			n = 1
		}
		most = max(most, n)
		if w.Blocks[i].Place == "" {
			return len(w.Blocks)
		}
	}
	return most
}

// page collects the blocks of a path window by window.
func page(t *testing.T, d *transcript.Document, r transcript.Request, forth bool) (list []transcript.Block) {
	t.Helper()
	for range 3000 {
		w, err := d.Window(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if len(w.Blocks) > r.Limit && r.Mode != transcript.Model {
			t.Fatalf("%d blocks instead of %d", len(w.Blocks), r.Limit)
		}
		r.First, r.After, r.Before = false, "", ""
		if forth {
			list = append(list, w.Blocks...)
			if r.After = w.Last; !w.Later {
				return list
			}
		} else {
			list = append(append([]transcript.Block(nil), w.Blocks...), list...)
			if r.Before = w.First; !w.Earlier {
				return list
			}
		}
		if len(w.Blocks) == 0 {
			t.Fatalf("an empty window before the end: %+v", r)
		}
	}
	t.Fatal("paging does not end")
	return nil
}
