package watch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/watch"
)

// home is a world whose sessions are watched.
type home struct {
	*world.World
	m *place.Machine
}

func newHome(t *testing.T, change ...func(*world.World)) *home {
	t.Helper()
	h := &home{World: world.New(t, change...)}
	h.m = h.Machine()
	h.Cleanup(func() { h.m.Close() })
	return h
}

// add appends to a file as other programs do.
func (h *home) add(name, text string) {
	h.Helper()
	h.AppendPlain(h.At(name), text)
}

// swap replaces a file by renaming.
func (h *home) swap(name, text string) {
	h.Helper()
	h.Must(os.WriteFile(h.At(name)+".new", []byte(text), 0o600))
	h.Must(os.Rename(h.At(name)+".new", h.At(name)))
}

// viewer watches the sessions of a home.
type viewer struct {
	*home
	changes chan watch.Change
	tick    chan time.Time // nil: no periodic looks
	cancel  context.CancelFunc
	ended   chan struct{}
	err     error
}

// bothWays runs a test once with hints and without periodic looks, and once the other way round.
func bothWays(t *testing.T, test func(t *testing.T, start func(h *home, opt watch.Options) *viewer)) {
	for _, polled := range []bool{false, true} {
		name := map[bool]string{false: "hints", true: "looks"}[polled]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(h *home, opt watch.Options) *viewer { return view(h, opt, polled) })
		})
	}
}

// view begins to watch.
func view(h *home, opt watch.Options, polled bool) *viewer {
	h.Helper()
	opt.NoHints = polled
	return viewLooking(h, opt, polled)
}

// viewLooking is view with periodic looks, with or without hints. opt.After is called before each look.
func viewLooking(h *home, opt watch.Options, looks bool) *viewer {
	h.Helper()
	v := &viewer{home: h, changes: make(chan watch.Change), ended: make(chan struct{})}
	if looks {
		v.tick = make(chan time.Time)
	}
	waits := opt.After
	opt.After = func(d time.Duration) <-chan time.Time {
		if waits != nil {
			waits(d)
		}
		return v.tick
	}
	ctx, cancel := context.WithCancel(h.Context())
	v.cancel = cancel
	go func() {
		defer close(v.ended)
		for c, err := range watch.Watch(ctx, h.m, opt) {
			if err != nil {
				v.err = err
				return
			}
			select {
			case v.changes <- c:
			case <-ctx.Done():
				return
			}
		}
	}()
	h.Cleanup(v.stop)
	return v
}

func (v *viewer) stop() {
	v.cancel()
	<-v.ended
}

// next returns the next change.
func (v *viewer) next() watch.Change {
	v.Helper()
	late := time.After(time.Minute) // ends a test that would hang; nothing is measured
	for {
		select {
		case c := <-v.changes:
			return c
		case v.tick <- time.Time{}:
		case <-v.ended:
			v.Fatalf("the watch ended: %v", v.err)
		case <-late:
			v.Fatal("nothing was told")
		}
	}
}

// describe returns a short text for a Change.
func describe(c watch.Change) string {
	name := strings.TrimSuffix(filepath.Base(c.Path), ".jsonl")
	switch c.Kind {
	case watch.KindStart:
		return fmt.Sprintf("start %d", c.Sessions)
	case watch.KindEntry:
		return name + " " + string(c.Entry.ID)
	case watch.KindProblem:
		return fmt.Sprintf("%s problem: %v", name, c.Err)
	}
	return name + " " + string(c.Kind)
}

// want waits for exactly these changes, in this order.
func (v *viewer) want(list ...string) {
	v.Helper()
	for _, want := range list {
		if got := describe(v.next()); got != want {
			v.Fatalf("told %q, want %q", got, want)
		}
	}
}

// again appends a message to a.jsonl and expects it as the next change.
func (v *viewer) again(id string) watch.Change {
	v.Helper()
	v.add(garden+"a.jsonl", messageLine(id))
	c := v.next()
	if got := describe(c); got != "a "+id {
		v.Fatalf("told %q, want %q", got, "a "+id)
	}
	return c
}
