package find

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/find/snapshot"
	"github.com/treeline-dev/treeline/find/texts"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// matcher searches one log after the other. It reuses its buffers.
type matcher struct {
	s *search
	q *query.Query

	row    *place.Row
	b      backend.Backend
	pre    prefilter
	end    end
	log    *logtree.Log  // nil until something matches, or as long as end has everything that matches
	done   func()        // ends the use of a log of the caller
	tree   *session.Tree // of log or end
	own    int           // index of the first entry of the log itself: those before it are foreign, with offsets in another log
	next   int           // index of the entry after the last one that was searched
	onPath []bool        // nil until something matches in tree
	hits   []Hit
	texts  []query.Text
	buf    []byte
}

const (
	// snippetWidth is about how many characters of a text a hit shows.
	snippetWidth = 160
	// huge is the size from which a record is searched alone: its bytes and its texts are most of the memory of a search.
	huge = 4 << 20
)

// search returns the hits in a log, the last one first: all, or at least the last limit+1.
func (m *matcher) search(ctx context.Context, t *target, limit int) ([]Hit, error) {
	m.row, m.hits = t.row, nil
	if t.run != nil {
		return m.searchRun(ctx, t)
	}
	defer m.release()
	var err error
	if m.b, err = m.s.f.m.Open(t.row.Source.Root.Sessions); err != nil {
		return nil, err
	}
	if m.s.f.beside() {
		if m.b, err = snapshot.Of(ctx, m.b, t.row.Log); err != nil {
			if errors.Is(err, backend.ErrNotExist) {
				err = nil // removed meanwhile
			}
			return nil, err
		}
	}
	if !backend.Lines(m.b, t.row.Log.Name) {
		return retry(func() ([]Hit, error) { return m.whole(ctx) })
	}
	r, err := backend.OpenLog(ctx, m.b, t.row.Log)
	if err != nil {
		if errors.Is(err, backend.ErrNotExist) {
			return nil, nil // removed meanwhile
		}
		return m.again(ctx, err)
	}
	defer r.Close()
	m.pre, m.end = prefilter{r: r}, endOf(t)
	if t.spans == nil {
		return m.stream(ctx, r)
	}
	// From the end, which has the newest entries: of a long session with many hits only the last chunks are read.
	for i := len(t.spans) - 1; i >= 0 && len(m.hits) <= limit; i-- {
		before := len(m.hits)
		if err := m.span(ctx, r, t.spans[i]); err != nil {
			return m.again(ctx, err)
		}
		slices.Reverse(m.hits[before:]) // within a chunk they are in the order of the log
	}
	return m.hits, nil
}

// span searches one chunk of a log. Huge chunks are searched one at a time, and their memory is released at once.
func (m *matcher) span(ctx context.Context, r backend.Reader, s span) error {
	if s.to-s.from > huge {
		m.s.huge.Lock()
		defer m.s.huge.Unlock()
		defer func() { m.buf, m.texts = nil, nil }()
	}
	data, err := m.read(r, s.from, s.to)
	if err != nil {
		return err
	}
	return m.scan(ctx, data, s.from, s.odd)
}

func (m *matcher) release() {
	if m.done != nil {
		m.done()
	} else if m.log != nil {
		_ = m.log.Close() // it was only read
	}
	m.log, m.done = nil, nil
	m.use(nil)
}

// use sets the tree in which entries are looked up.
func (m *matcher) use(t *session.Tree) {
	m.tree, m.onPath, m.own = t, nil, 0
	for t != nil && m.own < t.Len() && t.At(m.own).Foreign() {
		m.own++
	}
	m.next = m.own
}

// again searches the whole log after it turned out to be another one: the signatures, offsets and hits were those of the old one.
func (m *matcher) again(ctx context.Context, err error) ([]Hit, error) {
	if !errors.Is(err, backend.ErrChanged) {
		return nil, err
	}
	m.b = snapshot.Whole(m.b)
	return retry(func() ([]Hit, error) { return m.whole(ctx) })
}

// read returns a piece of a log, valid until the next call. It fails with backend.ErrChanged if the log has become shorter.
func (m *matcher) read(r backend.Reader, from, to int64) ([]byte, error) {
	const most = 64 << 20 // per read: a server may report any size
	for m.buf = m.buf[:0]; int64(len(m.buf)) < to-from; {
		have := len(m.buf)
		n := int(min(to-from-int64(have), int64(max(most, have))))
		m.buf = slices.Grow(m.buf, n)[:have+n]
		k, err := r.ReadAt(m.buf[have:], from+int64(have))
		if k == n {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = backend.ErrChanged
		}
		return nil, err
	}
	return m.buf, nil
}

// stream searches a whole log without signatures, piece by piece.
func (m *matcher) stream(ctx context.Context, r backend.Reader) ([]Hit, error) {
	const piece = 256 << 10 // long enough for fast reads, and little memory for each worker
	size := m.row.Log.Size
	for from, n := int64(0), int64(piece); from < size; {
		data, err := m.read(r, from, min(from+n, size))
		if err != nil {
			return m.again(ctx, err)
		}
		if from+int64(len(data)) < size {
			// Only whole records are searched; the rest is read again with the next piece.
			end := bytes.LastIndexByte(data, '\n') + 1
			if end == 0 { // the record is longer than the piece
				n *= 2
				continue
			}
			data = data[:end]
		}
		if err := m.scan(ctx, data, from, query.OddText(data)); err != nil {
			return m.again(ctx, err)
		}
		from, n = from+int64(len(data)), piece
	}
	slices.Reverse(m.hits)
	return m.hits, nil
}

// scan searches the records in a piece of the log that begins at base.
func (m *matcher) scan(ctx context.Context, data []byte, base int64, odd bool) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.q.Scan(data, odd, func(from, to int) bool {
		err = m.record(ctx, data[from:to], base+int64(from))
		return err == nil
	})
	return err
}

// record matches the entries in a record whose bytes may match.
func (m *matcher) record(ctx context.Context, data []byte, at int64) error {
	// Labels are in other records: with them the whole session must be read in any case.
	if m.log == nil && !m.s.opt.Labelled && !m.pre.may(m, data, at) {
		return nil
	}
	if err := m.open(ctx, at); err != nil {
		return err
	}
	t := m.tree
	// A record before the end of the header is the header or its title slot.
	if h := t.Header(); at < h.Span.End() {
		m.header(h)
	}
	end := at + int64(len(data))
	if m.next >= t.Len() || t.At(m.next).Span.Offset != at { // the record does not follow the last one
		m.next = m.own + sort.Search(t.Len()-m.own, func(i int) bool { return t.At(m.own+i).Span.Offset >= at })
	}
	for ; m.next < t.Len(); m.next++ {
		e := t.At(m.next)
		if e.Span.End() > end {
			break
		}
		m.entry(e, data[e.Span.Offset-at:e.Span.End()-at])
	}
	return nil
}

// open makes a tree that has the record at an offset: of the end of the log if that is enough, else of the whole session.
func (m *matcher) open(ctx context.Context, at int64) error {
	if m.tree != nil && (m.log != nil || at >= m.end.from) {
		return nil
	}
	if m.ask(ctx); m.log == nil {
		ok, err := m.end.read(ctx, m, at)
		if ok || err != nil {
			return err
		}
	}
	if err := m.openWhole(ctx); err != nil {
		return err
	}
	// The session was opened later than the log was listed: check that offsets refer to the same bytes.
	if m.log.At.Generation != m.row.Log.Generation {
		return backend.ErrChanged
	}
	return nil
}

// ask asks the caller for the session's tree.
func (m *matcher) ask(ctx context.Context) {
	if m.log == nil && m.s.opt.Open != nil {
		m.log, m.done = m.s.opt.Open(ctx, m.row)
	}
}

// openWhole reads the session into a tree, once, unless the caller has one.
func (m *matcher) openWhole(ctx context.Context) (err error) {
	if m.ask(ctx); m.log == nil {
		l := place.Location{Backend: m.b, Name: m.row.Log.Name, Path: m.row.Path}
		if m.log, err = m.s.f.m.OpenLog(ctx, l, m.row.Dialect); err != nil {
			return err
		}
	}
	m.use(m.log.Tree)
	return nil
}

// whole searches all entries of a session, for logs that do not consist of lines.
func (m *matcher) whole(ctx context.Context) ([]Hit, error) {
	m.release()
	m.hits = nil
	if err := m.openWhole(ctx); err != nil {
		if errors.Is(err, backend.ErrNotExist) || errors.Is(err, logtree.ErrNotSession) {
			return nil, nil // removed or replaced meanwhile
		}
		return nil, err
	}
	t := m.tree
	// The log may have become one of another project since the list was read.
	if cwd := t.Header().CWD; m.s.opt.Project != nil && cwd != "" && !m.s.opt.Project(cwd) {
		return nil, nil
	}
	m.header(t.Header())
	for e := range t.Entries() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if e.Foreign() {
			continue // the entry is found in its own log
		}
		raw, err := e.Raw()
		if err != nil {
			return nil, err
		}
		if m.q.MayRecord(raw) {
			m.entry(e, raw)
		}
	}
	slices.Reverse(m.hits)
	return m.hits, nil
}

// header matches the title of a session.
func (m *matcher) header(h session.Header) {
	m.texts = m.texts[:0]
	h.Title = string(m.rewritten([]byte(h.Title)))
	texts.Header(h, m.take)
	found, ok := m.q.Match(m.texts)
	// The title slot before a header is a record, too: it has produced this hit already.
	if !ok || m.s.opt.Labelled || len(m.hits) > 0 && m.hits[len(m.hits)-1].Entry == "" {
		return
	}
	m.add(Hit{Type: "title", OnPath: true, Time: h.Timestamp}, found)
}

// entry matches one entry.
func (m *matcher) entry(e session.Entry, raw []byte) {
	o := &m.s.opt
	if !texts.MayHold(e, o.Fields) {
		return
	}
	label := m.tree.Label(e.ID)
	if o.Labelled && (label == "" || o.Label != "" && !strings.EqualFold(label, o.Label)) {
		return
	}
	m.texts, raw = m.texts[:0], m.rewritten(raw)
	codec := m.row.Dialect.Codec().EntryCodec
	if m.log != nil {
		codec = m.log.Dialect.Codec().EntryCodec
	}
	if _, err := texts.Entry(codec, e, raw, texts.Own(e), nil, m.take); err != nil {
		return // an entry that cannot be decoded has no texts
	}
	found, ok := m.q.Match(m.texts)
	if !ok {
		return
	}
	if m.onPath == nil {
		m.onPath = m.tree.OnActivePath()
	}
	m.add(Hit{
		Entry: e.ID, Type: e.Type, Kind: e.Kind, Role: e.Role, Time: codec.Time(raw), Label: label,
		OnPath: m.onPath[e.Index] || e.Aside() && e.Role == session.RoleNone, // a note of the program is on no branch
	}, found)
}

// rewritten returns a record after Options.Rewrite.
func (m *matcher) rewritten(record []byte) []byte {
	if m.s.opt.Rewrite == nil {
		return record
	}
	return m.s.opt.Rewrite(record)
}

func (m *matcher) take(f query.Field, text string) {
	m.texts = append(m.texts, query.Text{Field: f, Text: text})
}

// add keeps a hit if its time is wanted.
func (m *matcher) add(hit Hit, found query.Match) {
	var ok bool
	switch hit.at, ok = hit.Time.Time(); {
	case ok:
	case hit.Run != nil:
		hit.at = hit.Run.Log.Time
	default:
		hit.at = m.row.When() // an entry without a time is as new as its session
	}
	if !m.s.opt.passes(hit.at) {
		return
	}
	hit.Session = m.row
	hit.Field = m.texts[found.Text].Field
	hit.Snippet, hit.Marks = query.Snippet(m.texts[found.Text].Text, found, snippetWidth)
	if m.s.opt.Rank {
		hit.found.Terms, hit.found.Length = m.q.Count(m.texts)
	}
	m.hits = append(m.hits, hit)
}
