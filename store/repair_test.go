package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/store"
)

// writable gives a store that writes below a home of its own.
func writable(t testing.TB) (*store.Store, string) {
	t.Helper()
	home := t.TempDir()
	s, err := treeline.New(treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true})
	if err != nil {
		t.Fatal(err)
	}
	return s, home
}

// age makes a file look as if it had been there for long.
func age(t *testing.T, path string) {
	t.Helper()
	old := time.Now().Add(-3 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	age(t, path)
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const header = `{"type":"session","version":3,"id":"s1","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work"}`

// m is a message: m("b", "a") answers a.
func m(id, parent string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return `{"type":"message","id":"` + id + `","parentId":` + parent + `,"timestamp":"2026-03-02T14:00:00.000Z", "message":{"role":"user","content":"I am ` + id + `"},"x":1e2}`
}

func TestRepair(t *testing.T) {
	label := func(id, parent, target string) string {
		return `{"type":"label","id":"` + id + `","parentId":"` + parent + `","timestamp":"t","targetId":"` + target + `","label":"l"}`
	}
	for _, c := range []struct {
		name, log, want, aside string
		repairs                []string // kind@line, with ! where the log changes
		reattach               bool
	}{
		{"nothing is wrong", header + "\r\n\n  " + m("a", "null") + " \n", "", "", nil, false},
		{"glued", header + "\n" + m("a", "null") + m("b", "a") + "\n" + m("c", "b") + "\r\n",
			header + "\n" + m("a", "null") + "\n" + m("b", "a") + "\n" + m("c", "b") + "\r\n", "", []string{"glued@2!"}, false},
		{"glued to the header", header + m("a", "null") + "\n", header + "\n" + m("a", "null") + "\n", "", []string{"glued@1!"}, false},
		{"torn end", header + "\n" + m("a", "null") + "\n" + m("b", "a")[:40],
			header + "\n" + m("a", "null") + "\n", m("b", "a")[:40] + "\n", []string{"torn@3!"}, false},
		{"torn and glued", header + "\n" + m("a", "null")[:50] + m("b", "null") + "\n",
			header + "\n" + m("b", "null") + "\n", m("a", "null")[:50] + "\n", []string{"malformed@2!"}, false},
		{"no newline", header + "\n" + m("a", "null"), header + "\n" + m("a", "null") + "\n", "", []string{"no-newline@2!"}, false},
		{"malformed lines", header + "\nnonsense\n" + m("a", "null") + "\nnull\n[1]\n",
			header + "\n" + m("a", "null") + "\n", "nonsense\nnull\n[1]\n", []string{"malformed@2!", "not-object@4!", "not-object@5!"}, false},
		{"a second header", header + "\n" + m("a", "null") + "\n" + header + "\n",
			header + "\n" + m("a", "null") + "\n", header + "\n", []string{"second-header@3!"}, false},
		{"NUL bytes and a byte order mark", "\xef\xbb\xbf" + header + "\n" + m("a", "null") + "\n\x00\x00" + m("b", "a") + "\n\x00\x00\x00",
			header + "\n" + m("a", "null") + "\n" + m("b", "a") + "\n", "\xef\xbb\xbf\n\x00\x00\n\x00\x00\x00\n",
			[]string{"bom@1!", "nul-bytes@3!", "nul-bytes@4!"}, false},
		{"a title before the header", `{"type":"title","v":1,"title":"T","pad":"  "}` + "\n" + header + "\nx\n" + m("a", "null") + "\n",
			`{"type":"title","v":1,"title":"T","pad":"  "}` + "\n" + header + "\n" + m("a", "null") + "\n", "x\n", []string{"malformed@3!"}, false},
		{"an orphan", header + "\n" + m("a", "null") + "\n" + m("b", "gone") + "\n", "", "", []string{"orphan@3"}, false},
		{"an orphan, reattached", header + "\n" + m("z", "gone") + "\n" + m("a", "null") + "\n" + m("b", "gone") + "\n",
			header + "\n" + m("z", "null") + "\n" + m("a", "null") + "\n" + m("b", "a") + "\n", "", []string{"orphan@2!", "orphan@4!"}, true},
		{"an orphan that the entry before hangs on", header + "\n" + m("a", "b") + "\n" + m("b", "gone") + "\n", "", "", []string{"orphan@3"}, true},
		{"a cycle", header + "\n" + m("r", "null") + "\n" + m("a", "c") + "\n" + m("b", "a") + "\n" + m("c", "b") + "\n" + m("d", "c") + "\n",
			header + "\n" + m("r", "null") + "\n" + m("a", "null") + "\n" + m("b", "a") + "\n" + m("c", "b") + "\n" + m("d", "c") + "\n",
			"", []string{"cycle@3!"}, false},
		{"its own parent", header + "\n" + m("a", "a") + "\n", header + "\n" + m("a", "null") + "\n", "", []string{"cycle@2!"}, false},
		{"a cycle that a branch leads into", header + "\n" + m("d", "c") + "\n" + m("b", "c") + "\n" + m("c", "b") + "\n",
			header + "\n" + m("d", "c") + "\n" + m("b", "null") + "\n" + m("c", "b") + "\n", "", []string{"cycle@3!"}, false},
		{"a label on nothing", header + "\n" + m("a", "null") + "\n" + label("l", "a", "gone") + "\n", "", "", []string{"label-target@3"}, false},
		{"an id twice, which a child names", header + "\n" + m("a", "null") + "\n" + m("a", "null") + "\n" + m("b", "a") + "\n", "", "",
			[]string{"duplicate-id@2"}, false},
		{"an id twice, which a label names", header + "\n" + m("a", "null") + "\n" + m("a", "null") + "\n" + label("l", "null", "a") + "\n", "", "",
			[]string{"duplicate-id@2", "orphan@4"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, home := writable(t)
			path := filepath.Join(home, "dir", "s.jsonl")
			write(t, path, c.log)
			opt := store.RepairOptions{Reattach: c.reattach}
			plan, err := s.PlanRepair(t.Context(), path, opt)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range plan.Repairs {
				line := fmt.Sprintf("%s@%d", r.Kind, r.Line)
				if r.Change {
					line += "!"
				}
				got = append(got, line)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.repairs) {
				t.Errorf("repairs %v, want %v", got, c.repairs)
			}
			if now := read(t, path); now != c.log {
				t.Errorf("the plan changed the log:\n%s", now)
			}
			done, err := s.Repair(t.Context(), path, opt, store.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if want == "" {
				want = c.log
			}
			if now := read(t, path); now != want {
				t.Errorf("the log became\n%swant\n%s", now, want)
			}
			if c.want == "" {
				if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
					t.Errorf("made without a change: %v", entries)
				}
				return
			}
			if b := read(t, done.Backup); b != c.log || !strings.HasPrefix(done.Backup, path+".repair-") || !strings.HasSuffix(done.Backup, ".bak") {
				t.Errorf("the backup %s is\n%s", done.Backup, b)
			}
			if c.aside != "" {
				if a := read(t, done.Aside); a != c.aside || !strings.HasPrefix(done.Aside, path+".torn-") {
					t.Errorf("moved to %s is %q, want %q", done.Aside, a, c.aside)
				}
			} else if done.Aside != "" {
				t.Errorf("moved to %s is %q", done.Aside, read(t, done.Aside))
			}
			again, err := s.PlanRepair(t.Context(), path, opt)
			if err != nil || again.Changes() != 0 {
				t.Errorf("after the repair there is %+v, %v", again, err)
			}
		})
	}
}

// An id that nothing names is changed in the earlier entry; one that is missing is written down as it was shown.
func TestRepairIDs(t *testing.T) {
	s, home := writable(t)
	path := filepath.Join(home, "s.jsonl")
	noID := `{"type":"message","parentId":"b","timestamp":"t","message":{"role":"user","content":"who"}}`
	write(t, path, header+"\n"+m("a", "null")+"\n"+m("a", "null")+"\n"+m("b", "null")+"\n"+noID+"\n")
	before, err := s.Open(t.Context(), path, store.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	shown := before.Tree().At(3).ID
	if _, err := s.Repair(t.Context(), path, store.RepairOptions{}, store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	after, err := s.Open(t.Context(), path, store.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	tree := after.Tree()
	if p := tree.Problems(); len(p) != 0 {
		t.Errorf("problems are left: %v", p)
	}
	if first := tree.At(0).ID; len(first) != 8 || tree.At(1).ID != "a" || tree.At(3).ID != shown {
		t.Errorf("the ids are %s, %s, %s", first, tree.At(1).ID, tree.At(3).ID)
	}
	raw, err := tree.At(0).Raw()
	if want := strings.Replace(m("a", "null"), `"id":"a"`, `"id":"`+string(tree.At(0).ID)+`"`, 1); err != nil || string(raw) != want {
		t.Errorf("the entry became %s, want %s", raw, want)
	}
}

// Version 1 counts records: taking one out would make a compaction mean another.
func TestRepairOldVersion(t *testing.T) {
	s, home := writable(t)
	path := filepath.Join(home, "s.jsonl")
	v1 := `{"type":"session","id":"s1","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work"}` + "\n[]\n" +
		`{"type":"message","timestamp":"t","message":{"role":"user","content":"one"}}` + "\n" +
		`{"type":"message","timestamp":"t","message":{"role":"user","content":"two"}}` + "\n" +
		`{"type":"compaction","timestamp":"t","summary":"S","firstKeptEntryIndex":3,"tokensBefore":1}` + "\n"
	write(t, path, v1)
	messages := func() (list []string) {
		sess, err := s.Open(t.Context(), path, store.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer sess.Close()
		c, err := sess.Context(t.Context(), sess.Leaf(), store.ContextOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for m, err := range c.Messages() {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, string(m.JSON))
		}
		return list
	}
	before := messages()
	plan, err := s.Repair(t.Context(), path, store.RepairOptions{}, store.WriteOptions{})
	if err != nil || plan.Changes() != 2 || plan.Repairs[0].Kind != store.RepairVersion {
		t.Fatalf("%+v, %v", plan, err)
	}
	if after := messages(); len(before) != 2 || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the context was %v, is %v", before, after)
	}
	if now := read(t, path); !strings.Contains(now, `"version":3`) || !strings.Contains(now, "firstKeptEntryId") {
		t.Errorf("it is %s", now)
	}
}

func TestRepairRefuses(t *testing.T) {
	s, home := writable(t)
	for name, log := range map[string]string{
		"newer.jsonl":  strings.Replace(header, `"version":3`, `"version":9`, 1) + "\nx\n",
		"broken.jsonl": "no header\n" + m("a", "null") + "\n",
	} {
		path := filepath.Join(home, name)
		write(t, path, log)
		if _, err := s.Repair(t.Context(), path, store.RepairOptions{}, store.WriteOptions{}); err == nil {
			t.Errorf("%s was repaired", name)
		}
		if now := read(t, path); now != log {
			t.Errorf("%s became %q", name, now)
		}
	}
	if _, err := s.PlanRepair(t.Context(), filepath.Join(home, "nosuch.jsonl"), store.RepairOptions{}); err == nil {
		t.Error("there is a plan for no file")
	}
}
