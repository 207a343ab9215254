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
	return p.Ends.Peek(d, head, tail, whole, p.line, func(s *dialect.Summary) {
		s.OK, s.ID, s.CWD, s.Version, s.Created, s.Parent = p.ours, p.id, p.cwd, version, session.Time{Text: string(p.created)}, p.parent
	})
}

// peek is what Peek has found so far.
type peek struct {
	dialect.Ends
	ours        bool
	id          session.ID
	cwd, parent string
	created     []byte
}

// line takes one record.
func (p *peek) line(record []byte) {
	at := rawjson.Get(record, "timestamp")
	if rawjson.IsString(at) {
		p.Active = at
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
	case typ == typeUser && p.Prompt == "" && !isMeta(record):
		p.Prompt = dialect.TextOf(contents.AppendParts(nil, rawjson.Get(rawjson.Get(record, "message"), "parts"), nil))
	case typ == typeSystem && rawjson.Str(record, "subtype") == subTitle:
		p.Title = new(rawjson.Str(rawjson.Get(record, "systemPayload"), "customTitle"))
	}
}
