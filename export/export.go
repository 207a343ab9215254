// Package export writes a session as a file that can be shared: HTML that needs no server, Markdown for an issue, JSON for programs, or text.
// Write and File write one session, Site many of them as a site of static files. Options choose the format and what is hidden.
//
// Secrets are replaced in the records, before anything is made of them, so that a title or a label that is cut in the middle of a key does
// not show the first half. HTML and Markdown say what they omit from a session.
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

// Format is a form of an export. Its value is the extension of its files.
type Format string

// The formats.
const (
	HTML     Format = "html" // one self-contained file
	Markdown Format = "md"   // for issues
	JSON     Format = "json" // wire.Export
	Text     Format = "txt"  // as a terminal shows it, unfolded
)

// Formats lists the formats.
var Formats = []Format{HTML, Markdown, JSON, Text}

// Shared reports whether a format is meant for other people, so that secrets are replaced by default.
func (f Format) Shared() bool { return f == HTML || f == Markdown }

// Media returns the media type of a format.
func (f Format) Media() string {
	switch f {
	case HTML:
		return "text/html; charset=utf-8"
	case JSON:
		return "application/json"
	}
	return "text/plain; charset=utf-8"
}

// ErrFormat is returned for an unknown format.
var ErrFormat = errors.New("unknown format")

// Options say what is exported, and how.
type Options struct {
	Format Format
	// Leaf ends the path that is exported; nil means the leaf of the session.
	Leaf *session.EntryID
	// AllBranches exports the whole tree. The path to the leaf comes first.
	AllBranches bool
	// Redact replaces secrets (see package internal/redact). Hide are further texts that are replaced, with or without Redact.
	Redact bool
	Hide   []string
	// Home is the reader's home directory, which paths show as ~; "" means that no path is shortened. Zone is the time zone; nil means UTC.
	Home string
	Zone *time.Location
}

// Report describes an export.
type Report struct {
	// Entries is the number of entries that were read, and Size the number of bytes that were written.
	Entries int
	Size    int64
	// Redactions are what was replaced, in the order of the log.
	Redactions []Redaction
	// Problems are those of the log and of what was read from it.
	Problems []session.Problem
}

// Redaction describes a text that was replaced. It does not contain the text.
type Redaction struct {
	Entry session.EntryID
	// Line counts from 1. Offset is the position of the text in the log or, if the agent keeps the text in another file, that of the
	// record.
	Line   int
	Offset int64
	// Kind is the kind of text, such as "aws access key". Hint has its first characters, at most four.
	Kind, Hint string
}

// KindCount is the number of redactions of one kind.
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

// Write exports a session. The session must not change during the call.
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
	keyOf  func(session.ID) string // returns the key of another session's page in the site; may be nil
	sides  []transcript.Stretch    // sub-agents in the same log, with their tasks
	titles []string
	shown  map[session.EntryID]bool // entries in blocks: others are read only for the labels of branches
	places map[session.EntryID]bool // the places of blocks
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

// records yields the records of the whole session, including texts that are kept elsewhere. It omits one that cannot be read, which is not
// exported either.
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

// stretches yields the exported paths, each after the one that it leaves. During the iteration, note finds sub-agents in the same log,
// which are added.
func (x *exporter) stretches() iter.Seq[transcript.Stretch] {
	return func(yield func(transcript.Stretch) bool) {
		list := x.doc.Skeleton().Stretches(x.Leaf)
		if !x.AllBranches {
			list = list[:1]
		}
		for n, s := range list {
			// The path of another stretch may have all records of an id.
			if n > 0 && x.places[s.Tip] && x.doc.Skeleton().Single(s) {
				continue
			}
			if !yield(s) {
				return
			}
		}
		for n := 0; n < len(x.sides); n++ { // a sub-agent may start others
			if !yield(x.sides[n]) {
				return
			}
		}
	}
}

// side adds the conversation of a sub-agent in the same log.
func (x *exporter) side(c *transcript.Child, call session.EntryID) {
	if c == nil || c.Session != "" || c.First == "" || x.shown[c.First] {
		return
	}
	x.shown[c.First] = true
	x.sides = append(x.sides, transcript.Stretch{From: call, First: c.First, Tip: c.Tip})
	x.titles = append(x.titles, c.Title)
}

// title returns the title of the session, or its first prompt.
func (x *exporter) title(ctx context.Context) string {
	title, err := x.s.Title()
	if err == nil && title != "" {
		return x.scrub.short(title)
	}
	w, err := x.doc.Window(ctx, transcript.Request{Leaf: x.Leaf, First: true, Limit: 8})
	if err != nil {
		return "" // errors are reported when the entry is exported
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

// blocksAtOnce is the number of blocks that are read together.
const blocksAtOnce = 64

// blocks calls use with the blocks of a stretch, some at a time.
func (x *exporter) blocks(ctx context.Context, s transcript.Stretch, use func([]transcript.Block) error) error {
	q := transcript.Request{Leaf: &s.Tip, First: s.From == "", After: s.From, Limit: blocksAtOnce, MaxText: -1}
	if s.Of == 0 && s.First != "" { // a sub-agent: its path begins on its own, or below the call
		e, err := x.s.Tree().Get(s.First)
		if err != nil {
			return err
		}
		q.First, q.After = !x.s.Tree().Has(e.Parent), e.Parent
	} else if s.From == "" && s.First != "" {
		// An agent may continue a path above an entry without a parent, with entries of other stretches.
		q.First, q.From = false, s.First
	}
	if s.From != "" && s.Of != 0 {
		var err error
		if q.After, err = x.doc.Before(s); err != nil {
			return err
		}
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
		if lead != nil && len(w.Blocks) > 0 { // the switch is before it
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
		q.First, q.From, q.After = false, "", w.Last
	}
}

// lead returns the block before a branch that begins with a result. A result is shown with its call, so the call's block is shown again,
// with this result and the result's id. It returns nil for any other branch.
func (x *exporter) lead(ctx context.Context, s transcript.Stretch) (*transcript.Block, error) {
	if s.First == "" || s.From == "" || s.Of == 0 || x.doc.Skeleton().Opens(s) {
		return nil, nil
	}
	w, err := x.doc.Window(ctx, transcript.Request{Leaf: &s.Tip, Around: s.First, Limit: 1, MaxText: -1})
	if err != nil || len(w.Blocks) == 0 || w.Blocks[0].ID == s.First || !claim(&w.Blocks[0], s.First) {
		return nil, err
	}
	b := &w.Blocks[0]
	b.ID, b.Usage, b.Label = s.First, session.Usage{}, "" // the block was shown with these before
	return b, nil
}

// note keeps what a window reveals.
func (x *exporter) note(w *transcript.Window) {
	x.report.Problems = append(x.report.Problems, w.Problems...)
	if x.shown == nil {
		x.shown, x.places = map[session.EntryID]bool{}, map[session.EntryID]bool{}
	}
	for i := range w.Blocks {
		b := &w.Blocks[i]
		x.report.Entries += 1 + len(b.Also)
		x.shown[b.ID], x.places[b.Place] = true, true
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
			e, _ := x.s.Tree().Lookup(b.ID) // the block was made from it, so it exists
			b.Label = x.scrub.label(b.Label, e)
		}
	}
}

// redactions returns those of the exported entries.
func (x *exporter) redactions() []Redaction {
	list := x.scrub.redactions()
	if x.shown == nil || x.AllBranches {
		return list
	}
	return slices.DeleteFunc(list, func(r Redaction) bool { return !x.shown[r.Entry] })
}

// claim reports whether a block shows another entry besides its own. If so, it gives the block that entry's id: an id occurs only once in a
// file.
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

// when formats a time for people.
func (x *exporter) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(x.Zone).Format("2006-01-02 15:04 MST")
}

// reader returns a reader of entries without secrets.
func (x *exporter) reader(ctx context.Context) *wire.Reader {
	r := wire.NewReader(ctx, x.s)
	if x.scrub != nil {
		r.Rewrite = x.scrub.record
	}
	return r
}
