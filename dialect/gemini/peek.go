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
	p := peek{Ends: dialect.Ends{Later: true}}
	if first, _, _ := bytes.Cut(head, []byte{'\n'}); whole && !rawjson.Valid(first) && rawjson.Valid(head) {
		head = rawjson.Compact(head) // for an old document on several lines; a longer one is read whole
	}
	return p.Ends.Peek(d, head, tail, whole, p.line, func(s *dialect.Summary) {
		s.OK = p.header != nil
		s.ID, s.CWD, s.Version = session.ID(rawjson.Str(p.header, "sessionId")), cwdOf(p.header), version
		s.Created, s.Parent = session.Time{Text: string(rawjson.Get(p.header, "startTime"))}, rawjson.Str(p.header, parentMember)
		s.Task, s.Title = rawjson.Str(p.header, "kind") == kindTask, rawjson.Str(p.header, "summary")
	})
}

// peek is what Peek has found so far.
type peek struct {
	dialect.Ends
	header []byte
}

// line takes one record.
func (p *peek) line(record []byte) {
	set := rawjson.Get(record, typeSet)
	switch {
	case rawjson.IsString(rawjson.Get(record, typeRewind)):
	case rawjson.IsString(rawjson.Get(record, "id")):
		if at := rawjson.Get(record, "timestamp"); rawjson.IsString(at) {
			p.Active = at
		}
		p.asked(record)
	case rawjson.IsObject(set):
		if at := rawjson.Get(set, "lastUpdated"); rawjson.IsString(at) {
			p.Active = at
		}
		if title := rawjson.Get(set, "summary"); rawjson.IsString(title) {
			p.Title = new(rawjson.Str(set, "summary"))
		}
		for m := range rawjson.Elements(rawjson.Get(set, "messages")) {
			p.asked(m)
		}
	case p.header == nil && isHeader(record):
		p.header = record
		if at := rawjson.Get(record, "lastUpdated"); rawjson.IsString(at) && p.Active == nil {
			p.Active = at
		}
	}
}

// asked takes the first prompt.
func (p *peek) asked(m []byte) {
	if p.Prompt != "" || rawjson.Str(m, "type") != typeUser || isStartup(m) {
		return
	}
	p.Prompt = dialect.TextOf(contents.AppendParts(nil, rawjson.Get(m, "content"), nil))
}
