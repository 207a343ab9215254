package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A branched session is the path alone: labels are made again at its end, their children become children of their
// parents, and a compaction that kept from a label on keeps from the entry after it.
func TestBranchedSession(t *testing.T) {
	for _, name := range []string{"pi", "omp"} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			s := d.Begin(name, store.CreateOptions{})
			one := d.User(s, "one")
			two := d.Answer(s, "two")
			label, err := s.Label(t.Context(), one, "start")
			d.Must(err)
			three := d.User(s, "three")
			_, err = s.Label(t.Context(), three, "gone")
			d.Must(err)
			_, err = s.Label(t.Context(), three, "")
			d.Must(err)
			compaction, err := s.Compact(t.Context(), session.Compaction{Summary: "sum", FirstKept: label.ID})
			d.Must(err)
			d.Answer(s, "four")
			_, err = s.Branch(t.Context(), two, store.BranchOptions{})
			d.Must(err)
			other := d.User(s, "elsewhere")
			_, err = s.Label(t.Context(), other, "not on the path")
			d.Must(err)
			old, id := s.Path(), s.ID()
			before := d.ReadLines(old)

			d.Must(s.BranchedSession(t.Context(), compaction.ID))
			if s.ID() == id || s.Path() == old || filepath.Dir(s.Path()) != filepath.Dir(old) {
				t.Errorf("session %s at %s", s.ID(), s.Path())
			}
			if s.Header().Parent != old {
				t.Errorf("parentSession %q, want the path %q", s.Header().Parent, old)
			}
			d.Same(d.ReadLines(old), before)
			var kinds []string
			parent := session.EntryID("")
			for e := range s.Tree().Entries() {
				kinds = append(kinds, e.Type)
				if e.Parent != parent {
					t.Errorf("%s hangs on %q, not on %q", e.ID, e.Parent, parent)
				}
				parent = e.ID
			}
			d.Same(kinds, []string{"message", "message", "message", "compaction", "label"})
			if d.member(s.Path(), 4, "firstKeptEntryId") != string(three) {
				t.Errorf("kept from %v, want %s", d.member(s.Path(), 4, "firstKeptEntryId"), three)
			}
			if s.Tree().Label(one) != "start" || s.Tree().Label(three) != "" {
				t.Error("labels are not as before")
			}
			d.Same(d.Texts(s), []string{"sum", "three"})
			d.User(s, "five")
			d.Same(d.Seen(s.Path()), []string{"sum", "three", "five"})
			d.MemoryEqualsDisk(s)
			if len(s.Tree().Problems()) > 0 {
				t.Error(s.Tree().Problems())
			}
			if err := s.BranchedSession(t.Context(), "nobody"); err == nil || err.Error() != "entry nobody not found" {
				t.Error(err)
			}
		})
	}
}

// A fork is all of the session, under an id of its own; pi names its parent by path, omp by id.
func TestFork(t *testing.T) {
	d := newDesk(t)
	for _, name := range []string{"pi", "omp"} {
		s := d.Begin(name, store.CreateOptions{CWD: "/a"})
		one := d.User(s, "one")
		d.Answer(s, "two")
		_, err := s.Branch(t.Context(), one, store.BranchOptions{})
		d.Must(err)
		d.Answer(s, "three")
		_, err = s.Branch(t.Context(), one, store.BranchOptions{})
		d.Must(err)
		d.Told()
		old, id, before := s.Path(), s.ID(), d.ReadLines(s.Path())

		copied := d.Closing(d.ForkFrom(t.Context(), old, d.fill(store.CreateOptions{CWD: "/b"})))
		want := string(id)
		if name == "pi" {
			want = old
		}
		if h := copied.Header(); h.Parent != want || h.CWD != "/b" || h.ID == id || h.Version != 3 {
			t.Errorf(`%s: %+v; want h.Parent == %v, h.CWD == "/b", h.ID != %v, h.Version == 3`, name, h, want, id)
		}
		d.Same(d.ReadLines(copied.Path())[1:], before[1:])
		d.User(copied, "four")
		d.MemoryEqualsDisk(copied)

		d.Must(s.Fork(t.Context()))
		if h := s.Header(); h.Parent != want || h.CWD != "/a" || h.ID == id || s.Leaf() != one {
			t.Errorf("%s: %+v, leaf %s", name, h, s.Leaf())
		}
		d.Same(d.ReadLines(s.Path())[1:], before[1:])
		d.User(s, "five")
		d.Same(d.Texts(s), []string{"one", "five"})
		d.Same(d.Seen(s.Path()), []string{"one", "five"})
		d.Same(d.ReadLines(old), before)
		d.MemoryEqualsDisk(s)
		if told := d.Told(); !slices.Contains(told, store.EventBeforeFork) {
			t.Errorf("told: %v", told)
		}
		path := d.Closing(d.BranchFrom(t.Context(), old, one, d.fill(store.CreateOptions{CWD: "/c", ID: "mine"})))
		if h := path.Header(); h.Parent != old || h.CWD != "/c" || h.ID != "mine" || path.Tree().Len() != 1 {
			t.Errorf(`%s: %+v; want h.Parent == %v, h.CWD == "/c", h.ID == "mine", path.Tree().Len() == 1`, name, h, old)
		}
	}
	for source, want := range map[string]error{
		d.Put("x/empty.jsonl", ""):                                                    store.ErrNotSession,
		d.Put("x/garbage.jsonl", "nonsense\n"):                                        store.ErrNotSession,
		d.Put("x/newer.jsonl", strings.Replace(world.Log("s", "/"), `:3,`, `:9,`, 1)): store.ErrNewer,
		filepath.Join(d.Home, "none.jsonl"):                                           os.ErrNotExist,
	} {
		_, err := d.ForkFrom(t.Context(), source, d.fill(store.CreateOptions{}))
		if err == nil || !errors.Is(err, want) && want != os.ErrNotExist {
			t.Errorf("%s: %v; want an error, not (!errors.Is(err, want) && want != os.ErrNotExist)", source, err)
		}
	}
}

// What is damaged in a session is damaged in its copy: nothing is lost, and the copy can be continued.
func TestForkOfDamaged(t *testing.T) {
	d := newDesk(t)
	glued := world.Said("b", "a", "two") + world.Said("c", "b", "three")
	lines := []string{world.Said("a", "", "one"), "nonsense", glued, `{"type":"session","id":"again"}`, "", world.Said("d", "c", "four"), `{"type":"mess`}
	path := d.Put("x/a.jsonl", strings.TrimSuffix(world.Log("s", "/w", lines...), "\n"))
	s := d.Closing(d.ForkFrom(t.Context(), path, d.fill(store.CreateOptions{})))
	d.Same(d.ReadLines(s.Path())[1:], lines)
	d.Same(d.Texts(s), []string{"one", "two", "three", "four"})
	d.MemoryEqualsDisk(s)
	d.User(s, "five")
	d.MemoryEqualsDisk(s)
	d.Must(s.Move(t.Context(), "/elsewhere"))
	d.User(s, "six")
	d.MemoryEqualsDisk(s)
	d.Must(s.Rename(t.Context(), "name"))
	d.Same(d.ReadLines(s.Path())[1:len(lines)+1], lines)
	d.User(s, "seven")
	d.Same(d.Seen(s.Path()), []string{"one", "two", "three", "four", "five", "six", "seven"})
	d.MemoryEqualsDisk(s)
}

// full fails to create logs of sessions.
type full struct{ backend.Backend }

var errFull = errors.New("the disk is full")

func (b full) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	if name != "folders.jsonl" {
		return backend.Log{}, errFull
	}
	return b.Backend.Create(ctx, name, records...)
}

// A copy that cannot be written leaves no note of its folder, though its blobs were copied before.
func TestForkNote(t *testing.T) {
	d := newDesk(t, func(w *world.World) { w.State = w.At("state") })
	s := d.Begin("omp", store.CreateOptions{})
	_, err := s.AppendUser(t.Context(), "look", session.Image{MIME: "image/png", Data: strings.Repeat("pict", 1<<12)})
	d.Must(err)
	d.Answer(s, "seen")
	d.Must(s.Close())
	broken := d.wrapping(func(b backend.Backend) backend.Backend { return full{b} })
	for round, dir := range []string{"far/agent/sessions", "near/agent/sessions"} {
		there := d.fill(store.CreateOptions{Dir: filepath.Join(d.Home, dir)})
		leaf := s.Leaf()
		if round == 0 {
			_, err = broken.ForkFrom(t.Context(), s.Path(), there)
		} else {
			_, err = broken.BranchFrom(t.Context(), s.Path(), leaf, there)
		}
		blobs, _ := filepath.Glob(filepath.Join(d.Home, filepath.Dir(dir), "blobs", "*"))
		noted, noteErr := d.Store.Folders(t.Context())
		d.Must(noteErr)
		if !errors.Is(err, errFull) || len(blobs) == 0 || len(noted) > 0 {
			t.Errorf("%s: %v, blobs %v, noted %+v; want %v, a blob, no note", dir, err, blobs, noted, errFull)
		}
	}
	copied, err := d.Store.ForkFrom(t.Context(), s.Path(), d.fill(store.CreateOptions{Dir: filepath.Join(d.Home, "far/agent/sessions")}))
	d.Must(err)
	noted, err := d.Store.Folders(t.Context())
	d.Must(err)
	if len(noted) != 1 || len(noted[0].Seen) != 1 {
		t.Errorf("a copy that is there: %+v", noted)
	}
	d.Must(copied.Delete(t.Context()))
	if noted, err = d.Store.Folders(t.Context()); err != nil || len(noted) > 0 {
		t.Errorf("deleted: %+v, %v", noted, err)
	}
}

// fullOfLogs fails to create logs of lines, but other files.
type fullOfLogs struct{ backend.Backend }

func (b fullOfLogs) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	if backend.IsText(name) {
		return backend.Log{}, errFull
	}
	return b.Backend.Create(ctx, name, records...)
}

// The files that were copied to the folder of a copy are removed if the copy cannot be written.
func TestForkFiles(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const id = "c1a0de00-0000-4000-8000-000000000001"
	folder := d.At(".claude/projects/-p/" + id)
	content := `"<persisted-output>\nOutput too large (9KB). Full output saved to: ` + filepath.ToSlash(folder) + `/tool-results/b1.txt\n\nPreview (first 2KB):\none\n...\n</persisted-output>"`
	path := d.Put(".claude/projects/-p/"+id+".jsonl", `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"`+id+`","cwd":"/p","timestamp":"2026-02-16T10:00:00.000Z",`+
		`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":`+content+`}]}}`+"\n")
	d.Put(".claude/projects/-p/"+id+"/tool-results/b1.txt", "one\ntwo\n")
	outputs := func() int {
		list, err := filepath.Glob(d.At(".claude/projects/*/*/tool-results/*"))
		d.Must(err)
		return len(list)
	}
	broken := d.wrapping(func(b backend.Backend) backend.Backend { return fullOfLogs{b} })
	if _, err := broken.ForkFrom(t.Context(), path, d.fill(store.CreateOptions{Dir: filepath.Dir(path)})); !errors.Is(err, errFull) {
		t.Errorf("%v, want %v", err, errFull)
	}
	if n := outputs(); n != 1 {
		t.Errorf("%d files after a fork that failed, want 1", n)
	}
	copied, err := d.Store.ForkFrom(t.Context(), path, d.fill(store.CreateOptions{Dir: filepath.Dir(path)}))
	d.Must(err)
	d.Must(copied.Close())
	if n := outputs(); n != 2 {
		t.Errorf("%d files after a fork, want 2", n)
	}
}

// A copy, or a new session, that cannot get its name is not left behind.
func TestUnnamedCopy(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const name = ".codex/sessions/2026/02/16/rollout-2026-02-16T10-00-00-019c65e4-84e8-7002-8000-000300000004.jsonl"
	path := d.Put(name, `{"timestamp":"2026-02-16T10:00:00.000Z","type":"session_meta","payload":{"id":"019c65e4-84e8-7002-8000-000300000004","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/p"}}`+"\n"+
		`{"timestamp":"2026-02-16T10:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}}`+"\n")
	codex, err := d.Dialect("codex")
	d.Must(err)
	d.Must(os.MkdirAll(d.At(".codex/session_index.jsonl/x"), 0o700)) // names are kept in this file
	files := func() (list []string) {
		d.Must(filepath.WalkDir(d.At(".codex"), func(path string, _ os.DirEntry, err error) error {
			list = append(list, path)
			return err
		}))
		return list
	}
	before := files()
	if _, err := d.Store.ForkFrom(t.Context(), path, d.fill(store.CreateOptions{Title: "a name", CWD: d.CWD})); err == nil {
		t.Error("a fork without its name, want an error")
	}
	if _, err := d.Store.Create(t.Context(), d.fill(store.CreateOptions{Title: "a name", CWD: d.CWD, Dialect: codex})); err == nil {
		t.Error("a session without its name, want an error")
	}
	if after := files(); !slices.Equal(before, after) {
		t.Errorf("files %q, want %q", after, before)
	}
}
