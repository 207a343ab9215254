package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
)

// ask is a request.
type ask struct {
	method string // "" is GET
	path   string
	query  url.Values
	body   *content // nil for none
	header http.Header
}

// at returns the parameters that name a log as the caller saw it.
func (b *Backend) at(at backend.Log) url.Values {
	q := url.Values{"name": {b.full(at.Name)}}
	if at.Generation != "" {
		q.Set("generation", at.Generation)
		q.Set("size", strconv.FormatInt(at.Size, 10))
	}
	return q
}

// content is the body of a request. It can be read again for another attempt.
type content struct {
	io.ReaderAt
	size int64
}

// sending is a content while it is being sent.
type sending struct {
	io.Reader
	from   *io.SectionReader
	left   int64 // bytes that are still to be read
	once   sync.Once
	closed chan struct{}
	err    error // the error of the content itself; read it after closed
}

func (c *core) sending(body *content) *sending {
	s := &sending{from: io.NewSectionReader(body, 0, body.size), left: body.size, closed: make(chan struct{})}
	s.Reader = io.Reader(noting{s})
	if c.packs && body.size > 4<<10 {
		s.Reader = protocol.NewPacking(noting{s})
	}
	return s
}

// noting keeps an error of the content, as opposed to one of the connection.
type noting struct{ s *sending }

func (n noting) Read(p []byte) (int, error) {
	m, err := n.s.from.Read(p)
	n.s.left -= int64(m)
	if err == io.EOF && n.s.left > 0 { //nolint:errorlint // readers give it unwrapped
		err = fmt.Errorf("what is sent has %d bytes less than it had: %w", n.s.left, io.ErrUnexpectedEOF)
	}
	if err != nil && err != io.EOF { //nolint:errorlint // readers give it unwrapped
		n.s.err = err
	}
	return m, err
}

// Close implements io.Closer. The transport calls it when it no longer reads.
func (s *sending) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// answer is an answer of status 200. Its body must be closed.
type answer struct {
	http.Header
	body io.ReadCloser
	end  func()
}

// Close ends the request.
func (a *answer) Close() {
	_ = a.body.Close()
	a.end()
}

// send makes one attempt. An error is a *lost if another one can succeed.
func (c *core) send(ctx context.Context, a ask) (*answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	u := *c.base
	u.Path += protocol.API + a.path
	u.RawQuery = a.query.Encode()
	if a.method == "" {
		a.method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, a.method, u.String(), nil)
	if err != nil {
		cancel()
		return nil, err
	}
	end := cancel
	var out *sending
	if a.body != nil {
		out = c.sending(a.body)
		end = func() {
			cancel()
			<-out.closed // the caller may release the content
		}
		if req.Body = out; a.body.size == 0 {
			req.Body = http.NoBody
			_ = out.Close()
		}
		req.Header.Set("Content-Type", protocol.Bytes)
		if _, packed := out.Reader.(*protocol.Packing); packed {
			req.Header.Set("Content-Encoding", protocol.Zstd)
			req.ContentLength = -1
		} else {
			req.ContentLength = a.body.size
		}
		if a.body.size > 1<<20 {
			req.Header.Set("Expect", "100-continue") // so that a refusal comes before the bytes are sent
		}
	}
	res, err := c.sendOut(req, a)
	if err == nil {
		return c.checked(res, end)
	}
	end()
	if out != nil && out.err != nil {
		err = out.err
	}
	return nil, err
}

// sendOut sends a request.
func (c *core) sendOut(req *http.Request, a ask) (*http.Response, error) {
	for key, values := range a.header {
		req.Header[key] = values
	}
	req.Header.Set("User-Agent", "treeline")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.packs {
		req.Header.Set("Accept-Encoding", protocol.Zstd)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if ctx := req.Context(); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, c.failed(err)
	}
	return res, nil
}

// checked refuses an answer that is an error, or that is not a treeline server's.
func (c *core) checked(res *http.Response, end func()) (*answer, error) {
	quiet := &watched{ReadCloser: res.Body, silence: c.opt.Silence, end: end}
	quiet.timer = time.AfterFunc(c.opt.Silence, func() { quiet.cut.Store(true); _ = res.Body.Close() })
	quiet.timer.Stop() // the timer runs while a caller reads
	a := &answer{Header: res.Header, body: quiet, end: end}
	var err error
	switch {
	case res.StatusCode != http.StatusOK:
		res.Body = quiet
		err = c.refused(res)
	case res.Header.Get(protocol.Version) != protocol.Current:
		err = c.stranger(res)
	default:
		c.reached.Store(true)
		a.body, err = unpacked(res.Header.Get("Content-Encoding"), quiet)
	}
	if err != nil {
		var gone *lost
		if !errors.As(err, &gone) && res.Header.Get(protocol.Version) != "" {
			c.reached.Store(true)
		}
		_ = quiet.Close()
		end()
		return nil, err
	}
	return a, nil
}

// persist repeats attempts until one has an answer. sent: an earlier one may have been carried out.
func (b *Backend) persist(ctx context.Context, a ask) (res *answer, sent bool, err error) {
	var deadline time.Time
	pause := shortPause
	for {
		res, err = b.send(ctx, a)
		var gone *lost
		if err == nil || !errors.As(err, &gone) || !b.reached.Load() {
			return res, sent, b.ended(ctx, err)
		}
		sent = sent || gone.sent
		if deadline.IsZero() {
			deadline = time.Now().Add(b.core.opt.Patience)
		} else if time.Now().After(deadline) {
			return nil, sent, err
		}
		if pause = wait(ctx, pause); ctx.Err() != nil {
			return nil, sent, context.Cause(ctx)
		}
	}
}

// shortPause is the pause before the second attempt.
const shortPause = 10 * time.Millisecond

// wait waits before another attempt, and returns the pause before the next one.
func wait(ctx context.Context, pause time.Duration) time.Duration {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
	return min(2*pause, 500*time.Millisecond)
}

// ended replaces the error by the cause of the context if the context has ended.
func (b *Backend) ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Ask requests a value that belongs to the archive and is not a log, such as one of its index. question is sent as JSON; nil means none. An
// answer that is endless or malformed is ErrNotServer.
func (b *Backend) Ask(ctx context.Context, path string, question, into any) error {
	ctx, done, err := b.until(ctx)
	defer done()
	if err != nil {
		return err
	}
	a := ask{path: path}
	if question != nil {
		text, err := json.Marshal(question)
		if err != nil {
			return err
		}
		a.method, a.body = http.MethodPost, &content{bytes.NewReader(text), int64(len(text))}
		a.header = http.Header{"Content-Type": {protocol.JSON}}
	}
	return b.json(ctx, a, into)
}

// json requests a value.
func (b *Backend) json(ctx context.Context, a ask, into any) error {
	_, err := b.jsonSent(ctx, a, into)
	return err
}

// jsonMost is the largest size of an answer that is read as a whole.
const jsonMost = 64 << 20

// jsonSent is json; sent: an earlier attempt may have been carried out. An answer that is cut off leads to another attempt.
func (b *Backend) jsonSent(ctx context.Context, a ask, into any) (sent bool, err error) {
	for try := 0; ; try++ {
		res, before, err := b.persist(ctx, a)
		if sent = sent || before; err != nil {
			return sent, err
		}
		all, err := io.ReadAll(io.LimitReader(res.body, jsonMost+1))
		res.Close()
		switch {
		case err != nil && try < 3 && ctx.Err() == nil:
			sent = true
			continue
		case err != nil:
			return true, b.ended(ctx, &lost{fmt.Errorf("%s: the answer was cut off: %w", b.base.Host, err), true})
		case len(all) > jsonMost:
			return true, fmt.Errorf("%s: %w: its answer to %s is endless", b.base.Host, ErrNotServer, a.path)
		}
		if err := json.Unmarshal(all, into); err != nil {
			return true, fmt.Errorf("%s: %w: its answer to %s is not what it should be: %v", b.base.Host, ErrNotServer, a.path, err)
		}
		return sent, nil
	}
}
