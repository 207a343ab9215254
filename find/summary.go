package find

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/find/past"
	"github.com/treeline-dev/treeline/find/texts"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Limits of what the catalogue keeps of a session: every command reads all of it.
const (
	promptMost = 600 // bytes; lists show no more
	titleMost  = 1000
	modelsMost = 32
	spellsMost = 4000 // a thousand hours; later messages count in the last spell
)

// tally makes the summary of one log while its records pass by.
type tally struct {
	r       *reader
	d       dialect.Dialect
	path    string
	codec   session.EntryCodec
	builder *session.Builder
	sum     *index.Summary

	name, short string // the last name of the session and the short summary of the last compaction
	first       string // the first text of the user
	command     string // used instead of first if the user typed only commands of the program
	spells      []index.Spell
	spender     session.Spender // nil if each answer reports its own usage, once
	spending    index.Spending
	copier      session.Copier // nil if forks name their source
	forked      time.Time      // when the session was forked; zero if it was not
	untimed     bool           // the ends of the log do not show when it was last used: its last entry is too long
	from, to    int64          // the current record
	take        func(query.Field, string)

	begun int64        // where the first chunk begins, or -1
	chunk int64        // where the chunk of the last entry begins, or -1
	base  index.Resume // the counts before that chunk
	// earlier is the spending before that chunk.
	earlier index.Spending
	// changed is the index of the first spell that the chunk changed, now that of the first one that the current record changed. The usage
	// of an answer may be reported after another model has answered.
	changed, now int
}

// tally begins the summary of a log with what its ends show.
func (r *reader) tally(row *place.Row, l *index.Log) *tally {
	t := &tally{r: r, d: row.Dialect, path: row.Path, codec: row.Dialect.Codec().EntryCodec, sum: &l.Summary, begun: -1, chunk: -1}
	t.builder = logtree.Seed(row.Dialect, row.Path, nil, session.Header{})
	*t.sum = index.Summary{
		Session: row.OK, ID: row.ID, Dialect: row.Dialect.Name(), CWD: row.CWD, Title: bounded(row.Title, titleMost),
		Prompt: bounded(row.Prompt, promptMost), Created: row.Created, Active: row.Active, Parent: row.Parent, Task: row.Task, Version: row.Version,
	}
	t.command = bounded(row.Command, promptMost)
	t.spender, _ = t.codec.(session.Spender)
	t.copier, _ = t.codec.(session.Copier)
	t.untimed = row.Active.Text == ""
	if row.Parent != "" {
		created := row.Created
		if names, ok := listedByName(row.Dialect); ok {
			_, created = names.Named(row.Log.Name) // the records tell when the first message was written
		}
		t.forked, _ = created.Time()
	}
	sign := r.sign()
	if r.shares {
		sign.Leave() // texts of a log whose reading failed stay in the signature and do no harm
	} else {
		sign.Reset()
	}
	r.ids = r.ids[:0]
	t.take = func(_ query.Field, text string) {
		// The signer only reads the bytes, so the text need not be copied.
		sign.Add(unsafe.Slice(unsafe.StringData(text), len(text)), t.from, t.to)
	}
	return t
}

// copied sets Summary.Forked, and the parent if the log does not name it.
func (t *tally) copied(parent string, until int64) {
	if t.sum.Forked = until; until <= 0 {
		return
	}
	if t.sum.Parent == "" {
		t.sum.Parent = parent
	}
	t.forked = time.UnixMilli(until)
}

// record counts one record of the log.
func (t *tally) record(dec dialect.Decoder, r dialect.Record) {
	const seen = index.HasBlob | index.HasCompaction // the rest follows from the whole tree
	// The state before this record. If the record begins a chunk, reading continues here later.
	base := index.Resume{
		Messages: t.sum.Messages, Models: len(t.sum.Models), Tokens: t.sum.Tokens, Cost: t.sum.Cost, Has: t.sum.Has & seen,
		Name: t.name, Short: t.short, Prompt: t.first,
	}
	if n := len(t.spells); n > 0 {
		base.Spells, base.Last = n-1, t.spells[n-1]
	}
	var was index.Spending
	if t.spender != nil {
		was = t.spending
	}
	before, headless := t.builder.Len(), t.builder.Header().Raw == nil
	t.now = len(t.spells)
	dec.Decode(r)
	t.from, t.to = r.Offset, r.Offset+int64(len(r.Data))
	if h := t.builder.Header(); headless && h.Raw != nil {
		t.from = 0 // its title may be in a record before it
		texts.Header(h, t.take)
	}
	t.entries(before, r)
	from, ok := t.r.sign().Open()
	if ok && t.begun < 0 {
		t.begun = from
	}
	if ok && t.chunk != from {
		t.chunk, t.base, t.earlier, t.changed = from, base, was, t.now
	}
	t.changed = min(t.changed, t.now)
	if t.to >= t.r.tell {
		t.r.tell = t.r.meter.next(t.to)
		t.r.meter.reached(t.r.job, t.to)
	}
}

// entries counts the entries that a record added.
func (t *tally) entries(before int, r dialect.Record) {
	for i := before; i < t.builder.Len(); i++ {
		e := t.builder.At(i)
		if e.Foreign() {
			continue // it counts in its own log
		}
		if start := e.Span.Offset - r.Offset; start >= 0 && start+e.Span.Length <= int64(len(r.Data)) {
			t.entry(e, r.Data[start:start+e.Span.Length])
		}
	}
}

// entry counts one entry.
func (t *tally) entry(e session.Entry, raw []byte) {
	t.sum.Entries++
	t.r.ids = append(t.r.ids, idAt{e.Span.Offset, past.Hash(e.ID)})
	if t.untimed {
		if at := t.codec.Time(raw); at.Text != "" {
			t.sum.Active = session.Time{Text: strings.Clone(at.Text)} // raw is the backend's
		}
	}
	skim := &t.r.skim
	skim.Reset()
	// An entry that cannot be decoded has no texts.
	parts, _ := texts.Entry(t.codec, e, raw, texts.Own(e), skim, t.take)
	// In the undecoded bytes: resolving references would mean decoding every message.
	if t.sum.Has&index.HasBlob == 0 && bytes.Contains(raw, []byte(blob.Prefix)) {
		t.sum.Has |= index.HasBlob
	}
	message := e.IsMessage()
	if t.copier != nil && message && t.sum.First == 0 {
		if id := t.copier.CopyID(e, raw); id != "" {
			t.sum.First = index.HashOf(id)
		}
	}
	if t.spender != nil {
		message = t.spend(e, raw, message)
	} else if message {
		t.message(e, raw)
	}
	switch e.Kind {
	case session.KindMessage:
		switch {
		case e.Role == session.RoleAssistant:
			if t.spender == nil && message {
				t.answer(e, raw)
			}
		case e.Role == session.RoleUser && t.first == "" && !t.meta(e, raw):
			t.prompt(parts)
		}
	case session.KindCompaction, session.KindSessionInfo:
		body, _ := t.codec.Body(e, raw)
		switch b := body.(type) {
		case session.Compaction:
			t.sum.Has |= index.HasCompaction
			if b.ShortSummary != "" {
				t.short = b.ShortSummary
			}
		case session.SessionInfo:
			t.name = b.Name // an empty name removes the name
		}
	}
}

// message counts a message.
func (t *tally) message(e session.Entry, raw []byte) {
	t.sum.Messages++
	t.spell(e, raw).Messages++
}

// answer counts the model and the tokens of an answer. A Skimmer has already put them into the skim.
func (t *tally) answer(e session.Entry, raw []byte) {
	provider, model, u := t.r.skim.Provider, t.r.skim.Model, t.r.skim.Usage
	if _, ok := t.codec.(session.Skimmer); !ok {
		body, _ := t.codec.Body(e, raw)
		m, ok := body.(session.Message)
		if !ok {
			return
		}
		provider, model = m.Provider, m.Model
		if m.Usage != nil {
			u = *m.Usage
		}
	}
	if p, ok := u.Problem(e); ok {
		t.builder.Problem(p)
	}
	s := t.spellOf(t.model(provider, model))
	s.Answers++
	t.use(s, tokensOf(&u), u.Cost)
}

// model returns the index of a model in the summary, -1 for none.
func (t *tally) model(provider, model string) int {
	if provider != "" && model != "" {
		model = provider + "/" + model
	}
	which := slices.Index(t.sum.Models, model)
	if model != "" && which < 0 && len(t.sum.Models) < modelsMost {
		which = len(t.sum.Models)
		t.sum.Models = append(t.sum.Models, strings.Clone(model)) // it may be the skim's
	}
	return which
}

// tokensOf returns the tokens of an answer. Not every provider reports their sum.
func tokensOf(u *session.Usage) index.Tokens {
	used := index.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Total: u.Total}
	if used.Total == 0 {
		used.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
	}
	return used
}

// use adds usage to a spell and to the total.
func (t *tally) use(s *index.Spell, tokens index.Tokens, cost float64) {
	t.sum.Tokens.Add(tokens)
	t.sum.Cost += cost
	s.Tokens.Add(tokens)
	s.Cost += cost
}

// spell returns the spell that a message belongs to. A message without a time belongs to that of the one before.
//
// A message with the time of the fork was copied if it is an answer or a result that follows copied messages: no answer takes no time. A
// prompt of that time is new, since a program may fork and ask at once.
func (t *tally) spell(e session.Entry, raw []byte) *index.Spell {
	next := index.Spell{Model: -1}
	n := len(t.spells)
	if n > 0 {
		next.Quarter, next.Copied = t.spells[n-1].Quarter, t.spells[n-1].Copied
	}
	if at, ok := t.codec.Time(raw).Time(); ok {
		same := at.Equal(t.forked) && e.Role != session.RoleUser && (n == 0 || t.spells[n-1].Copied)
		next.Quarter, next.Copied = index.QuarterOf(at), same || at.Before(t.forked)
	}
	if n == 0 || n < spellsMost && (next.Quarter != t.spells[n-1].Quarter || next.Copied != t.spells[n-1].Copied) {
		t.spells = append(t.spells, next)
	}
	return &t.spells[len(t.spells)-1]
}

// spellOf returns the spell of an answer, which spell has already counted as a message. If another model answered in that spell, the answer
// begins a new one.
func (t *tally) spellOf(model int) *index.Spell {
	s := &t.spells[len(t.spells)-1]
	switch {
	case s.Answers == 0:
		s.Model = model
	case s.Model != model && len(t.spells) < spellsMost:
		s.Messages--
		t.spells = append(t.spells, index.Spell{Quarter: s.Quarter, Model: model, Copied: s.Copied, Messages: 1})
	}
	return &t.spells[len(t.spells)-1]
}

// meta reports whether the agent wrote a message in the user's name.
func (t *tally) meta(e session.Entry, raw []byte) bool {
	body, _ := t.codec.Body(e, raw)
	m, ok := body.(session.Message)
	return ok && m.Meta
}

// prompt keeps the first text of the user.
func (t *tally) prompt(parts []session.Part) {
	for _, p := range parts {
		if p, ok := p.(session.Text); ok && p.Text != "" && len(t.first) <= promptMost {
			if t.first != "" {
				t.first += " "
			}
			t.first += strings.Clone(bounded(p.Text, 2*promptMost)) // the text may be a whole file, and belongs to the skim
		}
	}
}

// finish adds what can be known only from the whole tree.
func (t *tally) finish(tree *session.Tree) {
	t.sum.Branches = tree.Tips()
	t.sum.Problems = t.builder.Problems()
	if t.sum.Branches > 1 {
		t.sum.Has |= index.HasBranch
	}
	if t.sum.Problems > 0 {
		t.sum.Has |= index.HasProblem
	}
	if t.builder.Labelled() {
		t.sum.Has |= index.HasLabel
	}
	t.sum.Spells = index.EncodeSpells(t.spells)
	h := tree.Header()
	if t.sum.CWD == "" {
		t.sum.CWD = h.CWD
	}
	if c, ok := t.d.(dialect.Composer); ok && h.Raw != nil {
		origin, _ := c.Origin(h.Raw)
		t.sum.Origin = session.ID(strings.Clone(rawjson.Str(origin, "session")))
	}
	// The ends of the log may show a later prompt than the first. Without a Lister the ends are trusted: only they show what the agent
	// shows of a session that does not begin with a prompt.
	if _, ok := t.d.(dialect.Lister); t.first != "" && (ok || t.sum.Prompt == "") {
		t.sum.Prompt = bounded(t.first, promptMost)
	}
	if t.sum.Prompt == "" {
		t.sum.Prompt = t.command
	}
	titles := []string{h.Title, t.name, t.short}
	if logtree.RenamesByEntry(t.d) {
		titles = []string{t.name, h.Title, t.short}
	}
	for _, title := range titles {
		if title != "" {
			t.sum.Title = bounded(title, titleMost)
			break
		}
	}
}

// bounded cuts a text for the catalogue: it may be a whole file.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:most]), "") // a substring would keep all of it in memory
}
