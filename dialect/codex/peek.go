package codex

import (
	"cmp"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the two ends of a log.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	var p peek
	if whole {
		s := dialect.ReadWhole(d, head, func(_ *dialect.Summary, e session.Entry, record []byte) { p.line(record) })
		p.fill(&s)
		return s
	}
	s := dialect.NewSummary(false)
	p.lines(dialect.TrimBOM(head), true, false)
	if s.OK = p.header != nil; !s.OK {
		return s
	}
	s.ID, s.CWD, s.Version = session.ID(rawjson.Str(p.header, "id")), rawjson.Str(p.header, "cwd"), version
	s.Created, s.Parent = session.Time{Text: string(rawjson.Get(p.header, "timestamp"))}, parentOf(p.header)
	s.Task = isTask(p.header)
	if len(tail) > 0 {
		p.active = nil
		first, shown := p.prompt, p.shown
		p.lines(tail, false, true)
		p.prompt, p.shown = first, shown // the tail shows later ones
	}
	p.fill(&s)
	s.TailShort = p.active == nil
	return s
}

// peek is what Peek has found so far.
type peek struct {
	header []byte // the payload
	prompt string
	shown  string // the prompt as an event shows it, which the program lists
	active []byte
}

func (p *peek) fill(s *dialect.Summary) {
	s.Prompt = cmp.Or(p.prompt, p.shown)
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
	payload := rawjson.Get(record, "payload")
	if at := rawjson.Get(record, "timestamp"); rawjson.IsString(at) {
		p.active = at
	}
	switch rawjson.Str(record, "type") {
	case typeMeta:
		if p.header == nil && rawjson.IsString(rawjson.Get(payload, "id")) {
			p.header = payload
		}
	case typeItem:
		if it, ok := itemOf(session.Entry{}, payload); ok && it.turn && p.prompt == "" {
			p.prompt = contentText(payload)
		}
	case typeEvent:
		if p.shown == "" {
			p.shown = shownPrompt(payload)
		}
	}
}

// shownPrompt gives the prompt that an event shows, or "".
func shownPrompt(event []byte) string {
	switch rawjson.Str(event, "type") {
	case "user_message":
		return rawjson.Str(event, "message")
	case "item_completed":
		if item := rawjson.Get(event, "item"); rawjson.Str(item, "type") == "UserMessage" {
			return contentText(item)
		}
	}
	return ""
}
