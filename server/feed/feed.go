// Package feed is a log of events that clients of a server follow. It keeps the last events, numbered, in memory. All clients see the same
// events in the same order, each from its own position, so a client costs nothing but its connection. A client that was away until events
// were dropped is told to read again what it shows.
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

// ReloadJSON is the data of a Reload event.
var ReloadJSON = []byte(`{"event":"reload"}`)

// An Event is something that happened, in the form in which all clients get it.
type Event struct {
	Seq  uint64 // its number, which Add sets
	Kind watch.Kind
	Path string // of the session; "" for none
	Data []byte // JSON on one line
	// Project is the working directory of the session; "" if it is not known.
	Project string
}

// A Feed is a log of events.
type Feed struct {
	Epoch string // identifies this log: the numbers of another process mean nothing here

	mu    sync.Mutex
	log   []Event
	bytes int
	next  uint64        // the number of the next event
	wake  chan struct{} // closed by the next event
}

// New returns a log without events.
func New(epoch string) *Feed { return &Feed{Epoch: epoch, next: 1, wake: make(chan struct{})} }

// ID returns the id of an event, which clients send back.
func (f *Feed) ID(seq uint64) string { return f.Epoch + "-" + strconv.FormatUint(seq, 10) }

// Parse returns the number in an id. ok is false if the id is from another log.
func (f *Feed) Parse(id string) (seq uint64, ok bool) {
	epoch, number, _ := strings.Cut(id, "-")
	seq, err := strconv.ParseUint(number, 10, 64)
	return seq, err == nil && epoch == f.Epoch
}

// Last returns the id of the last event.
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
	clear(f.log[:drop]) // for the garbage collector: append may keep the array
	f.log = f.log[drop:]
	close(f.wake)
	f.wake = make(chan struct{})
}

// After returns events after a number, at most a few, and a channel that is closed by the next event. lost reports that some events after
// seq have been dropped.
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
