package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/store"
)

// Options say how sessions are written.
type Options struct {
	// Write is how sessions are written that clients open. Create, ReplaceUnreadable and Defer are theirs to say.
	Write store.WriteOptions
}

// mostWaiting is how many requests are read ahead of those that are done.
const mostWaiting = 1024

// Serve answers the requests of one client until its input ends, or ctx does. Then what was begun is finished, and all
// sessions are flushed and closed. It fails where answers could not be written or sessions not be closed.
func Serve(ctx context.Context, st *store.Store, opt Options, in io.Reader, out io.Writer) error {
	c := &client{
		store: st, opt: opt, out: out, sessions: map[string]*openSession{},
		slots: make(chan struct{}, mostWaiting), failed: make(chan struct{}),
	}
	c.outer, c.ctx = ctx, context.WithoutCancel(ctx)
	lines := make(chan []byte)
	ended := make(chan error, 1)
	stop := make(chan struct{})
	go func() { ended <- readLines(in, lines, stop) }()
	err := c.loop(ctx, lines, ended)
	close(stop)
	c.running.Wait()
	return errors.Join(err, c.closeAll())
}

// client is the one at the other end, with the sessions that it has open.
type client struct {
	store *store.Store
	opt   Options
	// ctx is for what must be finished once it is begun, outer for what may be given up.
	ctx, outer context.Context

	mu       sync.Mutex
	sessions map[string]*openSession
	runs     map[string]*store.Recording
	last     int   // the last handle
	free     queue // requests without a session

	running sync.WaitGroup
	slots   chan struct{}

	writing  sync.Mutex
	out      io.Writer
	writeErr error
	failed   chan struct{} // closed when an answer could not be written
}

// openSession is a session with its requests.
type openSession struct {
	handle string
	queue  queue
	s      *store.Session // nil when it is closed
}

// readLines hands on the lines of the input, however long they are. The last one may lack its newline.
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

func (c *client) loop(ctx context.Context, lines <-chan []byte, ended <-chan error) error {
	for {
		select {
		case line := <-lines:
			c.take(line)
		case err := <-ended:
			return err
		case <-c.failed:
			return nil // closeAll reports it
		case <-ctx.Done():
			return nil
		}
	}
}

// take begins to carry out what stands on one line: a request, or several.
func (c *client) take(line []byte) {
	if line[0] != '[' {
		c.begin(line, c.write)
		return
	}
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

// batch collects the answers to several requests that came together.
type batch struct {
	mu      sync.Mutex
	answers [][]byte
	left    int
	write   func([]byte)
}

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
		return
	}
	b.write(nil)
}

// begin queues one request. done gets its answer, nil for a notification.
func (c *client) begin(text []byte, done func(line []byte)) {
	r, err := parseRequest(text)
	if err != nil {
		done(answer(r.id, nil, err))
		return
	}
	finish := func(result []byte, err error) {
		if r.id == nil {
			done(nil)
			return
		}
		done(answer(r.id, result, err))
	}
	m, ok := methods[r.method]
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
	if open != nil {
		q = &open.queue
	}
	c.slots <- struct{}{}
	c.running.Add(1)
	q.add(func() {
		defer func() { <-c.slots; c.running.Done() }()
		finish(c.call(m, open, r.params))
	})
}

// target finds the session that a request is for, nil for those that are for none.
func (c *client) target(m method, params json.RawMessage) (*openSession, error) {
	if m.session == never {
		return nil, nil
	}
	var p struct {
		Session *string `json:"session"`
	}
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	if p.Session == nil {
		if m.session == maybe {
			return nil, nil
		}
		return nil, badParams(`parameter "session" is missing`)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if open, ok := c.sessions[*p.Session]; ok {
		return open, nil
	}
	return nil, unknownSession(*p.Session)
}

func unknownSession(handle string) error { return badParams("session %q is not open", handle) }

// call carries out a request. What panics is reported and hurts no other request.
func (c *client) call(m method, open *openSession, params json.RawMessage) (result []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, &rpcError{codeInternal, fmt.Sprintf("internal error: %v", p)}
		}
	}()
	if open != nil && open.s == nil { // it was closed by a request that came before
		return nil, unknownSession(open.handle)
	}
	return m.call(&call{client: c, open: open, params: params})
}

// write writes an answer and its newline; nil is no answer.
func (c *client) write(line []byte) {
	if line == nil {
		return
	}
	line = append(utf8Line(line), '\n')
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.writeErr != nil {
		return
	}
	if _, err := c.out.Write(line); err != nil {
		c.writeErr = fmt.Errorf("writing answers: %w", err)
		close(c.failed)
	}
}

// closeAll closes what the client left open.
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

// queue carries out tasks one after the other.
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
