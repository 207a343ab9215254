package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/history"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// Options are the options of a server.
type Options struct {
	// Write has the options for writing sessions. Clients set Create, ReplaceUnreadable, Defer and Force in each call.
	Write store.WriteOptions
	// Version is the version of the program, for clients that ask.
	Version wire.Version
	// History says where the prompt history is. Without Sessions, it uses those of the store.
	History history.Options
}

// mostWaiting is the largest number of requests that are read ahead. It bounds the memory if a client sends faster than a disk can write.
// Reading ahead lets requests of other sessions overtake one that waits.
const mostWaiting = 1024

// Serve answers the requests of one client until its input or ctx ends. Then it finishes the requests that were read, and
// flushes and closes all sessions. It fails if answers could not be written or sessions could not be closed.
func Serve(ctx context.Context, st *treeline.Store, opt Options, in io.Reader, out io.Writer) error {
	c := &client{
		methods: byName(), store: st, opt: opt, out: out, sessions: map[string]*openSession{}, runs: map[string]*treeline.Recording{},
		watches: map[string]func(){}, pending: map[string]*pending{}, life: ctx,
		slots: make(chan struct{}, mostWaiting), failed: make(chan struct{}),
	}
	// A blocked read cannot be interrupted, so it has a goroutine of its own, which outlives Serve if ctx ends before the input. lines has
	// no buffer, so every line has been received when ended is sent.
	lines := make(chan []byte)
	ended := make(chan error, 1)
	stop := make(chan struct{})
	go func() { ended <- readLines(in, lines, stop) }()
	err := c.loop(ctx, lines, ended)
	close(stop)
	c.running.Wait()
	c.endWatches()
	return errors.Join(err, c.closeAll())
}

// client is the connected client, with the sessions that it has open.
type client struct {
	methods map[string]*method
	store   *treeline.Store
	opt     Options
	// life ends when the server is told to stop.
	life context.Context

	// mu guards sessions, runs, watches, pending and last. It is never held during a method.
	mu       sync.Mutex
	sessions map[string]*openSession
	runs     map[string]*treeline.Recording
	// watches has the functions that end them.
	watches map[string]func()
	pending map[string]*pending // the requests that were not answered yet, by id
	last    int                 // the last handle

	free queue // requests without a session
	long queue // requests without a session that may take long; see method.long

	notes notes

	running sync.WaitGroup
	slots   chan struct{}

	// writing guards writes of answers, so that requests of other sessions go on meanwhile.
	writing  sync.Mutex
	out      io.Writer
	writeErr error
	failed   chan struct{} // closed after an answer could not be written
}

// openSession is a session with its queue of requests, which keeps their order. Only the running task reads or clears s, so it needs no
// lock.
type openSession struct {
	handle string
	queue  queue
	s      *store.Session // nil after it was closed
}

// readLines sends the lines of the input, of any length, including an unterminated last one.
func readLines(in io.Reader, lines chan<- []byte, stop <-chan struct{}) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			select {
			case lines <- line:
			case <-stop:
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading requests: %w", err)
		}
	}
}

// loop reads until the input or ctx ends, or an answer cannot be written.
func (c *client) loop(ctx context.Context, lines <-chan []byte, ended <-chan error) error {
	for {
		select {
		case line := <-lines:
			c.take(line)
		case err := <-ended:
			return err
		case <-c.failed:
			return nil // closeAll returns the error
		case <-ctx.Done():
			return nil
		}
	}
}

// take starts the request, or the batch of requests, on a line.
func (c *client) take(line []byte) {
	if line[0] != '[' {
		c.begin(line, c.write)
		return
	}
	// JSON-RPC requires one answer if any part of a batch is not JSON.
	var list []json.RawMessage
	if err := json.Unmarshal(line, &list); err != nil {
		c.write(answer(null, nil, &rpcError{codeParse, "not JSON: " + err.Error()}))
		return
	}
	if len(list) == 0 {
		c.write(answer(null, nil, &rpcError{codeInvalid, "an empty batch"}))
		return
	}
	b := &batch{answers: make([][]byte, len(list)), left: len(list), write: c.write}
	for i, text := range list {
		c.begin(text, func(line []byte) { b.done(i, line) })
	}
}

// batch collects the answers to a batch of requests.
type batch struct {
	mu      sync.Mutex
	answers [][]byte
	left    int
	write   func([]byte)
}

// done takes one answer. After the last one, it writes all of them in the order of the requests. Notifications have no answer.
func (b *batch) done(i int, line []byte) {
	b.mu.Lock()
	b.answers[i] = line
	b.left--
	last := b.left == 0
	b.mu.Unlock()
	if !last {
		return
	}
	list := slices.DeleteFunc(b.answers, func(line []byte) bool { return line == nil })
	if len(list) > 0 {
		b.write(array(list))
	}
}

// begin queues one request. done gets its answer, or nil for a notification.
func (c *client) begin(text []byte, done func(line []byte)) {
	r, err := parseRequest(text)
	if err != nil {
		done(answer(r.id, nil, err))
		return
	}
	// A notification is carried out like any other request, but its errors are dropped: JSON-RPC has no answer to it.
	finish := func(result []byte, err error) {
		if r.id == nil {
			done(nil)
			return
		}
		done(answer(r.id, result, err))
	}
	if r.method == cancelMethod {
		finish(null, c.cancel(r.params))
		return
	}
	m, ok := c.methods[r.method]
	if !ok {
		finish(nil, &rpcError{codeMethod, fmt.Sprintf("there is no method %q", r.method)})
		return
	}
	open, err := c.target(m, r.params)
	if err != nil {
		finish(nil, err)
		return
	}
	q := &c.free
	switch {
	case open != nil:
		q = &open.queue
	case m.long:
		q = &c.long
	}
	// This blocks the reader while mostWaiting requests wait. If the task did it, the queues could grow without bound.
	c.slots <- struct{}{}
	c.running.Add(1)
	p := c.pend(r.id, finish)
	q.add(func() {
		defer func() { <-c.slots; c.running.Done() }()
		if !p.begin() {
			return // it was cancelled while it waited
		}
		call := &call{client: c, open: open, params: r.params, ctx: context.WithoutCancel(p.ctx), outer: p.ctx}
		p.finish(call.run(m))
		for _, then := range call.then {
			then()
		}
	})
}

// target returns the session of a request, or nil. The handle is looked up when the request arrives; requests after a close stay in the
// session's queue, and run refuses them.
func (c *client) target(m *method, params json.RawMessage) (*openSession, error) {
	if m.session == never {
		return nil, nil
	}
	var p struct {
		Session *string `json:"session"`
	}
	if err := decode(params, &p, nil); err != nil {
		return nil, err
	}
	if p.Session == nil {
		if m.session == maybe {
			return nil, nil
		}
		return nil, missing("session")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if open, ok := c.sessions[*p.Session]; ok {
		return open, nil
	}
	return nil, unknownSession(*p.Session)
}

func unknownSession(handle string) error { return badParams("session %q is not open", handle) }

// run carries out a request. It reports a panic as an error: other sessions are not affected, and must still be flushed.
func (c *call) run(m *method) (result []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, &rpcError{codeInternal, fmt.Sprintf("internal error: %v", p)}
		}
	}()
	if c.open != nil && c.open.s == nil { // an earlier request closed it
		return nil, unknownSession(c.open.handle)
	}
	return m.call(c)
}

// write writes an answer and its newline. nil means that there is no answer.
func (c *client) write(line []byte) {
	if line == nil {
		return
	}
	// The line and its newline are one Write, so that answers never mix.
	line = append(utf8Line(line), '\n')
	c.writing.Lock()
	defer c.writing.Unlock()
	// After the first error, which Serve returns, nothing more is written.
	if c.writeErr != nil {
		return
	}
	if _, err := c.out.Write(line); err != nil {
		c.writeErr = fmt.Errorf("writing answers: %w", err)
		close(c.failed)
	}
}

// endWatches ends the client's watches, and waits until their notifications are written.
func (c *client) endWatches() {
	c.mu.Lock()
	ends := slices.Collect(maps.Values(c.watches))
	clear(c.watches)
	c.mu.Unlock()
	for _, end := range ends {
		end()
	}
	c.notes.sending.Wait()
}

// closeAll closes what the client left open, after the last request. An open run gets no run.end, because only the client knows how it
// ended; without run.end it counts as crashed.
func (c *client) closeAll() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := []error{c.writeErr}
	for _, open := range c.sessions {
		if open.s != nil {
			errs = append(errs, open.s.Close())
		}
	}
	for _, r := range c.runs {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// queue carries out tasks one after the other. An empty queue has no goroutine, since a client may keep thousands of sessions open.
type queue struct {
	mu    sync.Mutex
	tasks []func()
	busy  bool
}

func (q *queue) add(task func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks = append(q.tasks, task)
	if !q.busy {
		q.busy = true
		go q.work()
	}
}

func (q *queue) work() {
	for {
		q.mu.Lock()
		if len(q.tasks) == 0 {
			q.busy = false
			q.mu.Unlock()
			return
		}
		task := q.tasks[0]
		q.tasks = q.tasks[1:]
		q.mu.Unlock()
		task()
	}
}
