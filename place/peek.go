package place

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
)

// PeekAll fills in rows from the ends of their logs, several at a time. After a cancellation the rows are incomplete.
func (m *Machine) PeekAll(ctx context.Context, b backend.Backend, rows []Row, opt ListOptions) {
	places := m.places()
	each(ctx, len(rows), 32, func() func(int) { // small batches, so that the workers finish together
		peek := Peeker{m: m, places: places}
		return func(i int) { peek.Peek(ctx, b, &rows[i], opt) }
	})
}

// each calls the function that worker returns for all i below n, in batches, on several goroutines with a worker each. There are more
// goroutines than processors: part of the work is waiting for files.
func each(ctx context.Context, n, batch int, worker func() func(i int)) {
	var wg sync.WaitGroup
	var taken atomic.Int64
	for range min(2*runtime.GOMAXPROCS(0), n/batch+1) {
		wg.Go(func() {
			do := worker()
			for ctx.Err() == nil {
				end := int(taken.Add(int64(batch)))
				if end-batch >= n {
					return
				}
				for i := end - batch; i < min(end, n); i++ {
					do(i)
				}
			}
		})
	}
	wg.Wait()
}

// Peeker reads the ends of logs, one after the other. It reuses its buffers.
type Peeker struct {
	m          *Machine
	head, tail []byte
	first      []dialect.Record
	// place is the dialect of the folder dir: neighbours in a list usually share one.
	places []Source
	dir    string
	place  dialect.Dialect
}

// NewPeeker returns a Peeker for one goroutine.
func (m *Machine) NewPeeker() *Peeker { return &Peeker{m: m, places: m.places()} }

// The sizes of the ends that are read at first and at most. Usually a page at each end shows the header and the last message; but a header
// may hold a system prompt, and much may follow the last message. Beyond endMost the beginning is read as long as its records are cut off,
// up to HeadMost: several logs are read at a time, and one must not take all memory.
const (
	endSize  = 4 << 10
	endMost  = 1 << 20
	HeadMost = 64 << 20
)

// Peek fills in a row. If the dialect saw too little, it reads sixteen times as much, up to endMost at each end and
// HeadMost for the first records.
func (p *Peeker) Peek(ctx context.Context, b backend.Backend, row *Row, opt ListOptions) {
	head, tail, err := p.begin(ctx, b, row)
	length := row.Log.Size
	size, end := int64(endSize), int64(endSize)
	if length <= 2*endSize {
		size = length
	}
	for ; ; head, tail, err = p.Ends(ctx, b, row.Log, size, end) {
		if err != nil {
			row.Err = err
			return
		}
		whole := size >= length
		row.Dialect = opt.Dialect
		if row.Dialect == nil {
			row.Dialect, _ = p.detect(row.Path, head, whole)
		}
		row.Summary = row.Dialect.Peek(head, tail, whole)
		switch {
		case whole || row.OK && !row.TailShort:
		// The header is known; the last message is farther from the end.
		case row.OK && end < endMost:
			if end *= 16; size+end >= length {
				size = length
			}
			continue
		case !row.OK && (size < endMost || size < HeadMost && p.cut(head, backend.Lines(b, row.Log.Name))):
			size = min(16*size, HeadMost)
			continue
		}
		break
	}
	if !row.OK && length > 0 {
		row.Err = logtree.ErrNotSession
	}
}

// cut reports whether the beginning of a log, which consists of lines or is one document, has too few records to recognise it.
func (p *Peeker) cut(head []byte, lines bool) bool {
	p.first = logtree.LeadingIn(p.first[:0], head, false)
	return !lines || len(p.first) < logtree.EnoughToDetect
}

// detect finds the dialect of a log that begins with head.
func (p *Peeker) detect(path string, head []byte, whole bool) (dialect.Dialect, bool) {
	if dir := Dir(path); dir != p.dir || p.place == nil {
		p.dir, p.place = dir, p.m.dialectIn(p.places, path)
	}
	p.first = logtree.LeadingIn(p.first[:0], head, whole)
	return logtree.Detect(p.m.opt.Dialects, p.place, p.first)
}

// begin returns the ends of a row's log, or all of it if one read is enough. If only the log's name is known, it fills in the rest.
func (p *Peeker) begin(ctx context.Context, b backend.Backend, row *Row) (head, tail []byte, err error) {
	g, ok := b.(backend.Glimpser)
	if !ok || row.Log.Generation != "" {
		size := int64(endSize)
		if row.Log.Size <= 2*endSize {
			size = row.Log.Size
		}
		return p.Ends(ctx, b, row.Log, size, endSize)
	}
	if cap(p.head) < 2*endSize {
		p.head = make([]byte, 2*endSize)
	}
	row.Log, head, tail, err = g.Glimpse(ctx, row.Log.Name, p.head[:2*endSize], endSize)
	return head, tail, err
}

// Ends returns the first size bytes of a log and, of the rest, the last end bytes. They are valid until the next call.
func (p *Peeker) Ends(ctx context.Context, b backend.Backend, at backend.Log, size, end int64) (head, tail []byte, err error) {
	if int64(cap(p.head)) < size {
		p.head = make([]byte, max(size, 2*endSize))
	}
	if int64(cap(p.tail)) < end {
		p.tail = make([]byte, end)
	}
	head, tail = p.head[:min(size, at.Size)], p.tail[:min(end, max(at.Size-size, 0))]
	_, _, err = backend.Ends(ctx, b, at, head, tail)
	return head, tail, err
}
