package push_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/push"
)

// Watch pushes what is written, and goes on after errors of the archive.
func TestWatch(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA := d.log(a, 3)
	ctx, stop := context.WithCancel(d.Context())
	type told struct {
		push.Report
		err error
	}
	reports, ended := make(chan told, 100), make(chan error)
	broken := &breaking{archive: d.archive}
	c := d.copier()
	go func() {
		ended <- c.Watch(ctx, push.Target{Backend: broken, Shown: "mem://team"}, push.PushOptions{}, push.Watching{
			Told: func(r push.Report, err error) { reports <- told{r, err} },
			After: func(d time.Duration) <-chan time.Time {
				return time.After(min(d, 5*time.Millisecond)) // time passes quickly
			},
		})
	}()
	next := func(want push.Fate) {
		t.Helper()
		select {
		case r := <-reports:
			if r.err != nil || r.Logs[want] != 1 {
				t.Fatalf("%+v, want a log %s", r, want)
			}
		case <-time.After(time.Minute): // a limit, not a measurement
			t.Fatal("nothing was pushed")
		}
	}
	next(push.Created)
	d.equal()
	d.AppendPlain(pathA, entry("aaaa0003", "aaaa0002", "more"))
	next(push.Extended)
	d.equal()
	d.log(b, 1)
	next(push.Created)
	d.equal()
	broken.mu.Lock()
	broken.left = 1
	broken.mu.Unlock()
	d.AppendPlain(pathA, entry("aaaa0004", "aaaa0003", "more"))
	next(push.Failed)
	next(push.Extended)
	d.equal()
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
