package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/watch"
	"github.com/treeline-dev/treeline/wire"
)

// Bounds of the log of events. A client that was away for longer reads its page anew.
const (
	eventsMost = 2048
	eventBytes = 4 << 20 // of all events
	// entryBytes is the size up to which an event has the parts of its entry.
	entryBytes = 16 << 10
)

// reload is the event for a client that is too far behind: it reads anew what it shows.
const reload watch.Kind = "reload"

var reloadJSON = []byte(`{"event":"reload"}`)

// event is something that happened, as all clients are told.
type event struct {
	seq  uint64
	kind watch.Kind
	path string // of the session; "" for none
	data []byte // JSON on one line
	// project is the working directory of the session; "" if it is not known.
	project string
}

// feed is the log of events: the last ones, by number. One watch fills it; any number of clients read it, each at its own
// place, so a client costs nothing but its connection.
type feed struct {
	epoch string // names this log: the numbers of another process mean nothing here

	mu     sync.Mutex
	log    []event
	bytes  int
	next   uint64        // the number of the next event
	wake   chan struct{} // closed by the next event
	begun  bool          // the watch has begun, or failed to
	live   bool          // the watch tells of changes
	reads  chan string   // paths of sessions that the watch reads beforehand
	starts sync.Once
	ready  chan struct{} // closed when begun
}

func newFeed(epoch string) *feed {
	return &feed{epoch: epoch, next: 1, wake: make(chan struct{}), reads: make(chan string, 16), ready: make(chan struct{})}
}

// id is the number of an event as clients send it back.
func (f *feed) id(seq uint64) string { return f.epoch + "-" + strconv.FormatUint(seq, 10) }

// parse gives the number in an id. ok is false for one of another log.
func (f *feed) parse(id string) (seq uint64, ok bool) {
	epoch, number, _ := strings.Cut(id, "-")
	seq, err := strconv.ParseUint(number, 10, 64)
	return seq, err == nil && epoch == f.epoch
}

// last is the id of the last event.
func (f *feed) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.id(f.next - 1)
}

// add appends an event and wakes the clients.
func (f *feed) add(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.seq = f.next
	f.log = append(f.log, e)
	f.next++
	f.bytes += len(e.data)
	drop := 0
	for len(f.log)-drop > eventsMost || f.bytes > eventBytes && len(f.log)-drop > 1 {
		f.bytes -= len(f.log[drop].data)
		drop++
	}
	clear(f.log[:drop]) // the array may stay
	f.log = f.log[drop:]
	close(f.wake)
	f.wake = make(chan struct{})
}

// after gives the events after a number, at most a few, and a channel that is closed when there are more. lost: some of
// them are gone.
func (f *feed) after(seq uint64) (list []event, wake <-chan struct{}, lost bool) {
	const most = 64
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.next - uint64(len(f.log))
	switch {
	case seq+1 < first, seq >= f.next:
		return nil, f.wake, true
	case seq+1 == f.next:
		return nil, f.wake, false
	}
	from := int(seq + 1 - first)
	list = append(list, f.log[from:min(from+most, len(f.log))]...)
	return list, f.wake, false
}

// watch begins to follow the sessions of the store with the first call, waits until it does, and reports whether it does.
func (s *Server) watch(ctx context.Context) bool {
	f := s.feed
	f.starts.Do(func() {
		s.tasks.Go(func() {
			for s.ctx.Err() == nil {
				err := s.follow()
				f.begin(false)
				if err == nil || errors.Is(err, backend.ErrClosed) {
					return
				}
				s.log.Warn("the watch of sessions ended and begins again", "error", err)
				select {
				case <-s.ctx.Done():
				case <-time.After(10 * time.Second):
				}
			}
		})
	})
	select {
	case <-f.ready:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live
}

// catalogue reads the list of sessions.
func (s *Server) catalogue() (rows []place.Row, problems []string, err error) {
	var mu sync.Mutex
	rows, err = s.store.Catalogue(s.ctx, treeline.RefreshOptions{Problem: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, err.Error())
	}})
	s.counts.refreshes.Add(1)
	return rows, problems, err
}

// begin notes whether the watch tells of changes, and releases the requests that wait for it. A watch that cannot begin releases
// them, too: the list of sessions works without it. again: it had begun before.
func (f *feed) begin(live bool) (again bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = live
	if again = f.begun; !again {
		f.begun = true
		close(f.ready)
	}
	return again
}

// follow tells what is written until the server is closed.
func (s *Server) follow() error {
	f := s.feed
	for c, err := range s.store.Watch(s.ctx, watch.Options{Read: f.reads}) {
		if err != nil {
			return err
		}
		s.counts.changes.Add(1)
		switch {
		case c.Kind == watch.KindStart:
			s.list.Spoil() // what was written before is unknown
			if again := f.begin(true); again {
				f.add(event{kind: reload, data: reloadJSON})
			}
			continue
		case c.Kind == watch.KindProblem:
			s.log.Warn("watch", "path", c.Path, "error", c.Err)
		}
		s.list.Spoil()
		data, err := eventJSON(s.ctx, c)
		if err != nil {
			s.log.Warn("an event was left out", "path", c.Path, "error", err)
			continue
		}
		e := event{kind: c.Kind, path: c.Path, data: data, project: c.Header.CWD}
		if e.project == "" {
			e.project = s.projectOf(c.Path)
		}
		f.add(e)
	}
	return nil
}

// eventJSON is a change as clients get it. An entry that is large comes without its parts.
func eventJSON(ctx context.Context, c watch.Change) ([]byte, error) {
	if c.Kind == watch.KindEntry && len(c.Raw) > 4*entryBytes {
		return changeJSON(wire.Change{
			Event: c.Kind, Session: c.Header.ID, Path: c.Path, Dialect: c.Dialect.Name(),
			Entry: &wire.Entry{ID: c.Entry.ID, Kind: c.Entry.Kind.String(), Type: c.Entry.Type},
		})
	}
	j, err := wire.NewChange(ctx, c)
	if err != nil {
		j = wire.Change{Event: watch.KindProblem, Path: c.Path, Message: err.Error()}
	}
	data, err := changeJSON(j)
	if err == nil && len(data) > entryBytes && j.Entry != nil {
		j.Entry.Parts, j.Entry.Text = nil, nil
		return changeJSON(j)
	}
	return data, err
}

func changeJSON(j wire.Change) ([]byte, error) {
	var b bytes.Buffer
	if err := wire.Write(&b, j); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
