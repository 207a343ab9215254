package operator

import (
	"bytes"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the two ends of a log: the header and the first prompt, and the time of the last message.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	p := peek{s: dialect.NewSummary(whole), text: dialect.GetText()}
	defer dialect.PutText(p.text)
	p.lines(dialect.TrimBOM(head), true, whole)
	inTail := false
	if p.s.OK && !whole {
		// Only the tail shows the last message of the log; if it does not, a longer tail may (TailShort).
		p.used, p.active = nil, nil
		p.lines(tail, false, true)
		inTail = p.used != nil
	}
	// Glued and torn records are counted wrongly by lines.
	if whole && p.damaged {
		p.s.Recount(d, head)
	}
	if p.active != nil {
		p.s.Active = session.Time{Text: string(p.active)}
	}
	if d.layout.Order() != dialect.OrderActive || !p.s.OK {
		return p.s
	}
	switch {
	case !whole && !inTail:
		p.s.Active, p.s.TailShort = session.Time{}, true // the last message is between the ends
	case p.used != nil:
		p.s.Active = session.Time{Text: string(p.used)}
	default:
		p.s.Active = p.s.Created
	}
	return p.s
}

// peek is the state of one Peek. The slices point into the bytes at hand.
type peek struct {
	s       dialect.Summary
	text    *rawjson.Text
	active  []byte // the last entry's time
	used    []byte // the last message's
	refused bool   // the first record is not a header
	damaged bool   // a line is not exactly one record
}

// lines looks at the whole lines of one end of the log.
func (p *peek) lines(b []byte, fromStart, toEnd bool) {
	for line, end := range dialect.PeekLines(b, fromStart, toEnd) {
		var m members
		switch {
		case p.refused:
			return
		case end == dialect.LineCut:
			p.cut(line)
		case !m.scan(p.text, line):
			p.damaged = p.damaged || len(bytes.TrimSpace(line)) > 0
		case p.s.OK:
			p.entry(&m)
		default:
			p.front(&m)
		}
	}
}

// members are the raw members of a record that a list needs.
type members struct {
	typ, timestamp, name, id, cwd, parent, version []byte
	role, contents, said                           []byte // of the message
}

// scan reads a record once. It gives false for a line that is not one whole object.
func (m *members) scan(t *rawjson.Text, line []byte) bool {
	if !rawjson.IsObject(line) {
		return false
	}
	t.Reset(line)
	o, _ := t.Object(0)
	for o.Next() {
		switch string(o.Key) {
		case "type":
			m.typ = o.Value()
		case "timestamp":
			m.timestamp = o.Value()
		case "id":
			m.id = o.Value()
		case "cwd":
			m.cwd = o.Value()
		case "parent_session":
			m.parent = o.Value()
		case "version":
			m.version = o.Value()
		case "name":
			m.name = o.Value()
		case "message":
			m.role, m.contents, m.said = nil, nil, nil
			in, ok := o.Enter()
			if !ok {
				continue
			}
			for in.Next() {
				switch string(in.Key) {
				case "role":
					m.role = in.Value()
				case "contents":
					m.contents = in.Value()
				case "timestamp":
					m.said = in.Value()
				}
			}
			o.Leave(&in)
		}
	}
	end, err := o.End()
	return err == nil && rawjson.SkipSpace(line, end) >= len(line)
}

// front takes the header.
func (p *peek) front(m *members) {
	str := func(value []byte) string { s, _ := rawjson.Unquote(value); return s }
	typ := text(m.typ)
	if p.refused = !isHeader(typ) || !rawjson.IsString(m.id); p.refused {
		return
	}
	p.s.OK = true
	p.s.ID = session.ID(str(m.id))
	p.s.CWD, p.s.Parent = str(m.cwd), str(m.parent)
	p.s.Version = versionOf(typ, m.version)
	p.s.Created = session.Time{Text: string(m.timestamp)}
}

// entry takes an entry.
func (p *peek) entry(m *members) {
	if dialect.IsNumber(m.timestamp) {
		p.active = m.timestamp
	}
	switch string(text(m.typ)) {
	case "message":
		if p.s.Messages >= 0 {
			p.s.Messages++
		}
		p.message(m)
	case "session_info":
		p.s.Title, _ = rawjson.Unquote(m.name)
	}
}

// message takes a message. A message of the user or the model with a text or a picture counts as use of the session; to
// the program tool calls alone do not.
func (p *peek) message(m *members) {
	role := string(text(m.role))
	if role != "user" && role != "assistant" {
		return
	}
	said, prompt := false, ""
	for b := range rawjson.Elements(m.contents) {
		switch rawjson.Str(b, "type") {
		case "text":
			said = true
			if role == "user" && p.s.Prompt == "" {
				if prompt != "" {
					prompt += " "
				}
				prompt += rawjson.Str(b, "content")
			}
		case "image":
			said = true
		}
	}
	if prompt != "" {
		p.s.Prompt = prompt
	}
	if !said {
		return
	}
	at := m.said
	if !dialect.IsNumber(at) {
		at = m.timestamp
	}
	// Times may go back: as in the program, the latest counts.
	if dialect.IsNumber(at) && !later(p.used, at) {
		p.used = at
	}
}

// later reports whether the number a is greater than b; a may be nil.
func later(a, b []byte) bool {
	if a == nil {
		return false
	}
	x, _ := strconv.ParseFloat(string(a), 64)
	y, _ := strconv.ParseFloat(string(b), 64)
	return x > y
}

// cut takes a line that goes on after the bytes at hand: the beginning of a long first prompt is enough for a list. The
// program writes the role after the contents, so it is not known here; the first message of a session is the user's.
func (p *peek) cut(line []byte) {
	if !p.s.OK || p.s.Prompt != "" || !bytes.Contains(line, []byte(`"type":"message"`)) {
		return
	}
	const key = `"message":{"contents":[{"type":"text","content":`
	if i := bytes.Index(line, []byte(key)); i >= 0 {
		p.s.Prompt = dialect.Beginning(line[i+len(key):])
	}
}
