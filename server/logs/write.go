package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/internal/spill"
	"github.com/treeline-dev/treeline/server/guard"
)

const (
	// slowest is the lowest rate, in bytes per second, at which a body may arrive after a first while.
	slowest = 1 << 10
	// streamMost is the largest size of a body that is passed on while it arrives.
	streamMost = 64 << 30
	// headMost is how much of a body is read to decide whether it may be written.
	headMost = 64 << 10
	// smallBody is the size up to which a body is collected in memory without waiting for a slot.
	smallBody = 1 << 20
)

// body is the body of a request. Reading fails with an error that has a status if the body is too slow, too long or cut off.
type body struct {
	r        io.Reader
	rc       *http.ResponseController
	began    time.Time
	patience time.Duration
	wire     int64 // bytes received
	size     int64 // bytes read, after decompression
	most     int64
	in       *bufio.Reader
	out      io.ReadCloser
}

// body returns the body of a request. It reads nothing yet.
func (l *Logs) body(c *Call, most int64) (*body, error) {
	if c.R.ContentLength > most {
		return nil, tooLarge(most)
	}
	b := &body{r: c.R.Body, rc: http.NewResponseController(c.W), began: time.Now(), patience: l.opt.Patience, most: most}
	var err error
	if b.out, err = protocol.Unpack(c.R.Header.Get("Content-Encoding"), arriving{b}); err != nil {
		return nil, guard.Refuse(http.StatusUnsupportedMediaType, "%v", err)
	}
	b.in = bufio.NewReaderSize(b.out, headMost)
	return b, nil
}

func (b *body) close() { _ = b.out.Close() }

func tooLarge(most int64) error {
	return guard.Refuse(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", most)
}

// arriving reads from the connection, with a deadline that depends on how much has arrived.
type arriving struct{ *body }

func (a arriving) Read(p []byte) (int, error) {
	deadline := a.began.Add(a.patience + time.Duration(a.wire/slowest)*time.Second)
	if soon := time.Now().Add(a.patience); soon.Before(deadline) {
		deadline = soon
	}
	if err := a.rc.SetReadDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := a.r.Read(p)
	if a.wire += int64(n); err == io.EOF { //nolint:errorlint // readers give it unwrapped
		// No more bytes follow. A deadline that passed while the request is carried out would cancel its context.
		_ = a.rc.SetReadDeadline(time.Time{}) // best effort
	}
	return n, err
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	if b.size += int64(n); b.size > b.most {
		return 0, tooLarge(b.most)
	}
	if err != nil && err != io.EOF { //nolint:errorlint // readers give it unwrapped
		err = guard.Refuse(http.StatusBadRequest, "the body cannot be read: %v", err)
	}
	return n, err
}

// head returns the beginning of the body.
func (b *body) head() ([]byte, error) {
	head, err := b.in.Peek(headMost)
	if err != nil && err != io.EOF { //nolint:errorlint // readers give it unwrapped
		return nil, guard.Refuse(http.StatusBadRequest, "the body cannot be read: %v", err)
	}
	return append([]byte{}, head...), nil
}

// all collects a body or one line of it. done must be called when the bytes are no longer needed.
func (l *Logs) all(ctx context.Context, b io.Reader) (all []byte, done func(), err error) {
	done = func() {}
	first, err := io.ReadAll(io.LimitReader(b, smallBody))
	if err != nil || len(first) < smallBody {
		return first, done, err
	}
	var rest spill.Bytes
	defer rest.Close()
	if _, err := io.Copy(&rest, b); err != nil {
		return nil, done, err
	}
	select {
	case l.large <- struct{}{}:
		done = func() { <-l.large }
	case <-ctx.Done():
		return nil, done, context.Cause(ctx)
	}
	all = append(make([]byte, 0, int64(len(first))+rest.Size()), first...)
	all = all[:cap(all)]
	if _, err := rest.ReadAt(all[len(first):], 0); err != nil && !errors.Is(err, io.EOF) {
		done()
		return nil, func() {}, err
	}
	return all, done, nil
}

// lines yields the lines of a body, which must all be terminated. A long line is collected like a whole body.
func (l *Logs) lines(ctx context.Context, name string, b io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(b, headMost)
		for {
			piece, err := in.ReadSlice('\n')
			done := func() {}
			if errors.Is(err, bufio.ErrBufferFull) {
				piece, done, err = l.all(ctx, &longLine{in: in, begun: bytes.Clone(piece)})
				if err == nil && piece[len(piece)-1] != '\n' {
					err = io.EOF
				}
			}
			if errors.Is(err, io.EOF) && len(piece) == 0 {
				return
			}
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("%s: %w: the last line has no newline", name, backend.ErrRecord)
			}
			more := func() bool {
				defer done()
				if err != nil {
					yield(nil, err)
					return false
				}
				return yield(piece[:len(piece)-1], nil)
			}()
			if !more {
				return
			}
		}
	}
}

// longLine reads the rest of a line, including its newline.
type longLine struct {
	in    *bufio.Reader
	begun []byte // the part that was already read
	size  int64
	ended bool
}

// Read implements io.Reader.
func (l *longLine) Read(p []byte) (n int, err error) {
	switch {
	case len(l.begun) > 0:
		n = copy(p, l.begun)
		l.begun = l.begun[n:]
	case l.ended:
		return 0, io.EOF
	default:
		if _, err := l.in.Peek(1); err != nil {
			return 0, err
		}
		there, _ := l.in.Peek(min(len(p), l.in.Buffered())) // what is buffered, which cannot fail
		if i := bytes.IndexByte(there, '\n'); i >= 0 {
			there, l.ended = there[:i+1], true
		}
		n = copy(p, there)
		_, _ = l.in.Discard(n) // as above
	}
	if l.size += int64(n); l.size > protocol.RecordsMost {
		return 0, tooLarge(protocol.RecordsMost)
	}
	return n, nil
}

// records splits a body in memory into records.
func (l *Logs) records(name string, all []byte) ([][]byte, error) {
	if !backend.Lines(l.b, name) {
		return [][]byte{all}, nil
	}
	list := make([][]byte, 0, bytes.Count(all, []byte{'\n'}))
	for line := range bytes.Lines(all) {
		record, whole := bytes.CutSuffix(line, []byte{'\n'})
		if !whole {
			return nil, fmt.Errorf("%s: %w: the last line has no newline", name, backend.ErrRecord)
		}
		list = append(list, record)
	}
	return list, nil
}

// mutation is the beginning of every mutation.
func (l *Logs) mutation(c *Call, p nameParams, most int64) (backend.Backend, *body, error) {
	if err := p.check(); err != nil {
		return nil, nil, err
	}
	if backend.Lines(l.b, p.Name) != backend.IsText(p.Name) {
		return nil, nil, fmt.Errorf("%s: its kind cannot be told by its name: %w", p.Name, errors.ErrUnsupported)
	}
	b, err := l.writing(c)
	if err != nil {
		return nil, nil, err
	}
	in, err := l.body(c, most)
	return b, in, err
}

// writing returns the backend for the writer of a call.
func (l *Logs) writing(c *Call) (backend.Backend, error) {
	switch {
	case l.opt.Writing != nil:
		return l.opt.Writing(c.Writer)
	case c.Writer.Limited:
		return nil, fmt.Errorf("a limited writer: %w", errors.ErrUnsupported)
	}
	return l.b, nil
}

// wrote answers with the new log. A mutation that has begun is finished even if the caller goes away.
func (l *Logs) wrote(c *Call, at backend.Log, err error) error {
	if err != nil {
		return err
	}
	return l.Answer(c, protocol.NewRow(backend.Marked{Log: at}))
}

type createParams struct {
	nameParams
	Exact bool `query:"exact" doc:"the last line may be unterminated"`
}

func (l *Logs) create(c *Call, p createParams) error {
	b, in, err := l.mutation(c, p.nameParams, streamMost)
	if err != nil {
		return err
	}
	defer in.close()
	if err := l.mayWrite(c, in, p.Name); err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.ctx())
	if !p.Exact && backend.IsText(p.Name) {
		at, err := backend.CreateFrom(ctx, b, p.Name, l.lines(c.ctx(), p.Name, in))
		return l.wrote(c, at, err)
	}
	in.most = protocol.RecordsMost
	all, done, err := l.all(c.ctx(), in)
	defer done()
	if err != nil {
		return err
	}
	at, err := backend.Restore(ctx, b, p.Name, all)
	return l.wrote(c, at, err)
}

// mayWrite asks whether the caller may write the content of the body to a log. That depends on how the content begins.
func (l *Logs) mayWrite(c *Call, in *body, name string) error {
	if c.May == nil {
		return nil
	}
	head, err := in.head()
	if err != nil {
		return err
	}
	if len(head) == 0 {
		head = []byte{'\n'} // an empty head means a blob
	}
	return c.may(name, true, head)
}

// append adds records. Without records it only compares.
func (l *Logs) append(c *Call, p atParams) error {
	return l.write(c, p, func(*body) error { return nil }, backend.Backend.Append)
}

func (l *Logs) replace(c *Call, p atParams) error {
	return l.write(c, p, func(in *body) error { return l.mayWrite(c, in, p.Name) }, backend.Backend.Replace)
}

// write is a mutation with the records of the body.
func (l *Logs) write(c *Call, p atParams, may func(*body) error, do func(backend.Backend, context.Context, backend.Log, ...[]byte) (backend.Log, error)) error {
	b, in, err := l.mutation(c, p.nameParams, protocol.RecordsMost)
	if err != nil {
		return err
	}
	defer in.close()
	err = l.mayChange(c, p.log())
	if err == nil {
		err = may(in)
	}
	if err != nil {
		return err
	}
	all, done, err := l.all(c.ctx(), in)
	defer done()
	if err != nil {
		return err
	}
	records, err := l.records(p.Name, all)
	if err != nil {
		return err
	}
	at, err := do(b, context.WithoutCancel(c.ctx()), p.log(), records...)
	return l.wrote(c, at, err)
}

func (l *Logs) remove(c *Call, p atParams) error {
	b, in, err := l.mutation(c, p.nameParams, 0)
	if err != nil {
		return err
	}
	defer in.close()
	if err := l.mayChange(c, p.log()); err != nil {
		return err
	}
	err = b.Remove(context.WithoutCancel(c.ctx()), p.log())
	return l.wrote(c, backend.Log{Name: p.Name}, err)
}

// copying is the beginning of Extend and Overwrite. The rest of the body is the content.
func (l *Logs) copying(c *Call, p markParams) (m backend.Mirror, in *body, mark string, err error) {
	if p.Mark > protocol.MarkMost {
		return nil, nil, "", guard.Refuse(http.StatusRequestEntityTooLarge, "a mark has at most %d bytes", protocol.MarkMost)
	}
	b, in, err := l.mutation(c, p.nameParams, streamMost)
	if err != nil {
		return nil, nil, "", err
	}
	m, ok := b.(backend.Mirror)
	text := make([]byte, p.Mark)
	if !ok {
		err = fmt.Errorf("%s: exact copies: %w", p.Name, errors.ErrUnsupported)
	} else if _, short := io.ReadFull(in, text); short != nil {
		err = guard.Refuse(http.StatusBadRequest, "the body has less than the %d bytes of the mark", p.Mark)
	}
	if err != nil {
		in.close()
	}
	return m, in, string(text), err
}

func (l *Logs) extend(c *Call, p markParams) error {
	m, in, mark, err := l.copying(c, p)
	if err != nil {
		return err
	}
	defer in.close()
	if err := l.mayChange(c, p.log()); err != nil {
		return err
	}
	in.most = protocol.RecordsMost // a backend may keep the content in memory
	at, err := m.Extend(context.WithoutCancel(c.ctx()), p.log(), mark, in)
	return l.wrote(c, at, err)
}

func (l *Logs) overwrite(c *Call, p markParams) error {
	m, in, mark, err := l.copying(c, p)
	if err != nil {
		return err
	}
	defer in.close()
	if p.Generation != "" {
		err = l.mayChange(c, p.log())
	}
	if err == nil {
		err = l.mayWrite(c, in, p.Name)
	}
	if err != nil {
		return err
	}
	at, err := m.Overwrite(context.WithoutCancel(c.ctx()), p.log(), mark, in)
	return l.wrote(c, at, err)
}
