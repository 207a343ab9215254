package push_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"sync"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/push"
)

// meddling is an archive in which another machine writes just before the first step of a push.
type meddling struct {
	archive
	once   sync.Once
	meddle func()
}

func (m *meddling) Extend(ctx context.Context, at backend.Log, mark string, content io.Reader) (backend.Log, error) {
	m.once.Do(m.meddle)
	return m.archive.Extend(ctx, at, mark, content)
}

// What another machine writes during a push is not lost: the push tries the log again.
func TestPushBesideAnother(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA := d.log(a, 3)
	d.push(push.PushOptions{})
	ours, theirs := entry("aaaa0003", "aaaa0002", "ours"), entry("eeee0001", "aaaa0002", "theirs")
	d.AppendPlain(pathA, ours)
	m := &meddling{archive: d.archive, meddle: func() { d.append(file(a), theirs) }}
	r, err := d.copier().Push(d.Context(), push.Target{Backend: m, Shown: "mem://team"}, push.PushOptions{})
	if err != nil || r.Logs[push.Branched] != 1 {
		t.Fatalf("%+v, %v; want no error, r.Logs[push.Branched] == 1", r, err)
	}
	if diff := difftest.Diff(map[string]string{origin + "/omp/-garden/" + file(a): text(d.CWD, a, 3) + theirs + ours}, d.there()); diff != "" {
		t.Error(diff)
	}
}

// Two machines that push at the same time, or a second process on one, copy each log once.
func TestPushTwice(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.step = 500
	for _, id := range []string{a, b, "cccc1111-0000-4000-8000-000000000003"} {
		d.log(id, 20)
	}
	var group sync.WaitGroup
	for range 4 {
		c := d.copier()
		group.Go(func() {
			r, err := c.Push(context.Background(), d.target(), push.PushOptions{})
			if err != nil || r.Logs[push.Failed]+r.Logs[push.Forked]+r.Logs[push.Branched] > 0 {
				t.Errorf("%+v, %v; want no error, r.Logs[push.Failed] + r.Logs[push.Forked] + r.Logs[push.Branched] <= 0", r, err)
			}
		})
	}
	group.Wait()
	d.equal()
	d.push(push.PushOptions{})
	d.equal()
}

// A push in progress, such as one that watches, does not know what another process pulls. It must not send that back.
func TestPushBesidePull(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA := d.log(a, 3)
	d.push(push.PushOptions{})
	ours, theirs := entry("aaaa0003", "aaaa0002", "ours"), entry("eeee0001", "aaaa0002", "theirs")
	d.AppendPlain(pathA, ours)
	m := &meddling{archive: d.archive, meddle: func() {
		d.append(file(a), theirs)
		d.pull(push.PullOptions{})
	}}
	r, err := d.copier().Push(d.Context(), push.Target{Backend: m, Shown: "mem://team"}, push.PushOptions{})
	if err != nil || r.Logs[push.Extended] != 1 {
		t.Fatalf("%+v, %v; want no error, r.Logs[push.Extended] == 1", r, err)
	}
	base := text(d.CWD, a, 3)
	d.holds(pathA, base+ours+theirs)
	if diff := difftest.Diff(map[string]string{origin + "/omp/-garden/" + file(a): base + theirs + ours}, d.there()); diff != "" {
		t.Error(diff)
	}
	d.pushes(map[string]push.Fate{})
	d.pulls(map[string]push.Fate{})
}

// beforeOp is a file system in which another program acts before the nth access to a file.
type beforeOp struct {
	durable.FS
	path string
	mu   sync.Mutex
	left int
	act  func()
}

func (f *beforeOp) look(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name == f.path {
		if f.left--; f.left == 0 {
			f.act()
		}
	}
}

func (f *beforeOp) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f.look(name)
	return f.FS.Open(name, flag, perm)
}

func (f *beforeOp) Stat(name string) (durable.Info, error) {
	f.look(name)
	return f.FS.Stat(name)
}

// What is written to a pulled log while its copy was replaced, and pulled again, is not lost.
func TestPullReplacedBesideWriter(t *testing.T) {
	t.Parallel()
	theirs := entry("eeee0001", "aaaa0002", "written meanwhile")
	for n := 1; ; n++ {
		d := newDesk(t)
		path := d.log(a, 3)
		d.push(push.PushOptions{})
		o := d.beside(t)
		all := push.PullOptions{Origins: []string{"*"}}
		o.pull(all)
		pulled := o.At("pulled/" + origin + "/omp/sessions/-garden")
		d.Must(os.WriteFile(path, []byte(text(d.CWD, a, 5)[:400]+"\n"), 0o600))
		d.push(push.PushOptions{})
		hook := &beforeOp{FS: o.FS, path: pulled + "/" + file(a), left: n, act: func() { o.AppendPlain(pulled+"/"+file(a), theirs) }}
		o.FS = hook
		if _, err := o.copier().Pull(o.Context(), o.target(), all); err != nil {
			t.Fatal(err)
		}
		if hook.left > 0 {
			if n < 3 {
				t.Errorf("the log is looked at %d times", n)
			}
			return
		}
		if !lines(t, pulled)[theirs] {
			t.Errorf("what was written before look %d is lost", n)
		}
	}
}
