package claude_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/session"
)

// entry is a line of a conversation with a time ms after that of the first.
func entry(id, parent, text string, ms int) string {
	role, content := "user", fmt.Sprintf("%q", text)
	if id[0] == 'a' {
		role, content = "assistant", fmt.Sprintf(`[{"type":"text","text":%q}]`, text)
	}
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	at := time.UnixMilli(1777629600000 + int64(ms)).UTC().Format("2006-01-02T15:04:05.000Z")
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"type":%q,"message":{"id":"m-%s","role":%q,"content":%s},"uuid":%q,"timestamp":%q,"sessionId":"s","cwd":"/p"}`,
		parent, role, id, role, content, id, at)
}

// leafLine names the leaf.
func leafLine(id string) string {
	return fmt.Sprintf(`{"type":"last-prompt","leafUuid":%q,"sessionId":"s"}`, id)
}

// A repair brings back what the program loses, and changes nothing else.
func TestRepair(t *testing.T) {
	one, two := entry("u1", "null", "one", 0), entry("a1", "u1", "two", 1000)
	three, four := entry("u2", "a1", "three", 60_000), entry("a2", "u2", "four", 61_000)
	all := []string{"one", "two", "three", "four"}
	for _, test := range []struct {
		name   string
		log    string
		before []string
		kinds  []session.ProblemKind // the problems that check reports
		kept   []string              // lines that must not change
	}{
		{"glued", lines(one, two+three, four), []string{"four"}, []session.ProblemKind{session.ProblemGlued, session.ProblemUnseen, session.ProblemUnseen}, []string{one, two, three, four}},
		{"torn and glued", lines(one, two, three[:40]+three, four), nil, nil, []string{one, two, three, four}},
		{"torn tail", lines(one, two, three) + four[:len(four)/2], nil, nil, []string{one, two, three}},
		{"torn tail, no newline", strings.TrimSuffix(lines(one, two, three, four), "\n"), all, nil, []string{one, two, three, four}},
		{"lost parent", lines(one, two, entry("u2", "gone", "three", 60_000), four), []string{"three", "four"},
			[]session.ProblemKind{session.ProblemOrphan, session.ProblemUnseen}, []string{one, two, four}},
		{"lost parent, bridged", lines(one, two, entry("u2", "gone", "three", 2000), four), all, []session.ProblemKind{session.ProblemOrphan}, []string{one, two, four}},
		{"wrong branch", lines(one, two, entry("u3", "u1", "beside", 58_000), entry("u2", "a1", "three", 1500), entry("a2", "gone", "four", 60_000)),
			[]string{"one\n", "beside", "four"}, nil, nil},
		{"own parent", lines(one, two, entry("u2", "u2", "three", 60_000), four), []string{"three", "four"}, nil, []string{one, two, four}},
		{"old leaf", lines(one, two, leafLine("a1"), entry("u2", "u1", "three", 60_000), entry("a2", "u2", "four", 61_000)), []string{"one", "two"},
			[]session.ProblemKind{session.ProblemUnseen}, []string{one, two}},
		{"no time", lines(one, two, three, strings.Replace(four, `"timestamp":"`, `"time":"`, 1)), nil, []session.ProblemKind{session.ProblemRefused}, []string{one, two, three}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHome(t)
			path := h.dir + "/log.jsonl"
			h.must(os.WriteFile(path, []byte(test.log), 0o600))
			h.must(os.Chtimes(path, h.now, h.now)) // a repair waits until a log is no longer being written
			if test.before != nil {
				h.sees(path, test.before...)
			}
			if test.kinds != nil {
				if diff := difftest.Diff(test.kinds, h.kinds(path)); diff != "" {
					t.Errorf("check (-want +got):\n%s", diff)
				}
			}
			plan, err := h.PlanRepair(t.Context(), path, treeline.RepairOptions{})
			h.must(err)
			if log, err := os.ReadFile(path); err != nil || string(log) != test.log || plan.Changes() == 0 {
				t.Errorf("the plan changed the log, or nothing is planned: %v, %+v", err, plan.Repairs)
			}
			_, err = h.Repair(t.Context(), path, treeline.RepairOptions{})
			h.must(err)
			want := all
			switch test.name {
			case "torn tail":
				want = []string{"one", "two", "three", "No response requested."}
			case "wrong branch":
				want = []string{"one", "two", "three", "four"}
			case "old leaf":
				want = []string{"one\n", "three", "four"}
			}
			h.sees(path, want...)
			if kinds := h.kinds(path); len(kinds) > 0 {
				t.Errorf("check still says %v", kinds)
			}
			log, err := os.ReadFile(path)
			h.must(err)
			for _, line := range test.kept {
				if !slices.Contains(strings.Split(string(log), "\n"), line) {
					t.Errorf("%s changed:\n%s", line, log)
				}
			}
			again, err := h.PlanRepair(t.Context(), path, treeline.RepairOptions{})
			if err != nil || again.Changes() > 0 {
				t.Errorf("a second repair: %v, %+v", err, again.Repairs)
			}
		})
	}
}

func lines(list ...string) string { return strings.Join(list, "\n") + "\n" }

// kinds returns the problems that check reports for a log.
func (h *home) kinds(path string) (kinds []session.ProblemKind) {
	h.Helper()
	s, err := h.Open(h.Context(), path, treeline.OpenOptions{})
	h.must(err)
	defer s.Close()
	problems, err := h.Check(h.Context(), s)
	h.must(err)
	for _, p := range problems {
		kinds = append(kinds, p.Kind)
	}
	return kinds
}

// TestCheck breaks rules of the program beside the path to the leaf.
func TestCheck(t *testing.T) {
	call := `{"parentUuid":"u1","isSidechain":false,"type":"assistant","message":{"id":"m-a1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Dig","input":{}}]},"uuid":"a1","timestamp":"2026-05-01T10:00:01.000Z","sessionId":"s"}`
	result := `{"parentUuid":"a1","isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"%s","content":"x"}]},"uuid":"r1","timestamp":"2026-05-01T10:00:02.000Z","sessionId":"s"}`
	one := entry("u1", "null", "one", 0)
	boundary := `{"parentUuid":null,"logicalParentUuid":"u1","isSidechain":false,"type":"system","subtype":"compact_boundary","content":"","uuid":"b1","timestamp":"2026-05-01T10:00:03.000Z","sessionId":"s"}`
	for _, test := range []struct {
		name, file, log, want string
	}{
		{"healthy", "00000000-0000-4000-8000-000000000001", lines(one, call, fmt.Sprintf(result, "t1"), leafLine("r1")), ""},
		{"running call", "00000000-0000-4000-8000-000000000001", lines(one, call), ""},
		{"name", "my-session", lines(one), `0 field: the file is named "my-session.jsonl"`},
		{"unknown leaf", "00000000-0000-4000-8000-000000000001", lines(one, leafLine("gone")), `2 leaf-target: the last-prompt line names entry "gone"`},
		{"abandoned call", "00000000-0000-4000-8000-000000000001", lines(one, call, entry("u2", "a1", "x", 3000), entry("u3", "u1", "y", 4000)), `2 unseen: the call "t1" has no result`},
		{"result of no call", "00000000-0000-4000-8000-000000000001", lines(one, call, fmt.Sprintf(result, "t9"), entry("u3", "u1", "y", 4000)), `3 unseen: no entry has the call "t9"`},
		{"same id", "00000000-0000-4000-8000-000000000001", lines(one, entry("a1", "u1", "x", 1), entry("a1", "u1", "y", 2)), `3 duplicate-id: `},
		{"large", "00000000-0000-4000-8000-000000000001", lines(one, boundary, entry("u5", "b1", strings.Repeat("x", 6<<20), 4000), entry("u2", "u1", "y", 5000), entry("u6", "u5", "z", 6000)),
			`4 unseen: the file is larger than 5 MiB`},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHome(t)
			dir := h.dir + "/.claude/projects/-p"
			h.must(os.MkdirAll(dir, 0o700))
			path := dir + "/" + test.file + ".jsonl"
			h.must(os.WriteFile(path, []byte(test.log), 0o600))
			s, err := h.Open(t.Context(), path, treeline.OpenOptions{})
			h.must(err)
			defer s.Close()
			problems, err := h.Check(t.Context(), s)
			h.must(err)
			var got []string
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%d %s: %s", p.Line, p.Kind, p.Message))
				if p.Advice == "" {
					t.Errorf("%s has no advice", p)
				}
			}
			if test.want == "" && got != nil || test.want != "" && (len(got) == 0 || !strings.HasPrefix(got[0], test.want)) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestCheckCorpus: check reports nothing about the sessions that the program wrote.
func TestCheckCorpus(t *testing.T) {
	dir := dialecttest.Corpus(t, "claude")
	for _, name := range []string{"real-agent", "real-compact", "real-fork-child", "real-parallel", "real-rewind", "real-tools"} {
		h := newHome(t)
		log, err := os.ReadFile(dir + "/" + name + ".jsonl")
		h.must(err)
		path := h.dir + "/log.jsonl"
		h.must(os.WriteFile(path, log, 0o600))
		if kinds := h.kinds(path); len(kinds) > 0 {
			t.Errorf("%s: %v; want len(kinds) <= 0", name, kinds)
		}
		plan, err := h.PlanRepair(t.Context(), path, treeline.RepairOptions{})
		if err != nil || plan.Changes() > 0 {
			t.Errorf("%s: %v, %+v; want no error, plan.Changes() <= 0", name, err, plan.Repairs)
		}
		tree, err := dialecttest.Decode(claude.Claude, name, log)
		if err != nil || tree.Len() == 0 {
			t.Error(err)
		}
	}
}

// All entries beside the path to the leaf that have lost their parents are linked in one step, however many there are.
func TestMendManyOrphans(t *testing.T) {
	const n = 20_000
	list := []string{entry("u1", "null", "one", 0), entry("a1", "u1", "two", 1000)}
	for k := range n {
		list = append(list, entry(fmt.Sprint("u9", k), fmt.Sprint("gone", k), "lost", 60_000*k))
	}
	list = append(list, leafLine("a1"))
	tree, err := dialecttest.Decode(claude.Claude, "log", []byte(lines(list...)))
	if err != nil {
		t.Fatal(err)
	}
	mends := tree.Codec().EntryCodec.(dialect.Mender).Mends(tree)
	for k, m := range mends {
		if want := fmt.Sprintf("its parent becomes %s (line %d)", tree.At(k+1).ID, k+2); m.Entry != k+2 || m.Action != want {
			t.Fatalf("entry %d: %s; want entry %d: %s", m.Entry, m.Action, k+2, want)
		}
	}
	if len(mends) != n {
		t.Errorf("%d of %d orphans are linked", len(mends), n)
	}
}
