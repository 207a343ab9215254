package demo

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

var noon = time.Date(2026, 3, 24, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// machine writes the demo and opens it.
func machine(t *testing.T) (*treeline.Store, []treeline.Row) {
	t.Helper()
	dir := t.TempDir()
	if err := Write(t.Context(), dir, clock, all.Drivers()...); err != nil {
		t.Fatal(err)
	}
	s, err := treeline.New(Machine(dir, clock, all.Drivers()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	rows, err := s.Catalogue(t.Context(), treeline.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s, rows
}

func TestWrite(t *testing.T) {
	s, rows := machine(t)
	t.Run("machine", func(t *testing.T) { checkMachine(t, s, rows) })
	t.Run("prices", func(t *testing.T) { checkPrices(t, s, rows) })
	t.Run("kin", func(t *testing.T) { checkKin(t, s, rows) })
}

// checkMachine checks that all agents are there, and only the one intended problem.
func checkMachine(t *testing.T, s *treeline.Store, rows []treeline.Row) {
	agents, projects, problems := map[string]int{}, map[string]bool{}, 0
	for _, r := range rows {
		open, err := s.Open(t.Context(), r.Path, store.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		agents[open.Dialect().Name()]++
		projects[r.Summary.CWD] = true
		list, err := s.Check(t.Context(), open)
		if err != nil {
			t.Error(err)
		}
		for _, p := range list {
			if problems++; p.Kind != session.ProblemTorn {
				t.Errorf("%s: %v; want p.Kind == session.ProblemTorn", r.Path, p)
			}
		}
		if err := open.Close(); err != nil {
			t.Error(err)
		}
		if r.Dialect.Name() == "codelia-state" { // the times in its database are the machine's
			continue
		}
		if age := noon.Sub(r.Log.Time); age < 0 || age > 22*24*time.Hour {
			t.Errorf("%s was written at %v", r.Path, r.Log.Time)
		}
	}
	want := map[string]int{"omp": 4, "pi": 2, "claude": 4, "codex": 2, "operator": 1, "wave": 1, "codelia-state": 1,
		"gemini": 1, "qwen": 1, "copilot": 1, "opencode": 1, "goose": 1, "crush": 1}
	if diff := difftest.Diff(want, agents); diff != "" {
		t.Error(diff)
	}
	if len(projects) != 3 || problems != 1 {
		t.Errorf("%d projects and %d problems, not 3 and 1", len(projects), problems)
	}
	runs, err := s.Runs(t.Context(), treeline.RunListOptions{})
	if err != nil || len(runs) != 2 {
		t.Errorf("%d runs, not 2: %v", len(runs), err)
	}
}

// checkPrices checks the contents of the main session.
func checkPrices(t *testing.T, s *treeline.Store, rows []treeline.Row) {
	k := slices.IndexFunc(rows, func(r treeline.Row) bool { return r.Summary.Title == "Prices are off by a cent" })
	if k < 0 {
		t.Fatal("the session is missing")
	}
	open, err := s.Open(t.Context(), rows[k].Path, store.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	tree := open.Tree()
	seen := map[string]int{}
	for i := range tree.Len() {
		e := tree.At(i)
		if e.Kind == session.KindCompaction {
			seen["compaction"]++
		}
		if tree.Label(e.ID) != "" {
			seen["label"]++
		}
		parts, err := e.Parts()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			switch p := p.(type) {
			case session.Thinking:
				seen["thinking"]++
			case session.Image:
				seen["image"]++
			case session.ToolCall:
				seen[p.Name]++
			case session.ToolResult:
				if p.IsError {
					seen["failure"]++
				}
			}
		}
	}
	want := map[string]int{"compaction": 1, "label": 1, "thinking": 3, "image": 1, "failure": 1, "grep": 1, "read": 1, "edit": 3, "write": 1, "bash": 3}
	if diff := difftest.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if n, cost := tree.Tips(), rows[k].Known.Cost; n != 2 || cost < 0.05 || cost > 2 {
		t.Errorf("%d branches for $%.2f", n, cost)
	}
}

// checkKin checks the sub-agents, which name the call that began them and are named by its result, and the fork, which names its source.
func checkKin(t *testing.T, s *treeline.Store, rows []treeline.Row) {
	children, forks, named := 0, 0, map[session.ID]string{} // the call whose result names a session
	for _, r := range rows {
		open, err := s.Open(t.Context(), r.Path, store.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for e := range open.Tree().Entries() {
			parts, err := e.Parts()
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				if r, ok := p.(session.ToolResult); ok && r.Session != "" {
					named[r.Session] = r.CallID
				}
			}
		}
		_ = open.Close()
	}
	for _, r := range rows {
		open, err := s.Open(t.Context(), r.Path, store.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		h := open.Header()
		if strings.HasPrefix(h.Call, "toolu_") && named[h.ID] == h.Call {
			children++
		} else if h.Parent != "" {
			forks++
		}
		_ = open.Close()
	}
	if children != 2 || forks != 1 || len(named) != 2 {
		t.Errorf("%d sub-agents, %d named, and %d forks, not 2, 2 and 1", children, len(named), forks)
	}
}

// rowLogs returns the names of the sessions in databases except codelia's, with their times and entries.
func rowLogs(t *testing.T, dir string) (names []string) {
	t.Helper()
	s, err := treeline.New(Machine(dir, clock, all.Drivers()...))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows, err := s.Catalogue(t.Context(), treeline.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if _, err := os.Stat(r.Path); err == nil || r.Dialect.Name() == "codelia-state" {
			continue
		}
		open, err := s.Open(t.Context(), r.Path, store.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(r.Path) + " " + r.Log.Time.UTC().String()
		for e := range open.Tree().Entries() {
			name += " " + string(e.ID)
		}
		names = append(names, name)
		_ = open.Close()
	}
	if len(names) != 3 {
		t.Errorf("%d sessions in databases, not 3", len(names))
	}
	return names
}

// The same clock produces the same files, except for the name of Wave's file: a UUIDv6, which is unique.
func TestSame(t *testing.T) {
	logs := func() map[string]string {
		dir, found := t.TempDir(), map[string]string{}
		if err := Write(t.Context(), dir, clock, all.Drivers()...); err != nil {
			t.Fatal(err)
		}
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".jsonl" {
				var b []byte
				b, err = os.ReadFile(path)
				rel, _ := filepath.Rel(dir, path)
				if strings.HasPrefix(rel, ".wave") {
					rel = filepath.Dir(rel)
				}
				found[rel] = strings.ReplaceAll(string(b), dir, "HOME")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range rowLogs(t, dir) {
			found[name] = name
		}
		return found
	}
	if diff := difftest.Diff(logs(), logs()); diff != "" {
		t.Error(diff)
	}
}

// README.md and the guide use the sessions of the demo in their examples, so their ids must be the same whenever the demo is written.
func TestIDsOfTheDocuments(t *testing.T) {
	dir := t.TempDir()
	later := func() time.Time { return noon.AddDate(1, 2, 3) }
	if err := Write(t.Context(), dir, later, all.Drivers()...); err != nil {
		t.Fatal(err)
	}
	s, err := treeline.New(Machine(dir, later, all.Drivers()...))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows, err := s.Catalogue(t.Context(), treeline.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"README.md", "docs/guide.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		used := regexp.MustCompile(`(?m)^\$ treeline .*?\b([0-9a-f]{8})\b`).FindAllSubmatch(text, -1)
		if len(used) < 3 {
			t.Errorf("%s: %d commands with an id, not 3 or more", file, len(used))
		}
		for _, m := range used {
			if !slices.ContainsFunc(rows, func(r treeline.Row) bool { return strings.HasPrefix(string(r.ID), string(m[1])) }) {
				t.Errorf("%s: %s: the demo has no session %s", file, m[0], m[1])
			}
		}
	}
}

func TestStoriesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"agnet: omp\n":             `line 1: unknown name "agnet"`,
		"agent: omp\n\n@\n":        "line 3: a step without a verb",
		"agent: omp\nwhen: today":  "line 2: expected integer",
		"agent: omp\n\n@call x\ny": "line 4: not an argument",
	} {
		st, err := parse(text)
		if err == nil {
			_, err = st.steps[0].arguments()
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, not %s", text, err, want)
		}
	}
}
