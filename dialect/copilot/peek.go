package copilot

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the two ends of a log.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	p := peek{Ends: dialect.Ends{Later: true}}
	return p.Ends.Peek(d, head, tail, whole, p.event, func(s *dialect.Summary) {
		if p.start != nil {
			summarize(s, p.start)
		}
	})
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
	dialect.Ends
	start []byte // the event that begins the log
	seen  bool   // an event was seen
}

// event takes one event.
func (p *peek) event(record []byte) {
	if !p.seen {
		if p.seen = true; isStart(record) {
			p.start = record
			return
		}
	}
	if at := rawjson.Get(record, "timestamp"); rawjson.IsString(at) {
		p.Active = at
	}
	if rawjson.Str(record, "agentId") != "" {
		return
	}
	switch data := rawjson.Get(record, "data"); rawjson.Str(record, "type") {
	case typeUser:
		if p.Prompt == "" && !isMeta(typeUser, data) {
			p.Prompt = rawjson.Str(data, "content")
		}
	case typeTitle:
		p.Title = new(rawjson.Str(data, "title"))
	}
}
