package wire

import (
	"cmp"
	"context"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Reader reads the entries of a session for output, including texts and images that are kept as blobs. It reads each blob once, and
// collects problems.
type Reader struct {
	// Problems are those found so far. A missing blob has the line of the first entry that names it.
	Problems []session.Problem
	// Rewrite changes a record before it is decoded, to remove text that must not be shown; nil changes none. The result must decode like
	// the original.
	Rewrite func(e session.Entry, record []byte) []byte

	ctx   context.Context
	s     *store.Session
	entry session.Entry // the one being read, for problems
	sizes map[string]int64
	tools map[string]string // names of tools by the id of a call
}

// NewReader returns a reader of a session. Canceling ctx ends its reads.
func NewReader(ctx context.Context, s *store.Session) *Reader {
	return &Reader{ctx: ctx, s: s, sizes: map[string]int64{}, tools: map[string]string{}}
}

// Look reads an entry, and restores texts that its agent moved to blobs. A tool result gets the name of its tool if its call was read
// before.
func (r *Reader) Look(e session.Entry) (View, error) {
	if r.ctx.Err() != nil {
		return View{}, context.Cause(r.ctx)
	}
	r.entry = e
	raw, problems, err := r.s.Whole(r.ctx, e)
	if err != nil {
		return View{}, err
	}
	r.Problems = append(r.Problems, problems...)
	if r.Rewrite != nil {
		raw = r.Rewrite(e, raw)
	}
	v, err := Decode(r.s.Dialect().Codec(), e, raw)
	dialect.NameResults(v.Parts, r.tools)
	return v, err
}

// BlobSize returns the size of a blob, or -1 if it is missing or does not match its hash.
func (r *Reader) BlobSize(ref string) int64 {
	if n, ok := r.sizes[ref]; ok {
		return n
	}
	data, p := r.s.Blob(r.ctx, ref)
	n := int64(len(data))
	if p != nil {
		n = -1
		p.Line, p.Offset = r.entry.Line, r.entry.Span.Offset
		r.Problems = append(r.Problems, *p)
	}
	r.sizes[ref] = n
	return n
}

// WritePath prints the entries of a path as JSON, one per line.
func (r *Reader) WritePath(p *Page, path session.Path) error {
	for _, e := range path.Entries() {
		v, err := r.Look(e)
		if err != nil {
			return err
		}
		if err := Write(p, NewEntry(v, r.s.Tree().Label(v.ID), r.BlobSize)); err != nil {
			return err
		}
	}
	return nil
}

// Path writes the entries of a path, read by r. It stops at the first error of the writer.
func (t *Transcript) Path(r *Reader, path session.Path) error {
	t.BlobSize = r.BlobSize
	for _, e := range path.Entries() {
		v, err := r.Look(e)
		if err != nil {
			return err
		}
		t.Entry(v)
		if _, err := t.Write(nil); err != nil {
			return err
		}
	}
	if path.Len() == 0 {
		t.begin(speech)
		t.line(t.paint(StyleFaint, "(no entries yet)"))
	}
	return nil
}

// Heading describes a session: the title, then dialect, id, directory and time. If the line is too narrow, the directory is cut: id and
// dialect are what people copy. For a sub-agent it adds the session and the call that started it.
func (p *Page) Heading(s *store.Session, home string) {
	title, _ := s.Title() // a session whose title cannot be read is shown without one
	if title = screen.OneLine(title, 200); title != "" {
		p.line(p.paint(StyleStrong, screen.Cut(title, p.Width)))
	}
	h, agent := s.Header(), s.Dialect().Name()
	if h.ID == "" {
		p.line(p.paint(StyleFaint, agent+" · empty file"))
		return
	}
	when := ""
	if at, ok := p.clock(h.Timestamp); ok {
		when = at.Format("2006-01-02 15:04")
	}
	name := screen.OneLine(string(h.ID), 60)
	cwd := Tilde(screen.OneLine(h.CWD, 0), home)
	if p.Width > 0 { // the id is the most important part
		const dots, leastCWD = 3, 12
		if left := p.Width - columnsOf(agent+name+when) - 3*dots; left >= leastCWD {
			cwd = screen.CutPath(cwd, left)
		} else {
			cwd = ""
		}
		for _, word := range []*string{&when, &agent} {
			if columnsOf(join([]string{agent, name, cwd, when}, " · ")) > p.Width {
				*word = ""
			}
		}
	}
	p.line(p.paint(StyleFaint, screen.Cut(join([]string{agent, name, cwd, when}, " · "), p.Width)))
	if h.Task && h.Parent != "" {
		origin := "sub-agent of " + screen.OneLine(h.Parent, 60)
		if h.Call != "" {
			origin += " · call " + screen.OneLine(h.Call, 60)
		}
		p.line(p.paint(StyleFaint, screen.Cut(origin, p.Width)))
	}
}

// Context writes a context: thinking level, models and mode, then the messages, then their number and the size of their JSON. r is a reader
// of the same session.
func (t *Transcript) Context(ctx context.Context, r *Reader, c *session.Context) error {
	t.BlobSize, t.MessageParts = r.BlobSize, r.s.MessageParts
	t.state(c)
	t.Section()
	count, size, tokens := 0, 0, int64(0)
	for m, err := range c.Messages() {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		count++
		size += len(m.JSON)
		r.entry = m.Entry
		from := "· " + t.id(m.Entry.ID)
		if m.Entry.ID == "" { // a message that the agent makes when it resumes a session
			from = "· added when the session resumes here"
		}
		parts := t.MessageParts(m.JSON)
		dialect.NameResults(parts, r.tools)
		tokens += session.Estimate(parts)
		t.plainMessage(rawjson.Str(m.JSON, "role"), from, parts)
	}
	t.begin(speech)
	words := []string{Count(count, "message", "messages"), Size(int64(size)), "about " + Count(int(tokens), "token", "tokens")}
	t.line(t.paint(StyleFaint, strings.Join(words, ", ")))
	return nil
}

// state writes the state at the leaf, apart from the messages.
func (t *Transcript) state(c *session.Context) {
	add := func(name, value string) {
		t.line(t.paint(StyleFaint, screen.Pad(name, 9, false)) + " " + screen.OneLine(value, 0))
	}
	add("thinking", cmp.Or(c.ThinkingLevel, "off"))
	if len(c.Models) == 0 {
		add("model", "none")
	}
	for _, m := range c.Models {
		value := cmp.Or(m.Name, Brief(m.JSON, 80))
		if m.Role != "default" {
			value += " for " + m.Role
		}
		add("model", value)
	}
	if c.ServiceTier != nil {
		add("tier", Brief(c.ServiceTier, 80))
	}
	if c.ToolsSelected {
		add("tools", cmp.Or(strings.Join(c.SelectedTools, ", "), "none"))
	}
	add("mode", strings.TrimSpace(cmp.Or(c.Mode, "none")+" "+Brief(c.ModeData, 80)))
	if len(c.TTSRRules) > 0 {
		add("rules", strings.Join(c.TTSRRules, ", "))
	}
}
