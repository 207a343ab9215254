package find

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/session"
)

// lookup looks into one log after the other for what a query means. Its buffers are used again.
type lookup struct {
	f *finder
	q *query.Query

	row    *Row
	b      backend.Backend
	glance glance
	sess   *Session // nil until something matches
	next   int      // the entry behind the last one that was looked at
	onPath []bool   // nil until something matches
	hits   []SearchHit
	texts  []query.Text
	buf    []byte
}

// snippetWidth is about how many characters of a text a hit shows.
const snippetWidth = 160

// look gives the hits in a log, the last one first: all, or at least limit+1 of the last.
func (l *lookup) look(ctx context.Context, t *target, limit int) ([]SearchHit, error) {
	l.row, l.hits = t.row, nil
	defer l.release()
	var err error
	dir, _ := t.place()
	if l.b, err = l.f.backend(dir); err != nil {
		return nil, err
	}
	// Runs are looked into in their own way: their records are no entries of a tree.
	if t.run != nil {
		return l.run(ctx, t)
	}
	o, random := l.b.(backend.Opener)
	if !random || !linesOf(l.b, t.row.Log.Name) {
		return l.whole(ctx)
	}
	r, err := o.Open(ctx, t.row.Log)
	if err != nil {
		if errors.Is(err, backend.ErrNotExist) {
			return nil, nil // it was removed meanwhile
		}
		return l.again(ctx, err)
	}
	defer r.Close()
	l.glance.reset(r)
	spans := t.spans
	if spans == nil {
		return l.stream(ctx, r)
	}
	// From the end, where the newest entries are: of a long session with many hits only the last pieces are read.
	for i := len(spans) - 1; i >= 0 && len(l.hits) <= limit; i-- {
		before := len(l.hits)
		if err := l.span(ctx, r, spans[i]); err != nil {
			return l.again(ctx, err)
		}
		// Within a piece records come in the order of the log.
		slices.Reverse(l.hits[before:])
	}
	return l.hits, nil
}

// span looks at one piece of a log. Huge ones are looked at one at a time, and their memory is given back at once: a search has
// little else.
func (l *lookup) span(ctx context.Context, r backend.Reader, s textSpan) error {
	if s.to-s.from > huge {
		l.f.huge.Lock()
		defer l.f.huge.Unlock()
		defer func() {
			l.buf, l.texts = nil, nil
			// Otherwise the heap would grow to twice as much before it is collected.
			runtime.GC()
		}()
	}
	data, err := l.read(r, s.from, s.to)
	if err != nil {
		return err
	}
	return l.scan(ctx, data, s.from, s.odd)
}

func (l *lookup) release() {
	if l.sess != nil {
		_ = l.sess.Close() // it was only read
	}
	l.sess, l.onPath, l.next = nil, nil, 0
}

// again looks at everything after the log turned out to be another one than it was. Signatures and offsets were those of
// another log; hits that were found are thrown away with them.
func (l *lookup) again(ctx context.Context, err error) ([]SearchHit, error) {
	if !errors.Is(err, backend.ErrChanged) {
		return nil, err
	}
	return l.whole(ctx)
}

// read gives a piece of a log, valid until the next one.
func (l *lookup) read(r backend.Reader, from, to int64) ([]byte, error) {
	l.buf = slices.Grow(l.buf[:0], int(to-from))[:to-from]
	n, err := r.ReadAt(l.buf, from)
	// A log that became shorter since gives what is left: record compares generations before anything counts.
	if n == len(l.buf) || errors.Is(err, io.EOF) {
		return l.buf[:n], nil
	}
	return nil, err
}

// stream looks at a whole log, piece by piece: nothing is known of what is in it.
func (l *lookup) stream(ctx context.Context, r backend.Reader) ([]SearchHit, error) {
	// A few chunks at a time: enough to make reads long, and little to hold for each worker.
	const piece = 256 << 10
	size := l.row.Log.Size
	for from, n := int64(0), int64(piece); from < size; {
		data, err := l.read(r, from, min(from+n, size))
		if err != nil {
			return l.again(ctx, err)
		}
		if from+int64(len(data)) < size {
			// Only whole records are looked at; the rest is read again with the next piece.
			end := bytes.LastIndexByte(data, '\n') + 1
			if end == 0 && len(data) > 0 { // a record that is longer than that
				n *= 2
				continue
			}
			data = data[:end]
		}
		if len(data) == 0 {
			break
		}
		if err := l.scan(ctx, data, from, query.OddText(data)); err != nil {
			return l.again(ctx, err)
		}
		from, n = from+int64(len(data)), piece
	}
	slices.Reverse(l.hits)
	return l.hits, nil
}

// scan looks at the records in a piece of the log that begins at base.
func (l *lookup) scan(ctx context.Context, data []byte, base int64, odd bool) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.q.Scan(data, odd, func(from, to int) bool {
		err = l.record(ctx, data[from:to], base+int64(from))
		return err == nil
	})
	return err
}

// record decodes the entries in a record that may match.
func (l *lookup) record(ctx context.Context, data []byte, at int64) error {
	// Labels are said by other records: with them the whole session must be read in any case.
	if l.sess == nil && !l.f.opt.Labelled && !l.glance.may(l, data, at) {
		return nil
	}
	if err := l.open(ctx); err != nil {
		return err
	}
	// The session was opened later than the log was listed: offsets must be of the same bytes.
	if l.sess.log.Generation != l.row.Log.Generation {
		return backend.ErrChanged
	}
	t := l.sess.tree
	// A record before the end of the header is the header, or its slot.
	if h := t.Header(); at < h.Span.End() {
		l.header(h)
	}
	end := at + int64(len(data))
	if l.next >= t.Len() || t.At(l.next).Span.Offset != at { // it is not the record behind the last one
		l.next = sort.Search(t.Len(), func(i int) bool { return t.At(i).Span.Offset >= at })
	}
	for ; l.next < t.Len(); l.next++ {
		e := t.At(l.next)
		if e.Span.End() > end {
			break
		}
		l.entry(e, data[e.Span.Offset-at:e.Span.End()-at])
	}
	return nil
}

// open opens the session, once.
func (l *lookup) open(ctx context.Context) (err error) {
	if l.sess == nil {
		l.sess, err = l.f.s.OpenLog(ctx, l.b, l.row.Log.Name, l.row.Path, OpenOptions{Dialect: l.row.Dialect})
	}
	return err
}

// whole looks at all entries of a session, for logs whose bytes are no lines. One that is changed meanwhile, in other ways than
// by growing, is looked at again.
func (l *lookup) whole(ctx context.Context) ([]SearchHit, error) {
	for try := 0; ; try++ {
		hits, err := l.all(ctx)
		if try == rewritten || !errors.Is(err, backend.ErrChanged) {
			return hits, err
		}
	}
}

func (l *lookup) all(ctx context.Context) ([]SearchHit, error) {
	l.release()
	l.hits = nil
	if err := l.open(ctx); err != nil {
		if errors.Is(err, backend.ErrNotExist) || errors.Is(err, ErrNotSession) {
			return nil, nil // it is not there any more
		}
		return nil, err
	}
	t := l.sess.tree
	l.header(t.Header())
	for e := range t.Entries() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		raw, err := e.Raw()
		if err != nil {
			return nil, err
		}
		if l.q.MayRecord(raw) {
			l.entry(e, raw)
		}
	}
	slices.Reverse(l.hits)
	return l.hits, nil
}

// header looks at what a session is called.
func (l *lookup) header(h session.Header) {
	l.texts = l.texts[:0]
	headerTexts(h, l.take)
	m, ok := l.q.Match(l.texts)
	if !ok || l.f.opt.Labelled || len(l.hits) > 0 && l.hits[len(l.hits)-1].Entry == "" {
		return // the slot before a header is a record, too: it was looked at
	}
	// A title belongs to no entry: it is on every path.
	hit := SearchHit{Type: "title", OnPath: true, Time: h.Timestamp}
	l.add(hit, m)
}

// entry looks at one entry.
func (l *lookup) entry(e session.Entry, raw []byte) {
	o := &l.f.opt
	if !mayHold(e, o.Fields) {
		return
	}
	label := l.sess.tree.Label(e.ID)
	if o.Labelled && (label == "" || o.Label != "" && !strings.EqualFold(label, o.Label)) {
		return
	}
	l.texts = l.texts[:0]
	codec := l.sess.dialect.Codec()
	if searchTexts(codec, e, raw, l.take) != nil {
		return // what cannot be decoded has no text
	}
	m, ok := l.q.Match(l.texts)
	if !ok {
		return
	}
	l.add(SearchHit{
		Entry: e.ID, Type: e.Type, Kind: e.Kind, Role: e.Role, Time: codec.Time(raw), Label: label, OnPath: l.path()[e.Index],
	}, m)
}

func (l *lookup) take(f query.Field, text string) {
	l.texts = append(l.texts, query.Text{Field: f, Text: text})
}

// add keeps a hit, unless its time is not one that is asked for.
func (l *lookup) add(hit SearchHit, m query.Match) {
	var ok bool
	switch hit.at, ok = hit.Time.Time(); {
	case ok:
	case hit.Run != nil:
		hit.at = hit.Run.Log.Time
	default:
		// An entry without a time is as new as its session.
		hit.at = l.row.When()
	}
	if !l.f.opt.passes(hit.at) {
		return
	}
	hit.Session = l.row
	hit.Field = l.texts[m.Text].Field
	hit.Snippet, hit.Marks = query.Snippet(l.texts[m.Text].Text, m, snippetWidth)
	if l.f.opt.Rank {
		hit.found.terms, hit.found.length = l.q.Count(l.texts)
	}
	l.hits = append(l.hits, hit)
}

// path says which entries are on the path to the leaf.
func (l *lookup) path() []bool {
	if l.onPath == nil {
		l.onPath = l.sess.tree.OnActivePath()
	}
	return l.onPath
}
