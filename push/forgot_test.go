package push_test

import (
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/push"
)

// forgetting runs a step and then discards its watermarks, as if the step was killed before it stored them.
func (d *desk) forgetting(step func()) {
	d.Helper()
	dir := d.State + "/push"
	before := d.At("before")
	d.Must(os.RemoveAll(before))
	d.Must(os.CopyFS(before, os.DirFS(dir)))
	step()
	d.Must(os.RemoveAll(dir))
	d.Must(os.Rename(before, dir))
}

// A pull that was killed before it stored its watermark is recognized by the content here: nothing is copied twice, and nothing is forked.
func TestPullForgotten(t *testing.T) {
	t.Parallel()
	theirs := entry("eeee0001", "aaaa0002", "theirs") + entry("eeee0002", "eeee0001", "more of theirs")
	ours := entry("aaaa0003", "aaaa0002", "ours")
	for _, first := range []string{"push", "pull"} {
		for _, part := range []string{"all", "some", "and more"} {
			t.Run(first+" "+part, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t)
				path := d.log(a, 3)
				d.push(push.PushOptions{})
				for line := range strings.Lines(theirs) {
					d.append(file(a), line)
				}
				d.forgetting(func() { d.pulls(map[string]push.Fate{file(a): push.Extended}) })
				base := text(d.CWD, a, 3)
				want := base + theirs
				switch part {
				case "some":
					d.Must(os.WriteFile(path, []byte(want[:len(want)-40]), 0o600))
				case "and more":
					d.AppendPlain(path, ours)
					want += ours
				}
				if first == "push" {
					d.push(push.PushOptions{})
				}
				d.pull(push.PullOptions{})
				d.push(push.PushOptions{})
				d.holds(path, want)
				d.equal()
				if n := len(d.there()); n != 1 {
					t.Errorf("%d logs, want 1", n)
				}
				d.pulls(map[string]push.Fate{})
				d.pushes(map[string]push.Fate{})
			})
		}
	}
}

// The same holds for a pull of a branch.
func TestPullForgottenBranch(t *testing.T) {
	t.Parallel()
	ours, theirs := entry("aaaa0003", "aaaa0002", "ours"), entry("eeee0001", "aaaa0002", "theirs")
	more := entry("aaaa0004", "aaaa0003", "more of ours")
	for _, before := range []string{"", "push"} {
		for _, after := range []string{"push pull", "pull push", "lost push pull", "lost pull push", "more push pull", "more lost push pull"} {
			t.Run(before+" forgotten "+after, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t)
				path := d.diverged(ours, theirs)
				d.copies(before)
				d.forgetting(func() { d.copies("pull") })
				base, name := text(d.CWD, a, 3), origin+"/omp/-garden/"+file(a)
				here, there := base+ours+theirs, base+theirs+ours
				if rest, ok := strings.CutPrefix(after, "more "); ok {
					d.AppendPlain(path, more)
					here, there, after = here+more, there+more, rest
				}
				if rest, ok := strings.CutPrefix(after, "lost "); ok {
					d.Must(os.RemoveAll(d.State))
					after = rest
				}
				d.copies(after)
				d.holds(path, here)
				if diff := difftest.Diff(map[string]string{name: there}, d.there()); diff != "" {
					t.Fatal(diff)
				}
				d.pulls(map[string]push.Fate{})
				d.pushes(map[string]push.Fate{})
			})
		}
	}
}
