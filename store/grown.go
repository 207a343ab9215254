package store

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

// A log that only grew is read from where its last chunk begins: the chunk grows with it, and the entry that new ones must
// go on from stands in it. Whatever is not simply a conversation that went on makes it be read anew.

// resume notes what is needed to go on later. Nothing is where the log must be read anew.
func (c *tally) resume(l *index.Log) {
	d, ok := c.d.(dialect.Continuer)
	h := c.builder.Header()
	if !ok || !d.Continues(h) || c.torn || c.sum.Problems > 0 || c.chunk <= h.Span.Offset || len(l.Chunks) < 2 ||
		l.Chunks[len(l.Chunks)-1].From != c.chunk {
		return
	}
	l.Resume = c.base
	l.Resume.From, l.Resume.Head, l.Resume.Named = c.chunk, headHash(h), c.name != "" && c.sum.Title == bounded(c.name, titleMost)
}

// headHash stands for the header.
func headHash(h session.Header) uint64 {
	f := fnv.New64a()
	f.Write(h.Raw)
	f.Write([]byte{0})
	f.Write([]byte(h.Title))
	return f.Sum64()
}

// grown goes on with a log that was read before. It gives false where it must be read anew.
func (v *surveyor) grown(ctx context.Context, r *errand, row *Row, l *index.Log) (bool, error) {
	known := r.known
	if known == nil || known.Stamp.Racy || known.Resume == (index.Resume{}) || !known.Summary.Session || l.Stamp.Size <= known.Stamp.Size ||
		row.Dialect.Name() != known.Summary.Dialect {
		return false, nil
	}
	// What was read must still be there: the backend tells growth from anything else.
	before := backend.Log{Name: row.Log.Name, Generation: known.Stamp.Generation, Size: known.Stamp.Size}
	for _, err := range r.b.Read(ctx, before, before.Size) {
		if errors.Is(err, backend.ErrChanged) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	c := v.tally(row, l)
	ok, err := c.goOn(ctx, r.b, row.Log, known)
	if !ok || err != nil {
		*l = index.Log{Name: l.Name, Stamp: l.Stamp}
		return false, err
	}
	keep := known.ChunkCount() - 1
	if v.repeats(known, keep) {
		*l = index.Log{Name: l.Name, Stamp: l.Stamp}
		return false, nil
	}
	l.Chunks = v.signer.Finish()
	l.IDs = v.idsOf(l.Chunks)
	l.Continue(known, keep)
	// The base is counted from the beginning of the log: what goOn began with is in it.
	c.resumeGrown(l, known)
	return true, nil
}

// resumeGrown is resume for a log that was not read from its beginning.
func (c *tally) resumeGrown(l *index.Log, known *index.Log) {
	if c.torn || len(l.Chunks) == 0 || l.Chunks[len(l.Chunks)-1].From != c.chunk {
		return
	}
	l.Resume = c.base
	l.Resume.From, l.Resume.Head = c.chunk, known.Resume.Head
	l.Resume.Named = c.name != "" && c.sum.Title == bounded(c.name, titleMost)
}

// repeats says whether an id occurs in the part of the log that was not read again, too.
func (v *surveyor) repeats(known *index.Log, keep int) bool {
	mine := make(map[uint32]bool, len(v.ids))
	for _, id := range v.ids {
		mine[id.hash] = true
	}
	again := false
	err := v.s.opt.Index.IDs(known, keep, func(hash uint32) { again = again || mine[hash] })
	return again || err != nil
}

// goOn reads the header, and what stands behind the place where reading is to go on. It gives false where the new entries
// do more than go on with the conversation.
func (c *tally) goOn(ctx context.Context, b backend.Backend, at backend.Log, known *index.Log) (bool, error) {
	dec := c.d.NewDecoder(c.builder)
	for r, err := range records(ctx, b, at) {
		if err != nil {
			return false, err
		}
		if r.Offset >= known.Resume.From {
			return false, nil
		}
		dec.Decode(r)
		if c.builder.Header().Raw != nil {
			break
		}
	}
	h := c.builder.Header()
	if c.builder.Len() > 0 || headHash(h) != known.Resume.Head {
		return false, nil
	}
	c.begin(known, h)
	first := -1 // of the new entries
	line := h.Line
	for r, err := range b.Read(ctx, at, known.Resume.From) {
		if err != nil {
			return false, err
		}
		line++
		before := c.builder.Len()
		if first < 0 && r.Offset >= known.Stamp.Size {
			first = before
		}
		dec.Decode(dialect.Record{Data: r.Data, Offset: r.Offset, Line: line, Torn: r.Torn})
		c.from, c.to = r.Offset, r.Offset+int64(len(r.Data))
		c.entries(before, dialect.Record{Data: r.Data, Offset: r.Offset, Torn: r.Torn})
	}
	if dec.Finish() != nil || first < 0 {
		return false, nil
	}
	if !c.goesOn(c.builder.Finish(), first) {
		return false, nil
	}
	if c.first != "" {
		c.sum.Prompt = bounded(c.first, promptMost)
	}
	c.title(h)
	return true, nil
}

// begin takes over what was counted before.
func (c *tally) begin(known *index.Log, h session.Header) {
	was, base := &known.Summary, &known.Resume
	s := c.sum
	s.Messages, s.Entries, s.Tokens, s.Cost = base.Messages, base.Entries, base.Tokens, base.Cost
	s.Branches, s.Has, s.Models = was.Branches, was.Has, slices.Clone(was.Models)
	switch {
	case base.Named:
		c.name = was.Title
	case h.Title == "":
		c.short = was.Title
	}
	if s.CWD == "" {
		s.CWD = was.CWD
	}
	// Prompts that are read again are not the first, unless there was none.
	if c.first = was.Prompt; c.first != "" {
		s.Prompt = was.Prompt
	}
}

// goesOn says whether the entries from the first new one on are a conversation that goes on from the last old one. The
// tree begins in the middle of the log, so its first entry has no parent there.
func (c *tally) goesOn(t *session.Tree, first int) bool {
	if first == 0 || first >= t.Len() {
		return false
	}
	for _, p := range t.Problems() {
		if p.Kind != session.ProblemOrphan || p.Offset != t.At(0).Span.Offset {
			return false
		}
	}
	about := func(e session.Entry) bool { return e.Kind == session.KindLabel || e.Kind == session.KindLeaf }
	last := t.At(first - 1)
	if about(last) {
		return false
	}
	for i := first; i < t.Len(); i++ {
		e := t.At(i)
		if e.Parent != last.ID || about(e) {
			return false
		}
		if e.Kind == session.KindSessionInfo && c.name == "" {
			return false // a name was taken away: which one counts then is for the whole log to say
		}
		last = e
	}
	return true
}
