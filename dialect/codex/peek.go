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
	s := p.Ends.Peek(d, head, tail, whole, p.line, func(s *dialect.Summary) {
		s.OK, p.begun = p.header != nil, true
		s.ID, s.CWD, s.Version = session.ID(rawjson.Str(p.header, "id")), rawjson.Str(p.header, "cwd"), version
		s.Created, s.Parent = session.Time{Text: string(rawjson.Get(p.header, "timestamp"))}, parentOf(p.header)
		s.Task = isTask(p.header)
	})
	if s.OK {
		s.Prompt = cmp.Or(s.Prompt, p.shown)
	}
	return s
}

// peek is what Peek has found so far.
type peek struct {
	dialect.Ends
	header []byte // the payload of the header
	shown  string // the prompt in an event, which the program lists
	begun  bool   // the beginning was read; only there is the first prompt
}

// line takes one record.
func (p *peek) line(record []byte) {
	payload := rawjson.Get(record, "payload")
	if at := rawjson.Get(record, "timestamp"); rawjson.IsString(at) {
		p.Active = at
	}
	switch rawjson.Str(record, "type") {
	case typeMeta:
		if p.header == nil && rawjson.IsString(rawjson.Get(payload, "id")) {
			p.header = payload
		}
	case typeItem:
		if it, ok := itemOf(session.Entry{}, payload); ok && it.turn && p.Prompt == "" {
			p.Prompt = contentText(payload)
		}
	case typeEvent:
		if p.shown == "" && !p.begun {
			p.shown = shownPrompt(payload)
		}
	}
}

// shownPrompt returns the prompt that an event shows, or "".
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
