package push_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/push"
)

const (
	origin = "laptop-3f9a2c1b"
	// garden is the folder of omp's sessions of a directory.
	garden = ".omp/agent/sessions/-garden/"
	key    = "AKIA" + "QYLPMN5HHHFPZAM2" // looks like a key of AWS
)

// desk is a machine with an archive.
type desk struct {
	*world.World
	archive archive
	origin  string
	step    int // Options.Step
}

// archive has the interfaces of an archive.
type archive interface {
	backend.Backend
	backend.Mirror
	blob.Keeper
}

// newDesk returns a machine with an archive in memory.
func newDesk(t *testing.T) *desk { return newDeskAt(t, memory.ArchiveDriver("mem"), "mem://team") }

func newDeskAt(t *testing.T, driver backend.Driver, url string) *desk {
	d := &desk{origin: origin}
	d.World = world.New(t, func(w *world.World) { w.State = w.At("state") })
	b, err := driver.Open(url, backend.OpenOptions{})
	d.Must(err)
	d.Cleanup(func() { b.Close() })
	d.archive = b.(archive)
	return d
}

// copier returns a Copier, like a new process would have.
func (d *desk) copier() *push.Copier {
	m := d.Machine()
	d.Cleanup(func() { m.Close() })
	return push.New(push.Options{
		Machine: m, Origin: d.origin, State: d.State, Pulled: d.At("pulled"), Step: d.step,
		Trash: func(_ context.Context, path string) error { return os.Rename(path, path+".trash") },
	})
}

// target is the archive.
func (d *desk) target() push.Target { return push.Target{Backend: d.archive, Shown: "mem://team"} }

// push pushes, and returns the fates of the logs by the last part of their names.
func (d *desk) push(opt push.PushOptions) (map[string]push.Fate, push.Report) {
	d.Helper()
	fates := map[string]push.Fate{}
	opt.Event = d.noting(fates)
	r, err := d.copier().Push(d.Context(), d.target(), opt)
	d.fine(r, err)
	return fates, r
}

// noting returns a function that notes the fate of each log.
func (d *desk) noting(fates map[string]push.Fate) func(push.Event) {
	return func(e push.Event) {
		fates[path.Base(e.Name)] = e.Fate
		if e.Err != nil {
			d.Errorf("%s: %v; want e.Err == nil", e.Name, e.Err)
		}
	}
}

// fine fails the test unless everything succeeded.
func (d *desk) fine(r push.Report, err error) {
	d.Helper()
	d.Must(err)
	for _, p := range r.Problems {
		d.Error(p)
	}
}

// pushes expects the outcome of a push.
func (d *desk) pushes(want map[string]push.Fate) push.Report {
	d.Helper()
	got, r := d.push(push.PushOptions{})
	if diff := difftest.Diff(want, got); diff != "" {
		d.Fatal(diff)
	}
	return r
}

// there returns the logs of the archive.
func (d *desk) there() map[string]string {
	d.Helper()
	all := map[string]string{}
	for l, err := range d.archive.List(d.Context(), "") {
		d.Must(err)
		content, err := backend.ReadAll(d.Context(), d.archive, l)
		d.Must(err)
		all[l.Name] = string(content)
	}
	return all
}

// equal fails the test unless the archive has exactly the logs of omp that are here.
func (d *desk) equal() {
	d.Helper()
	want := map[string]string{}
	dir := d.At(garden)
	entries, err := os.ReadDir(dir)
	d.Must(err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".jsonl") {
			continue
		}
		content, err := os.ReadFile(dir + "/" + e.Name())
		d.Must(err)
		want[origin+"/omp/-garden/"+e.Name()] = string(content)
	}
	if diff := difftest.Diff(want, d.there()); diff != "" {
		d.Fatal(diff)
	}
}

// log writes a session of omp with a prompt and n answers.
func (d *desk) log(id string, n int) (path string) {
	d.Helper()
	return d.Put(garden+"2026-02-16T10-00-00-000Z_"+id+".jsonl", text(d.CWD, id, n))
}

func text(cwd, id string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":%q,"timestamp":"2026-02-16T10:00:00.000Z","cwd":%q}`+"\n", id, cwd)
	for i := range n {
		b.WriteString(entry(fmt.Sprintf("%s%04d", id[:4], i), parentOf(id, i), fmt.Sprintf("message %d", i)))
	}
	return b.String()
}

func parentOf(id string, i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprintf("%s%04d", id[:4], i-1)
}

// entry returns a record of omp.
func entry(id, parent, said string) string {
	p := "null"
	if parent != "" {
		p = fmt.Sprintf("%q", parent)
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-02-16T10:00:01.000Z","message":{"role":"user","content":%q,"timestamp":1}}`+"\n", id, p, said)
}

const a, b = "aaaa1111-0000-4000-8000-000000000001", "bbbb1111-0000-4000-8000-000000000002"

func file(id string) string { return "2026-02-16T10-00-00-000Z_" + id + ".jsonl" }

// Only new bytes are sent, and the copies are equal byte for byte, including torn last lines.
func TestPush(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA, _ := d.log(a, 3), d.log(b, 2)
	r := d.pushes(map[string]push.Fate{file(a): push.Created, file(b): push.Created})
	d.equal()
	if r.Bytes == 0 || r.Logs[push.Created] != 2 {
		t.Errorf("report %+v", r)
	}
	if r = d.pushes(map[string]push.Fate{}); r.Bytes != 0 || r.Logs[push.Unchanged] != 2 {
		t.Errorf("nothing changed: %+v", r)
	}
	more := entry("aaaa0003", "aaaa0002", "more") + `{"type":"mess`
	d.AppendPlain(pathA, more)
	if r = d.pushes(map[string]push.Fate{file(a): push.Extended}); r.Bytes != int64(len(more)) {
		t.Errorf("%d bytes travelled, want %d", r.Bytes, len(more))
	}
	d.equal()
	d.AppendPlain(pathA, `age"}`+"\n")
	d.pushes(map[string]push.Fate{file(a): push.Extended})
	d.equal()
	// A log that was rewritten at its origin replaces its copy.
	d.log(a, 1)
	d.pushes(map[string]push.Fate{file(a): push.Replaced})
	d.equal()
	// Another file that begins with the same bytes counts as grown.
	d.Must(os.Remove(pathA))
	d.log(a, 2)
	d.pushes(map[string]push.Fate{file(a): push.Extended})
	d.equal()
	// Here a header is edited in place.
	content, err := os.ReadFile(pathA)
	d.Must(err)
	d.Must(os.WriteFile(pathA, []byte(strings.Replace(string(content), `10:00:00.000Z`, `10:00:00.001Z`, 1)+entry("aaaa0009", "aaaa0000", "x")), 0o600))
	d.pushes(map[string]push.Fate{file(a): push.Replaced})
	d.equal()
}

// Lost watermarks are rebuilt from the marks of the copies, without sending anything again.
func TestPushWithoutState(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA, _ := d.log(a, 30), d.log(b, 2)
	d.push(push.PushOptions{})
	d.Must(os.RemoveAll(d.State))
	d.pushes(map[string]push.Fate{})
	d.Must(os.RemoveAll(d.State))
	more := entry("aaaa0030", "aaaa0029", "more")
	d.AppendPlain(pathA, more)
	if r := d.pushes(map[string]push.Fate{file(a): push.Extended}); r.Bytes != int64(len(more)) {
		t.Errorf("%d bytes travelled, want %d", r.Bytes, len(more))
	}
	d.equal()
	// A copy without a mark is compared.
	for l, err := range d.archive.List(d.Context(), "") {
		d.Must(err)
		d.Must(d.archive.Remove(d.Context(), l))
		content, err := os.ReadFile(d.At(garden + path.Base(l.Name)))
		d.Must(err)
		_, err = d.archive.Overwrite(d.Context(), backend.Log{Name: l.Name}, "", bytes.NewReader(content[:len(content)/2]))
		d.Must(err)
	}
	d.Must(os.RemoveAll(d.State))
	d.pushes(map[string]push.Fate{file(a): push.Extended, file(b): push.Extended})
	d.equal()
}

// With an old state folder, a push does not send what the archive already has.
func TestPushWithOldState(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA := d.log(a, 3)
	d.push(push.PushOptions{})
	old, err := os.ReadDir(d.State + "/push")
	d.Must(err)
	saved, err := os.ReadFile(d.State + "/push/" + old[0].Name())
	d.Must(err)
	d.AppendPlain(pathA, entry("aaaa0003", "aaaa0002", "more"))
	d.pushes(map[string]push.Fate{file(a): push.Extended})
	d.Must(os.WriteFile(d.State+"/push/"+old[0].Name(), append(saved, `{"name":"torn`...), 0o600))
	d.pushes(map[string]push.Fate{})
	d.equal()
	d.AppendPlain(pathA, entry("aaaa0004", "aaaa0003", "more"))
	d.pushes(map[string]push.Fate{file(a): push.Extended})
	d.equal()
}

// A filter excludes logs, and a push with another filter does not start over.
func TestPushFilters(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA := d.log(a, 3)
	d.log(b, 2)
	old := time.Now().Add(-48 * time.Hour)
	d.Must(os.Chtimes(pathA, old, old))
	got, _ := d.push(push.PushOptions{Filter: push.Filter{Since: time.Now().Add(-time.Hour)}})
	if diff := difftest.Diff(map[string]push.Fate{file(b): push.Created}, got); diff != "" {
		t.Error(diff)
	}
	got, _ = d.push(push.PushOptions{Filter: push.Filter{Sources: []string{"claude"}}})
	if len(got) != 0 {
		t.Errorf("pushed %v", got)
	}
	got, _ = d.push(push.PushOptions{Filter: push.Filter{Project: func(cwd string) bool { return cwd == "/elsewhere" }}})
	if len(got) != 0 {
		t.Errorf("pushed %v", got)
	}
	got, _ = d.push(push.PushOptions{Filter: push.Filter{Sources: []string{"omp"}, Project: func(cwd string) bool { return cwd == d.CWD }}})
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Created}, got); diff != "" {
		t.Error(diff)
	}
	d.equal()
	_, err := d.copier().Push(d.Context(), push.Target{Backend: d.archive}, push.PushOptions{Filter: push.Filter{Sources: []string{"nonsense"}}})
	if err == nil {
		t.Error("an unknown source was accepted")
	}
}

// A dry run reports what it would do, and changes nothing.
func TestPushDry(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA := d.log(a, 3)
	got, _ := d.push(push.PushOptions{DryRun: true})
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Created}, got); diff != "" || len(d.there()) != 0 || d.Exists(d.State) {
		t.Error(diff, d.there(), d.Exists(d.State))
	}
	d.push(push.PushOptions{})
	d.AppendPlain(pathA, entry("aaaa0003", "aaaa0002", "more"))
	before := d.there()
	got, _ = d.push(push.PushOptions{DryRun: true})
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Extended}, got); diff != "" {
		t.Error(diff)
	}
	if diff := difftest.Diff(before, d.there()); diff != "" {
		t.Error(diff)
	}
}

// Deletions are passed on only on request, and never remove what was written elsewhere.
func TestPushDeletions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA, pathB := d.log(a, 3), d.log(b, 2)
	d.push(push.PushOptions{})
	d.Must(os.Remove(pathA))
	d.pushes(map[string]push.Fate{})
	if len(d.there()) != 2 {
		t.Fatal("a deletion was passed on without being asked for")
	}
	got, _ := d.push(push.PushOptions{Deletions: true})
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Removed}, got); diff != "" {
		t.Fatal(diff)
	}
	d.equal()
	// A copy comes back when its log does.
	d.log(a, 3)
	d.pushes(map[string]push.Fate{file(a): push.Created})
	d.equal()
	// The copy was written to elsewhere since.
	d.append(file(b), entry("eeee0001", "bbbb0001", "elsewhere"))
	d.Must(os.Remove(pathB))
	if got, _ = d.push(push.PushOptions{Deletions: true}); got[file(b)] != push.Withheld || len(d.there()) != 2 {
		t.Errorf("%v, and the archive has %d logs", got, len(d.there()))
	}
	// After it was removed in the archive, it is not pushed again until it changes.
	at, err := d.archive.Stat(d.Context(), origin+"/omp/-garden/"+file(a))
	d.Must(err)
	d.Must(d.archive.Remove(d.Context(), at))
	d.pushes(map[string]push.Fate{file(a): push.Withheld})
}

// append writes to a copy in the archive, as another machine would.
func (d *desk) append(name string, records ...string) {
	d.Helper()
	at, err := d.archive.Stat(d.Context(), origin+"/omp/-garden/"+name)
	d.Must(err)
	for _, r := range records {
		at, err = d.archive.Append(d.Context(), at, []byte(strings.TrimSuffix(r, "\n")))
		d.Must(err)
	}
}

// Blobs are sent before the records that refer to them, each once.
func TestPushBlobs(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	store := blob.NewDir(d.At(".omp/agent/blobs"))
	image := []byte("\x89PNG\r\n\x1a\n image")
	ref, err := store.Put(d.Context(), image)
	d.Must(err)
	secret, err := store.Put(d.Context(), []byte("export AWS_ACCESS_KEY_ID="+key))
	d.Must(err)
	pathA := d.log(a, 1)
	d.AppendPlain(pathA, entry("aaaa0001", "aaaa0000", ref.String()+" "+secret.String()+" "+blob.Sum([]byte("missing")).String()))
	_, r := d.push(push.PushOptions{})
	if r.Blobs != 2 {
		t.Errorf("%d blobs", r.Blobs)
	}
	got, err := blob.Get(d.Context(), d.archive.Blobs(""), ref)
	if err != nil || !slices.Equal(got, image) {
		t.Errorf("%q, %v; want no error, slices.Equal(got, image)", got, err)
	}
	d.AppendPlain(pathA, entry("aaaa0002", "aaaa0001", ref.String()))
	if _, r = d.push(push.PushOptions{}); r.Blobs != 0 {
		t.Errorf("%d blobs were sent again", r.Blobs)
	}
}

// lateBlobs is an archive that takes a while to store a blob, and refuses a log that refers to a blob it does not have.
type lateBlobs struct{ archive }

func (l *lateBlobs) Blobs(name string) blob.Store { return lateStore{l.archive.Blobs(name)} }

func (l *lateBlobs) Overwrite(ctx context.Context, at backend.Log, mark string, content io.Reader) (backend.Log, error) {
	text, err := io.ReadAll(content)
	if err != nil {
		return backend.Log{}, err
	}
	for ref := range blob.RefsIn(text) {
		if has, err := l.archive.Blobs(at.Name).Has(ctx, ref); !has {
			return backend.Log{}, fmt.Errorf("%s names a blob that is not there: %v", at.Name, err)
		}
	}
	return l.archive.Overwrite(ctx, at, mark, bytes.NewReader(text))
}

type lateStore struct{ blob.Store }

func (s lateStore) Put(ctx context.Context, content []byte) (blob.Ref, error) {
	time.Sleep(20 * time.Millisecond) // time for another log
	return s.Store.Put(ctx, content)
}

// Logs that are copied at the same time and refer to the same blob wait for it.
func TestPushSharedBlob(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ref, err := blob.NewDir(d.At(".omp/agent/blobs")).Put(d.Context(), []byte("\x89PNG\r\n\x1a\n image"))
	d.Must(err)
	for i := range 4 {
		path := d.log(fmt.Sprintf("%04x1111-0000-4000-8000-000000000001", 0xa000+i), 1)
		d.AppendPlain(path, entry("eeee0001", "aaaa0000", ref.String()))
	}
	r, err := d.copier().Push(d.Context(), push.Target{Backend: &lateBlobs{archive: d.archive}, Shown: "mem://team"}, push.PushOptions{
		Workers: 4, Event: d.noting(map[string]push.Fate{}),
	})
	if d.fine(r, err); r.Blobs != 1 || r.Logs[push.Created] != 4 {
		t.Errorf("%+v; want one blob and four logs", r)
	}
}

// A blob that is missing in one source's folder of blobs is searched for in those of others.
func TestPushBlobOfTwo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ref, err := blob.NewDir(d.At("other/blobs")).Put(d.Context(), []byte("\x89PNG\r\n\x1a\n image"))
	d.Must(err)
	d.AppendPlain(d.log(a, 1), entry("eeee0001", "aaaa0000", ref.String()))
	d.Put("other/sessions/-garden/"+file(b), text(d.CWD, b, 1)+entry("eeee0001", "aaaa0000", ref.String()))
	d.Roots = []string{d.At(".omp/agent/sessions"), d.At("other/sessions")}
	if _, r := d.push(push.PushOptions{}); r.Blobs != 1 || r.Logs[push.Created] != 2 {
		t.Errorf("%+v; want one blob and two logs", r)
	}
}
