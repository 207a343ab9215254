package find

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/session"
)

// A log that only grew is read from where its last chunk begins: the chunk grows with it, and all that stands before it, its
// past, is known from the index. What comes of that is, field by field, what reading the whole log gives. It is read anew
//
//   - where it is no longer what it was plus growth, as the backend sees it (another file, or another end), or where its
//     header is another one: agents write a title there, in place;
//   - where an id occurs again that the past has, or may have by its hash, or that the past names and does not have: a
//     repeated id changes what older entries mean;
//   - where the past itself names entries that stand behind it, or has more loose ends, labels and missing parents than are
//     worth keeping, or where entries go back to too many places in it;
//   - where there is one chunk only, so that it is short, or where the dialect says that records need those before them:
//     version 1 and 2 of pi, which the program rewrites before it appends.
//
// A document (Wave's old sessions, codelia's states) is written as a whole and never grows. What a backend cannot tell from
// growth (somebody changes bytes in the middle of a file in place, keeps its length, and appends) is taken for growth: no agent
// does that but to its header.

const (
	// beforeMost is how many bytes of ids the index keeps of a log's past, beside one for each KB of the log: a long one has
	// more labels and branches, and takes longer to read anew.
	beforeMost = 4 << 10
	// looksMost is how many chunks of the past are looked at for ids that new entries name.
	looksMost = 8
)

// resume notes what is needed to go on later. Nothing is where the log must be read anew. earlier are the chunks before those
// in l.
func (c *tally) resume(l *index.Log, earlier int) {
	n := len(l.Chunks)
	h := c.builder.Header()
	if n == 0 || n+earlier < 2 || l.Chunks[n-1].From != c.chunk || c.chunk <= h.Span.Offset {
		return
	}
	if _, _, ok := c.within(h, session.Before{}, nil); !ok {
		return
	}
	before, ok := c.builder.Before(c.chunk)
	if !ok || idBytes(before) > beforeMost+int(l.Stamp.Size>>10) {
		return
	}
	next := c.base
	next.From, next.Head, next.Before = c.chunk, headHash(h), before
	next.Name, next.Short = bounded(c.base.Name, titleMost), bounded(c.base.Short, titleMost)
	next.Prompt = bounded(c.base.Prompt, promptMost)
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

// headHash stands for the header.
func headHash(h session.Header) uint64 {
	f := fnv.New64a()
	f.Write(h.Raw)
	f.Write([]byte{0})
	f.Write([]byte(h.Title))
	return f.Sum64()
}

// within starts to decode the log in its middle; ok is false where that cannot be.
func (c *tally) within(h session.Header, before session.Before, has func(session.EntryID) bool) (*session.Builder, dialect.Decoder, bool) {
	d, ok := c.d.(dialect.Continuer)
	if !ok {
		return nil, nil, false
	}
	b := seeded(c.d, c.path, nil, session.Header{})
	b.SetHeader(h)
	b.Behind(before, has)
	dec, ok := d.Continue(b)
	return b, dec, ok
}

// grew says whether a log is what was read of it before, and more.
func grew(ctx context.Context, b backend.Backend, at backend.Log, known *index.Log) (bool, error) {
	if known == nil || known.Resume().From == 0 || at.Size <= known.Stamp.Size {
		return false, nil
	}
	// What was read must still be there: the backend tells growth from anything else.
	before := backend.Log{Name: at.Name, Generation: known.Stamp.Generation, Size: known.Stamp.Size}
	for _, err := range b.Read(ctx, before, before.Size) {
		if errors.Is(err, backend.ErrChanged) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// grown goes on with a log that was read before. It gives false where it must be read anew.
func (v *surveyor) grown(ctx context.Context, r *errand, row *Row, l *index.Log) (bool, error) {
	known := r.known
	ok, err := grew(ctx, r.b, row.Log, known)
	if !ok || err != nil || !known.Summary.Session || row.Dialect.Name() != known.Summary.Dialect {
		return false, err
	}
	c := v.tally(row, l)
	if ok, err = c.goOn(ctx, r.b, row.Log, known); !ok || err != nil {
		*l = index.Log{Name: l.Name, Stamp: l.Stamp}
		return false, err
	}
	keep := known.ChunkCount() - 1
	l.Chunks = v.signer.Finish()
	l.IDs = v.idsOf(l.Chunks)
	l.Continue(known, keep)
	c.resume(l, keep)
	return true, nil
}

// goOn reads the header, and what stands behind the place where reading is to go on.
func (c *tally) goOn(ctx context.Context, b backend.Backend, at backend.Log, known *index.Log) (bool, error) {
	was := known.Resume()
	h, err := c.header(ctx, b, at, was.From)
	if err != nil || h.Raw == nil || headHash(h) != was.Head {
		return false, err
	}
	p := &past{ctx: ctx, c: c, b: b, at: at, h: h, was: was, trees: map[int]*session.Tree{}}
	if err := c.v.s.opt.Index.IDs(known, known.ChunkCount()-1, p.take); err != nil {
		return false, nil // the signatures are lost: they are made anew
	}
	if len(p.hashes) != was.Before.Entries {
		return false, nil
	}
	builder, dec, ok := c.within(h, was.Before, p.has)
	if !ok {
		return false, nil
	}
	c.builder = builder
	c.begin(known, was)
	line := h.Line
	for r, err := range b.Read(ctx, at, was.From) {
		if err != nil {
			return false, err
		}
		line++
		c.record(dec, dialect.Record{Data: r.Data, Offset: r.Offset, Line: line, Torn: r.Torn})
	}
	if dec.Finish() != nil {
		return false, nil
	}
	t := c.builder.Finish()
	// A record that was cut off may have become another one: then the chunk begins elsewhere. When the session was last used
	// an older entry may have to say.
	if c.begun != was.From || c.sum.Active.Text == "" || p.repeats(t) || p.unsure {
		return false, p.err
	}
	c.finish(t)
	return true, nil
}

// header reads the log's header, without more of it than that.
func (c *tally) header(ctx context.Context, b backend.Backend, at backend.Log, most int64) (session.Header, error) {
	builder := seeded(c.d, c.path, nil, session.Header{})
	dec := c.d.NewDecoder(builder)
	for r, err := range records(ctx, b, at) {
		if err != nil || r.Offset >= most {
			return session.Header{}, err
		}
		if dec.Decode(r); builder.Header().Raw != nil {
			break
		}
	}
	return builder.Header(), nil
}

// begin takes over what was counted before.
func (c *tally) begin(known *index.Log, was index.Resume) {
	c.base = was
	c.chunk = c.base.From
	s := c.sum
	s.Messages, s.Entries, s.Tokens, s.Cost = c.base.Messages, c.base.Before.Entries, c.base.Tokens, c.base.Cost
	s.Has, s.Models = c.base.Has, slices.Clone(known.Summary.Models[:c.base.Models])
	c.name, c.short, c.first = c.base.Name, c.base.Short, c.base.Prompt
}

// past is the part of a log that is not read again. The index has hashes of its ids: one that is not among them is not
// there, and where one is, the entry itself is looked for.
type past struct {
	ctx context.Context
	c   *tally
	b   backend.Backend
	at  backend.Log
	h   session.Header
	was index.Resume

	hashes []uint32
	chunks []pastChunk
	some   [1 << 13]uint64       // a bit for each of the hashes, to tell quickly what is not among them
	trees  map[int]*session.Tree // of chunks that were looked at
	unsure bool                  // the answers do not count
	err    error
}

// pastChunk is where a chunk begins: in the log, and in the list of hashes, which has one for each entry.
type pastChunk struct {
	from  int64
	first int
}

func (p *past) take(from int64, hash uint32) {
	if n := len(p.chunks); n == 0 || p.chunks[n-1].from != from {
		p.chunks = append(p.chunks, pastChunk{from, len(p.hashes)})
	}
	p.hashes = append(p.hashes, hash)
	word, bit := p.bit(hash)
	*word |= bit
}

func (p *past) bit(hash uint32) (word *uint64, bit uint64) {
	return &p.some[hash>>6%uint32(len(p.some))], 1 << (hash % 64)
}

// has says whether there is an entry with the id.
func (p *past) has(id session.EntryID) bool {
	before := &p.was.Before
	if slices.ContainsFunc(before.Ends, func(end []session.EntryID) bool { return slices.Contains(end, id) }) {
		return true
	}
	hash := hashID(id)
	if word, bit := p.bit(hash); *word&bit == 0 {
		return false
	}
	for k, c := range p.chunks {
		end := len(p.hashes)
		if k+1 < len(p.chunks) {
			end = p.chunks[k+1].first
		}
		if !slices.Contains(p.hashes[c.first:end], hash) {
			continue
		}
		t := p.tree(k)
		if t == nil {
			break
		}
		if e, ok := t.Lookup(id); ok && e.NativeID == id {
			return true
		}
		p.unsure = true // an id that we made up, or another one with this hash
	}
	return false
}

// tree reads one chunk of the past. It gives nil where it cannot, or where that would be too many: nothing is sure then.
func (p *past) tree(k int) *session.Tree {
	if t, ok := p.trees[k]; ok {
		return t
	}
	unsure := p.unsure
	p.unsure = true
	from, to := p.chunks[k].from, p.was.From
	if k == 0 {
		from = 0 // entries without text may stand before it
	}
	if k+1 < len(p.chunks) {
		to = p.chunks[k+1].from
	}
	builder, dec, ok := p.c.within(p.h, session.Before{Entries: p.chunks[k].first}, nil)
	if !ok || len(p.trees) == looksMost || p.err != nil {
		return nil
	}
	for r, err := range p.b.Read(p.ctx, p.at, from) {
		if err != nil {
			p.err = err
			return nil
		}
		if r.Offset >= to {
			break
		}
		dec.Decode(dialect.Record{Data: r.Data, Offset: r.Offset, Torn: r.Torn})
	}
	p.unsure, p.trees[k] = unsure, builder.Finish()
	return p.trees[k]
}

// repeats says whether the past has, or may have, or names and has not, an id of the entries that were read.
func (p *past) repeats(t *session.Tree) bool {
	mine := make(map[uint32]bool, len(p.c.v.ids))
	for _, id := range p.c.v.ids {
		mine[id.hash] = true
	}
	if slices.ContainsFunc(p.hashes, func(hash uint32) bool { return mine[hash] }) {
		return true
	}
	return slices.ContainsFunc(p.was.Before.Missing, t.Has)
}
