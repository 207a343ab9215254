package store

import (
	"bytes"
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
)

// peekAll reads the ends of all logs, several at a time: the work is mostly waiting. After a cancellation rows are left as
// they are; the caller asks ctx.
func (s *Store) peekAll(ctx context.Context, b backend.Backend, rows []Row, opt ListOptions) {
	// Rows that one takes at a time: few enough that all finish together.
	const batch = 32
	var wg sync.WaitGroup
	places := s.places()
	var taken atomic.Int64 // rows that somebody works on: taking some needs no waking of anybody
	for range min(2*runtime.GOMAXPROCS(0), len(rows)/batch+1) {
		wg.Go(func() {
			buf := peekBuffer{places: places}
			for ctx.Err() == nil {
				end := int(taken.Add(batch))
				if end-batch >= len(rows) {
					return
				}
				for i := end - batch; i < min(end, len(rows)); i++ {
					s.peek(ctx, b, &rows[i], opt, &buf)
				}
			}
		})
	}
	wg.Wait()
}

// peekBuffer is what one worker uses again for each log.
type peekBuffer struct {
	head, tail []byte
	first      []dialect.Record
	// place is whose folder dir is: neighbours in a list mostly share one.
	places []Source
	dir    string
	place  dialect.Dialect
}

const (
	// A page at each end: mostly the header and what was said last stand there whole.
	headSize = 4 << 10
	tailSize = 4 << 10
	headMost = 1 << 20 // a header may be longer than a page: a system prompt in it, say
	tailMost = 1 << 20 // and before what was last said there may stand much that was not
)

// peek fills in a row. It reads more, sixteen times as much each time, where the dialect says that it saw too little, up to
// a megabyte at each end.
func (s *Store) peek(ctx context.Context, b backend.Backend, row *Row, opt ListOptions, buf *peekBuffer) {
	head, tail, err := buf.begin(ctx, b, row)
	length := row.Log.Size
	size, end := int64(headSize), int64(tailSize)
	if length <= headSize+tailSize {
		size = length
	}
	for ; ; head, tail, err = buf.read(ctx, b, row.Log, size, end) {
		if err != nil {
			row.Err = err
			return
		}
		whole := size >= length
		row.Dialect = opt.Dialect
		if row.Dialect == nil {
			dir := row.Path[:strings.LastIndexByte(row.Path, filepath.Separator)] // it is clean: List made it
			// Which agent's folder it is takes a walk through all places.
			if dir != buf.dir || buf.place == nil {
				buf.dir, buf.place = dir, s.dialectIn(buf.places, row.Path)
			}
			row.Dialect, _ = s.detectIn(buf.place, buf.leading(head, whole))
		}
		row.Summary = row.Dialect.Peek(head, tail, whole)
		switch {
		case whole || row.OK && !row.TailShort:
		// The header is known; what was last said stands farther from the end.
		case row.OK && end < tailMost:
			if end *= 16; size+end >= length {
				size = length
			}
			continue
		case !row.OK && size < headMost:
			size *= 16
			continue
		}
		break
	}
	if !row.OK && length > 0 {
		row.Err = ErrNotSession
	}
}

// begin gives the ends of a row's log, or all of it where one read is enough. Where no more than the name of the log is
// known, it fills in the rest.
func (buf *peekBuffer) begin(ctx context.Context, b backend.Backend, row *Row) (head, tail []byte, err error) {
	g, ok := b.(backend.Glimpser)
	if !ok || row.Log.Generation != "" {
		size := int64(headSize)
		if row.Log.Size <= headSize+tailSize {
			size = row.Log.Size
		}
		return buf.read(ctx, b, row.Log, size, tailSize)
	}
	// For both ends: a log that fits is read in one go.
	if cap(buf.head) < headSize+tailSize {
		buf.head = make([]byte, headSize+tailSize)
	}
	row.Log, head, tail, err = g.Glimpse(ctx, row.Log.Name, buf.head[:headSize+tailSize], tailSize)
	return head, tail, err
}

// read gives the first bytes of a log and, where they do not reach them, the last ones.
func (buf *peekBuffer) read(ctx context.Context, b backend.Backend, at backend.Log, size, end int64) (head, tail []byte, err error) {
	if int64(cap(buf.head)) < size {
		buf.head = make([]byte, max(size, headSize+tailSize))
	}
	if int64(cap(buf.tail)) < end {
		buf.tail = make([]byte, end)
	}
	head, tail = buf.head[:min(size, at.Size)], buf.tail[:min(end, max(at.Size-size, 0))]
	_, _, err = backend.Ends(ctx, b, at, head, tail)
	return head, tail, err
}

// leading gives the records that begin a log, as far as they are whole. Blank lines do not count. Eight are enough for
// every dialect to say whether it is its own.
func (buf *peekBuffer) leading(head []byte, whole bool) []dialect.Record {
	buf.first = buf.first[:0]
	offset := 0
	for line := 1; offset < len(head) && len(buf.first) < 8; line++ {
		end := bytes.IndexByte(head[offset:], '\n')
		if end < 0 {
			if !whole {
				break
			}
			end = len(head) - offset
		}
		if data := head[offset : offset+end]; len(bytes.TrimSpace(data[:min(len(data), 64)])) > 0 {
			buf.first = append(buf.first, dialect.Record{Data: data, Offset: int64(offset), Line: line})
		}
		offset += end + 1
	}
	return buf.first
}
