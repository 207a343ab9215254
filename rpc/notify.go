package rpc

import (
	"reflect"
	"sync"

	"github.com/treeline-dev/treeline/store"
)

// notification is a row of a table of notifications.
type notification struct {
	name, doc string
	params    reflect.Type
}

// notifications are all notifications of the server, with their parameters, for rpc.discover.
var notifications = []notification{
	{"change", "Something that a watch follows has changed.", reflect.TypeFor[change]()},
	{string(store.EventBeforeCompaction), "A compaction is about to be appended. Sent with `events: true`, like those below, before the result of the request that causes it.", reflect.TypeFor[sessionEvent]()},
	{string(store.EventCompaction), "A compaction was appended.", reflect.TypeFor[sessionEvent]()},
	{string(store.EventBeforeFork), "The session, or a path of it, is about to be copied.", reflect.TypeFor[sessionEvent]()},
	{string(store.EventTree), "The leaf moved.", reflect.TypeFor[sessionEvent]()},
	{string(store.EventForeign), "Other programs wrote `foreign` entries to the file. They are kept, also where the file is rewritten.", reflect.TypeFor[sessionEvent]()},
	{string(store.EventHeld), "A rewrite was forced while a program had the file open: what that program writes later is lost. `problem` names it.", reflect.TypeFor[sessionEvent]()},
	{string(store.EventRepaired), "The end of the file was repaired before an append: `problem`.", reflect.TypeFor[sessionEvent]()},
	{string(store.EventProblem), "Something is wrong with what another program wrote: `problem`.", reflect.TypeFor[sessionEvent]()},
}

// Bounds of the notifications that wait for a slow client. A notification larger than mostNoted is accepted if no other one waits.
const (
	mostNotes = 1024
	mostNoted = 16 << 20 // bytes
)

// notes is the queue of notifications, which are requests of the server without an id. A producer never waits: a notification for which
// there is no room is refused, and the producer reports how many were lost once there is room again.
type notes struct {
	mu      sync.Mutex
	waiting [][]byte
	size    int
	sending sync.WaitGroup
	busy    bool
}

// note returns the line of a notification.
func note(method string, params any) ([]byte, error) {
	text, err := encode(params)
	if err != nil {
		return nil, err
	}
	line := append(append([]byte(`{"jsonrpc":"2.0","method":`), quote(method)...), `,"params":`...)
	return append(append(line, text...), '}'), nil
}

// notify queues a notification. It reports false if there is no room, and never waits for the client.
func (c *client) notify(method string, params any) (bool, error) {
	line, err := note(method, params)
	if err != nil {
		return false, err
	}
	n := &c.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.waiting) > 0 && (len(n.waiting) >= mostNotes || n.size+len(line) > mostNoted) {
		return false, nil
	}
	n.waiting = append(n.waiting, line)
	n.size += len(line)
	if !n.busy {
		n.busy = true
		n.sending.Go(c.sendNotes)
	}
	return true, nil
}

// sendNotes writes notifications until the queue is empty. Answers take turns with them. A notification leaves the queue only after it was
// written: while the client does not read, the queue stays full.
func (c *client) sendNotes() {
	n := &c.notes
	for {
		n.mu.Lock()
		if len(n.waiting) == 0 {
			n.busy = false
			n.mu.Unlock()
			return
		}
		line := n.waiting[0]
		n.mu.Unlock()
		c.write(line)
		n.mu.Lock()
		n.waiting[0] = nil
		n.waiting = n.waiting[1:]
		n.size -= len(line)
		n.mu.Unlock()
	}
}
