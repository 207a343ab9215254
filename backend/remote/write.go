package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/internal/spill"
)

// mutation is a change of a log. Operations differ in where their bytes are in the log afterwards.
type mutation struct {
	op   string
	at   backend.Log // only a name if the log is created
	body content
	mark string     // goes before the body
	more url.Values // further parameters
}

// marked is a content with a mark before it.
type marked struct {
	content
	mark string
}

// ReadAt implements io.ReaderAt.
func (m marked) ReadAt(p []byte, off int64) (n int, err error) {
	if off < int64(len(m.mark)) {
		n = copy(p, m.mark[off:])
	}
	if n < len(p) {
		var k int
		k, err = m.content.ReadAt(p[n:], off+int64(n)-int64(len(m.mark)))
		n += k
	}
	return n, err
}

// The operations.
const (
	opCreate    = "create"
	opAppend    = "append"
	opReplace   = "replace"
	opRemove    = "remove"
	opExtend    = "extend"
	opOverwrite = "overwrite"
)

func memory(b []byte) content { return content{bytes.NewReader(b), int64(len(b))} }

// mutate performs a mutation. If it is unknown whether an attempt was carried out, the content of the log decides.
func (b *Backend) mutate(ctx context.Context, m mutation) (backend.Log, error) {
	q := b.at(m.at)
	for key, values := range m.more {
		q[key] = values
	}
	body := m.body
	if m.mark != "" {
		q.Set("mark", strconv.Itoa(len(m.mark)))
		body = content{marked{m.body, m.mark}, m.body.size + int64(len(m.mark))}
	}
	var row protocol.Row
	again := b.unsure.take(m)
	sent, err := b.jsonSent(ctx, ask{method: http.MethodPost, path: protocol.Logs + "/" + m.op, query: q, body: &body}, &row)
	if err != nil && ctx.Err() != nil {
		b.unsure.note(m)
		return backend.Log{}, fmt.Errorf("%s: whether the server carried out this %s is unknown: %w", m.at.Name, m.op, err)
	}
	if (sent || again) && (errors.Is(err, backend.ErrConflict) || errors.Is(err, backend.ErrExist)) {
		return b.recognise(ctx, m, err)
	}
	if err != nil {
		return backend.Log{}, err
	}
	if m.op == opRemove && row.Name == b.full(m.at.Name) {
		return backend.Log{}, nil
	}
	return b.log(row, m.at.Name)
}

// unsure are mutations that were cancelled while they were under way. The same mutation is not refused the second time if the first one was
// carried out.
type unsure struct {
	mu   sync.Mutex
	sums map[mutated][sha256.Size]byte
}

// mutated identifies a mutation, except for its bytes.
type mutated struct{ op, name, generation string }

// unsureMost is the most mutations that are remembered.
const unsureMost = 1000

func (u *unsure) note(m mutation) {
	sum, err := m.sum()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sums == nil || len(u.sums) >= unsureMost {
		u.sums = map[mutated][sha256.Size]byte{}
	}
	if err == nil {
		u.sums[mutated{m.op, m.at.Name, m.at.Generation}] = sum
	}
}

// take reports whether a mutation was noted, and forgets it.
func (u *unsure) take(m mutation) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := mutated{m.op, m.at.Name, m.at.Generation}
	noted, ok := u.sums[key]
	if !ok {
		return false
	}
	delete(u.sums, key)
	sum, err := m.sum()
	return err == nil && sum == noted
}

// sum returns a hash of the bytes of a mutation.
func (m *mutation) sum() (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	_, err = io.Copy(h, io.NewSectionReader(m.body, 0, m.body.size))
	h.Sum(sum[:0])
	return sum, err
}

// recognise finds out whether an earlier attempt was carried out: then its bytes are where the operation puts them. refused is the error if
// it was not.
func (b *Backend) recognise(ctx context.Context, m mutation, refused error) (backend.Log, error) {
	now, err := b.Stat(ctx, m.at.Name)
	if errors.Is(err, backend.ErrNotExist) {
		if m.op == opRemove {
			return backend.Log{}, nil
		}
		return backend.Log{}, refused
	}
	if err != nil {
		return backend.Log{}, err
	}
	same, n := now.Generation == m.at.Generation, m.body.size
	var places []int64 // where the bytes may begin
	switch {
	case m.op == opRemove:
	case (m.op == opAppend || m.op == opExtend) && n == 0:
	case m.op == opAppend && same:
		places = []int64{m.at.Size, m.at.Size + 1} // after the newline that an unterminated line got
	case m.op == opExtend && same:
		places = []int64{m.at.Size}
	case m.op == opAppend && now.Size >= n:
		places = []int64{now.Size - n} // after a torn line was cut off
	case m.op == opExtend, m.op == opAppend, same, n == 0 && now.Size > 0:
	default:
		places = []int64{0}
	}
	for _, from := range places {
		if from+n > now.Size {
			continue
		}
		equal, err := b.compare(ctx, now, from, m.body)
		if err != nil && !errors.Is(err, backend.ErrChanged) {
			return backend.Log{}, err
		}
		if equal {
			now.Size, now.Changed = from+n, 0
			return now, nil
		}
	}
	return backend.Log{}, refused
}

// compare reports whether a log has these bytes at an offset.
func (b *Backend) compare(ctx context.Context, at backend.Log, from int64, want content) (bool, error) {
	at.Size = from + want.size
	s := &stream{b: b, ctx: ctx, at: at, off: from}
	defer s.close()
	have, wanted := make([]byte, window), make([]byte, window)
	for off := int64(0); off < want.size; {
		n := min(want.size-off, window)
		if _, err := io.ReadFull(s, have[:n]); err != nil {
			return false, err
		}
		if m, err := want.ReadAt(wanted[:n], off); int64(m) < n {
			return false, err
		}
		if !bytes.Equal(have[:n], wanted[:n]) {
			return false, nil
		}
		off += n
	}
	return true, nil
}

// write is a mutation by records. It waits for an append that was sent: its outcome must be known.
func (b *Backend) write(ctx context.Context, op string, at backend.Log, records [][]byte) (backend.Log, error) {
	if op == opAppend && ctx.Err() == nil {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, done, err := b.change(ctx, at.Name)
	defer done()
	if err != nil {
		return backend.Log{}, err
	}
	all, err := backend.Encode(nil, at.Name, backend.IsText(at.Name), records...)
	if err == nil && op == opAppend && !backend.IsText(at.Name) {
		err = fmt.Errorf("%s: %w: only a log of lines can be appended to", at.Name, backend.ErrRecord)
	}
	if err == nil && op != opCreate && at.Generation == "" {
		err = fmt.Errorf("%s: %w", at.Name, backend.ErrConflict) // a mutation never creates a log
	}
	if err == nil && len(all) > protocol.RecordsMost {
		err = fmt.Errorf("%s: %d bytes cannot be written at once: a server takes %d", at.Name, len(all), protocol.RecordsMost)
	}
	if err != nil {
		return backend.Log{}, err
	}
	now, err := b.mutate(ctx, mutation{op: op, at: at, body: memory(all)})
	if err == nil && op == opAppend && b.opt.Mended != nil && (now.Generation != at.Generation || now.Size != at.Size+int64(len(all))) {
		b.mended(ctx, at, now.Size-int64(len(all)))
	}
	return now, err
}

// mended reports that the server mended the end of a log before it appended at begin. A line that got its newline is before begin; a torn
// one was moved to the last log of its kind.
func (b *Backend) mended(ctx context.Context, at backend.Log, begin int64) {
	m := backend.Mended{Log: at.Name, Offset: begin, Size: at.Size - begin}
	if begin > at.Size {
		m.Offset, m.Size = at.Size, 0 // where the newline is: the line is not read again just for its offset
	}
	for side, err := range b.List(ctx, at.Name+".torn-") {
		if err == nil && side.Size == m.Size && begin <= at.Size {
			m.To = side.Name
		}
	}
	b.opt.Mended(m)
}

// Create implements backend.Backend.
func (b *Backend) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	return b.write(ctx, opCreate, backend.Log{Name: name}, records)
}

// Append implements backend.Backend.
func (b *Backend) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	return b.write(ctx, opAppend, at, records)
}

// Replace implements backend.Backend.
func (b *Backend) Replace(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	return b.write(ctx, opReplace, at, records)
}

// Remove implements backend.Backend.
func (b *Backend) Remove(ctx context.Context, at backend.Log) error {
	ctx, done, err := b.change(ctx, at.Name)
	defer done()
	if err == nil && at.Generation == "" {
		err = fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	if err == nil {
		_, err = b.mutate(ctx, mutation{op: opRemove, at: at, body: memory(nil)})
	}
	return err
}

// CreateFrom implements backend.Streamer. The records are collected first, in a temporary file if they are many, so that an attempt can be
// repeated.
func (b *Backend) CreateFrom(ctx context.Context, name string, records iter.Seq2[[]byte, error]) (backend.Log, error) {
	ctx, done, err := b.change(ctx, name)
	defer done()
	if err != nil {
		return backend.Log{}, err
	}
	var all spill.Bytes
	defer all.Close()
	if err := backend.WriteRecords(&all, name, records); err != nil {
		return backend.Log{}, err
	}
	return b.mutate(ctx, mutation{op: opCreate, at: backend.Log{Name: name}, body: content{&all, all.Size()}})
}

// Restore implements backend.Restorer.
func (b *Backend) Restore(ctx context.Context, name string, exact []byte) (backend.Log, error) {
	ctx, done, err := b.change(ctx, name)
	defer done()
	if err != nil {
		return backend.Log{}, err
	}
	return b.mutate(ctx, mutation{op: opCreate, at: backend.Log{Name: name}, body: memory(exact), more: url.Values{"exact": {"true"}}})
}

// repeatable is a reader whose bytes can be read again.
type repeatable interface {
	io.ReaderAt
	Size() int64
}

// copying is a mutation by bytes. A reader that cannot be read again is collected first.
func (b *Backend) copying(ctx context.Context, m mutation, mark string, from io.Reader) (backend.Log, error) {
	ctx, done, err := b.change(ctx, m.at.Name)
	defer done()
	if err == nil && m.op == opExtend && !backend.IsText(m.at.Name) {
		err = fmt.Errorf("%s: %w: only a log of lines can be extended", m.at.Name, backend.ErrRecord)
	}
	if err == nil && m.op == opExtend && m.at.Generation == "" {
		err = fmt.Errorf("%s: %w", m.at.Name, backend.ErrConflict) // a mutation never creates a log
	}
	if err == nil && len(mark) > protocol.MarkMost {
		err = fmt.Errorf("%s: a mark of %d bytes: there may be %d", m.at.Name, len(mark), protocol.MarkMost)
	}
	if err != nil {
		return backend.Log{}, err
	}
	m.mark = mark
	if r, ok := from.(repeatable); ok && unread(from, r.Size()) {
		m.body = content{r, r.Size()}
		return b.mutate(ctx, m)
	}
	var all spill.Bytes
	defer all.Close()
	if _, err := io.Copy(&all, from); err != nil {
		return backend.Log{}, err
	}
	m.body = content{&all, all.Size()}
	return b.mutate(ctx, m)
}

// unread reports whether a reader is at its beginning.
func unread(from io.Reader, size int64) bool {
	s, ok := from.(io.Seeker)
	if !ok {
		return false
	}
	at, err := s.Seek(0, io.SeekCurrent)
	return err == nil && at == 0 && size >= 0
}

// Extend implements backend.Mirror.
func (b *Backend) Extend(ctx context.Context, at backend.Log, mark string, content io.Reader) (backend.Log, error) {
	return b.copying(ctx, mutation{op: opExtend, at: at}, mark, content)
}

// Overwrite implements backend.Mirror.
func (b *Backend) Overwrite(ctx context.Context, at backend.Log, mark string, content io.Reader) (backend.Log, error) {
	return b.copying(ctx, mutation{op: opOverwrite, at: at}, mark, content)
}
