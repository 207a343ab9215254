// Package feed is a log of events that clients of a server follow: the last ones, by number, in memory. All clients see the same
// events in the same order, each at its own place, so a client costs nothing but its connection. One that was away for so long
// that events are gone is told to read anew what it shows.
package feed

import (
	"strconv"
	"strings"
	"sync"

	"github.com/treeline-dev/treeline/watch"
)

// Bounds of the log.
const (
	eventsMost = 2048
	eventBytes = 4 << 20 // of all events
)

// Reload is the event for a client that is too far behind.
const Reload watch.Kind = "reload"

// ReloadJSON are its data.
var ReloadJSON = []byte(`{"event":"reload"}`)

// An Event is something that happened, as all clients are told.
type Event struct {
	Seq  uint64 // its number, which Add sets
	Kind watch.Kind
	Path string // of the session; "" for none
	Data []byte // JSON on one line
	// Project is the working directory of the session; "" if it is not known.
	Project string
}

// A Feed is the log.
type Feed struct {
	Epoch string // names this log: the numbers of another process mean nothing here

	mu    sync.Mutex
	log   []Event
	bytes int
	next  uint64        // the number of the next event
	wake  chan struct{} // closed by the next event
}

// New gives a log without events.
func New(epoch string) *Feed { return &Feed{Epoch: epoch, next: 1, wake: make(chan struct{})} }

// ID is the number of an event as clients send it back.
func (f *Feed) ID(seq uint64) string { return f.Epoch + "-" + strconv.FormatUint(seq, 10) }

// Parse gives the number in an id. ok is false for one of another log.
func (f *Feed) Parse(id string) (seq uint64, ok bool) {
	epoch, number, _ := strings.Cut(id, "-")
	seq, err := strconv.ParseUint(number, 10, 64)
	return seq, err == nil && epoch == f.Epoch
}

// Last is the id of the last event.
func (f *Feed) Last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ID(f.next - 1)
}

// Add appends an event and wakes the clients.
func (f *Feed) Add(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.Seq = f.next
	f.log = append(f.log, e)
	f.next++
	f.bytes += len(e.Data)
	drop := 0
	for len(f.log)-drop > eventsMost || f.bytes > eventBytes && len(f.log)-drop > 1 {
		f.bytes -= len(f.log[drop].Data)
		drop++
	}
	clear(f.log[:drop]) // the array may stay
	f.log = f.log[drop:]
	close(f.wake)
	f.wake = make(chan struct{})
}

// After gives the events after a number, at most a few, and a channel that is closed when there are more. lost: some of
// them are gone.
func (f *Feed) After(seq uint64) (list []Event, wake <-chan struct{}, lost bool) {
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
