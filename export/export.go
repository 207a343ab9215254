// Package export writes a session as a file that can be shared: HTML that needs no server, Markdown for an issue, JSON for programs, or text.
// It also writes many sessions as a site of static files.
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
	"slices"
	"time"

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
	slices.SortFunc(list, func(a, b KindCount) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Kind, b.Kind)) })
	return list
}

// Write exports a session. What it reads of the session must not change meanwhile.
func Write(ctx context.Context, w io.Writer, s *store.Session, o Options) (*Report, error) {
	x := newExporter(s, o)
	counted := &counter{w: w}
	out := bufio.NewWriterSize(counted, 64<<10)
	err := x.write(ctx, out)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return nil, err
	}
	x.report.Size = counted.n
	x.report.Redactions = x.scrub.redactions()
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
	report Report
}

func newExporter(s *store.Session, o Options) *exporter {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	x := &exporter{Options: o, s: s, doc: transcript.New(s, nil)}
	if o.Redact || len(o.Hide) > 0 {
		x.scrub = newScrubber(o.Redact, o.Hide)
		x.doc.Rewrite(x.scrub.record)
	}
	return x
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

// stretches are the paths that are exported.
func (x *exporter) stretches() []transcript.Stretch {
	list := x.doc.Skeleton().Stretches(x.Leaf)
	if !x.AllBranches {
		list = list[:1]
	}
	return list
}

// title is that of the session. It may be the beginning of a prompt, and end in the middle of a secret: so the first prompt is read before, and
// its secrets are known.
func (x *exporter) title(ctx context.Context) string {
	title, err := x.s.Title()
	if err != nil {
		return "" // the session is exported without one
	}
	if x.scrub == nil {
		return title
	}
	r := x.reader(ctx)
	for e := range x.s.Tree().Entries() {
		if _, err := r.Look(e); err != nil || e.Role == session.RoleUser || e.Index > 50 {
			break // an entry that cannot be read is reported where it is exported
		}
	}
	return x.scrub.short(title)
}

// blocksAtOnce is how many blocks are read together.
const blocksAtOnce = 64

// blocks gives the blocks of a stretch to use, a few at a time.
func (x *exporter) blocks(ctx context.Context, s transcript.Stretch, most int, use func([]transcript.Block) error) error {
	q := transcript.Request{Leaf: &s.Tip, First: true, Limit: blocksAtOnce, MaxText: most}
	if s.First != "" {
		// The branch may begin with a result, which is shown with its call: that block is shown again, with this result.
		w, err := x.doc.Window(ctx, transcript.Request{Leaf: &s.Tip, Around: s.First, Limit: 1, MaxText: most})
		if err != nil {
			return err
		}
		q.First, q.After = false, s.From
		if len(w.Blocks) == 1 && (w.Blocks[0].ID == s.First || shows(&w.Blocks[0], s.First)) {
			q.After = w.Blocks[0].ID
			w.Blocks[0].ID = s.First
			x.note(w)
			if err := use(w.Blocks); err != nil {
				return err
			}
		}
		if q.After == "" { // a branch from the beginning
			q.First = true
		}
	}
	for {
		w, err := x.doc.Window(ctx, q)
		if err != nil {
			return err
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

// note keeps what a window found out.
func (x *exporter) note(w *transcript.Window) {
	x.report.Problems = append(x.report.Problems, w.Problems...)
	for i := range w.Blocks {
		x.report.Entries += 1 + len(w.Blocks[i].Also)
		x.scrub.block(&w.Blocks[i])
	}
}

// shows reports whether a block shows an entry besides its own.
func shows(b *transcript.Block, id session.EntryID) bool {
	if slices.Contains(b.Also, id) {
		return true
	}
	for _, p := range b.Pieces {
		if tools, ok := p.(transcript.Tools); ok {
			for i := range tools.Calls {
				if tools.Calls[i].Result == id {
					return true
				}
			}
		}
	}
	return false
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
