package gemini

import (
	"bytes"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the two ends of a log.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	var p peek
	if whole {
		if first, _, _ := bytes.Cut(head, []byte{'\n'}); !rawjson.Valid(first) && rawjson.Valid(head) {
			head = rawjson.Compact(head) // an old document on several lines
		}
		s := dialect.ReadWhole(d, head, func(s *dialect.Summary, e session.Entry, record []byte) { p.line(record) })
		p.fill(&s)
		return s
	}
	s := dialect.NewSummary(false)
	p.lines(dialect.TrimBOM(head), true, false)
	if s.OK = p.header != nil; !s.OK {
		return s
	}
	s.ID, s.CWD, s.Version = session.ID(rawjson.Str(p.header, "sessionId")), cwdOf(p.header), version
	s.Created, s.Parent = session.Time{Text: string(rawjson.Get(p.header, "startTime"))}, rawjson.Str(p.header, parentMember)
	s.Task, s.Title = rawjson.Str(p.header, "kind") == kindTask, rawjson.Str(p.header, "summary")
	if len(tail) > 0 {
		p.active = nil
		first := p.prompt
		p.lines(tail, false, true)
		if first != "" {
			p.prompt = first // the tail shows later ones
		}
	}
	p.fill(&s)
	s.TailShort = p.active == nil
	return s
}

// peek is what Peek has found so far.
type peek struct {
	header []byte
	prompt string
	title  *string
	active []byte
}

func (p *peek) fill(s *dialect.Summary) {
	s.Prompt = p.prompt
	if p.title != nil {
		s.Title = *p.title
	}
	if p.active != nil {
		s.Active = session.Time{Text: string(p.active)}
	}
}

// lines looks at the whole lines and ignores damaged ones. An old document that is longer than the head is read whole.
func (p *peek) lines(b []byte, fromStart, toEnd bool) {
	for line, end := range dialect.PeekLines(b, fromStart, toEnd) {
		if end != dialect.LineCut && rawjson.IsObject(line) && rawjson.Valid(line) {
			p.line(line)
		}
	}
}

// line takes one record.
func (p *peek) line(record []byte) {
	set := rawjson.Get(record, typeSet)
	switch {
	case rawjson.IsString(rawjson.Get(record, typeRewind)):
	case rawjson.IsString(rawjson.Get(record, "id")):
		if at := rawjson.Get(record, "timestamp"); rawjson.IsString(at) {
			p.active = at
		}
		p.asked(record)
	case rawjson.IsObject(set):
		if at := rawjson.Get(set, "lastUpdated"); rawjson.IsString(at) {
			p.active = at
		}
		if title := rawjson.Get(set, "summary"); rawjson.IsString(title) {
			p.title = new(rawjson.Str(set, "summary"))
		}
		for m := range rawjson.Elements(rawjson.Get(set, "messages")) {
			p.asked(m)
		}
	case p.header == nil && isHeader(record):
		p.header = record
		if at := rawjson.Get(record, "lastUpdated"); rawjson.IsString(at) && p.active == nil {
			p.active = at
		}
	}
}

// asked takes the first prompt.
func (p *peek) asked(m []byte) {
	if p.prompt != "" || rawjson.Str(m, "type") != typeUser || isStartup(m) {
		return
	}
	p.prompt = dialect.TextOf(contents.AppendParts(nil, rawjson.Get(m, "content"), nil))
}
