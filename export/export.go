// Package export writes a session as a file that can be shared: HTML that needs no server, Markdown for an issue, JSON for programs, or text.
// Write and File write one session, Site many of them as a site of static files. Options choose the format and what is hidden.
//
// Secrets are replaced in the records, before anything is made of them: a title or a label that is cut in the middle of a key does not
// show the first half. What HTML and Markdown leave out of a session is said in them.
package export

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// Format is a form of an export, named as its files end.
type Format string

// The formats.
const (
	HTML     Format = "html" // one file with all that it needs
	Markdown Format = "md"   // for issues
	JSON     Format = "json" // wire.Export
	Text     Format = "txt"  // as it is shown on a terminal, unfolded
)

// Formats lists the formats.
var Formats = []Format{HTML, Markdown, JSON, Text}

// Shared reports whether a format is for other people: secrets are replaced unless something else is asked for.
func (f Format) Shared() bool { return f == HTML || f == Markdown }

// Media is the media type of a format.
func (f Format) Media() string {
	switch f {
	case HTML:
		return "text/html; charset=utf-8"
	case JSON:
		return "application/json"
	}
	return "text/plain; charset=utf-8"
}

// ErrFormat: there is no such format.
var ErrFormat = errors.New("unknown format")

// Options say what is exported, and how.
type Options struct {
	Format Format
	// Leaf ends the path that is exported; nil is the leaf of the session.
	Leaf *session.EntryID
	// AllBranches exports the whole tree. The path to the leaf comes first.
	AllBranches bool
	// Redact replaces secrets (see package internal/redact). Hide are texts that are replaced too, in any case.
	Redact bool
	Hide   []string
	// Home is the reader's home folder, which paths show as ~; "" shortens nothing. Zone is the zone of times; nil is UTC.
	Home string
	Zone *time.Location
}

// Report says what was exported.
type Report struct {
	// Entries counts the entries that were read, Size the bytes that were written.
	Entries int
	Size    int64
	// Redactions are what was replaced, in the order of the log.
	Redactions []Redaction
	// Problems are those of the log, and of what was read of it.
	Problems []session.Problem
}

// Redaction is a text that was replaced. It does not hold the text.
type Redaction struct {
	Entry session.EntryID
	// Line counts from 1. Offset is where the text begins in the log, that of the record where the agent keeps the text in another file.
	Line   int
	Offset int64
	// Kind is what it was, such as "aws access key". Hint has its first characters, at most four.
	Kind, Hint string
}

// KindCount is a number of redactions of one kind.
type KindCount struct {
	Kind  string
	Count int
}

// Kinds counts the redactions by kind, the most frequent first.
func (r *Report) Kinds() []KindCount {
	counts := map[string]int{}
	for _, x := range r.Redactions {
		counts[x.Kind]++
	}
	list := make([]KindCount, 0, len(counts))
	for k, n := range counts {
		list = append(list, KindCount{k, n})
	}
	sorting.By(list, func(a, b KindCount) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Kind, b.Kind)) })
	return list
}

// Write exports a session. What it reads of the session must not change meanwhile.
func Write(ctx context.Context, w io.Writer, s *store.Session, o Options) (*Report, error) {
	x, err := newExporter(ctx, s, o)
	if err != nil {
		return nil, err
	}
	counted := &counter{w: w}
	out := bufio.NewWriterSize(counted, 64<<10)
	if err = x.write(ctx, out); err == nil {
		err = out.Flush()
	}
	if err != nil {
		return nil, err
	}
	x.report.Size = counted.n
	x.report.Redactions = x.redactions()
	x.report.Problems = slices.Concat(s.Tree().Problems(), x.report.Problems)
	return &x.report, nil
}

// counter counts bytes.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// exporter is one export.
type exporter struct {
	Options
	s      *store.Session
	doc    *transcript.Document
	scrub  *scrubber
	keyOf  func(session.ID) string // of the page of another session of the site; nil for none
	sides  []transcript.Stretch    // sub-agents in the same log, and what they were asked to do
	titles []string
	shown  map[session.EntryID]bool // entries of blocks: others are read for the labels of branches
	report Report
}

func newExporter(ctx context.Context, s *store.Session, o Options) (*exporter, error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	x := &exporter{Options: o, s: s, doc: transcript.New(s, nil)}
	if !o.Redact && len(o.Hide) == 0 {
		return x, nil
	}
	x.scrub = newScrubber(o.Redact, o.Hide)
	x.doc.Rewrite(x.scrub.record)
	return x, x.scrub.learn(o.Hide, x.records(ctx))
}

// records are those of the whole session, with texts that are kept elsewhere. One that cannot be read is left out: it cannot be exported either.
func (x *exporter) records(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for e := range x.s.Tree().Entries() {
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			if record, _, err := x.s.Whole(ctx, e); err == nil && !yield(record, nil) {
				return
			}
		}
	}
}

func (x *exporter) write(ctx context.Context, out *bufio.Writer) error {
	switch x.Format {
	case HTML:
		return x.html(ctx, out)
	case Markdown:
		return x.markdown(ctx, out)
	case JSON:
		return x.json(ctx, out)
	case Text:
		return x.text(ctx, out)
	}
	return fmt.Errorf("%w: %q", ErrFormat, x.Format)
}

// stretches are the paths that are exported, each after the one that it leaves. While they are walked through, sub-agents in the same log
// are found: see note.
func (x *exporter) stretches() iter.Seq[transcript.Stretch] {
	return func(yield func(transcript.Stretch) bool) {
		list := x.doc.Skeleton().Stretches(x.Leaf)
		if !x.AllBranches {
			list = list[:1]
		}
		for _, s := range list {
			if !yield(s) {
				return
			}
		}
		for n := 0; n < len(x.sides); n++ { // a sub-agent may begin others
			if !yield(x.sides[n]) {
				return
			}
		}
	}
}

// side keeps the conversation of a sub-agent that is in the same log.
func (x *exporter) side(c *transcript.Child, call session.EntryID) {
	if c == nil || c.Session != "" || c.First == "" || x.shown[c.First] {
		return
	}
	x.shown[c.First] = true
	x.sides = append(x.sides, transcript.Stretch{From: call, First: c.First, Tip: c.Tip})
	x.titles = append(x.titles, c.Title)
}

// title is that of the session, or else its first prompt.
func (x *exporter) title(ctx context.Context) string {
	title, err := x.s.Title()
	if err == nil && title != "" {
		return x.scrub.short(title)
	}
	w, err := x.doc.Window(ctx, transcript.Request{Leaf: x.Leaf, First: true, Limit: 8})
	if err != nil {
		return "" // what cannot be read is reported where it is exported
	}
	for i := range w.Blocks {
		for _, p := range w.Blocks[i].Pieces {
			if text, ok := p.(transcript.Text); ok && w.Blocks[i].Prompt {
				return screen.OneLine(text.Text, 120)
			}
		}
	}
	return ""
}

// blocksAtOnce is how many blocks are read together.
const blocksAtOnce = 64

// blocks gives the blocks of a stretch to use, a few at a time.
func (x *exporter) blocks(ctx context.Context, s transcript.Stretch, use func([]transcript.Block) error) error {
	q := transcript.Request{Leaf: &s.Tip, First: s.From == "", After: s.From, Limit: blocksAtOnce, MaxText: -1}
	if s.Of == 0 && s.First != "" { // a sub-agent: its path may begin by itself, or below the call
		e, err := x.s.Tree().Get(s.First)
		if err != nil {
			return err
		}
		q.First, q.After = !x.s.Tree().Has(e.Parent), e.Parent
	}
	lead, err := x.lead(ctx, s)
	if err != nil {
		return err
	}
	for {
		w, err := x.doc.Window(ctx, q)
		if err != nil {
			return err
		}
		if lead != nil && len(w.Blocks) > 0 { // the switch stands before it
			lead.Fork, w.Blocks[0].Fork = w.Blocks[0].Fork, nil
		}
		if lead != nil {
			w.Blocks = append([]transcript.Block{*lead}, w.Blocks...)
			lead = nil
		}
		x.note(w)
		if err := use(w.Blocks); err != nil {
			return err
		}
		if !w.Later || w.Last == "" || w.Last == q.After {
			return nil
		}
		q.First, q.After = false, w.Last
	}
}

// lead is the block before a branch that begins with a result. A result is shown with its call, so the block of the call is shown again,
// with this result, and is known by the result. It is nil for any other branch.
func (x *exporter) lead(ctx context.Context, s transcript.Stretch) (*transcript.Block, error) {
	if s.First == "" || s.From == "" || s.Of == 0 {
		return nil, nil
	}
	w, err := x.doc.Window(ctx, transcript.Request{Leaf: &s.Tip, Around: s.First, Limit: 1, MaxText: -1})
	if err != nil || len(w.Blocks) == 0 || w.Blocks[0].ID == s.First || !claim(&w.Blocks[0], s.First) {
		return nil, err
	}
	b := &w.Blocks[0]
	b.ID, b.Usage, b.Label = s.First, session.Usage{}, "" // these are told where it is shown first
	return b, nil
}

// note keeps what a window found out.
func (x *exporter) note(w *transcript.Window) {
	x.report.Problems = append(x.report.Problems, w.Problems...)
	if x.shown == nil {
		x.shown = map[session.EntryID]bool{}
	}
	for i := range w.Blocks {
		b := &w.Blocks[i]
		x.report.Entries += 1 + len(b.Also)
		x.shown[b.ID] = true
		b.Problems = x.scrub.problems(b.Problems)
		for _, id := range b.Also {
			x.shown[id] = true
		}
		for _, p := range b.Pieces {
			if tools, ok := p.(transcript.Tools); ok {
				for n := range tools.Calls {
					x.side(tools.Calls[n].Child, b.ID)
				}
			}
		}
		if b.Label != "" {
			e, _ := x.s.Tree().Lookup(b.ID) // it is there: the block was made of it
			b.Label = x.scrub.label(b.Label, e)
		}
	}
}

// redactions are those of the entries that were exported.
func (x *exporter) redactions() []Redaction {
	list := x.scrub.redactions()
	if x.shown == nil || x.AllBranches {
		return list
	}
	return slices.DeleteFunc(list, func(r Redaction) bool { return !x.shown[r.Entry] })
}

// claim reports whether a block shows an entry besides its own. That entry then becomes the one that the block is known by: an id is in a file once.
func claim(b *transcript.Block, id session.EntryID) bool {
	also := len(b.Also)
	b.Also = slices.DeleteFunc(slices.Clone(b.Also), func(other session.EntryID) bool { return other == id })
	found := len(b.Also) < also
	for _, p := range b.Pieces {
		if tools, ok := p.(transcript.Tools); ok {
			for i := range tools.Calls {
				if tools.Calls[i].Result == id {
					tools.Calls[i].Result, found = "", true
				}
			}
		}
	}
	return found
}

// when is a time for people.
func (x *exporter) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(x.Zone).Format("2006-01-02 15:04 MST")
}

// reader reads entries without secrets.
func (x *exporter) reader(ctx context.Context) *wire.Reader {
	r := wire.NewReader(ctx, x.s)
	if x.scrub != nil {
		r.Rewrite = x.scrub.record
	}
	return r
}
