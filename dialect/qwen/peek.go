package qwen

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the two ends of a log.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	var p peek
	if whole {
		s := dialect.ReadWhole(d, head, func(_ *dialect.Summary, _ session.Entry, record []byte) { p.line(record) })
		p.fill(&s)
		return s
	}
	s := dialect.NewSummary(false)
	p.lines(dialect.TrimBOM(head), true, false)
	if s.OK = p.ours; !s.OK {
		return s
	}
	s.ID, s.CWD, s.Version, s.Created, s.Parent = p.id, p.cwd, version, session.Time{Text: string(p.created)}, p.parent
	if len(tail) > 0 {
		p.active = nil
		first := p.prompt
		p.lines(tail, false, true)
		p.prompt = first // the tail shows later ones
	}
	p.fill(&s)
	s.TailShort = p.active == nil
	return s
}

// peek is what Peek has found so far.
type peek struct {
	ours                bool
	id                  session.ID
	cwd, parent, prompt string
	title               *string
	created, active     []byte
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

// lines looks at the whole lines and ignores damaged ones.
func (p *peek) lines(b []byte, fromStart, toEnd bool) {
	for line, end := range dialect.PeekLines(b, fromStart, toEnd) {
		if end != dialect.LineCut && rawjson.IsObject(line) && rawjson.Valid(line) {
			p.line(line)
		}
	}
}

// line takes one record.
func (p *peek) line(record []byte) {
	at := rawjson.Get(record, "timestamp")
	if rawjson.IsString(at) {
		p.active = at
	}
	typ := rawjson.Str(record, "type")
	if rawjson.IsString(rawjson.Get(record, "uuid")) && rawjson.IsString(rawjson.Get(record, "sessionId")) && isType(typ) {
		p.ours = true
	}
	if p.id == "" {
		p.id = session.ID(rawjson.Str(record, "sessionId"))
	}
	if p.cwd == "" {
		p.cwd = rawjson.Str(record, "cwd")
	}
	if p.created == nil {
		p.created = at
	}
	if p.parent == "" {
		p.parent = rawjson.Str(rawjson.Get(record, "forkedFrom"), "sessionId")
	}
	switch {
	case typ == typeUser && p.prompt == "" && !isMeta(record):
		p.prompt = dialect.TextOf(contents.AppendParts(nil, rawjson.Get(rawjson.Get(record, "message"), "parts"), nil))
	case typ == typeSystem && rawjson.Str(record, "subtype") == subTitle:
		p.title = new(rawjson.Str(rawjson.Get(record, "systemPayload"), "customTitle"))
	}
}
