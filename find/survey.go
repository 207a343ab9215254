package find

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/session"
)

// surveyor reads logs for the catalogue, one after the other. It never holds more of a log than a record.
type surveyor struct {
	s      *Store
	buf    peekBuffer
	signer index.Signer
	skim   session.Skim
	ids    []idAt

	gauge *gauge
	log   *errand // the log at hand
	tell  int64   // the byte of it from which on the gauge is told
}

// idAt is the hash of an entry's id, and where the entry stands.
type idAt struct {
	at   int64
	hash uint32
}

const (
	// They bound the catalogue, which every command reads whole.
	promptMost = 600 // bytes of a prompt that are kept: lists show no more
	titleMost  = 1000
	modelsMost = 32
)

// survey reads a log and says what it holds. The error is for a log that could not be read; one that is no session is
// known as such. The chunks are valid until the next call.
func (v *surveyor) survey(ctx context.Context, r *errand, src Source) (index.Log, error) {
	v.log, v.tell = r, v.gauge.next(0)
	for try := 0; ; try++ {
		l, err := v.once(ctx, r, src)
		if try == rewritten || !errors.Is(err, backend.ErrChanged) {
			return l, err
		}
	}
}

// once is survey without a second try. The stamp is taken before the reading: what is written meanwhile makes it out of
// date, never the other way round.
func (v *surveyor) once(ctx context.Context, r *errand, src Source) (index.Log, error) {
	at, err := r.b.Stat(ctx, r.log.Name)
	if err != nil {
		return index.Log{}, err
	}
	now := v.s.opt.Clock()
	l := index.Log{Name: at.Name, Stamp: index.Stamp{
		Generation: at.Generation, Size: at.Size, Nanos: at.Time.UnixNano(), Racy: racy(at.Time, now),
	}}
	row := Row{Path: pathIn(src, at.Name), Log: at}
	// Lists without a catalogue show what peek sees: both shall say the same.
	v.s.peek(ctx, r.b, &row, ListOptions{}, &v.buf)
	switch {
	case errors.Is(row.Err, ErrNotSession):
		// It is kept as no session, so that it is not read again until it changes.
		l.Summary.Dialect = row.Dialect.Name()
		return l, nil
	case row.Err != nil:
		return l, row.Err
	}
	if grown, err := v.grown(ctx, r, &row, &l); grown || err != nil {
		return l, err
	}
	c := v.tally(&row, &l)
	if err := c.read(ctx, r.b, at); err != nil {
		if errors.Is(err, ErrNotSession) {
			l.Summary = index.Summary{Dialect: row.Dialect.Name()}
			return l, nil
		}
		return l, err
	}
	l.Chunks = v.signer.Finish()
	l.IDs = v.idsOf(l.Chunks)
	c.resume(&l, 0)
	return l, nil
}

// racy says whether a log that was changed at that time may be changed again without another time. Clocks of file systems
// move in steps: of some milliseconds, where the time has a fraction, and of up to two seconds otherwise. A clock may be
// ahead of ours; a time far in the future was made up, and a change would give the log another one.
func racy(changed, now time.Time) bool {
	step := 50 * time.Millisecond
	if changed.Nanosecond() == 0 {
		step = 2 * time.Second
	}
	age := now.Sub(changed)
	return age < step && age > -time.Hour
}

// idsOf deals out the hashes of ids to the chunks. An entry without text belongs to the chunk before it.
func (v *surveyor) idsOf(chunks []index.Chunk) [][]uint32 {
	list := make([][]uint32, len(chunks))
	k := 0
	for _, id := range v.ids {
		for k+1 < len(chunks) && id.at >= chunks[k+1].From {
			k++
		}
		if len(chunks) > 0 {
			list[k] = append(list[k], id.hash)
		}
	}
	return list
}

// tally makes the summary of one log while its records pass by.
type tally struct {
	v       *surveyor
	d       dialect.Dialect
	path    string
	codec   session.Codec
	builder *session.Builder
	sum     *index.Summary

	name, short string // the last session's name and the last compaction's short summary
	first       string // what the user said first
	untimed     bool   // the two ends do not say when it was last used: the last entry is too long
	from, to    int64  // of the record at hand
	take        func(query.Field, string)

	begun int64        // where the first chunk begins, -1 where there is none
	chunk int64        // where the chunk begins that the last entry is in
	base  index.Resume // what was counted before it
}

// tally begins the summary of a log with what its two ends say.
func (v *surveyor) tally(row *Row, l *index.Log) *tally {
	c := &tally{v: v, d: row.Dialect, path: row.Path, codec: row.Dialect.Codec(), sum: &l.Summary, begun: -1, chunk: -1}
	c.builder = seeded(row.Dialect, row.Path, nil, session.Header{})
	*c.sum = index.Summary{
		Session: row.OK, ID: row.ID, Dialect: row.Dialect.Name(), CWD: row.CWD, Title: bounded(row.Title, titleMost),
		Prompt: bounded(row.Prompt, promptMost), Created: row.Created, Active: row.Active, Parent: row.Parent, Version: row.Version,
	}
	c.untimed = row.Active.Text == ""
	v.signer.Reset()
	v.ids = v.ids[:0]
	c.take = func(_ query.Field, text string) {
		// The signer reads the bytes and keeps none of them, so that the text need not be copied.
		v.signer.Add(unsafe.Slice(unsafe.StringData(text), len(text)), c.from, c.to)
	}
	return c
}

// read goes through the log.
func (c *tally) read(ctx context.Context, b backend.Backend, at backend.Log) error {
	c.builder.Expect(at.Size)
	dec := c.d.NewDecoder(c.builder)
	var last dialect.Record
	for r, err := range records(ctx, b, at) {
		if err != nil {
			return err
		}
		c.record(dec, r)
		if len(r.Data) > huge {
			runtime.GC() // its texts were as large, and nobody has them any more
		}
		// An old document of Wave is one record with all messages in it.
		if !backend.IsText(at.Name) {
			last = dialect.Record{Data: bytes.Clone(r.Data), Offset: r.Offset, Torn: r.Torn}
		}
	}
	before := c.builder.Len()
	if dec.Finish() != nil {
		return ErrNotSession
	}
	if c.builder.Len() > before { // a document is taken apart when it is there as a whole
		c.entries(before, last)
	}
	c.finish(c.builder.Finish())
	return nil
}

// record takes one record of the log.
func (c *tally) record(dec dialect.Decoder, r dialect.Record) {
	const seen = index.HasBlob | index.HasCompaction // the rest is for the whole tree to say
	// As it stood before this record: should the record begin a chunk, reading on begins here.
	base := index.Resume{
		Messages: c.sum.Messages, Models: len(c.sum.Models), Tokens: c.sum.Tokens, Cost: c.sum.Cost, Has: c.sum.Has & seen,
		Name: c.name, Short: c.short, Prompt: c.first,
	}
	before, headless := c.builder.Len(), c.builder.Header().Raw == nil
	dec.Decode(r)
	c.from, c.to = r.Offset, r.Offset+int64(len(r.Data))
	if h := c.builder.Header(); headless && h.Raw != nil {
		c.from = 0 // its title may stand in a record before it
		headerTexts(h, c.take)
	}
	c.entries(before, r)
	from, ok := c.v.signer.Open()
	if ok && c.begun < 0 {
		c.begun = from
	}
	if ok && c.chunk != from {
		c.chunk, c.base = from, base
	}
	if c.to >= c.v.tell {
		c.v.tell = c.v.gauge.next(c.to)
		c.v.gauge.headway(c.v.log, c.to)
	}
}

// entries takes the entries that a record gave.
func (c *tally) entries(before int, r dialect.Record) {
	for i := before; i < c.builder.Len(); i++ {
		e := c.builder.At(i)
		if start := e.Span.Offset - r.Offset; start >= 0 && start+e.Span.Length <= int64(len(r.Data)) {
			c.entry(e, r.Data[start:start+e.Span.Length])
		}
	}
}

// entry takes one entry.
func (c *tally) entry(e session.Entry, raw []byte) {
	c.sum.Entries++
	c.v.ids = append(c.v.ids, idAt{e.Span.Offset, hashID(e.ID)})
	if c.untimed {
		if at := c.codec.Time(raw); at.Text != "" {
			c.sum.Active = session.Time{Text: strings.Clone(at.Text)} // the record is the backend's
		}
	}
	// What cannot be decoded has no text that anybody could look for.
	skim := &c.v.skim
	skim.Reset()
	parts, _ := textsWithout(c.codec, e, raw, ownNames(e), skim, c.take)
	// In the bytes: to resolve references would mean to decode every message.
	if c.sum.Has&index.HasBlob == 0 && bytes.Contains(raw, []byte(blob.Prefix)) {
		c.sum.Has |= index.HasBlob
	}
	switch e.Kind {
	case session.KindMessage:
		c.sum.Messages++
		switch {
		case e.Role == session.RoleAssistant:
			c.answer(e, raw)
		case e.Role == session.RoleUser && c.first == "":
			c.prompt(parts)
		}
	case session.KindCompaction, session.KindSessionInfo:
		body, _ := c.codec.Body(e, raw)
		switch b := body.(type) {
		case session.Compaction:
			c.sum.Has |= index.HasCompaction
			if b.ShortSummary != "" {
				c.short = b.ShortSummary
			}
		case session.SessionInfo:
			// Also where it is empty: the last word counts, and may take the name away.
			c.name = b.Name
		}
	}
}

// answer counts what an answer took. What a skimmer says of it is in the skim already.
func (c *tally) answer(e session.Entry, raw []byte) {
	provider, model, u := c.v.skim.Provider, c.v.skim.Model, c.v.skim.Usage
	if _, ok := c.codec.EntryCodec.(session.Skimmer); !ok {
		body, _ := c.codec.Body(e, raw)
		m, ok := body.(session.Message)
		if !ok {
			return
		}
		provider, model = m.Provider, m.Model
		if m.Usage != nil {
			u = *m.Usage
		}
	}
	if provider != "" && model != "" {
		model = provider + "/" + model
	}
	if model != "" && len(c.sum.Models) < modelsMost && !slices.Contains(c.sum.Models, model) {
		c.sum.Models = append(c.sum.Models, strings.Clone(model)) // it may be the skim's
	}
	t := &c.sum.Tokens
	t.Input, t.Output = t.Input+u.Input, t.Output+u.Output
	t.CacheRead, t.CacheWrite = t.CacheRead+u.CacheRead, t.CacheWrite+u.CacheWrite
	// Not every provider sums them up.
	if u.Total == 0 {
		u.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
	}
	t.Total += u.Total
	c.sum.Cost += u.Cost
}

// prompt takes the first thing that the user said.
func (c *tally) prompt(parts []session.Part) {
	for _, p := range parts {
		if t, ok := p.(session.Text); ok && t.Text != "" && len(c.first) <= promptMost {
			if c.first != "" {
				c.first += " "
			}
			c.first += strings.Clone(bounded(t.Text, 2*promptMost)) // it may be a whole file, and is the skim's
		}
	}
}

// finish adds what only the whole tree says.
func (c *tally) finish(t *session.Tree) {
	c.sum.Branches = t.Tips()
	c.sum.Problems = c.builder.Problems()
	if c.sum.Branches > 1 {
		c.sum.Has |= index.HasBranch
	}
	if c.sum.Problems > 0 {
		c.sum.Has |= index.HasProblem
	}
	if c.builder.Labelled() {
		c.sum.Has |= index.HasLabel
	}
	if c.sum.CWD == "" {
		c.sum.CWD = t.Header().CWD
	}
	// The two ends may show a later prompt than the first. What an agent that we do not know the list of shows of a session
	// that began with something else than a prompt, only they know.
	if _, ok := c.d.(dialect.Lister); c.first != "" && (ok || c.sum.Prompt == "") {
		c.sum.Prompt = bounded(c.first, promptMost)
	}
	c.title(t.Header())
}

// title finds what the session is called.
func (c *tally) title(h session.Header) {
	titles := []string{h.Title, c.name, c.short}
	if w, ok := c.d.(dialect.Writer); ok && w.Habits().RenameByEntry {
		titles = []string{c.name, h.Title, c.short}
	}
	for _, title := range titles {
		if title != "" {
			c.sum.Title = bounded(title, titleMost)
			break
		}
	}
}

// hashID is 32 bits of an FNV hash.
func hashID[T ~string | ~[]byte](id T) uint32 {
	h := uint32(2166136261)
	for i := range len(id) {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return h
}
