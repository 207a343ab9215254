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
	p := peek{Peeker: dialect.Peeker{Summary: dialect.NewSummary(whole), Text: dialect.GetText()}}
	defer dialect.PutText(p.Text)
	p.Lines(dialect.TrimBOM(head), true, whole, p.line, p.cut)
	inTail := false
	if p.OK && !whole {
		// Only the tail shows the last message of the log; if it does not, a longer tail may (TailShort).
		p.used, p.Last = nil, nil
		p.Lines(tail, false, true, p.line, p.cut)
		inTail = p.used != nil
	}
	// Counting lines gives a wrong result for glued and torn records.
	if whole && p.Damaged {
		p.Recount(d, head)
	}
	if p.Last != nil {
		p.Active = session.Time{Text: string(p.Last)}
	}
	if d.Where.(layout).Order() != dialect.OrderActive || !p.OK {
		return p.Summary
	}
	switch {
	case !whole && !inTail:
		p.Active, p.TailShort = session.Time{}, true // the last message is between the ends
	case p.used != nil:
		p.Active = session.Time{Text: string(p.used)}
	default:
		p.Active = p.Created
	}
	return p.Summary
}

// peek is the state of one Peek.
type peek struct {
	dialect.Peeker
	used []byte // the time of the last message
}

// line takes a whole line and returns false if it is not exactly one record.
func (p *peek) line(line []byte, _ bool) bool {
	var m members
	switch {
	case !m.scan(p.Text, line):
		return false
	case p.OK:
		p.entry(&m)
	default:
		p.front(&m)
	}
	return true
}

// members are the raw members of a record that a list needs.
type members struct {
	typ, timestamp, name, id, cwd, parent, version []byte
	role, contents, said                           []byte // members of the message
}

// scan reads a record once. It returns false for a line that is not one whole object.
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
	typ := text(m.typ)
	if p.Refused = !isHeader(typ); !p.Refused {
		p.Header(m.id, m.cwd, m.parent, m.timestamp, versionOf(typ, m.version))
	}
}

// entry takes an entry.
func (p *peek) entry(m *members) {
	if dialect.IsNumber(m.timestamp) {
		p.Last = m.timestamp
	}
	switch string(text(m.typ)) {
	case "message":
		if p.Messages >= 0 {
			p.Messages++
		}
		p.message(m)
	case "session_info":
		p.Title, _ = rawjson.Unquote(m.name)
	}
}

// message takes a message. A message of the user or the model with a text or an image counts as use of the session; tool calls
// alone do not, as in the program.
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
			if role == "user" && p.Prompt == "" {
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
		p.Prompt = prompt
	}
	if !said {
		return
	}
	at := m.said
	if !dialect.IsNumber(at) {
		at = m.timestamp
	}
	// Times may go backwards. As in the program, the latest counts.
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
// program writes the role after the contents, so the role is unknown here; the first message of a session is the user's.
func (p *peek) cut(line []byte) {
	if !bytes.Contains(line, []byte(`"type":"message"`)) {
		return
	}
	const key = `"message":{"contents":[{"type":"text","content":`
	if i := bytes.Index(line, []byte(key)); i >= 0 {
		p.Prompt = dialect.Beginning(line[i+len(key):])
	}
}
