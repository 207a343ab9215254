package push_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	filebackend "github.com/treeline-dev/treeline/backend/file"
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
	next := func(want ...push.Fate) {
		t.Helper()
		select {
		case r := <-reports:
			if r.err != nil || !slices.ContainsFunc(want, func(f push.Fate) bool { return r.Logs[f] == 1 }) {
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
	next(push.Created, push.Extended) // a pass may have found the log empty
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

// mute is a folder that the system does not watch: its limit is reached.
type mute struct{ *filebackend.Backend }

func (m mute) Watch(told func(string, error)) (io.Closer, error) {
	told("", syscall.EMFILE)
	return io.NopCloser(nil), nil
}

// If their backend no longer reports changes, logs are checked every two seconds and not once a minute.
func TestWatchWithoutHints(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	driver := filebackend.Driver(filebackend.Options{})
	d.Drivers = []backend.Driver{{Name: driver.Name, Open: func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		b, err := driver.Open(root, opt)
		if err != nil {
			return nil, err
		}
		return mute{b.(*filebackend.Backend)}, nil
	}}}
	d.log(a, 1)
	ctx, stop := context.WithCancel(d.Context())
	defer stop()
	waits, ended := make(chan time.Duration, 1000), make(chan error, 1)
	go func() {
		ended <- d.copier().Watch(ctx, d.target(), push.PushOptions{}, push.Watching{After: func(d time.Duration) <-chan time.Time {
			waits <- d
			return nil
		}})
	}()
	for d := range waits {
		if d == time.Minute {
			t.Fatal("the logs are looked at once a minute, want every two seconds")
		}
		if d < time.Minute {
			break
		}
	}
	stop()
	<-ended
}

// slow is an archive behind a slow network.
type slow struct{ archive }

func (s slow) Extend(ctx context.Context, at backend.Log, mark string, content io.Reader) (backend.Log, error) {
	time.Sleep(300 * time.Millisecond)
	return s.archive.Extend(ctx, at, mark, content)
}

// The duration of a push does not delay the next one: only the cost of checking the logs does.
func TestWatchSlowArchive(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	path := d.log(a, 1)
	ctx, stop := context.WithCancel(d.Context())
	pushed, ended := make(chan bool, 100), make(chan error)
	var longest atomic.Int64 // the longest wait of a pass after a hint; the other waits are fixed times
	go func() {
		ended <- d.copier().Watch(ctx, push.Target{Backend: slow{d.archive}, Shown: "mem://team"}, push.PushOptions{}, push.Watching{
			Told: func(push.Report, error) { pushed <- true },
			After: func(d time.Duration) <-chan time.Time {
				if d != time.Minute && d != 10*time.Minute {
					longest.Store(max(longest.Load(), int64(d)))
				}
				return time.After(min(d, time.Millisecond))
			},
		})
	}()
	<-pushed
	d.AppendPlain(path, entry("aaaa0001", "aaaa0000", "more"))
	<-pushed
	stop()
	<-ended
	if got := time.Duration(longest.Load()); got > 20*time.Second {
		t.Errorf("the next pass waits %s", got)
	}
}

// picky is an archive that refuses one of the logs, and counts how often it was asked to accept it.
type picky struct {
	archive
	name  string
	asked chan bool
}

func (p *picky) Overwrite(ctx context.Context, at backend.Log, mark string, content io.Reader) (backend.Log, error) {
	if strings.HasSuffix(at.Name, p.name) {
		p.asked <- true
		return backend.Log{}, backend.ErrForbidden
	}
	return p.archive.Overwrite(ctx, at, mark, content)
}

// If the archive refuses the same log in one pass after the other, it does not count as an archive that refuses all logs.
func TestWatchForbidden(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.log(a, 1)
	d.log(b, 1)
	ctx, stop := context.WithCancel(d.Context())
	p, ended := &picky{archive: d.archive, name: file(b), asked: make(chan bool)}, make(chan error)
	go func() {
		ended <- d.copier().Watch(ctx, push.Target{Backend: p, Shown: "mem://team"}, push.PushOptions{}, push.Watching{
			Told: func(_ push.Report, err error) {
				if err != nil {
					t.Error(err)
				}
			},
			After: func(d time.Duration) <-chan time.Time {
				if d == 10*time.Minute {
					return nil // the archive is not listed again
				}
				return time.After(time.Millisecond)
			},
		})
	}()
	for range 6 {
		<-p.asked
	}
	stop()
	for {
		select {
		case <-p.asked:
			continue
		case <-ended:
		}
		break
	}
}
