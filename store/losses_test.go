package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/crashfs"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// TestLosses has one case for each way in which the agents' own programs lose messages: treeline does not. The cases are named after what
// the programs do.
func TestLosses(t *testing.T) {
	one, two := world.Said("a", "", "one"), world.Said("b", "a", "two")
	asked := func(id, parent, text string) string {
		return strings.Replace(world.Said(id, parent, text), `"user"`, `"assistant"`, 1)
	}
	within := func(t *testing.T, do func()) {
		t.Helper()
		done := make(chan struct{})
		go func() { defer close(done); do() }()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatal("it hangs")
		}
	}
	for name, test := range map[string]func(d *desk){
		"malformed line in the middle: the next append rewrites the file without it": func(d *desk) {
			path := d.Put("x/a.jsonl", world.Log("s", "/w", one, "nonsense", two))
			s := d.Edit(path, store.WriteOptions{})
			d.User(s, "three")
			d.Must(s.Rename(d.Context(), "name"))
			if lines := d.ReadLines(path); lines[2] != "nonsense" || len(lines) != 5 {
				d.Error(lines)
			}
			d.Same(d.Seen(path), []string{"one", "two", "three"})
		},
		"torn last line: the next append is glued to the torn bytes, that entry is lost": func(d *desk) {
			path := d.Put("x/a.jsonl", world.Log("s", "/w", one)+two[:50])
			s := d.Edit(path, store.WriteOptions{})
			d.User(s, "three")
			d.Same(d.Seen(path), []string{"one", "three"})
			d.MemoryEqualsDisk(s)
			torn, _ := filepath.Glob(path + ".torn-*")
			if len(torn) != 1 || d.ReadLines(torn[0])[0] != two[:50] {
				d.Errorf("the torn bytes are in %v", torn)
			}
			if told := d.Told(); len(told) != 2 || told[0] != store.EventProblem || told[1] != store.EventRepaired {
				d.Errorf("told %v", told)
			}
		},
		"complete last line without newline: glued, last entry AND new entry lost": func(d *desk) {
			path := d.Put("x/a.jsonl", world.Log("s", "/w", one)+two)
			s := d.Edit(path, store.WriteOptions{})
			d.User(s, "three")
			d.Same(d.Seen(path), []string{"one", "two", "three"})
			d.MemoryEqualsDisk(s)
			if told := d.Told(); len(told) != 1 || told[0] != store.EventRepaired {
				d.Errorf("told %v", told)
			}
		},
		"no header, broken first line: silently replaced by a fresh session": func(d *desk) {
			for _, content := range []string{one + "\n" + two + "\n", `{"type":"session","id":` + "\n" + one + "\n", "\x00\x01\n" + one + "\n"} {
				path := d.Put("x/a.jsonl", content)
				_, err := d.OpenWrite(d.Context(), path, d.fill(store.CreateOptions{Write: store.WriteOptions{Create: true}}))
				if !errors.Is(err, store.ErrNotSession) {
					d.Errorf("%v; want the error store.ErrNotSession", err)
				}
				d.Same(d.ReadLines(path), strings.Split(strings.TrimSuffix(content, "\n"), "\n"))
				// ReplaceUnreadable begins a fresh session and keeps the old bytes beside it.
				s := d.Edit(path, store.WriteOptions{ReplaceUnreadable: true})
				d.User(s, "fresh")
				kept, _ := filepath.Glob(path + ".unreadable-*")
				if len(kept) == 0 {
					d.Fatal("the old bytes are gone")
				}
				d.Same(d.ReadLines(kept[len(kept)-1]), strings.Split(strings.TrimSuffix(content, "\n"), "\n"))
			}
		},
		"parent cycle, self parent: hangs forever": func(d *desk) {
			path := d.Put("x/a.jsonl", world.Log("s", "/w", world.Said("a", "c", "one"), world.Said("b", "a", "two"), world.Said("c", "b", "three"), world.Said("d", "d", "self"), world.Said("e", "c", "four")))
			within(d.T, func() {
				s := d.Edit(path, store.WriteOptions{})
				d.User(s, "five")
				if got := d.Texts(s); len(got) != 5 || got[4] != "five" {
					d.Errorf(`%q; want len(got) == 5, got[4] == "five"`, got)
				}
				d.Must(s.BranchedSession(d.Context(), s.Leaf()))
				d.User(s, "six")
				d.MemoryEqualsDisk(s)
			})
		},
		"entries without id in a v3 file: all collapse, only the last is reachable": func(d *desk) {
			bare := `{"type":"message","timestamp":"x","message":{"role":"user","content":"no id"}}`
			path := d.Put("x/a.jsonl", world.Log("s", "/w", one, bare, strings.Replace(bare, "no id", "nor here", 1)))
			s := d.Edit(path, store.WriteOptions{})
			if s.Tree().Len() != 3 || s.Tree().At(1).ID == s.Tree().At(2).ID {
				d.Errorf("%d entries", s.Tree().Len())
			}
			leaf := s.Leaf()
			d.User(s, "more")
			if again := d.Edit(path, store.WriteOptions{}); again.Tree().At(3).Parent != leaf {
				d.Error("the id is another one each time")
			}
		},
		"second session line is the last line: the leaf is that line and the context is empty": func(d *desk) {
			path := d.Put("x/a.jsonl", world.Log("s", "/w", one, two, `{"type":"session","version":3,"id":"again","timestamp":"x","cwd":"/"}`))
			d.Same(d.Seen(path), []string{"one", "two"})
			s := d.Edit(path, store.WriteOptions{})
			d.User(s, "three")
			d.Same(d.Seen(path), []string{"one", "two", "three"})
		},
		"JSON scalar, array, null lines: crashes": func(d *desk) {
			path := d.Put("x/a.jsonl", world.Log("s", "/w", one, "null", "7", `"x"`, "[]", "[{}]", "true", two))
			s := d.Edit(path, store.WriteOptions{})
			d.User(s, "three")
			d.Same(d.Seen(path), []string{"one", "two", "three"})
			d.MemoryEqualsDisk(s)
		},
		"two JSON values on one line: line dropped": func(d *desk) {
			path := d.Put("x/a.jsonl", world.Log("s", "/w", one+two, world.Said("c", "b", "three")))
			s := d.Edit(path, store.WriteOptions{})
			d.User(s, "four")
			d.Same(d.Seen(path), []string{"one", "two", "three", "four"})
		},
		"migration rewrites in place, not atomically": func(d *desk) {
			live := crashfs.New(crashHome)
			y := deskOn(d.T, live, "")
			renamed := false
			live.OnOp(func(op string) {
				renamed = renamed || strings.HasPrefix(op, "rename ")
				if strings.Contains(op, "trunc") && strings.HasSuffix(op, "/a.jsonl") {
					d.Errorf("in place: %s", op)
				}
			})
			m := y.Machine()
			b, err := m.OpenWriting(crashHome, store.DurabilityFlush)
			d.Must(err)
			_, err = b.Create(d.Context(), "a.jsonl", []byte(`{"type":"session","id":"s"}`), []byte(`{"type":"message","message":{"role":"user","content":"one"}}`))
			d.Must(err)
			d.Must(m.Close())
			s := y.Edit(filepath.Join(crashHome, "a.jsonl"), store.WriteOptions{})
			if !renamed || s.Header().Version != 3 {
				d.Errorf("renamed %v, version %d", renamed, s.Header().Version)
			}
		},
		"ids of a migration are not checked against each other": func(d *desk) {
			var lines []string
			for range 3000 {
				lines = append(lines, `{"type":"message","message":{"role":"user","content":"same"}}`)
			}
			path := d.Put("x/a.jsonl", `{"type":"session","id":"s"}`+"\n"+strings.Join(lines, "\n")+"\n")
			s := d.Edit(path, store.WriteOptions{})
			if got := len(d.Texts(s)); got != 3000 || len(s.Tree().Problems()) > 0 {
				d.Errorf("%d of 3000 in the chain, %v", got, s.Tree().Problems())
			}
		},
		"an entry whose parent was a label becomes an orphan: context 2 messages instead of 4": func(d *desk) {
			s := d.Begin("omp", store.CreateOptions{})
			first := d.User(s, "one")
			d.Answer(s, "two")
			_, err := s.Label(d.Context(), first, "here")
			d.Must(err)
			d.User(s, "three")
			d.Answer(s, "four")
			d.Must(s.BranchedSession(d.Context(), s.Leaf()))
			d.Same(d.Seen(s.Path()), []string{"one", "two", "three", "four"})
		},
		"a forked v1 file keeps 1 of its messages, all ids undefined": func(d *desk) {
			path := d.Put("x/a.jsonl", `{"type":"session","id":"s","cwd":"/w"}`+"\n"+
				`{"type":"message","message":{"role":"user","content":"one"}}`+"\n"+`{"type":"message","message":{"role":"assistant","content":"two"}}`+"\n")
			s := d.Closing(d.ForkFrom(d.Context(), path, d.fill(store.CreateOptions{Dialect: d.Format("pi")})))
			d.Same(d.Seen(s.Path()), []string{"one", "two"})
		},
		"a missing source: silently forks nothing": func(d *desk) {
			_, err := d.ForkFrom(d.Context(), filepath.Join(d.Home, "none.jsonl"), d.fill(store.CreateOptions{}))
			if !errors.Is(err, backend.ErrNotExist) {
				d.Error(err)
			}
		},
		"createBranchedSession writes images inline": func(d *desk) {
			s := d.Begin("omp", never())
			d.persisted(s, map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "image", "data": picture1}}})
			d.Must(s.BranchedSession(d.Context(), s.Leaf()))
			if got := strings.Join(d.ReadLines(s.Path()), ""); strings.Contains(got, picture1) || !strings.Contains(got, "blob:sha256:") {
				d.Errorf(`%.200s; want not strings.Contains(got, picture1), strings.Contains(got, "blob:sha256:")`, got)
			}
		},
		"missing blob: ref string left in data": func(d *desk) {
			s := d.Begin("omp", never())
			d.persisted(s, map[string]any{"role": "user", "content": []any{map[string]any{"type": "image", "data": picture1}}})
			d.Must(os.RemoveAll(d.blobDir()))
			problems := 0
			c, err := s.Context(d.Context(), s.Leaf(), store.ContextOptions{Problem: func(p session.Problem) {
				problems++
				if p.Kind != session.ProblemBlobMissing {
					d.Error(p)
				}
			}})
			d.Must(err)
			for _, err := range c.Messages() {
				d.Must(err)
			}
			if problems != 1 {
				d.Errorf("%d problems", problems)
			}
		},
		"the raw suffix of a blob reference is joined: ../ escape": func(d *desk) {
			d.Put(".omp/agent/secret", "secret")
			path := d.Put(".omp/agent/sessions/x/a.jsonl", world.Log("s", "/w",
				`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":[{"type":"image","data":"blob:sha256:../secret"}]}}`))
			s := d.Edit(path, store.WriteOptions{})
			if got := d.Texts(s); !strings.Contains(got[0], "blob:sha256:../secret") {
				d.Errorf(`%q; want strings.Contains(got[0], "blob:sha256:../secret")`, got)
			}
		},
		"base64 is re-encoded: input that is not canonical does not come back": func(d *desk) {
			s := d.Begin("omp", never())
			odd := strings.Repeat("AAAA\n", 300)
			d.persisted(s, map[string]any{"role": "user", "content": []any{map[string]any{"type": "image", "data": odd}}})
			if got := d.Texts(s); !strings.Contains(got[0], odd) {
				d.Errorf("%.100q; want strings.Contains(got[0], odd)", got)
			}
		},
		"too long strings are cut and the rest is gone": func(d *desk) {
			s := d.Begin("omp", never())
			d.User(s, strings.Repeat("x", 500_001))
			if _, ok := d.member(s.Path(), -1, "treelineOverflow").(map[string]any); !ok {
				d.Error("nobody knows where the rest is")
			}
		},
		"the in-memory entry stays untruncated: nothing says that the context differs after reload": func(d *desk) {
			s := d.Begin("omp", never())
			d.User(s, strings.Repeat("x", 600_000))
			again := d.Closing(d.Open(d.Context(), s.Path(), store.OpenOptions{}))
			var told []session.Problem
			d.Messages(again, store.ContextOptions{Problem: func(p session.Problem) { told = append(told, p) }})
			if len(told) != 1 || told[0].Kind != session.ProblemCut || told[0].Line != 2 {
				d.Errorf("%v; want len(told) == 1, told[0].Kind == session.ProblemCut, told[0].Line == 2", told)
			}
		},
		"file deleted mid-run: append silently recreates it without header": func(d *desk) {
			s := d.Begin("pi", store.CreateOptions{})
			d.User(s, "one")
			d.Must(os.Remove(s.Path()))
			_, err := s.AppendMessage(d.Context(), world.Message("user", "two"))
			if !errors.Is(err, backend.ErrNotExist) || d.Exists(s.Path()) {
				d.Errorf("%v, exists %v", err, d.Exists(s.Path()))
			}
		},
		"file deleted mid-run: writes go to the unlinked file": func(d *desk) {
			s := d.Begin("omp", never())
			d.User(s, "one")
			old, err := os.ReadFile(s.Path())
			d.Must(err)
			d.Must(os.Remove(s.Path()))
			d.Must(os.WriteFile(s.Path(), old, 0o600)) // it came back, as another file
			d.User(s, "two")
			d.Same(d.Seen(s.Path()), []string{"one", "two"})
			d.MemoryEqualsDisk(s)
		},
		"an append that failed is not latched: the next one hangs on what is not there": func(d *desk) {
			faulty := deskOn(d.T, &failing{FS: crashfs.New(crashHome)}, "")
			s := faulty.Begin("omp", never())
			faulty.User(s, "one")
			faulty.FS.(*failing).on = true
			_, err := s.AppendMessage(d.Context(), world.Message("user", "two"))
			faulty.FS.(*failing).on = false
			_, again := s.AppendMessage(d.Context(), world.Message("user", "three"))
			if !errors.Is(err, syscall.ENOSPC) || again == nil || again.Error() != err.Error() {
				d.Errorf("%v, then %v", err, again)
			}
			faulty.Same(faulty.Texts(s), []string{"one"})
			reopened := faulty.Edit(s.Path(), store.WriteOptions{})
			faulty.User(reopened, "three")
			faulty.Same(faulty.Seen(s.Path()), []string{"one", "three"})
		},
		"two on one file: last line is the leaf, the other branch is silently hidden": func(d *desk) {
			a, b, _ := d.two("")
			d.User(b, "theirs")
			got := d.Say(a, "user", "ours")
			if got.Foreign != 1 || got.Outcome != store.PolicyBranch {
				d.Errorf("not told: %+v", got)
			}
		},
		"a rewrite loses what another one wrote": func(d *desk) {
			a, b, _ := d.two("")
			d.User(b, "theirs")
			d.Must(a.Rename(d.Context(), "name"))
			d.User(a, "ours")
			d.MemoryEqualsDisk(a)
			if all := strings.Join(d.ReadLines(a.Path()), ""); !strings.Contains(all, "theirs") || !strings.Contains(all, "ours") {
				d.Error(all)
			}
		},
		"moving the leaf is lost on restart": func(d *desk) {
			s := d.Begin("pi", store.CreateOptions{})
			first := d.User(s, "one")
			d.Answer(s, "two")
			_, err := s.Branch(d.Context(), first, store.BranchOptions{Durable: true})
			d.Must(err)
			d.Same(d.Seen(s.Path()), []string{"one"})
		},
		"flushes are never waited for": func(d *desk) {
			live := crashfs.New(crashHome)
			y := deskOn(d.T, live, "")
			s := y.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Durability: store.DurabilityAlways}})
			y.User(s, "one")
			y.Answer(s, "two")
			y.User(s, "three")
			after := deskOn(d.T, live.Crash(crashfs.Lost), "")
			after.Same(after.Seen(s.Path()), []string{"one", "two", "three"})
		},
		"file mode 0644": func(d *desk) {
			s := d.Begin("pi", store.CreateOptions{})
			d.User(s, "secret")
			for path, want := range map[string]os.FileMode{s.Path(): 0o600, filepath.Dir(s.Path()): 0o700} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
					d.Errorf("%s: %v, %v; want no error, info.Mode().Perm() == %v", path, info.Mode(), err, want)
				}
			}
		},
		"a compaction with unknown firstKeptEntryId, a dangling parent, a duplicate id": func(d *desk) {
			path := d.Put("x/a.jsonl", world.Log("s", "/w", one, world.Said("a", "", "again"), world.Said("c", "nowhere", "dangling"),
				`{"type":"compaction","id":"k","parentId":"c","summary":"sum","firstKeptEntryId":"gone","tokensBefore":1}`, asked("e", "k", "after")))
			s := d.Edit(path, store.WriteOptions{})
			d.Same(d.Texts(s), []string{"sum", "after"})
			d.User(s, "more")
			d.Must(s.Rename(d.Context(), "name"))
			d.Same(d.Seen(path), []string{"sum", "after", "more"})
			if s.Tree().Len() != 6 {
				d.Errorf("%d entries", s.Tree().Len())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newDesk(t))
		})
	}
}

// failing is a file system that is full while it is on.
type failing struct {
	durable.FS
	on bool
}

func (f *failing) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	file, err := f.FS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &failingFile{file, f}, nil
}

type failingFile struct {
	durable.File
	fs *failing
}

func (f *failingFile) Write(p []byte) (int, error) {
	if f.fs.on {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(p)
}
