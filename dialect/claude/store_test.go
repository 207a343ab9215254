package claude_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// home is a store with a home and a clock of its own.
type home struct {
	*testing.T
	*treeline.Store
	dir string
	now time.Time
}

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{T: t, dir: t.TempDir(), now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	s, err := treeline.New(treeline.Options{Home: h.dir, WorkDir: h.dir, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	h.Store = s
	return h
}

func (h *home) write() treeline.WriteOptions {
	return treeline.WriteOptions{Clock: func() time.Time { h.now = h.now.Add(time.Second); return h.now }}
}

// begin creates a session.
func (h *home) begin() *treeline.Session {
	h.Helper()
	s, err := h.Create(h.Context(), treeline.CreateOptions{CWD: h.dir, Dialect: claude.Claude, Write: h.write()})
	h.must(err)
	h.Cleanup(func() { s.Close() })
	return s
}

// open opens a copy of a log for writing.
func (h *home) open(lines ...string) *treeline.Session {
	h.Helper()
	dir := filepath.Join(h.dir, ".claude", "projects", "-p")
	h.must(os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, "00000000-0000-4000-8000-000000000001.jsonl")
	h.must(os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	s, err := h.OpenWrite(h.Context(), path, treeline.CreateOptions{Write: h.write()})
	h.must(err)
	h.Cleanup(func() { s.Close() })
	return s
}

func (h *home) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *home) done(a treeline.Appended, err error) session.EntryID {
	h.Helper()
	h.must(err)
	return a.ID
}

func (h *home) user(s *treeline.Session, text string) session.EntryID {
	h.Helper()
	return h.done(s.AppendUser(h.Context(), text))
}

func (h *home) answer(s *treeline.Session, text string) session.EntryID {
	h.Helper()
	return h.done(s.AppendText(h.Context(), session.RoleAssistant, text))
}

// member holds the members of a line that the tests compare.
type member struct {
	Type, Subtype                           string
	UUID                                    string `json:"uuid"`
	ParentUUID                              *string
	LogicalParentUUID                       string
	LeafUUID                                string
	Explicit                                bool
	SessionID                               string
	CWD, Version, GitBranch, Slug, PromptID string
	SourceToolAssistantUUID                 string
	Timestamp                               time.Time
	IsCompactSummary                        bool
	CustomTitle, AgentName                  string
	ForkedFrom                              *struct{ SessionID, MessageUUID string }
	CompactMetadata                         struct {
		PreservedMessages struct {
			AnchorUUID string
			UUIDs      []string
		}
	}
	Message struct {
		ID, Role string
		Content  json.RawMessage
		Usage    *struct {
			Input int `json:"input_tokens"`
		}
	}
}

// lines reads a log.
func (h *home) lines(path string) (list []member) {
	h.Helper()
	log, err := os.ReadFile(path)
	h.must(err)
	for line := range bytes.Lines(log) {
		var m member
		h.must(json.Unmarshal(line, &m))
		list = append(list, m)
	}
	return list
}

// sees compares what the model sees in the log on disk: the texts, calls and results.
func (h *home) sees(path string, want ...string) {
	h.Helper()
	log, err := os.ReadFile(path)
	h.must(err)
	tree, err := dialecttest.Decode(claude.Claude, path, log)
	h.must(err)
	if diff := difftest.Diff(want, heard(h.T, tree)); diff != "" {
		h.Errorf("%s (-want +seen):\n%s", filepath.Base(path), diff)
	}
}

// heard returns the texts, calls and results that the model sees at the leaf.
func heard(t *testing.T, tree *session.Tree) (list []string) {
	t.Helper()
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range claude.Claude.MessageParts(m.JSON) {
			switch p := p.(type) {
			case session.Text:
				list = append(list, p.Text)
			case session.ToolCall:
				list = append(list, "call "+p.ID)
			case session.ToolResult:
				list = append(list, "result "+p.CallID)
			}
		}
	}
	return list
}

// A turn is written as the program writes it: one block per line, results as children of their calls, and the members of every line.
func TestTurn(t *testing.T) {
	h := newHome(t)
	ctx := t.Context()
	s := h.begin()
	path := s.Path()
	if !regexp.MustCompile(`/\.claude/projects/-[A-Za-z0-9-]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.jsonl$`).MatchString(filepath.ToSlash(path)) {
		t.Error(path)
	}
	h.user(s, "Dig.")
	_, err := s.AppendAssistant(ctx, []session.Part{
		session.Text{Text: "I dig."},
		session.ToolCall{ID: "t1", Name: "Dig", Arguments: session.Raw(`{"at":1}`)},
		session.ToolCall{ID: "t2", Name: "Dig", Arguments: session.Raw(`{"at":2}`)},
	}, treeline.Answer{Provider: "anthropic", Model: "claude-opus-4-6", Usage: &session.Usage{Input: 3}})
	h.must(err)
	for _, call := range []string{"t2", "t1"} {
		_, err := s.AppendToolResult(ctx, call, []session.Part{session.Text{Text: "out"}}, false)
		h.must(err)
	}
	h.answer(s, "Dug.")
	l := h.lines(path)[1:] // without the line that names the directory
	if len(l) != 7 {
		t.Fatalf("%d lines", len(l))
	}
	for i, parent := range []int{-1, 0, 1, 2, 3, 2, 5} { // the first result is that of the second call
		switch {
		case parent < 0 && l[i].ParentUUID != nil, parent >= 0 && (l[i].ParentUUID == nil || *l[i].ParentUUID != l[parent].UUID):
			t.Errorf("line %d hangs on %v", i, l[i].ParentUUID)
		}
		if l[i].SessionID != string(s.ID()) || l[i].CWD != s.CWD() || l[i].Version == "" || l[i].GitBranch != "HEAD" || l[i].Timestamp.IsZero() {
			t.Errorf("line %d: %+v", i, l[i])
		}
	}
	for i := 1; i < 4; i++ {
		if l[i].Message.ID != l[1].Message.ID || l[i].Message.Usage.Input != 3 {
			t.Errorf("line %d of the answer: %+v", i, l[i].Message)
		}
	}
	if l[6].Message.ID == l[1].Message.ID || l[4].SourceToolAssistantUUID != l[3].UUID || l[4].PromptID == "" || l[4].PromptID != l[0].PromptID {
		t.Errorf(`%+v; want l[6].Message.ID != %v, l[4].SourceToolAssistantUUID == %v, l[4].PromptID != "", l[4].PromptID == %v`, l[4], l[1].Message.ID, l[3].UUID, l[0].PromptID)
	}
	h.sees(path, "Dig.", "I dig.", "call t1", "call t2", "result t2", "result t1", "Dug.")
}

// branches is a log of another program. It has two branches, and the last-prompt line names the first.
var branches = []string{
	`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"one"},"uuid":"u1","timestamp":"2026-05-01T10:00:00.000Z","sessionId":"s","cwd":"/p","version":"2.1.300","gitBranch":"main","slug":"a-b-c"}`,
	`{"parentUuid":"u1","isSidechain":false,"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"first"}]},"uuid":"a1","timestamp":"2026-05-01T10:00:01.000Z","sessionId":"s","cwd":"/p","version":"2.1.300","gitBranch":"main","slug":"a-b-c"}`,
	`{"parentUuid":"u1","isSidechain":false,"type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"second"}]},"uuid":"a2","timestamp":"2026-05-01T13:00:02.000Z","sessionId":"s","cwd":"/p","version":"2.1.300","gitBranch":"main","slug":"a-b-c"}`,
	`{"type":"last-prompt","lastPrompt":"one","leafUuid":"a1","sessionId":"s"}`,
}

// After an append to a log with last-prompt lines, a new such line follows. Otherwise the program would go back to the old branch.
func TestLastPrompt(t *testing.T) {
	h := newHome(t)
	s := h.open(branches...)
	h.sees(s.Path(), "one", "first")
	h.must(second(s.Branch(t.Context(), "a2", treeline.BranchOptions{})))
	id := h.user(s, "two")
	l := h.lines(s.Path())
	if n := len(l); n != 6 || l[4].UUID != string(id) || l[5].Type != "last-prompt" || l[5].LeafUUID != string(id) || l[5].Explicit {
		t.Fatalf(`%+v; want n == 6, l[4].UUID == %v, l[5].Type == "last-prompt", l[5].LeafUUID == %v, not l[5].Explicit`, l[4:], string(id), string(id))
	}
	// A new line has the version, branch and slug of the last line of the program. No line is older than one before it.
	if m := l[4]; *m.ParentUUID != "a2" || m.Version != "2.1.300" || m.GitBranch != "main" || m.Slug != "a-b-c" || m.Timestamp.Before(l[2].Timestamp) {
		t.Errorf(`%+v; want *m.ParentUUID == "a2", m.Version == "2.1.300", m.GitBranch == "main", m.Slug == "a-b-c", not m.Timestamp.Before(l[2].Timestamp)`, m)
	}
	h.sees(s.Path(), "one", "second", "two", "No response requested.")
	// A log without such lines gets none.
	s = h.open(branches[:3]...)
	h.user(s, "two")
	if l := h.lines(s.Path()); len(l) != 4 {
		t.Errorf("%+v; want len(l) == 4", l[3:])
	}
}

func second[T any](_ T, err error) error { return err }

// A durable move of the leaf is an explicit last-prompt line.
func TestMove(t *testing.T) {
	h := newHome(t)
	ctx := t.Context()
	s := h.begin()
	h.user(s, "one")
	first := h.answer(s, "two")
	h.user(s, "three")
	h.answer(s, "four")
	h.must(second(s.Branch(ctx, first, treeline.BranchOptions{Durable: true})))
	l := h.lines(s.Path())
	if m := l[len(l)-1]; m.Type != "last-prompt" || !m.Explicit || m.LeafUUID != string(first) || m.SessionID != string(s.ID()) || s.Leaf() != first {
		t.Errorf("%+v, leaf %s", m, s.Leaf())
	}
	h.sees(s.Path(), "one", "two")
	h.user(s, "five")
	h.sees(s.Path(), "one", "two", "five", "No response requested.")
	label := h.done(s.Label(ctx, first, "here"))
	h.must(s.Rename(ctx, "Pond"))
	l = h.lines(s.Path())
	if n := len(l); l[n-3].Type != "treeline-label" || l[n-2].AgentName != "Pond" || l[n-1].CustomTitle != "Pond" || l[n-1].UUID != "" {
		t.Errorf(`%+v; want l[n-3].Type == "treeline-label", l[n-2].AgentName == "Pond", l[n-1].CustomTitle == "Pond", l[n-1].UUID == ""`, l[n-3:])
	}
	h.answer(s, "six")
	h.sees(s.Path(), "one", "two", "five", "six")
	if s.Tree().Label(first) != "here" {
		t.Error("the label is lost")
	}
	var refused *treeline.RefusedError
	if _, err := s.Branch(ctx, label, treeline.BranchOptions{}); !errors.As(err, &refused) {
		t.Errorf("the leaf was moved to a line beside the tree: %v", err)
	}
}

// A compaction becomes a boundary and a summary, and names what it keeps.
func TestCompaction(t *testing.T) {
	h := newHome(t)
	ctx := t.Context()
	s := h.begin()
	h.user(s, "one")
	early := h.answer(s, "two")
	kept := h.user(s, "three")
	last := h.answer(s, "four")
	h.done(s.Compact(ctx, session.Compaction{Summary: "SUMMARY", FirstKept: kept, TokensBefore: 7}))
	l := h.lines(s.Path())
	boundary, summary := l[len(l)-2], l[len(l)-1]
	k := boundary.CompactMetadata.PreservedMessages
	if boundary.Subtype != "compact_boundary" || boundary.ParentUUID != nil || boundary.LogicalParentUUID != string(last) ||
		!summary.IsCompactSummary || *summary.ParentUUID != boundary.UUID ||
		k.AnchorUUID != summary.UUID || !slices.Equal(k.UUIDs, []string{string(kept), string(last)}) {
		t.Errorf("%+v\n%+v; want boundary.Subtype == \"compact_boundary\", boundary.ParentUUID == nil, boundary.LogicalParentUUID == %v, summary.IsCompactSummary, *summary.ParentUUID == %v, k.AnchorUUID == %v, slices.Equal(k.UUIDs, []string{string(kept), string(last)})", boundary, summary, string(last), boundary.UUID, summary.UUID)
	}
	h.user(s, "five")
	h.sees(s.Path(), "SUMMARY\n", "three", "four", "five", "No response requested.")
	// The program forgets what stands before a compaction that keeps messages.
	if _, err := s.Branch(ctx, early, treeline.BranchOptions{Durable: true}); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("the leaf was moved to where the program does not follow: %v", err)
	}
	h.sees(s.Path(), "SUMMARY\n", "three", "four", "five", "No response requested.")
	h.must(s.BranchedSession(ctx, early))
	h.sees(s.Path(), "one", "two")
}

// A fork has the same uuids and parents, another session id, and a pointer to its source.
func TestFork(t *testing.T) {
	h := newHome(t)
	ctx := t.Context()
	s := h.open(branches...)
	id, before := string(s.ID()), h.lines(s.Path())
	h.must(s.Fork(ctx))
	after := h.lines(s.Path())
	if string(s.ID()) == id || len(after) != len(before) || s.Header().Parent != id {
		t.Fatalf("%d lines, parent %q", len(after), s.Header().Parent)
	}
	for i, m := range after {
		if m.SessionID != string(s.ID()) || m.UUID != before[i].UUID || difftest.Diff(m.ParentUUID, before[i].ParentUUID) != "" {
			t.Errorf("line %d: %+v", i, m)
		}
		if f := m.ForkedFrom; m.UUID != "" && (f == nil || f.SessionID != id || f.MessageUUID != m.UUID) {
			t.Errorf("line %d comes from %+v", i, f)
		}
	}
	h.sees(s.Path(), "one", "first")
	// A branched session has only the path.
	s = h.open(branches...)
	h.must(s.BranchedSession(ctx, "a2"))
	h.sees(s.Path(), "one", "second")
	if l := h.lines(s.Path()); len(l) != 2 || l[0].ForkedFrom == nil || l[1].ForkedFrom.MessageUUID != "a2" {
		t.Errorf(`%+v; want len(l) == 2, l[0].ForkedFrom != nil, l[1].ForkedFrom.MessageUUID == "a2"`, l)
	}
}

// What the format cannot express is refused, and nothing is written.
func TestUnsupported(t *testing.T) {
	h := newHome(t)
	ctx := t.Context()
	s := h.begin()
	h.user(s, "one")
	before := h.lines(s.Path())
	for name, err := range map[string]error{
		"model":    second(s.AppendModelChange(ctx, "", "a", "b")),
		"thinking": second(s.AppendThinkingLevelChange(ctx, "high")),
		"mode":     second(s.AppendModeChange(ctx, "plan", nil)),
	} {
		if !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%s: %v; want the error store.ErrUnsupported", name, err)
		}
	}
	for _, m := range []string{`{"role":"system","content":"x"}`, `{"role":"user"}`, `[]`, `{"role":"assistant","content":7}`} {
		if _, err := s.AppendMessage(ctx, []byte(m)); err == nil {
			t.Errorf("%s was written", m)
		}
	}
	if _, err := h.Create(ctx, treeline.CreateOptions{CWD: h.dir, Dialect: claude.Claude, ID: "not-a-uuid"}); err == nil {
		t.Error("a session that the program cannot resume was created")
	}
	if diff := difftest.Diff(before, h.lines(s.Path())); diff != "" {
		t.Error(diff)
	}
}

// A line of the program that is appended again keeps its members.
func TestAppendRecord(t *testing.T) {
	h := newHome(t)
	s := h.begin()
	h.user(s, "one")
	for _, line := range []string{
		`{"type":"user","message":{"role":"user","content":"two"},"promptSource":"typed","gitBranch":"topic","parentUuid":"x","uuid":"y"}`,
		`{"type":"system","subtype":"turn_duration","durationMs":12,"parentUuid":"x","uuid":"y"}`,
		`{"type":"attachment","attachment":{"type":"date","date":"2026-05-01"},"rendered":[{"content":"today"}],"renderedRole":"system","uuid":"y"}`,
		`{"type":"mode","mode":"plan"}`,
	} {
		if _, err := s.AppendRecord(t.Context(), []byte(line)); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		e := s.Tree().At(s.Tree().Len() - 1)
		raw, err := e.Raw()
		h.must(err)
		var got, want map[string]json.RawMessage
		h.must(json.Unmarshal(raw, &got))
		h.must(json.Unmarshal([]byte(line), &want))
		for key, value := range want {
			if key != "uuid" && key != "parentUuid" && !bytes.Equal(got[key], value) {
				t.Errorf("%s is %s in %s", key, got[key], raw)
			}
		}
		if string(got["uuid"]) == `"y"` || string(got["parentUuid"]) == `"x"` {
			t.Errorf("it kept its place: %s", raw)
		}
	}
}

// TestHistories makes random histories: after every step, the session shows what its log says.
func TestHistories(t *testing.T) {
	const steps = 40
	c := soaktest.Begin(t)
	for seed := range c.Rounds(12, 12) {
		h := newHome(t)
		rnd := rand.New(rand.NewPCG(c.Seed(uint64(seed)), 7))
		s := h.begin()
		if seed%3 == 0 {
			s = h.open(branches...)
		}
		calls := 0
		for step := range steps {
			ctx := t.Context()
			var err error
			target := session.EntryID("")
			if n := s.Tree().Len(); n > 0 {
				if e := s.Tree().At(rnd.IntN(n)); !e.Aside() {
					target = e.ID
				}
			}
			text := fmt.Sprint("step ", step)
			switch n := rnd.IntN(12); {
			case n < 3:
				_, err = s.AppendUser(ctx, text)
			case n < 5:
				_, err = s.AppendText(ctx, session.RoleAssistant, text)
			case n < 7:
				calls++
				id := fmt.Sprint("t", calls)
				_, err = s.AppendAssistant(ctx, []session.Part{session.Text{Text: text}, session.ToolCall{ID: id, Name: "Dig"},
					session.ToolCall{ID: id + "b", Name: "Dig"}}, treeline.Answer{})
				for _, call := range []string{id + "b", id} {
					if err == nil && rnd.IntN(5) > 0 {
						_, err = s.AppendToolResult(ctx, call, []session.Part{session.Text{Text: "out"}}, false)
					}
				}
			case n == 7 && target != "":
				_, err = s.Branch(ctx, target, treeline.BranchOptions{Durable: true})
			case n == 8 && target != "":
				_, err = s.Branch(ctx, target, treeline.BranchOptions{})
				if err == nil {
					_, err = s.AppendUser(ctx, text)
				}
			case n == 9 && target != "":
				_, err = s.Label(ctx, target, text)
			case n == 10:
				err = s.Rename(ctx, text)
			case n == 11 && s.Leaf() != "":
				path, _ := s.Tree().Path(s.Leaf())
				_, err = s.Compact(ctx, session.Compaction{Summary: text, FirstKept: path.At(rnd.IntN(path.Len())).ID})
			}
			if errors.Is(err, store.ErrUnsupported) { // the program would forget the entry
				h.must(s.Close())
				s, err = h.OpenWrite(ctx, s.Path(), treeline.CreateOptions{Write: h.write()})
			}
			if err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
			if s.Tree().Len() == 0 {
				continue
			}
			h.must(s.Flush(ctx))
			log, err := os.ReadFile(s.Path())
			h.must(err)
			tree, err := dialecttest.Decode(claude.Claude, "", log)
			h.must(err)
			if diff := difftest.Diff(heard(t, tree), heard(t, s.Tree())); diff != "" || tree.LeafID() != s.Leaf() || len(tree.Problems()) > 0 {
				t.Fatalf("seed %d, step %d: leaf %s in the log, %s in memory, problems %v\n%s", seed, step, tree.LeafID(), s.Leaf(), tree.Problems(), diff)
			}
		}
	}
}
