package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
)

// watcher is one call of Watch.
type watcher struct {
	b      *Backend
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	told   func(name string, err error)
	last   string // id of the last event

	mu     sync.Mutex // held while told runs
	closed bool
}

// Watch implements backend.Watcher. After a lost connection it continues after the last event; if the server no longer knows that event,
// any log may have changed.
func (b *Backend) Watch(told func(name string, err error)) (io.Closer, error) {
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	w := &watcher{b: b, told: told, done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(b.ctx)
	res, _, err := w.connect(b.persist)
	if err != nil {
		w.cancel()
		return nil, err
	}
	b.tasks.Go(func() { w.run(res) })
	return w, nil
}

// Close ends the watch. A second call does nothing.
func (w *watcher) Close() error {
	w.cancel()
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	<-w.done
	return nil
}

// connect starts a stream of events.
func (w *watcher) connect(send func(context.Context, ask) (*answer, bool, error)) (*answer, bool, error) {
	a := ask{path: protocol.Logs + "/events", query: url.Values{}, header: http.Header{"Accept": {protocol.Events}}}
	if w.b.prefix != "" {
		a.query.Set("prefix", w.b.prefix)
	}
	if w.last != "" {
		a.header.Set("Last-Event-ID", w.last)
	}
	return send(w.ctx, a)
}

// longPause is the longest pause before a watch connects again. A connection that lasted this long counts as a good one.
const longPause = 5 * time.Second

// run receives events, and connects again if the connection is lost. The pauses grow as long as connections end at once without events, as
// behind a proxy that lets no stream through.
func (w *watcher) run(res *answer) {
	defer close(w.done)
	pause, failing := shortPause, false
	for {
		if res != nil {
			begun := time.Now()
			told, err := w.hear(res)
			res.Close()
			failing = false
			if told || time.Since(begun) >= longPause {
				pause = shortPause
			}
			if errors.Is(err, ErrNotServer) {
				w.tell("", err)
			}
		}
		select {
		case <-w.ctx.Done():
			return
		case <-w.b.after(pause):
			pause = min(2*pause, longPause)
		}
		var err error
		res, _, err = w.connect(func(ctx context.Context, a ask) (*answer, bool, error) {
			res, err := w.b.send(ctx, a)
			return res, false, err
		})
		if w.ctx.Err() != nil {
			if res != nil {
				res.Close()
			}
			return
		}
		if err != nil && !failing {
			failing = true // reported once
			w.tell("", err)
		}
	}
}

// tell reports a change, unless the watch is closed.
func (w *watcher) tell(name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed && w.ctx.Err() == nil {
		w.told(name, err)
	}
}

// hear reads events until the connection ends. An event counts when it is complete. told is false if the only event was the first, which
// only gives the id of the last event.
func (w *watcher) hear(res *answer) (told bool, err error) {
	lines := bufio.NewScanner(res.body)
	lines.Buffer(make([]byte, 0, 4<<10), rowMost)
	var id, kind, data string
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data = value
		case "":
			if lines.Text() != "" {
				continue // a comment: the server is alive
			}
			if err := w.event(kind, data); err != nil {
				return told, err
			}
			if told = told || kind != ""; id != "" {
				w.last = id
			}
			id, kind, data = "", "", ""
		}
	}
	return told, lines.Err()
}

// event passes one event on.
func (w *watcher) event(kind, data string) error {
	if kind == "" {
		return nil
	}
	var text string
	if err := json.Unmarshal([]byte(data), &text); err != nil {
		return fmt.Errorf("%s: %w: an event has no name", w.b.base.Host, ErrNotServer)
	}
	if kind == "problem" {
		w.tell("", errors.New(w.b.core.plain(text)))
		return nil
	}
	name, below := strings.CutPrefix(text, w.b.prefix)
	switch {
	case !below && !strings.HasPrefix(w.b.prefix, text): // of another folder
	case !below: // of a folder above
		w.tell("", nil)
	case name == "" || backend.CheckName(strings.TrimSuffix(name, "/")) == nil:
		w.tell(name, nil)
	}
	return nil
}
