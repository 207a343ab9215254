package server

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/treeline-dev/treeline/server/feed"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/reply"
	"github.com/treeline-dev/treeline/watch"
)

// beatTime is the interval of signs of life on a stream without events. They keep proxies from closing it, and reveal clients that are
// gone.
const beatTime = 25 * time.Second

type eventsParams struct {
	After string `query:"after" json:"-" doc:"the id of the last event that the client knows; the header Last-Event-ID takes precedence"`
}

type sessionEventsParams struct {
	sessionParams
	eventsParams
}

func allEvents(r *request, p eventsParams) error { return r.tell(p.After, "") }

// sessionEvents streams the events of one session. The watch reads the session now, so that a later append to a large session costs little.
func sessionEvents(r *request, p sessionEventsParams) error {
	row, err := r.session(p.Session)
	if err != nil {
		return err
	}
	r.s.watch(r.Context())
	select {
	case r.s.watching.reads <- row.Path:
	default: // the queue is full; the watch reads the session when it changes
	}
	return r.tell(p.After, row.Path)
}

// tell sends events until the client goes away. The first line names the last event, so that a client that reconnects before anything
// happened misses nothing.
func (r *request) tell(after, path string) error {
	s := r.s
	if s.live.Add(1) > int64(s.opt.MaxStreams) {
		s.live.Add(-1)
		return guard.Refuse(http.StatusServiceUnavailable, "there are too many clients of events")
	}
	defer s.live.Add(-1)
	s.watch(r.Context())
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		after = id
	}
	at, known := s.feed.Parse(cmp.Or(after, s.feed.Last()))
	lost := !known
	h := r.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // otherwise nginx holds events back
	t := &teller{r: r, w: s.sender.Patient(r.w)}
	if !lost {
		fmt.Fprintf(&t.b, "retry: 2000\nid: %s\n: the last event\n\n", s.feed.ID(at))
	}
	return t.run(at, lost, path)
}

// teller writes events to one client.
type teller struct {
	r *request
	w *reply.Patient
	b bytes.Buffer
}

// run sends the events after a number.
func (t *teller) run(at uint64, lost bool, path string) error {
	s := t.r.s
	beat := time.NewTicker(beatTime)
	defer beat.Stop()
	for {
		if !t.r.remains() {
			return nil
		}
		list, wake, gone := s.feed.After(at)
		if lost = lost || gone; lost {
			id := s.feed.Last()
			at, _ = s.feed.Parse(id)
			t.add(id, feed.Reload, feed.ReloadJSON)
			lost, gone, list = false, true, nil // the client reads everything anew, so it gets no older events
		}
		for i := range list {
			if at = list[i].Seq; t.r.tells(&list[i], path) {
				t.add(s.feed.ID(at), list[i].Kind, list[i].Data)
			}
			if t.b.Len() > reply.Piece {
				if err := t.flush(); err != nil {
					return nil //nolint:nilerr // the client is gone
				}
			}
		}
		if err := t.flush(); err != nil {
			return nil //nolint:nilerr // the client is gone
		}
		if len(list) > 0 || gone {
			continue
		}
		select {
		case <-wake:
		case <-beat.C:
			t.b.WriteString(": alive\n\n")
		case <-t.r.Context().Done():
			return nil
		case <-s.ctx.Done():
			return nil
		}
	}
}

// tells reports whether a client gets an event: it belongs to the session at path, or path is "", and the client may see its project.
func (r *request) tells(e *feed.Event, path string) bool {
	return e.Kind == feed.Reload || (path == "" || e.Path == path) && r.grant.Allows(e.Project)
}

func (t *teller) add(id string, kind watch.Kind, data []byte) {
	fmt.Fprintf(&t.b, "id: %s\nevent: %s\ndata: ", id, kind)
	t.b.Write(data)
	t.b.WriteString("\n\n")
}

func (t *teller) flush() error {
	if t.b.Len() == 0 {
		return nil
	}
	_, err := t.w.Write(t.b.Bytes())
	if t.b.Cap() > 2*reply.Piece {
		t.b = bytes.Buffer{}
	}
	t.b.Reset()
	if err != nil {
		return err
	}
	return t.w.Flush()
}
