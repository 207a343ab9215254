package find

import (
	"context"
	"hash/fnv"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/find/past"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// A log that has grown is read from its last chunk on: that chunk grows, and the part before it, its past, is known from the index. The
// result is, field by field, that of reading the whole log. The whole log is read
//
//   - if logtree.Tail does not report growth, or the header is another one: agents write a title there, in place;
//   - if a new entry has an id that the past has or names, or one with the same hash: a repeated id changes what older
//     entries mean;
//   - if the past itself names entries after it, or has more branch tips, labels and missing parents than are worth
//     keeping;
//   - if the usage of an answer before the last chunk was reported in that chunk (session.Spender);
//   - if it shares all its messages with copies (copies.Relation.Whole);
//   - if the log has one chunk, so that it is short, or if its records depend on those before them (dialect.Continuer).
//
// A document (Wave's old sessions, codelia's states) is written as a whole and never grows.

// beforeMost is how many bytes of ids the index keeps of a log's past, plus one for each KB of the log: a long log has more labels and
// branches, and takes longer to read.
const beforeMost = 4 << 10

// continues reports whether reading can continue from the last chunk: the log has grown, or it is as it was and its stamp is racy, so that
// its end may have been overwritten.
func continues(ctx context.Context, b backend.Backend, at backend.Log, known *index.Log) (bool, error) {
	if known == nil || known.Resume().From == 0 {
		return false, nil
	}
	s := &known.Stamp
	tail := logtree.Tail{Backend: b, At: backend.Log{Name: at.Name, Generation: s.Generation, Size: s.Size, Time: time.Unix(0, s.Nanos)}}
	change, err := tail.Compare(ctx, at)
	// A log of the same size with another generation or change time was touched, or edited in place: all of it is read.
	return change == logtree.Grown || change == logtree.Same && at.Generation == s.Generation && at.Changed == s.Changed, err
}

// resume continues a log that was read before. It returns false if all of it must be read.
func (r *reader) resume(ctx context.Context, j *job, row *place.Row, l *index.Log) (bool, error) {
	known := j.known
	if j.copied != nil {
		return false, nil
	}
	ok, err := continues(ctx, j.b, row.Log, known)
	if !ok || err != nil || !known.Summary.Session || row.Dialect.Name() != known.Summary.Dialect {
		return false, err
	}
	t := r.tally(row, l)
	t.sum.First = known.Summary.First
	t.copied(known.Summary.Parent, known.Summary.Forked)
	if ok, err = t.readRest(ctx, j.b, row.Log, known); !ok || err != nil {
		*l = index.Log{Name: l.Name, Stamp: l.Stamp}
		return false, err
	}
	keep := known.ChunkCount() - 1
	l.Chunks = r.signer.Finish()
	l.IDs = r.idsOf(l.Chunks)
	l.Continue(known, keep)
	t.setResume(l, keep)
	return true, nil
}

// readRest reads the header, and the log from its last known chunk on.
func (t *tally) readRest(ctx context.Context, b backend.Backend, at backend.Log, known *index.Log) (bool, error) {
	was := known.Resume()
	r, err := backend.OpenLog(ctx, b, at)
	if err != nil {
		return false, err
	}
	defer r.Close()
	ids := func(add func(from int64, hash uint32)) error {
		if found := t.r.job.found; found != nil {
			return t.r.f.shared.IDs(ctx, found, known.ChunkCount()-1, add)
		}
		return t.r.f.ix.IDs(known, known.ChunkCount()-1, add)
	}
	p, dec, err := pastOf(ctx, t.d, t.path, b, at, r, &was, ids)
	if p == nil || err != nil {
		return false, err
	}
	t.builder = p.Builder
	if !t.begin(known, was) {
		return false, nil
	}
	line := t.builder.Header().Line
	for r, err := range b.Read(ctx, at, was.From) {
		if err != nil {
			return false, err
		}
		line++
		t.record(dec, dialect.Record{Data: r.Data, Offset: r.Offset, Line: line, Torn: r.Torn})
	}
	if dec.Finish() != nil {
		return false, nil
	}
	tree := t.builder.Finish()
	// If a torn record has become another one, the chunk begins elsewhere. Without a time, only an older entry may tell when the session
	// was last used.
	if t.begun != was.From || t.sum.Active.Text == "" || p.Repeated(tree) || p.Unsure {
		return false, nil
	}
	t.finish(tree)
	return true, nil
}

// pastOf returns the part of a log before its last chunk, and a decoder of the records from there on; nil if reading cannot begin there.
// ids passes the hashes of the ids in that part.
func pastOf(ctx context.Context, d dialect.Dialect, path string, b backend.Backend, at backend.Log, r backend.Reader, was *index.Resume,
	ids func(add func(from int64, hash uint32)) error) (*past.Past, dialect.Decoder, error) {
	if was.From == 0 {
		return nil, nil, nil
	}
	h, err := headerOf(ctx, d, path, b, at, was.From)
	if err != nil || h.Raw == nil || headHash(h) != was.Head {
		return nil, nil, err
	}
	p := &past.Past{Was: was, Log: r}
	if err = ids(p.Add); err != nil || p.Entries() != was.Before.Entries {
		return nil, nil, nil // the signatures are damaged and will be made again
	}
	var dec dialect.Decoder
	var ok bool
	if p.Builder, dec, ok = within(d, path, h, was.Before, p.Has); !ok {
		return nil, nil, nil
	}
	return p, dec, nil
}

// headerOf reads the header of a log, and no more than most bytes.
func headerOf(ctx context.Context, d dialect.Dialect, path string, b backend.Backend, at backend.Log, most int64) (session.Header, error) {
	builder := logtree.Seed(d, path, nil, session.Header{})
	dec := d.NewDecoder(builder)
	for r, err := range logtree.Records(ctx, b, at) {
		if err != nil || r.Offset >= most {
			return session.Header{}, err
		}
		if dec.Decode(r); builder.Header().Raw != nil {
			break
		}
	}
	return builder.Header(), nil
}

// headHash identifies a header.
func headHash(h session.Header) uint64 {
	f := fnv.New64a()
	f.Write(h.Raw)
	f.Write([]byte{0})
	f.Write([]byte(h.Title))
	return f.Sum64()
}

// within begins to decode the log in its middle; ok is false if the dialect cannot.
func within(d dialect.Dialect, path string, h session.Header, before session.Before, has func(session.EntryID) bool) (*session.Builder, dialect.Decoder, bool) {
	c, ok := d.(dialect.Continuer)
	if !ok {
		return nil, nil, false
	}
	b := logtree.Seed(d, path, nil, session.Header{})
	b.SetHeader(h)
	b.StartAfter(before, has)
	dec, ok := c.Continue(b)
	return b, dec, ok
}

// begin takes over the counts from before the last chunk; false if the catalogue does not have them.
func (t *tally) begin(known *index.Log, was index.Resume) (ok bool) {
	if t.spells, ok = known.Summary.Spells.Cut(was.Spells); !ok {
		return false
	}
	if was.Last != (index.Spell{}) {
		t.spells = append(t.spells, was.Last)
	}
	t.base, t.chunk, t.changed = was, was.From, len(t.spells)
	s := t.sum
	s.Messages, s.Entries, s.Tokens, s.Cost = was.Messages, was.Before.Entries, was.Tokens, was.Cost
	s.Has, s.Models = was.Has, slices.Clone(known.Summary.Models[:was.Models])
	t.name, t.short, t.first = was.Name, was.Short, was.Prompt
	t.spending.Restore(&was)
	t.earlier = t.spending
	return true
}

// setResume sets what is needed to continue the log later, or nothing if all of it must be read then. earlier is the number of chunks
// before those in l.
func (t *tally) setResume(l *index.Log, earlier int) {
	n := len(l.Chunks)
	h := t.builder.Header()
	if n == 0 || n+earlier < 2 || l.Chunks[n-1].From != t.chunk || t.chunk <= h.Span.Offset {
		return
	}
	if t.changed < t.base.Spells {
		return // the spells before the chunk have changed since
	}
	if _, _, ok := within(t.d, t.path, h, session.Before{}, nil); !ok {
		return
	}
	before, ok := t.builder.Before(t.chunk)
	if !ok || idBytes(before) > beforeMost+int(l.Stamp.Size>>10) {
		return
	}
	next := t.base
	next.From, next.Head, next.Before = t.chunk, headHash(h), before
	next.Name, next.Short = bounded(t.base.Name, titleMost), bounded(t.base.Short, titleMost)
	next.Prompt = bounded(t.base.Prompt, promptMost)
	t.earlier.Keep(&next)
	l.SetResume(next)
}

func idBytes(p session.Before) (n int) {
	for _, list := range slices.Concat(p.Ends, [][]session.EntryID{p.Labels, p.Missing}) {
		for _, id := range list {
			n += 8 + len(id)
		}
	}
	return n
}
