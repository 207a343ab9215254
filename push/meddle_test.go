package push_test

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/push"
)

// meddling is an archive in which another machine writes just before the first step.
type meddling struct {
	archive
	once   sync.Once
	meddle func()
}

func (m *meddling) Extend(ctx context.Context, at backend.Log, mark string, content io.Reader) (backend.Log, error) {
	m.once.Do(m.meddle)
	return m.archive.Extend(ctx, at, mark, content)
}

// What another machine writes during a push is not lost: the log is looked at again.
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
	if diff := cmp.Diff(map[string]string{origin + "/omp/-garden/" + file(a): text(d.CWD, a, 3) + theirs + ours}, d.there()); diff != "" {
		t.Error(diff)
	}
}

// Two machines that push at once, or a second process of one, copy each log once.
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

// A push that is under way, such as one that watches, does not know what another process pulls. It does not send that back.
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
	if diff := cmp.Diff(map[string]string{origin + "/omp/-garden/" + file(a): base + theirs + ours}, d.there()); diff != "" {
		t.Error(diff)
	}
	d.pushes(map[string]push.Fate{})
	d.pulls(map[string]push.Fate{})
}
