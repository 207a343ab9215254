package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/store"
)

// viewer watches sessions of a house, as the system tells of changes or only by looking.
type viewer struct {
	*house
	changes chan store.Change
	tick    chan time.Time // nil where nobody looks
	cancel  context.CancelFunc
	ended   chan struct{}
	err     error
}

// bothWays runs a test with what the system tells and nothing else, and with looking and nothing else.
func bothWays(t *testing.T, test func(t *testing.T, start func(h *house, opt store.WatchOptions) *viewer)) {
	for _, polled := range []bool{false, true} {
		name := map[bool]string{false: "told", true: "polled"}[polled]
		t.Run(name, func(t *testing.T) {
			test(t, func(h *house, opt store.WatchOptions) *viewer { return view(h, opt, polled) })
		})
	}
}

// view begins to watch.
func view(h *house, opt store.WatchOptions, polled bool) *viewer {
	h.Helper()
	opt.NoHints = polled
	return viewLooking(h, opt, polled)
}

// viewLooking is view with looks, whether the system tells of changes or not. opt.After is called before each look is waited for.
func viewLooking(h *house, opt store.WatchOptions, looks bool) *viewer {
	h.Helper()
	v := &viewer{house: h, changes: make(chan store.Change), ended: make(chan struct{})}
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
		for c, err := range h.Watch(ctx, opt) {
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

// next gives the next change.
func (v *viewer) next() store.Change {
	v.Helper()
	late := time.After(time.Minute) // for what never comes; nothing is measured
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

// describe says in short what a change tells.
func describe(c store.Change) string {
	name := strings.TrimSuffix(filepath.Base(c.Path), ".jsonl")
	switch c.Kind {
	case store.ChangeStart:
		return fmt.Sprintf("start %d", c.Sessions)
	case store.ChangeEntry:
		return name + " " + string(c.Entry.ID)
	case store.ChangeProblem:
		return fmt.Sprintf("%s problem: %v", name, c.Err)
	}
	return name + " " + string(c.Kind)
}

// want waits for these changes, in this order and no others between them.
func (v *viewer) want(list ...string) {
	v.Helper()
	for _, want := range list {
		if got := describe(v.next()); got != want {
			v.Fatalf("told %q, want %q", got, want)
		}
	}
}

// again appends a message to a.jsonl and wants it to be told next.
func (v *viewer) again(id string) store.Change {
	v.Helper()
	v.add(garden+"a.jsonl", messageLine(id))
	c := v.next()
	if got := describe(c); got != "a "+id {
		v.Fatalf("told %q, want %q", got, "a "+id)
	}
	return c
}
