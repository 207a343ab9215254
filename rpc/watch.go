package rpc

import (
	"context"
	"iter"
	"strconv"

	"github.com/treeline-dev/treeline/watch"
	"github.com/treeline-dev/treeline/wire"
)

// Events of a watch in addition to those of package watch.
const (
	eventLost watch.Kind = "lost" // the client read too slowly; the notification has the number of changes that were not sent
	eventEnd  watch.Kind = "end"  // the watch has ended by itself; message says why
)

type watchParams struct {
	Ref string `json:"ref" doc:"one session: its path, its id or the beginning of it (also agent:id), or @last; the default is all"`
	CWD string `json:"cwd" doc:"only sessions of that directory"`
	dialectParam
	Last int  `json:"last" doc:"how many of the last entries are sent first"`
	All  bool `json:"fromStart" doc:"sends all entries first"`
}

// watching is the handle of a watch.
type watching struct {
	Watch string `json:"watch"`
}

// change is the notification of a watch.
type change struct {
	Watch string `json:"watch"`
	wire.Change
	// Lost is the number of changes that were not sent, for the event "lost".
	Lost int `json:"lost,omitempty"`
}

// startWatch starts a watch of sessions. It answers once everything that is written afterwards will be sent, and fails if there is no such
// session. Changes are sent after the answer.
func startWatch(c *call, p watchParams) (watching, error) {
	opt := watch.Options{Last: p.Last}
	if p.All {
		opt.Last = watch.AllEntries
	}
	if p.Last < 0 {
		return watching{}, badParams(`parameter "last": must not be negative`)
	}
	in, err := c.dialect(p.Dialect)
	if err != nil {
		return watching{}, err
	}
	opt.Dialect = in.Dialect
	if opt.CWD, err = directory(p.CWD); err != nil {
		return watching{}, err
	}
	if p.Ref != "" {
		if opt.Path, err = c.locate(p.Ref); err != nil {
			return watching{}, err
		}
	}
	ctx, stop := context.WithCancel(c.life)
	begun := context.AfterFunc(c.outer, stop) // the watch outlives its request, which can be cancelled until then
	next, end := iter.Pull2(c.store.Watch(ctx, opt))
	first, err, ok := next()
	if !begun() && err == nil {
		err = c.outer.Err()
	}
	if err != nil || !ok {
		end()
		stop()
		return watching{}, err
	}
	c.mu.Lock()
	c.last++
	handle := "w" + strconv.Itoa(c.last)
	done := make(chan struct{})
	c.watches[handle] = func() { stop(); <-done }
	c.mu.Unlock()
	c.after(func() {
		go func() {
			defer close(done)
			defer end()
			(&follower{client: c.client, handle: handle}).send(ctx, first, next)
		}()
	})
	return watching{handle}, nil
}

// follower sends the changes of one watch.
type follower struct {
	*client
	handle string
	lost   int
}

func (f *follower) send(ctx context.Context, first watch.Change, next func() (watch.Change, error, bool)) {
	for c, err, ok := first, error(nil), true; ok && ctx.Err() == nil; c, err, ok = next() {
		if err != nil {
			f.tell(wire.Change{Event: eventEnd, Message: err.Error()})
			return
		}
		j, err := wire.NewChange(ctx, c)
		if err != nil {
			j = wire.Change{Event: watch.KindProblem, Path: c.Path, Message: err.Error()}
		}
		f.tell(j)
	}
}

// tell sends a change, preceded by the number of lost ones, if any. A change for which there is no room counts as lost.
func (f *follower) tell(j wire.Change) {
	if f.lost > 0 {
		if ok, err := f.notify("change", change{f.handle, wire.Change{Event: eventLost}, f.lost}); !ok || err != nil {
			f.lost++
			return
		}
		f.lost = 0
	}
	if ok, err := f.notify("change", change{Watch: f.handle, Change: j}); !ok || err != nil {
		f.lost++
	}
}

type unwatchParams struct {
	Watch *string `json:"watch" need:"" doc:"the handle of a watch"`
}

// unwatch ends a watch. Changes that are already queued are still sent; no others follow the answer.
func unwatch(c *call, p unwatchParams) (nothing, error) {
	c.mu.Lock()
	end, ok := c.watches[*p.Watch]
	delete(c.watches, *p.Watch)
	c.mu.Unlock()
	if !ok {
		return nothing{}, badParams(`parameter "watch": there is no watch %q`, *p.Watch)
	}
	end()
	return nothing{}, nil
}
