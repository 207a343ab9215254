package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/server/guard"
)

const (
	// eventsMost is the number of events that are kept for callers that reconnect.
	eventsMost = 4096
	// eventsStep is the number of events that are sent at a time.
	eventsStep = 256
	// beatTime is the interval of signs of life on a stream without events.
	beatTime = 20 * time.Second
)

// event is the name of a log that may have changed, or a problem of the watch.
type event struct{ name, problem string }

// feed is the log of the last events, which are numbered. One watch fills it; each caller reads from its own position.
type feed struct {
	starts sync.Mutex // held while the watch begins or ends
	watch  io.Closer
	live   atomic.Int64 // open streams

	mu   sync.Mutex
	last uint64 // the number of the last event
	log  []event
	wake chan struct{} // closed by the next event
}

// start starts the watch for the first caller. The log has all changes from then on.
func (f *feed) start(b backend.Backend) (err error) {
	f.starts.Lock()
	defer f.starts.Unlock()
	if f.watch != nil {
		return nil
	}
	w, ok := b.(backend.Watcher)
	if !ok {
		return fmt.Errorf("events of this archive: %w", errors.ErrUnsupported)
	}
	f.watch, err = w.Watch(f.add)
	return err
}

// stop ends the watch.
func (f *feed) stop() error {
	f.starts.Lock()
	defer f.starts.Unlock()
	if f.watch == nil {
		return nil
	}
	return f.watch.Close()
}

// add appends an event and wakes the callers.
func (f *feed) add(name string, err error) {
	e := event{name: name}
	if err != nil {
		e.problem = err.Error()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	if f.log = append(f.log, e); len(f.log) > 2*eventsMost {
		f.log = append(f.log[:0], f.log[eventsMost:]...)
	}
	close(f.wake)
	f.wake = make(chan struct{})
}

// after returns some events after a number, and a channel that is closed by the next event. last is the number of the last event returned.
// If some events after seq are gone, lost is set and last is the number of the newest event.
func (f *feed) after(seq uint64) (list []event, last uint64, wake <-chan struct{}, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.last - uint64(len(f.log)) // the number before the first event
	if seq < first || seq > f.last {
		return nil, f.last, f.wake, true
	}
	list = f.log[seq-first:]
	list = append([]event(nil), list[:min(len(list), eventsStep)]...)
	return list, seq + uint64(len(list)), f.wake, false
}

// now returns the number of the last event.
func (f *feed) now() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

type eventParams struct {
	Prefix string `query:"prefix" doc:"only logs whose name begins with this"`
	After  string `query:"after" doc:"the id of the last event that the caller knows; the header Last-Event-ID takes precedence"`
}

// events sends events until the caller goes away. The first line names the last event, so that a caller that reconnects before anything
// happened misses nothing.
func (l *Logs) events(c *Call, p eventParams) error {
	if l.feed.live.Add(1) > int64(l.opt.MaxStreams) {
		l.feed.live.Add(-1)
		return guard.Refuse(http.StatusServiceUnavailable, "there are too many clients of events")
	}
	defer l.feed.live.Add(-1)
	if err := l.feed.start(l.b); err != nil {
		return err
	}
	if id := c.R.Header.Get("Last-Event-ID"); id != "" {
		p.After = id
	}
	t := &teller{l: l, c: c, prefix: p.Prefix, at: l.feed.now()}
	if p.After != "" {
		epoch, number, _ := strings.Cut(p.After, "-")
		seq, err := strconv.ParseUint(number, 10, 64)
		if t.at = seq; err != nil || epoch != l.opt.Epoch {
			t.at = ^uint64(0) // an unknown number: what the caller missed is not known
		}
	}
	c.W.Header().Set("X-Accel-Buffering", "no") // otherwise nginx holds events back
	t.sender = l.begin(c, protocol.Events, -1)
	t.packs = false
	if c.R.Method == http.MethodHead {
		t.header()
		return nil
	}
	if t.at != ^uint64(0) {
		fmt.Fprintf(&t.b, "id: %s\n: the last event\n\n", t.id())
	}
	t.run()
	return nil
}

// teller sends events to one caller.
type teller struct {
	*sender
	l      *Logs
	c      *Call
	prefix string
	at     uint64 // the last event that was sent
	b      bytes.Buffer
}

func (t *teller) id() string { return t.l.opt.Epoch + "-" + strconv.FormatUint(t.at, 10) }

// run sends events until the caller is gone, its token is no longer valid, or the server is closed.
func (t *teller) run() {
	beat := time.NewTicker(beatTime)
	defer beat.Stop()
	for {
		if t.c.Remains != nil && !t.c.Remains() {
			return
		}
		list, last, wake, lost := t.l.feed.after(t.at)
		if lost {
			list = []event{{}}
		}
		t.tell(list, last-uint64(len(list))+1)
		if t.flush() != nil {
			return
		}
		if len(list) > 0 {
			continue
		}
		select {
		case <-wake:
		case <-beat.C:
			t.b.WriteString(": alive\n\n")
		case <-t.c.ctx().Done():
			return
		case <-t.l.ctx.Done():
			return
		}
	}
}

// tell adds events; first is the number of the first one. An event that a later one repeats is omitted.
func (t *teller) tell(list []event, first uint64) {
	last := map[event]int{}
	for i, e := range list {
		last[e] = i
	}
	for i, e := range list {
		t.at = first + uint64(i)
		if last[e] != i || !t.shows(&e) {
			continue
		}
		kind, text := "name", e.name
		if e.problem != "" {
			kind, text = "problem", e.problem
		}
		data, err := json.Marshal(text)
		if err != nil {
			continue // a string always encodes
		}
		fmt.Fprintf(&t.b, "id: %s\nevent: %s\ndata: %s\n\n", t.id(), kind, data)
	}
}

// shows reports whether the caller gets an event. A limited caller does not learn in which folder something happened.
func (t *teller) shows(e *event) bool {
	if !strings.HasPrefix(e.name, t.prefix) && (e.name != "" && !strings.HasSuffix(e.name, "/") || !strings.HasPrefix(t.prefix, e.name)) {
		return false
	}
	switch {
	case t.c.May == nil:
	case e.problem != "":
		*e = event{problem: "the archive does not tell of all changes at the moment"}
	case e.name == "" || strings.HasSuffix(e.name, "/"):
		e.name = ""
	default:
		return t.c.may(e.name, false, nil) == nil
	}
	return true
}

func (t *teller) flush() error {
	if t.b.Len() == 0 {
		return nil
	}
	err := t.send(t.b.Bytes())
	t.b.Reset()
	if err == nil {
		err = t.rc.Flush()
	}
	return err
}
