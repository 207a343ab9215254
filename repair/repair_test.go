package repair

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// bench is a world with a Repairer.
type bench struct {
	*world.World
	*Repairer
	noted []string // the paths that were noted
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{World: world.New(t)}
	b.Repairer = New(b.Store.Machine, func(_ context.Context, path string) error {
		b.noted = append(b.noted, path)
		return nil
	})
	return b
}

func (b *bench) read(path string) string {
	b.Helper()
	content, err := os.ReadFile(path)
	b.Must(err)
	return string(content)
}

// open reads a log into a tree.
func (b *bench) open(path string) *logtree.Log {
	b.Helper()
	l, err := b.m.Locate(path)
	b.Must(err)
	log, err := b.m.OpenLog(b.Context(), l, nil)
	b.Must(err)
	b.Cleanup(func() { log.Close() })
	return log
}

const header = `{"type":"session","version":3,"id":"s1","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work"}`

// m returns a message: m("b", "a") answers a.
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
		repairs                []string // kind@line, with ! if the log changes
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
		{"an orphan that the entry before descends from", header + "\n" + m("a", "b") + "\n" + m("b", "gone") + "\n", "", "", []string{"orphan@3"}, true},
		{"a cycle", header + "\n" + m("r", "null") + "\n" + m("a", "c") + "\n" + m("b", "a") + "\n" + m("c", "b") + "\n" + m("d", "c") + "\n",
			header + "\n" + m("r", "null") + "\n" + m("a", "null") + "\n" + m("b", "a") + "\n" + m("c", "b") + "\n" + m("d", "c") + "\n",
			"", []string{"cycle@3!"}, false},
		{"its own parent", header + "\n" + m("a", "a") + "\n", header + "\n" + m("a", "null") + "\n", "", []string{"cycle@2!"}, false},
		{"a cycle that a branch leads into", header + "\n" + m("d", "c") + "\n" + m("b", "c") + "\n" + m("c", "b") + "\n",
			header + "\n" + m("d", "c") + "\n" + m("b", "null") + "\n" + m("c", "b") + "\n", "", []string{"cycle@3!"}, false},
		{"a label on nothing", header + "\n" + m("a", "null") + "\n" + label("l", "a", "gone") + "\n", "", "", []string{"label-target@3"}, false},
		{"a duplicate id that a child mentions", header + "\n" + m("a", "null") + "\n" + m("a", "null") + "\n" + m("b", "a") + "\n", "", "",
			[]string{"duplicate-id@2"}, false},
		{"a duplicate id that a label mentions", header + "\n" + m("a", "null") + "\n" + m("a", "null") + "\n" + label("l", "null", "a") + "\n", "", "",
			[]string{"duplicate-id@2", "orphan@4"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			path := b.Old("dir/s.jsonl", c.log)
			opt := Options{Reattach: c.reattach}
			plan, err := b.Plan(t.Context(), path, opt)
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
			if now := b.read(path); now != c.log {
				t.Errorf("the plan changed the log:\n%s", now)
			}
			done, err := b.Repair(t.Context(), path, opt)
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if want == "" {
				want = c.log
			}
			if now := b.read(path); now != want {
				t.Errorf("the log became\n%swant\n%s", now, want)
			}
			if c.want == "" {
				if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 || len(b.noted) > 0 {
					t.Errorf("made without a change: %v, noted %v", entries, b.noted)
				}
				return
			}
			if len(b.noted) != 1 || b.noted[0] != path {
				t.Errorf("noted %v", b.noted)
			}
			if was := b.read(done.Backup); was != c.log || !strings.HasPrefix(done.Backup, path+".repair-") || !strings.HasSuffix(done.Backup, ".bak") {
				t.Errorf("the backup %s is\n%s", done.Backup, was)
			}
			if c.aside != "" {
				if a := b.read(done.Aside); a != c.aside || !strings.HasPrefix(done.Aside, path+".torn-") {
					t.Errorf("moved to %s is %q, want %q", done.Aside, a, c.aside)
				}
			} else if done.Aside != "" {
				t.Errorf("moved to %s is %q", done.Aside, b.read(done.Aside))
			}
			again, err := b.Plan(t.Context(), path, opt)
			if err != nil || again.Changes() != 0 {
				t.Errorf("after the repair there is %+v, %v", again, err)
			}
		})
	}
}

// An id that nothing mentions is changed in the earlier entry. A missing id is written down as the reader derived it.
func TestRepairIDs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	noID := `{"type":"message","parentId":"b","timestamp":"t","message":{"role":"user","content":"who"}}`
	path := b.Old("s.jsonl", header+"\n"+m("a", "null")+"\n"+m("a", "null")+"\n"+m("b", "null")+"\n"+noID+"\n")
	shown := b.open(path).Tree.At(3).ID
	if _, err := b.Repair(t.Context(), path, Options{}); err != nil {
		t.Fatal(err)
	}
	tree := b.open(path).Tree
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

// Damage in every entry costs a few passes through the log, not one pass for each.
func TestRepairMuchDamage(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for name, entry := range map[string]func(i int) string{
		"equal ids": func(int) string { return m("a", "null") },
		"orphans":   func(i int) string { return m(fmt.Sprint("e", i), fmt.Sprint("gone", i)) },
	} {
		b := newBench(t)
		log := []byte(header + "\n")
		for i := range n {
			log = append(append(log, entry(i)...), '\n')
		}
		plan, err := b.Plan(t.Context(), b.Old("s.jsonl", string(log)), Options{Reattach: true})
		if err != nil || plan.Changes() < n-1 {
			t.Errorf("%s: %v; want no error, plan.Changes() >= %v", name, err, n-1)
		}
	}
}

// Version 1 refers to records by number: removing one would make a compaction refer to another record.
func TestRepairOldVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v1 := `{"type":"session","id":"s1","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work"}` + "\n[]\n" +
		`{"type":"message","timestamp":"t","message":{"role":"user","content":"one"}}` + "\n" +
		`{"type":"message","timestamp":"t","message":{"role":"user","content":"two"}}` + "\n" +
		`{"type":"compaction","timestamp":"t","summary":"S","firstKeptEntryIndex":3,"tokensBefore":1}` + "\n"
	path := b.Old("s.jsonl", v1)
	messages := func() (list []string) {
		tree := b.open(path).Tree
		c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
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
	plan, err := b.Repair(t.Context(), path, Options{})
	if err != nil || plan.Changes() != 2 || plan.Repairs[0].Kind != KindVersion {
		t.Fatalf("%+v, %v; want no error, plan.Changes() == 2, plan.Repairs[0].Kind == %v", plan, err, KindVersion)
	}
	if after := messages(); len(before) != 2 || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the context was %v, is %v", before, after)
	}
	if now := b.read(path); !strings.Contains(now, `"version":3`) || !strings.Contains(now, "firstKeptEntryId") {
		t.Errorf("it is %s", now)
	}
}

// replacing fails after it has replaced a log, as on a disk that cannot sync, or after it has called cancel.
type replacing struct {
	backend.Backend
	done   bool
	cancel func()
}

func (b replacing) Replace(ctx context.Context, at backend.Log, records ...[]byte) (now backend.Log, err error) {
	if b.done {
		now, err = b.Backend.Replace(ctx, at, records...)
	}
	b.cancel()
	return now, errors.Join(err, errors.New("input/output error"))
}

// A backup stays if and only if the log was replaced, whatever went wrong afterwards.
func TestRepairFails(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{false, true} {
		b := newBench(t)
		log := header + "\n" + m("a", "null") + "\ntorn\n"
		path := b.Old("dir/s.jsonl", log)
		l, release, err := b.m.LocateWriting(path, "", nil)
		b.Must(err)
		ctx, cancel := context.WithCancel(t.Context())
		l.Backend = replacing{l.Backend, done, cancel}
		opt := Options{}
		opt.fill()
		plan, at, err := b.plan(ctx, l, opt)
		b.Must(err)
		if err := plan.apply(ctx, l, at, opt); err == nil || done == strings.Contains(b.read(path), "torn") {
			t.Errorf("replaced %v: %v, the log is %q", done, err, b.read(path))
		}
		b.Must(release())
		kept, err := filepath.Glob(path + ".*")
		b.Must(err)
		switch {
		case !done && len(kept) > 0:
			t.Errorf("nothing was replaced, and left are %q", kept)
		case done && (len(kept) != 2 || b.read(plan.Backup) != log || b.read(plan.Aside) != "torn\n"):
			t.Errorf("the log was replaced, and left are %q: %+v", kept, plan)
		}
	}
}

func TestRepairRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, log := range map[string]string{
		"newer.jsonl":  strings.Replace(header, `"version":3`, `"version":9`, 1) + "\nx\n",
		"broken.jsonl": "no header\n" + m("a", "null") + "\n",
	} {
		path := b.Old(name, log)
		if _, err := b.Repair(t.Context(), path, Options{}); err == nil {
			t.Errorf("%s was repaired", name)
		}
		if now := b.read(path); now != log {
			t.Errorf("%s became %q", name, now)
		}
	}
	if _, err := b.Plan(t.Context(), b.At("nosuch.jsonl"), Options{}); err == nil {
		t.Error("there is a plan for no file")
	}
}

// A log with a line that is too long was not read to its end, so it is not replaced.
func TestRepairLongLine(t *testing.T) {
	t.Parallel()
	const most = 1 << 19
	w := world.New(t, func(w *world.World) { w.Drivers = []backend.Driver{file.Driver(file.Options{LongestLine: most})} })
	path := w.Old("long.jsonl", header+"\n"+m("a", "null")+"\ntorn\n")
	w.Must(os.Truncate(path, 4*most))
	_, err := New(w.Store.Machine, nil).Repair(t.Context(), path, Options{})
	if p, ok := errors.AsType[*session.Problem](err); !ok || p.Line != 4 {
		t.Errorf("%v; want a Problem in line 4", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 4*most {
		t.Errorf("the log is %v, %v; want it as it was", info, err)
	}
}
