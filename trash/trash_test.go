package trash_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/trash"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// yard is a world with a trash.
type yard struct {
	*world.World
	bin   *trash.Trash
	blobs string    // the folder of blobs
	clock time.Time // of the trash; zero is the machine's
}

func newYard(t *testing.T, change ...func(*world.World)) *yard {
	t.Helper()
	t.Parallel()
	y := &yard{World: world.New(t, append(change, func(w *world.World) { w.State = w.At("state") })...)}
	y.blobs = y.At(".omp/agent/blobs")
	y.bin = trash.New(trash.Options{Machine: y.Store.Machine, State: y.State, Folders: y.Store, Clock: func() time.Time {
		if y.clock.IsZero() {
			return time.Now()
		}
		return y.clock
	}})
	return y
}

func (y *yard) read(path string) string {
	y.Helper()
	b, err := os.ReadFile(path)
	y.Must(err)
	return string(b)
}

// list returns the original paths of the sessions in the trash, by their ids there.
func (y *yard) list() map[string]string {
	y.Helper()
	items, err := y.bin.List(y.Context())
	y.Must(err)
	from := map[string]string{}
	for _, i := range items {
		from[i.ID] = i.From
	}
	return from
}

const header = `{"type":"session","version":3,"id":"s1","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work"}`

func TestTrash(t *testing.T) {
	y := newYard(t)
	// The log is torn and has a carriage return: it is restored unchanged.
	log := header + "\r\n" + world.Said("a", "", "I am a") + "\n" + world.Said("b", "a", "")[:30]
	path := y.Old("dir/s.jsonl", log)
	item, err := y.bin.Put(t.Context(), path)
	if err != nil || item.ID != "s1" || item.From != path || item.Prompt != "I am a" || item.Size != int64(len(log)) {
		t.Fatalf(`%+v, %v; want no error, item.ID == "s1", item.From == %v, item.Prompt == "I am a", item.Size == %v`, item, err, path, int64(len(log)))
	}
	if y.Exists(path) {
		t.Error("it is still there")
	}
	// Another of the same id, and an id that is not a file name.
	evil := y.Old("evil.jsonl", strings.Replace(header, `"s1"`, `"../../s1"`, 1)+"\n")
	y.Old("dir/s.jsonl", header+"\n")
	for _, p := range []string{path, evil} {
		if _, err := y.bin.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if ids := y.list(); len(ids) != 3 || ids["s1"] != path || ids["s1-2"] != path || ids["session"] != evil {
		t.Errorf("the trash has %v", ids)
	}
	// A log that has taken its place is not overwritten.
	y.Old("dir/s.jsonl", "mine")
	if _, err := y.bin.Restore(t.Context(), "s1"); !errors.Is(err, backend.ErrExist) {
		t.Errorf("restored over a file: %v", err)
	}
	if y.read(path) != "mine" {
		t.Error("it was overwritten")
	}
	y.Must(os.RemoveAll(filepath.Dir(path)))
	for _, c := range []struct{ id, want string }{{"s1", header + "\n"}, {"s1", log}, {"sess", y.read(y.At("state/trash/session.session"))}} {
		back, err := y.bin.Restore(t.Context(), c.id)
		y.Must(err)
		if got := y.read(back.From); got != c.want {
			t.Errorf("%s came back as %q", c.id, got)
		}
		y.Must(os.Remove(back.From))
	}
	if ids := y.list(); len(ids) != 0 {
		t.Errorf("left in the trash: %v", ids)
	}
	for _, id := range []string{"", "nosuch", "../x"} {
		if _, err := y.bin.Restore(t.Context(), id); !errors.Is(err, place.ErrNoSession) {
			t.Errorf("%q: %v; want the error place.ErrNoSession", id, err)
		}
	}
	y.Old("dir/s.jsonl", "not a session\n")
	if _, err := y.bin.Put(t.Context(), path); !errors.Is(err, logtree.ErrNotSession) {
		t.Errorf("trashed what is not a session: %v", err)
	}
	if _, err := trash.New(trash.Options{Machine: y.Store.Machine}).Put(t.Context(), path); !errors.Is(err, trash.ErrNoState) {
		t.Errorf("trashed without a state folder: %v", err)
	}
}

// TestRestoreTimes: a session and the files of its folder are as old as before.
func TestRestoreTimes(t *testing.T) {
	y := newYard(t)
	const (
		id   = "11111111-1111-4111-8111-111111111111"
		line = `{"type":"user","uuid":"a","parentUuid":null,"sessionId":"` + id + `","cwd":"/work","timestamp":"2026-03-02T14:00:00.000Z","message":{"role":"user","content":"hello"}}` + "\n"
	)
	times := map[string]time.Time{}
	for _, name := range []string{id + "/subagents/agent-a1.jsonl", id + ".jsonl"} {
		path := y.Old(".claude/projects/-work/"+name, line)
		info, err := os.Stat(path)
		y.Must(err)
		times[path] = info.ModTime()
	}
	_, err := y.bin.Put(t.Context(), y.At(".claude/projects/-work/"+id+".jsonl"))
	y.Must(err)
	_, err = y.bin.Restore(t.Context(), id)
	y.Must(err)
	for path, want := range times {
		info, err := os.Stat(path)
		y.Must(err)
		if !info.ModTime().Equal(want) {
			t.Errorf("%s: %v, want %v", path, info.ModTime(), want)
		}
	}
}

// A crash between copy and removal leaves both. Restoring then only empties the trash.
func TestRestoreAfterCrash(t *testing.T) {
	y := newYard(t)
	path := y.Old("s.jsonl", header+"\n")
	_, err := y.bin.Put(t.Context(), path)
	y.Must(err)
	y.Old("s.jsonl", header+"\n")
	_, err = y.bin.Restore(t.Context(), "s1")
	y.Must(err)
	if ids := y.list(); len(ids) != 0 {
		t.Errorf("left in the trash: %v", ids)
	}
}

// TestRestoreNewestCopy: a removal that was killed left a copy in the trash. The session grew and was removed again. Its id, or a prefix of
// it, restores the newest complete copy; the others are restored by their numbers.
func TestRestoreNewestCopy(t *testing.T) {
	for _, name := range []string{"s1", "s"} {
		t.Run(name, func(t *testing.T) { restoreNewest(t, name) })
	}
}

func restoreNewest(t *testing.T, name string) {
	y := newYard(t)
	old := header + "\n" + world.Said("a", "", "I am a") + "\n"
	grown := old + world.Said("b", "a", "I am b") + "\n"
	for _, log := range []string{old, grown, grown + world.Said("c", "b", "I am c") + "\n"} {
		_, err := y.bin.Put(t.Context(), y.Old("dir/s.jsonl", log))
		y.Must(err)
	}
	y.Must(os.Truncate(filepath.Join(y.Home, "state", "trash", "s1-3.session"), 10)) // killed while it was copying
	item, err := y.bin.Restore(t.Context(), name)
	if err != nil || item.ID != "s1-2" || y.read(item.From) != grown {
		t.Fatalf("%s: restored %s, %v; want s1-2, which is whole", name, item.ID, err)
	}
	y.Must(os.Remove(item.From))
	if item, err = y.bin.Restore(t.Context(), "s1"); err != nil || item.ID != "s1" || y.read(item.From) != old {
		t.Errorf("then %s, %v; want s1", item.ID, err)
	}
	y.Must(os.Remove(item.From))
	if item, err = y.bin.Restore(t.Context(), "s1-3"); err != nil || item.ID != "s1-3" {
		t.Errorf("then %s, %v; want s1-3", item.ID, err)
	}
}

// Content that a crash left without an origin is not touched, and does not prevent a session from being removed.
func TestPutBesideLeftover(t *testing.T) {
	y := newYard(t)
	path := y.Old("s.jsonl", header+"\n")
	left := y.Old("state/trash/s1.session", "left")
	item, err := y.bin.Put(t.Context(), path)
	y.Must(err)
	if item.ID != "s1-2" {
		t.Errorf("in the trash as %s, want s1-2", item.ID)
	}
	if content, err := os.ReadFile(left); err != nil || string(content) != "left" {
		t.Errorf("the leftover is %q, %v; want it as it was", content, err)
	}
	if ids := y.list(); len(ids) != 1 || ids["s1-2"] != path {
		t.Errorf("in the trash: %v, want s1-2 from %s", ids, path)
	}
}

// Only what is old enough is deleted.
func TestEmpty(t *testing.T) {
	y := newYard(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, name := range []string{"a", "b", "c"} {
		y.clock = now.Add(time.Duration(i) * time.Hour)
		_, err := y.bin.Put(t.Context(), y.Old(name+".jsonl", strings.Replace(header, `"s1"`, `"`+name+`"`, 1)+"\n"))
		y.Must(err)
	}
	gone, err := y.bin.Empty(t.Context(), now.Add(time.Hour))
	if err != nil || len(gone) != 1 || gone[0].ID != "a" {
		t.Errorf(`%+v, %v; want no error, len(gone) == 1, gone[0].ID == "a"`, gone, err)
	}
	left, err := y.bin.List(t.Context())
	if err != nil || len(left) != 2 || left[0].ID != "c" || left[1].ID != "b" {
		t.Errorf(`%+v, %v; want no error, len(left) == 2, left[0].ID == "c", left[1].ID == "b"`, left, err)
	}
	if _, err := y.bin.Restore(t.Context(), "a"); !errors.Is(err, place.ErrNoSession) {
		t.Errorf("it came back: %v", err)
	}
	if gone, err := y.bin.Empty(t.Context(), now.AddDate(1, 0, 0)); err != nil || len(gone) != 2 {
		t.Errorf("%+v, %v; want no error, len(gone) == 2", gone, err)
	}
	if files, _ := filepath.Glob(y.At("state/trash/*")); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
}

// A project folder that is a symbolic link stays when a session in it is removed, whatever else is in it.
func TestTrashKeepsLinks(t *testing.T) {
	y := newYard(t)
	const wave = `{"id":"m1","role":"user","blocks":[{"type":"text","content":"hello"}],"timestamp":"2026-03-02T14:00:00.000Z"}` + "\n"
	ids := []string{"1f0f2b3c-4d5e-6f70-8a9b-0c1d2e3f4a5b", "1f0f2b3c-4d5e-6f70-8a9b-0c1d2e3f4a5c"}
	for _, id := range ids {
		y.Old("elsewhere/"+id+".jsonl", wave)
	}
	projects := y.At(".wave/projects")
	link := filepath.Join(projects, "-work")
	y.Must(os.MkdirAll(projects, 0o700))
	if runtime.GOOS == "windows" {
		return // making a link is a privilege there
	}
	y.Must(os.Symlink(y.At("elsewhere"), link))
	_, err := y.bin.Put(t.Context(), filepath.Join(link, ids[0]+".jsonl"))
	y.Must(err)
	if _, err := os.Lstat(link); err != nil {
		t.Errorf("the link is gone, and with it the other session: %v", err)
	}
}

// cancelling calls after when a content was written to the trash.
type cancelling struct {
	durable.FS
	after *func()
}

func (f cancelling) SyncDir(dir string) error {
	contents, _ := filepath.Glob(filepath.Join(dir, "*.session"))
	if len(contents) > 0 && filepath.Base(dir) == "trash" {
		(*f.after)()
	}
	return f.FS.SyncDir(dir)
}

// TestPutCancelled: a session whose removal was cancelled is in its place and not in the trash.
func TestPutCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	after := func() {}
	y := newYard(t, func(w *world.World) { w.FS = cancelling{w.FS, &after} })
	path := y.Old(".omp/agent/sessions/-x/a.jsonl", world.Log("0199-cancelled", "/x", world.Said("m1", "", "hello")))
	after = cancel
	if _, err := y.bin.Put(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want context.Canceled", err)
	}
	if !y.Exists(path) || len(y.list()) > 0 {
		t.Errorf("in its place: %v, in the trash: %v", y.Exists(path), y.list())
	}
}

// TestListFails: a session whose content cannot be looked at is not left out of the list.
func TestListFails(t *testing.T) {
	y := newYard(t)
	y.Put("state/trash/a.json", `{"id":"a"}`+"\n")
	if err := os.Symlink("a.session", y.At("state/trash/a.session")); err != nil {
		t.Skip(err)
	}
	if list, err := y.bin.List(t.Context()); err == nil {
		t.Errorf("the list is %v", list)
	}
}

// recording notes what is synced and removed.
type recording struct {
	durable.FS
	mu  *sync.Mutex
	ops *[]string
}

func (f recording) note(op, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*f.ops = append(*f.ops, op+" "+filepath.Base(name))
}

func (f recording) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	file, err := f.FS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return recorded{file, f, name}, nil
}

func (f recording) Remove(name string) error {
	f.note("remove", name)
	return f.FS.Remove(name)
}

type recorded struct {
	durable.File
	f    recording
	name string
}

func (r recorded) Sync(what durable.Scope) error {
	r.f.note("sync", r.name)
	return r.File.Sync(what)
}

// TestRestoreSyncs: files that a crash left in their places, or that another program wrote there, are synced before those in the trash are
// removed.
func TestRestoreSyncs(t *testing.T) {
	var ops []string
	var mu sync.Mutex
	y := newYard(t, func(w *world.World) { w.FS = recording{w.FS, &mu, &ops} })
	const id = "0199aaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
	line := `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"hi"},"uuid":"u1","timestamp":"2026-03-01T08:00:00.000Z","sessionId":"` + id + `","cwd":"/x"}` + "\n"
	files := map[string]string{}
	for _, name := range []string{id + ".jsonl", id + "/subagents/agent-1.jsonl"} {
		files[y.Old(".claude/projects/-x/"+name, line)] = line
	}
	item, err := y.bin.Put(t.Context(), y.At(".claude/projects/-x/"+id+".jsonl"))
	y.Must(err)
	for path, content := range files {
		if y.Exists(path) {
			t.Fatalf("%s is still there", path)
		}
		y.Must(os.MkdirAll(filepath.Dir(path), 0o700))
		y.Must(os.WriteFile(path, []byte(content), 0o600))
	}
	ops = nil
	_, err = y.bin.Restore(t.Context(), item.ID)
	y.Must(err)
	gone := slices.IndexFunc(ops, func(op string) bool { return strings.HasPrefix(op, "remove ") })
	for path := range files {
		if at := slices.Index(ops, "sync "+filepath.Base(path)); at < 0 || at > gone {
			t.Errorf("%s was not synced before anything was removed: %q", path, ops)
		}
	}
}
