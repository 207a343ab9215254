package push_test

import (
	"path"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/push"
)

// image is a blob that records name.
var image = []byte("\x89PNG\r\n\x1a\n image")

// newLimitedDesk returns a machine whose token for the archive is limited, so that each log has blobs of its own.
func newLimitedDesk(t *testing.T) *desk {
	driver := memory.ArchiveDriver("mem")
	d := newDeskAt(t, driver, "mem://team")
	b, err := driver.Open("mem://team", backend.OpenOptions{Writer: backend.Writer{Limited: true}})
	d.Must(err)
	d.Cleanup(func() { b.Close() })
	d.archive = b.(archive)
	return d
}

// reads fails the test unless a blob can be read through these logs.
func (d *desk) reads(ref blob.Ref, names ...string) {
	d.Helper()
	for _, name := range names {
		if _, err := blob.Get(d.Context(), d.archive.Blobs(origin+"/omp/-garden/"+name), ref); err != nil {
			d.Errorf("through %s: %v", name, err)
		}
	}
}

// A limited writer stores a blob for each log that refers to it. Only then can the blob be read through that log.
func TestPushLimitedBlobs(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 4} {
		d := newLimitedDesk(t)
		ref, err := blob.NewDir(d.At(".omp/agent/blobs")).Put(d.Context(), image)
		d.Must(err)
		pathA, pathB := d.log(a, 1), d.log(b, 1)
		d.AppendPlain(pathA, entry("aaaa0001", "aaaa0000", ref.String()))
		d.AppendPlain(pathB, entry("bbbb0001", "bbbb0000", ref.String()+" "+ref.String()))
		if _, r := d.push(push.PushOptions{Workers: workers}); r.Blobs != 2 {
			t.Errorf("%d blobs, want one for each log", r.Blobs)
		}
		d.reads(ref, file(a), file(b))
		d.AppendPlain(pathB, entry("bbbb0002", "bbbb0001", ref.String()))
		if _, r := d.push(push.PushOptions{Workers: workers}); r.Blobs != 0 {
			t.Errorf("%d blobs were sent again", r.Blobs)
		}
	}
}

// A fork in the archive has the blobs of the copy from which it was made.
func TestPushLimitedFork(t *testing.T) {
	t.Parallel()
	d := newLimitedDesk(t)
	ref, err := d.archive.Blobs(origin+"/omp/-garden/"+file(a)).Put(d.Context(), image)
	d.Must(err)
	d.diverged(entry("aaaa0003", "aaaa0002", "ours"), entry("aaaa0003", "aaaa0002", "theirs "+ref.String()))
	var fork string
	r, err := d.copier().Push(d.Context(), d.target(), push.PushOptions{Event: func(e push.Event) { fork = e.Fork }})
	if d.fine(r, err); r.Logs[push.Forked] != 1 || fork == "" {
		t.Fatalf("%+v, %q; want a fork", r, fork)
	}
	d.reads(ref, path.Base(fork))
}

// A blob that cannot be read through one log is read through another one that refers to it.
func TestPullLimitedBlobs(t *testing.T) {
	t.Parallel()
	d := newLimitedDesk(t)
	ref := blob.Sum(image)
	d.AppendPlain(d.log(a, 1), entry("aaaa0001", "aaaa0000", ref.String()))
	d.push(push.PushOptions{})
	_, err := blob.NewDir(d.At(".omp/agent/blobs")).Put(d.Context(), image)
	d.Must(err)
	d.AppendPlain(d.log(b, 1), entry("bbbb0001", "bbbb0000", ref.String()))
	d.push(push.PushOptions{})
	o := d.beside(t)
	all := push.PullOptions{Origins: []string{"laptop"}, Workers: 1}
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Created, file(b): push.Created}, o.pull(all)); diff != "" {
		t.Fatal(diff)
	}
	if ok, err := blob.NewDir(o.At("pulled/"+origin+"/omp/blobs")).Has(o.Context(), ref); !ok || err != nil {
		t.Errorf("the blob is missing: %v", err)
	}
}
