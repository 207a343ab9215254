package copilot

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the two ends of a log.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	var p peek
	if whole {
		s := dialect.ReadWhole(d, head, func(_ *dialect.Summary, _ session.Entry, record []byte) { p.event(record) })
		p.fill(&s)
		return s
	}
	s := dialect.NewSummary(false)
	for line, end := range dialect.PeekLines(dialect.TrimBOM(head), true, false) {
		switch {
		case end == dialect.LineCut || !rawjson.IsObject(line) || !rawjson.Valid(line):
		case !s.OK:
			if !isStart(line) {
				return s
			}
			summarize(&s, line)
		default:
			p.event(line)
		}
	}
	if !s.OK {
		return s
	}
	if len(tail) > 0 {
		p.active = nil
		for line, end := range dialect.PeekLines(tail, false, true) {
			if end != dialect.LineCut && rawjson.IsObject(line) && rawjson.Valid(line) {
				p.event(line)
			}
		}
	}
	p.fill(&s)
	s.TailShort = p.active == nil
	return s
}

// summarize takes the members of the first event.
func summarize(s *dialect.Summary, start []byte) {
	data := rawjson.Get(start, "data")
	s.OK, s.ID, s.CWD, s.Parent = true, session.ID(rawjson.Str(data, "sessionId")), rawjson.Str(rawjson.Get(data, "context"), "cwd"), rawjson.Str(data, parentMember)
	s.Version = int(dialect.Integer(rawjson.Get(data, "version")))
	s.Created = session.Time{Text: string(rawjson.Get(data, "startTime"))}
	if s.Created.Text == "" {
		s.Created = session.Time{Text: string(rawjson.Get(start, "timestamp"))}
	}
}

// peek is what Peek has found so far.
type peek struct {
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

// event takes one event.
func (p *peek) event(record []byte) {
	if at := rawjson.Get(record, "timestamp"); rawjson.IsString(at) {
		p.active = at
	}
	if rawjson.Str(record, "agentId") != "" {
		return
	}
	switch data := rawjson.Get(record, "data"); rawjson.Str(record, "type") {
	case typeUser:
		if p.prompt == "" && !isMeta(typeUser, data) {
			p.prompt = rawjson.Str(data, "content")
		}
	case typeTitle:
		p.title = new(rawjson.Str(data, "title"))
	}
}
