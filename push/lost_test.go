package push_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/push"
)

// lose loses the disk.
func (d *desk) lose() {
	d.Helper()
	d.Must(errors.Join(os.RemoveAll(d.State), os.RemoveAll(d.At(".omp")), os.RemoveAll(d.At(".claude"))))
}

// pushRedacted pushes with redaction, and expects the outcome.
func (d *desk) pushRedacted(want map[string]push.Fate) {
	d.Helper()
	got, _ := d.push(push.PushOptions{Redact: true})
	if diff := difftest.Diff(want, got); diff != "" {
		d.Fatal(diff)
	}
}

// After a redacted push, logs without secrets come back as they were. Those with secrets come back on request, and only if they are lost.
func TestPullLost(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA, pathB := d.log(a, 3), d.log(b, 2)
	secret := entry("bbbb0002", "bbbb0001", "key "+key)
	d.AppendPlain(pathB, secret)
	d.pushRedacted(map[string]push.Fate{file(a): push.Created, file(b): push.Created})
	more := entry("aaaa0003", "aaaa0002", "more")
	d.AppendPlain(pathA, more)
	d.pushRedacted(map[string]push.Fate{file(a): push.Extended})
	wantA, wantB := text(d.CWD, a, 3)+more, text(d.CWD, b, 2)+strings.Replace(secret, key, "[redacted: aws access key]", 1)
	d.lose()
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Created, file(b): push.Withheld}, d.pull(push.PullOptions{DryRun: true})); diff != "" || d.Exists(pathA) {
		t.Fatal(diff)
	}
	d.pulls(map[string]push.Fate{file(a): push.Created, file(b): push.Withheld})
	d.holds(pathA, wantA)
	var redacted []string
	if _, err := d.copier().Pull(d.Context(), d.target(), push.PullOptions{Redacted: true, Event: func(e push.Event) {
		if e.Redacted && e.Fate == push.Created {
			redacted = append(redacted, e.Path)
		}
	}}); err != nil || !slices.Equal(redacted, []string{pathB}) {
		t.Errorf("%v, %v; want no error and %s", redacted, err, pathB)
	}
	d.holds(pathB, wantB)
	// Now they are the originals.
	d.pulls(map[string]push.Fate{})
	d.pushRedacted(map[string]push.Fate{})
	theirs := entry("eeee0001", "bbbb0002", "theirs")
	d.append(file(b), theirs)
	d.pulls(map[string]push.Fate{file(b): push.Extended})
	d.AppendPlain(pathB, entry("bbbb0003", "eeee0001", "ours"))
	d.pushRedacted(map[string]push.Fate{file(b): push.Extended})
	d.equal()
	d.Must(os.RemoveAll(d.State))
	d.pulls(map[string]push.Fate{})
	d.pushRedacted(map[string]push.Fate{})
}

// A redacted text never gets into an original, whatever is asked for, and with or without a state folder.
func TestPullRedactedBesideOriginal(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		for _, theirs := range []string{"", "appended", "rewritten"} {
			for _, ours := range []string{"", "appended", "rewritten"} {
				t.Run(fmt.Sprintf("%v,%s,%s", lost, theirs, ours), func(t *testing.T) {
					t.Parallel()
					d := newDesk(t)
					path := d.log(a, 2)
					d.AppendPlain(path, entry("aaaa0002", "aaaa0001", "key "+key))
					d.pushRedacted(map[string]push.Fate{file(a): push.Created})
					switch theirs {
					case "appended":
						d.append(file(a), entry("eeee0001", "aaaa0002", "theirs"))
					case "rewritten":
						d.overwrite(file(a), text(d.CWD, a, 1)+entry("eeee0001", "aaaa0000", "theirs, in place of [redacted: aws access key]"))
					}
					switch ours {
					case "appended":
						d.AppendPlain(path, entry("aaaa0003", "aaaa0002", "ours"))
					case "rewritten":
						d.Must(os.WriteFile(path, []byte(text(d.CWD, a, 1)+entry("aaaa0009", "aaaa0000", key)), 0o600))
					}
					if lost {
						d.Must(os.RemoveAll(d.State))
					}
					before, err := os.ReadFile(path)
					d.Must(err)
					d.pull(push.PullOptions{Redacted: true})
					d.holds(path, string(before))
					if list, err := filepath.Glob(d.At(garden) + "/*"); err != nil || len(list) != 1 {
						t.Errorf("%v, %v; want one session", list, err)
					}
				})
			}
		}
	}
}

// overwrite replaces a copy in the archive; its mark stays.
func (d *desk) overwrite(name, content string) {
	d.Helper()
	for l, err := range d.archive.Marks(d.Context(), "") {
		d.Must(err)
		if filepath.Base(l.Name) == name {
			_, err = d.archive.Overwrite(d.Context(), l.Log, l.Mark, strings.NewReader(content))
			d.Must(err)
		}
	}
}

// oldMarks makes the marks those of a version that did not store whether redaction found anything.
func (d *desk) oldMarks() {
	d.Helper()
	for l, err := range d.archive.Marks(d.Context(), "") {
		d.Must(err)
		_, err = d.archive.Extend(d.Context(), l.Log, strings.Replace(l.Mark, `"clean":true,`, "", 1), bytes.NewReader(nil))
		d.Must(err)
	}
}

// An older mark does not say whether redaction found anything. Its hash does, also if the copy has entries from elsewhere.
func TestPullLostOldMarks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA, pathB := d.log(a, 3), d.log(b, 2)
	secret := entry("bbbb0002", "bbbb0001", "key "+key)
	d.AppendPlain(pathB, secret)
	d.pushRedacted(map[string]push.Fate{file(a): push.Created, file(b): push.Created})
	ours, theirs, again := entry("aaaa0003", "aaaa0002", "ours"), entry("eeee0001", "aaaa0002", "theirs"), entry("eeee0002", "eeee0001", "again")
	d.append(file(a), theirs)
	d.AppendPlain(pathA, ours)
	d.pushRedacted(map[string]push.Fate{file(a): push.Branched})
	d.append(file(a), again)
	d.oldMarks()
	d.lose()
	d.pulls(map[string]push.Fate{file(a): push.Created, file(b): push.Withheld})
	d.holds(pathA, text(d.CWD, a, 3)+theirs+ours+again)
	// A copy of the same length that differs is not clean.
	for l, err := range d.archive.Marks(d.Context(), "") {
		d.Must(err)
		mark := regexp.MustCompile(`"of":\d+`).ReplaceAllString(l.Mark, fmt.Sprintf(`"of":%d`, l.Size))
		_, err = d.archive.Extend(d.Context(), l.Log, mark, bytes.NewReader(nil))
		d.Must(err)
	}
	d.pulls(map[string]push.Fate{file(b): push.Withheld})
}

// A redacted copy without secrets, and its original, are brought up to date in both directions like those that are exact.
func TestCleanBothWays(t *testing.T) {
	t.Parallel()
	ours, theirs := entry("aaaa0003", "aaaa0002", "ours"), entry("eeee0001", "aaaa0002", "theirs")
	for _, old := range []bool{false, true} {
		for _, order := range []string{"pull push", "push pull", "lost push pull", "lost pull push"} {
			t.Run(fmt.Sprint(old, order), func(t *testing.T) {
				t.Parallel()
				d := newDesk(t)
				path := d.log(a, 3)
				d.pushRedacted(map[string]push.Fate{file(a): push.Created})
				d.append(file(a), theirs)
				d.AppendPlain(path, ours)
				if old {
					d.oldMarks()
				}
				for step := range strings.FieldsSeq(order) {
					switch step {
					case "lost":
						d.Must(os.RemoveAll(d.State))
					case "pull":
						d.pull(push.PullOptions{})
					default:
						d.push(push.PushOptions{Redact: true})
					}
				}
				base := text(d.CWD, a, 3)
				d.holds(path, base+ours+theirs)
				if diff := difftest.Diff(map[string]string{origin + "/omp/-garden/" + file(a): base + theirs + ours}, d.there()); diff != "" {
					t.Fatal(diff)
				}
				d.pushRedacted(map[string]push.Fate{})
				d.pulls(map[string]push.Fate{})
				if old {
					return // the hash of the original now has bytes that are at another place in the copy
				}
				// What was pulled here does not count as redacted.
				d.lose()
				d.pulls(map[string]push.Fate{file(a): push.Created})
				d.holds(path, base+theirs+ours)
			})
		}
	}
}

// A fork of a copy without secrets comes back, too; one of a copy with secrets is a session of its own, and comes back on request.
func TestPullLostFork(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"hello", key} {
		d := newDesk(t)
		path := d.log(a, 1)
		d.AppendPlain(path, entry("aaaa0001", "aaaa0000", said))
		d.pushRedacted(map[string]push.Fate{file(a): push.Created})
		d.append(file(a), entry("aaaa0002", "aaaa0001", "theirs"))
		d.AppendPlain(path, entry("aaaa0002", "aaaa0001", "ours, with the same id"))
		d.pushRedacted(map[string]push.Fate{file(a): push.Forked})
		d.pull(push.PullOptions{})
		want := map[bool]int{true: 1, false: 2}[said == key]
		if list, err := os.ReadDir(d.At(garden)); err != nil || len(list) != want {
			t.Errorf("%v, %v; want %d sessions", list, err, want)
		}
		d.pull(push.PullOptions{Redacted: true})
		if list, err := os.ReadDir(d.At(garden)); err != nil || len(list) != 2 {
			t.Errorf("%v, %v; want 2 sessions", list, err)
		}
		d.pull(push.PullOptions{})
		d.pushRedacted(map[string]push.Fate{})
	}
}

// Whatever a redacted push sends at once, in steps or with an unterminated line, the mark knows whether there was a secret.
func TestCleanMark(t *testing.T) {
	t.Parallel()
	for _, tail := range []string{"", `{"type":"custom","said":"hello"}`, `{"type":"custom","said":"` + key + `"}`, `{"torn`} {
		for _, replaced := range []bool{false, true} {
			d := newDesk(t)
			d.step = 600
			path := d.log(a, 12)
			if replaced {
				d.pushRedacted(map[string]push.Fate{file(a): push.Created})
				d.log(a, 9)
			}
			d.AppendPlain(path, tail)
			old := time.Now().Add(-time.Hour)
			d.Must(os.Chtimes(path, old, old))
			want, err := os.ReadFile(path)
			d.Must(err)
			d.push(push.PushOptions{Redact: true})
			d.lose()
			fate := push.Created
			if strings.Contains(tail, key) || tail == `{"torn` {
				fate = push.Withheld
			}
			d.pulls(map[string]push.Fate{file(a): fate})
			if fate == push.Created {
				d.holds(path, string(want))
			}
			d.pull(push.PullOptions{Redacted: true})
			d.pushRedacted(map[string]push.Fate{})
			d.AppendPlain(path, "\n"+entry("aaaa0099", "aaaa0000", "more"))
			d.pushRedacted(map[string]push.Fate{file(a): push.Extended})
			d.equal()
		}
	}
}

// A pull of lost logs that failed or was killed at any step is finished by the next one.
func TestPullLostFaults(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		d := newDesk(t)
		d.step = 600
		pathA, pathB := d.log(a, 6), d.log(b, 3)
		secret := entry("bbbb0003", "bbbb0002", "key "+key)
		d.AppendPlain(pathB, secret)
		d.push(push.PushOptions{Redact: true})
		d.lose()
		cut := &cutOff{archive: d.archive, left: n}
		if _, err := d.copier().Pull(d.Context(), push.Target{Backend: cut, Shown: "mem://team"}, push.PullOptions{Redacted: true, Workers: 1}); err != nil && !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		d.Must(os.RemoveAll(d.State))
		d.pull(push.PullOptions{Redacted: true})
		d.holds(pathA, text(d.CWD, a, 6))
		d.holds(pathB, text(d.CWD, b, 3)+strings.Replace(secret, key, "[redacted: aws access key]", 1))
		d.pulls(map[string]push.Fate{})
		if cut.left > 0 {
			if n < 3 {
				t.Errorf("the archive was read %d times", n)
			}
			return
		}
	}
}

// cutOff is an archive whose nth read fails.
type cutOff struct {
	archive
	left int
}

func (c *cutOff) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	r, err := c.archive.(backend.Opener).Open(ctx, at)
	return &cutReader{r, c}, err
}

type cutReader struct {
	backend.Reader
	c *cutOff
}

func (r *cutReader) ReadAt(p []byte, off int64) (int, error) {
	if r.c.left--; r.c.left == 0 {
		return 0, errBroken
	}
	return r.Reader.ReadAt(p, off)
}

// A session that is here in another folder is not pulled into the folder where it was.
func TestPullMoved(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		for _, redact := range []bool{false, true} {
			d := newDesk(t)
			path := d.log(a, 2)
			d.AppendPlain(path, entry("aaaa0002", "aaaa0001", "key "+key))
			d.push(push.PushOptions{Redact: redact})
			d.Must(os.MkdirAll(d.At(garden+"../-park"), 0o700))
			d.Must(os.Rename(path, d.At(garden+"../-park/"+file(a))))
			if lost {
				d.Must(os.RemoveAll(d.State))
			}
			got := d.pull(push.PullOptions{Removed: true, Redacted: true})
			if diff := difftest.Diff(map[string]push.Fate{file(a): push.Withheld}, got); diff != "" || d.Exists(path) {
				t.Error(diff)
			}
		}
	}
}

// A copy with branches that was pulled as a whole is recognized without its watermark: nothing is forked.
func TestPullLostForgotten(t *testing.T) {
	t.Parallel()
	for _, redact := range []bool{false, true} {
		for _, first := range []string{"push", "pull"} {
			d := newDesk(t)
			path := d.log(a, 3)
			d.push(push.PushOptions{Redact: redact})
			d.append(file(a), entry("eeee0001", "aaaa0002", "theirs"))
			d.AppendPlain(path, entry("aaaa0003", "aaaa0002", "ours"))
			d.push(push.PushOptions{Redact: redact})
			d.lose()
			d.pulls(map[string]push.Fate{file(a): push.Created})
			d.Must(os.RemoveAll(d.State))
			if first == "pull" {
				d.pulls(map[string]push.Fate{})
			}
			if got, _ := d.push(push.PushOptions{Redact: redact}); len(got) > 0 {
				t.Errorf("%v, %s first: pushed %v; want nothing", redact, first, got)
			}
			d.AppendPlain(path, entry("aaaa0004", "aaaa0003", "more"))
			if got, _ := d.push(push.PushOptions{Redact: redact}); got[file(a)] != push.Extended {
				t.Errorf("%v, %s first: pushed %v; want extended", redact, first, got)
			}
			d.equal()
		}
	}
}
