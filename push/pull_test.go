package push_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/push"
)

// pull pulls, and returns the fates of the logs by the last part of their names.
func (d *desk) pull(opt push.PullOptions) map[string]push.Fate {
	d.Helper()
	fates := map[string]push.Fate{}
	opt.Event = d.noting(fates)
	r, err := d.copier().Pull(d.Context(), d.target(), opt)
	d.fine(r, err)
	return fates
}

// pulls expects the outcome of a pull of the machine's own logs.
func (d *desk) pulls(want map[string]push.Fate) {
	d.Helper()
	if diff := difftest.Diff(want, d.pull(push.PullOptions{})); diff != "" {
		d.Fatal(diff)
	}
}

// holds expects the content of a file.
func (d *desk) holds(path, want string) {
	d.Helper()
	got, err := os.ReadFile(path)
	d.Must(err)
	if diff := difftest.Diff(want, string(got)); diff != "" {
		d.Fatal(diff)
	}
}

// beside returns another machine with the same archive.
func (d *desk) beside(t *testing.T) *desk {
	o := newDesk(t)
	o.origin, o.archive = "desktop-00c0ffee", d.archive
	return o
}

// Logs of this machine are restored in their places, including torn last lines and blobs.
func TestPullBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ref, err := blob.NewDir(d.At(".omp/agent/blobs")).Put(d.Context(), []byte("\x89PNG\r\n\x1a\n"))
	d.Must(err)
	pathA := d.log(a, 3)
	d.AppendPlain(pathA, entry("aaaa0003", "aaaa0002", ref.String())+`{"torn`)
	d.log(b, 1)
	d.push(push.PushOptions{})
	d.pulls(map[string]push.Fate{})
	// A log that was removed here stays removed, whatever the archive has.
	d.Must(os.Remove(pathA))
	d.pulls(map[string]push.Fate{file(a): push.Absent})
	// It comes back on request.
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Created}, d.pull(push.PullOptions{Removed: true})); diff != "" {
		t.Fatal(diff)
	}
	d.equal()
	d.pulls(map[string]push.Fate{})
	pathB := d.At(garden + file(b))
	d.Must(os.Remove(pathB))
	d.append(file(b), entry("eeee0001", "bbbb0000", "theirs"))
	d.pulls(map[string]push.Fate{file(b): push.Withheld})
	if diff := difftest.Diff(map[string]push.Fate{file(b): push.Created}, d.pull(push.PullOptions{Removed: true})); diff != "" {
		t.Fatal(diff)
	}
	d.equal()
	// On a new disk, everything is restored.
	d.Must(os.RemoveAll(d.State))
	d.Must(os.RemoveAll(d.At(".omp")))
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Created, file(b): push.Created}, d.pull(push.PullOptions{DryRun: true})); diff != "" || d.Exists(pathA) {
		t.Fatal(diff)
	}
	d.pulls(map[string]push.Fate{file(a): push.Created, file(b): push.Created})
	d.equal()
	if ok, err := blob.NewDir(d.At(".omp/agent/blobs")).Has(d.Context(), ref); !ok || err != nil {
		t.Errorf("the blob is missing: %v", err)
	}
	d.pulls(map[string]push.Fate{})
	d.pushes(map[string]push.Fate{})
}

// What was written elsewhere is pulled, and not pushed back.
func TestPullAhead(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA := d.log(a, 3)
	d.push(push.PushOptions{})
	theirs := entry("eeee0001", "aaaa0002", "theirs")
	d.append(file(a), theirs)
	d.pulls(map[string]push.Fate{file(a): push.Extended})
	d.holds(pathA, text(d.CWD, a, 3)+theirs)
	d.pushes(map[string]push.Fate{})
	d.pulls(map[string]push.Fate{})
	d.AppendPlain(pathA, entry("aaaa0003", "eeee0001", "ours"))
	d.pulls(map[string]push.Fate{file(a): push.Ahead})
	d.pushes(map[string]push.Fate{file(a): push.Extended})
	d.equal()
	// The same holds without a state folder.
	d.append(file(a), entry("eeee0002", "aaaa0003", "theirs"))
	d.Must(os.RemoveAll(d.State))
	d.pulls(map[string]push.Fate{file(a): push.Extended})
	d.equal()
}

// copies pushes and pulls in this order.
func (d *desk) copies(order string) {
	d.Helper()
	for step := range strings.FieldsSeq(order) {
		if step == "pull" {
			d.pull(push.PullOptions{})
		} else {
			d.push(push.PushOptions{})
		}
	}
}

// Both directions make the same branches of a log that has diverged, in any order, and continue from there.
func TestDivergedBothWays(t *testing.T) {
	t.Parallel()
	ours, theirs := entry("aaaa0003", "aaaa0002", "ours"), entry("eeee0001", "aaaa0002", "theirs")
	for _, order := range []string{"pull push", "push pull", "pull pull push push", "push push pull pull"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			pathA := d.diverged(ours, theirs)
			d.copies(order)
			base, name := text(d.CWD, a, 3), origin+"/omp/-garden/"+file(a)
			d.holds(pathA, base+ours+theirs)
			if diff := difftest.Diff(map[string]string{name: base + theirs + ours}, d.there()); diff != "" {
				t.Fatal(diff)
			}
			d.pushes(map[string]push.Fate{})
			d.pulls(map[string]push.Fate{})
			more, again := entry("aaaa0004", "aaaa0003", "more"), entry("eeee0002", "eeee0001", "again")
			d.AppendPlain(pathA, more)
			d.pushes(map[string]push.Fate{file(a): push.Extended})
			d.append(file(a), again)
			d.pulls(map[string]push.Fate{file(a): push.Extended})
			d.holds(pathA, base+ours+theirs+more+again)
			if diff := difftest.Diff(map[string]string{name: base + theirs + ours + more + again}, d.there()); diff != "" {
				t.Fatal(diff)
			}
			d.pushes(map[string]push.Fate{})
		})
	}
}

// Both directions make the same fork.
func TestForkedBothWays(t *testing.T) {
	t.Parallel()
	ours, theirs := entry("aaaa0003", "aaaa0002", "ours"), entry("aaaa0003", "aaaa0002", "theirs")
	for _, order := range []string{"pull push", "push pull", "pull pull push pull push"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			pathA := d.diverged(ours, theirs)
			d.copies(order)
			d.holds(pathA, text(d.CWD, a, 3)+ours)
			if n := len(d.there()); n != 2 {
				t.Errorf("%d logs in the archive", n)
			}
			d.equal() // the fork is both here and there
			d.pushes(map[string]push.Fate{})
			d.pulls(map[string]push.Fate{})
		})
	}
}

// A copy that grows in the archive after it was pulled as a fork also grows here: in the fork or, if that was continued here, in a fork of
// its own.
func TestForkGoesOn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	theirs, later, last := entry("aaaa0003", "aaaa0002", "theirs"), entry("aaaa0004", "aaaa0003", "later"), entry("aaaa0005", "aaaa0004", "last")
	pathA := d.diverged(entry("aaaa0003", "aaaa0002", "ours"), theirs)
	forked := map[string]push.Fate{file(a): push.Forked}
	d.pulls(forked)
	d.append(file(a), later)
	d.pulls(forked)
	forks := func() (list []string) {
		all, err := filepath.Glob(filepath.Join(filepath.Dir(pathA), "*.jsonl"))
		d.Must(err)
		return slices.DeleteFunc(all, func(path string) bool { return path == pathA })
	}
	if all := lines(t, filepath.Dir(pathA)); len(forks()) != 1 || !all[theirs] || !all[later] {
		t.Fatalf("the forks %v, want one with %s%s", forks(), theirs, later)
	}
	d.AppendPlain(forks()[0], entry("bbbb0001", "aaaa0004", "continued"))
	d.append(file(a), last)
	d.pulls(forked)
	if all := lines(t, filepath.Dir(pathA)); len(forks()) != 2 || !all[last] {
		t.Errorf("the forks %v, want two, and one with %s", forks(), last)
	}
}

// Logs of other machines are pulled into a folder of their own, with their blobs, and are kept up to date.
func TestPullOthers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ref, err := blob.NewDir(d.At(".omp/agent/blobs")).Put(d.Context(), []byte("\x89PNG\r\n\x1a\n"))
	d.Must(err)
	pathA := d.log(a, 3)
	d.AppendPlain(pathA, entry("aaaa0003", "aaaa0002", ref.String()))
	d.push(push.PushOptions{})
	o := d.beside(t)
	if _, err := o.copier().Pull(o.Context(), push.Target{Backend: o.archive}, push.PullOptions{Origins: []string{"phone"}}); !errors.Is(err, push.ErrNoLogs) {
		t.Errorf("an origin that does not exist: %v", err)
	}
	for _, name := range []string{"laptop", origin, "lap*"} {
		want := map[string]push.Fate{file(a): push.Created}
		if name != "laptop" {
			want = map[string]push.Fate{}
		}
		if diff := difftest.Diff(want, o.pull(push.PullOptions{Origins: []string{name}})); diff != "" {
			t.Fatal(diff)
		}
	}
	pulled := o.At("pulled/" + origin + "/omp/sessions/-garden/" + file(a))
	same := func() {
		t.Helper()
		content, err := os.ReadFile(pathA)
		d.Must(err)
		o.holds(pulled, string(content))
	}
	same()
	if ok, err := blob.NewDir(o.At("pulled/"+origin+"/omp/blobs")).Has(o.Context(), ref); !ok || err != nil {
		t.Errorf("the blob is missing: %v", err)
	}
	all := push.PullOptions{Origins: []string{"*"}, Deletions: true}
	d.AppendPlain(pathA, entry("aaaa0004", "aaaa0003", "more"))
	d.push(push.PushOptions{})
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Extended}, o.pull(all)); diff != "" {
		t.Fatal(diff)
	}
	same()
	d.log(a, 1)
	d.push(push.PushOptions{})
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Replaced}, o.pull(all)); diff != "" {
		t.Fatal(diff)
	}
	same()
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Created}, o.pull(push.PullOptions{Origins: []string{"*"}, Into: o.At("into")})); diff != "" {
		t.Fatal(diff)
	}
	// On request, a tombstone moves the log to the trash.
	d.Must(os.Remove(pathA))
	d.push(push.PushOptions{Deletions: true})
	if got := o.pull(push.PullOptions{Origins: []string{"*"}}); len(got) != 0 || !o.Exists(pulled) {
		t.Errorf("%v without being asked for", got)
	}
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Removed}, o.pull(all)); diff != "" || o.Exists(pulled) || !o.Exists(pulled+".trash") {
		t.Error(diff)
	}
	if got := o.pull(all); len(got) != 0 {
		t.Errorf("once more: %v", got)
	}
}

// Each machine whose logs are pulled gets a folder of blobs of its own, even for a blob that logs of several machines refer to.
func TestPullBlobOfTwo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ref, err := d.archive.Blobs("").Put(d.Context(), []byte("\x89PNG\r\n\x1a\n"))
	d.Must(err)
	origins := []string{"phone-00000001", "tablet-00000002"}
	for _, origin := range origins {
		records := strings.Split(strings.TrimSuffix(text(d.CWD, a, 1)+entry("aaaa0001", "aaaa0000", ref.String()), "\n"), "\n")
		var log [][]byte
		for _, record := range records {
			log = append(log, []byte(record))
		}
		_, err := d.archive.Create(d.Context(), origin+"/omp/-garden/"+file(a), log...)
		d.Must(err)
	}
	d.pull(push.PullOptions{Origins: []string{"*"}})
	for _, origin := range origins {
		if ok, err := blob.NewDir(d.At("pulled/"+origin+"/omp/blobs")).Has(d.Context(), ref); !ok || err != nil {
			t.Errorf("the blob of %s is missing: %v", origin, err)
		}
	}
}

// A pull that was interrupted between two spans of the copy, or within one, continues there.
func TestPullStretches(t *testing.T) {
	t.Parallel()
	ours, theirs, again := entry("aaaa0003", "aaaa0002", "ours"), entry("eeee0001", "aaaa0002", "theirs"), entry("eeee0002", "eeee0001", "again")
	for _, done := range []int{0, len(theirs) / 2, len(theirs), len(theirs) + len(again)/2, len(theirs) + len(again)} {
		d := newDesk(t)
		pathA := d.diverged(ours, theirs)
		d.pushes(map[string]push.Fate{file(a): push.Branched})
		d.append(file(a), again)
		d.AppendPlain(pathA, (theirs + again)[:done])
		d.pull(push.PullOptions{})
		d.holds(pathA, text(d.CWD, a, 3)+ours+theirs+again)
		d.pushes(map[string]push.Fate{})
		d.pulls(map[string]push.Fate{})
		if n := len(lines(t, filepath.Dir(pathA))); n != 7 {
			t.Errorf("after %d bytes: %d lines, want 7 in one log", done, n)
		}
	}
}

// A fork that a pull makes has its blobs.
func TestPullForkBlobs(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ref, err := d.archive.Blobs("").Put(d.Context(), []byte("\x89PNG\r\n\x1a\n"))
	d.Must(err)
	d.diverged(entry("aaaa0003", "aaaa0002", "ours"), entry("aaaa0003", "aaaa0002", "theirs "+ref.String()))
	d.pulls(map[string]push.Fate{file(a): push.Forked})
	if ok, err := blob.NewDir(d.At(".omp/agent/blobs")).Has(d.Context(), ref); !ok || err != nil {
		t.Errorf("the blob is missing: %v", err)
	}
}

// A redacted copy is never pulled to its origin, but to other machines.
func TestPullRedacted(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA := d.log(a, 1)
	d.AppendPlain(pathA, entry("aaaa0001", "aaaa0000", "key "+key))
	d.push(push.PushOptions{Redact: true})
	d.pulls(map[string]push.Fate{})
	d.append(file(a), entry("eeee0001", "aaaa0001", "theirs"))
	d.pulls(map[string]push.Fate{file(a): push.Withheld})
	d.Must(os.RemoveAll(d.State))
	d.Must(os.Remove(pathA))
	d.pulls(map[string]push.Fate{file(a): push.Withheld})
	if d.Exists(pathA) {
		t.Error("a redacted copy was pulled into its origin")
	}
	o := d.beside(t)
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Created}, o.pull(push.PullOptions{Origins: []string{"laptop"}})); diff != "" {
		t.Error(diff)
	}
}
