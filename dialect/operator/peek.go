package operator

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// texts are kept for the next Peek: a list looks at thousands of logs.
var texts = sync.Pool{New: func() any { return new(rawjson.Text) }}

// Peek makes a list's row from the two ends of a log.
// What a list shows of a large log is what its two ends show: the header and first prompt, and the time of the
// last message.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	p := peek{s: dialect.Summary{Messages: -1}, text: texts.Get().(*rawjson.Text)}
	defer texts.Put(p.text)
	if whole {
		p.s.Messages = 0
	}
	p.lines(dialect.TrimBOM(head), true, whole)
	inTail := false
	if p.s.OK && !whole {
		// The head's last message is not the log's: only the tail can say, and if it does not, a longer one may
		// (TailShort).
		p.used, p.active = nil, nil
		p.lines(tail, false, true)
		inTail = p.used != nil
	}
	p.text.Reset(nil)
	// Lines that share records or are torn are counted wrongly by lines, so a small log is read properly.
	if whole && p.damaged {
		p.count(d, head)
	}
	if p.active != nil {
		p.s.Active = session.Time{Text: string(p.active)}
	}
	if d.layout.Order() != dialect.OrderActive || !p.s.OK {
		return p.s
	}
	switch {
	case !whole && !inTail:
		p.s.Active, p.s.TailShort = session.Time{}, true // the last message lies between the ends
	case p.used != nil:
		p.s.Active = session.Time{Text: string(p.used)}
	default:
		p.s.Active = p.s.Created
	}
	return p.s
}

// The slices point into the bytes at hand and are made into text at the end.
type peek struct {
	s       dialect.Summary
	text    *rawjson.Text
	active  []byte // the last entry's time
	used    []byte // the last message's
	refused bool   // the first record is no header
	damaged bool   // a line is not simply a record
}

// count reads a damaged log as a decoder does, which knows what is still good in it.
func (p *peek) count(d *Dialect, log []byte) {
	b := session.NewBuilder("", nil)
	if dialect.DecodeLog(d.NewDecoder(b), log) != nil {
		return
	}
	tree := b.Finish()
	if h := tree.Header(); !p.s.OK && h.Raw != nil {
		p.s.OK, p.s.ID, p.s.CWD, p.s.Parent = true, h.ID, h.CWD, h.Parent
		p.s.Version, p.s.Created = h.Version, h.Timestamp
	}
	p.s.Messages = 0
	for e := range tree.Entries() {
		if e.Kind == session.KindMessage {
			p.s.Messages++
		}
	}
}

// lines looks at each line that is there whole.
func (p *peek) lines(b []byte, fromStart, toEnd bool) {
	if !fromStart {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return
		}
		b = b[i+1:]
	}
	for len(b) > 0 && !p.refused {
		line, rest, found := bytes.Cut(b, []byte{'\n'})
		if !found && !toEnd {
			p.cut(line)
			return
		}
		var m members
		switch {
		// blank lines are no damage
		case !m.scan(p.text, line):
			p.damaged = p.damaged || len(bytes.TrimSpace(line)) > 0
		case p.s.OK:
			p.entry(&m)
		default:
			p.front(&m)
		}
		b = rest
	}
}

// members are what a list may want to know of a record, as they stand in it.
type members struct {
	typ, timestamp, name, id, cwd, parent, version []byte
	role, contents, said                           []byte // of the message
}

// scan goes once through a record. It says false for what is no whole object.
// Objects are walked member by member, since only a few of them are wanted and the text of a message is skipped.
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

// front looks at the header.
func (p *peek) front(m *members) {
	str := func(value []byte) string { s, _ := rawjson.Unquote(value); return s }
	f := fields{typ: text(m.typ)}
	if p.refused = !f.isHeader() || !rawjson.IsString(m.id); p.refused {
		return
	}
	p.s.OK = true
	p.s.ID = session.ID(str(m.id))
	p.s.CWD, p.s.Parent = str(m.cwd), str(m.parent)
	p.s.Version = versionOf(f.typ, m.version)
	p.s.Created = session.Time{Text: string(m.timestamp)}
}

// entry looks at an entry.
func (p *peek) entry(m *members) {
	if isNumber(m.timestamp) {
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

// message looks at a message. One of the user or the model with a text or a picture shows that the session was used.
// Whether something was said is the program's test: tool calls alone do not move a session up in its list.
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
	if !isNumber(at) {
		at = m.timestamp
	}
	// Times may go back: the latest counts, as in the program.
	if isNumber(at) && !later(p.used, at) {
		p.used = at
	}
}

// later says whether a is after b; both are numbers, and a may be none.
func later(a, b []byte) bool {
	if a == nil {
		return false
	}
	x, _ := strconv.ParseFloat(string(a), 64)
	y, _ := strconv.ParseFloat(string(b), 64)
	return x > y
}

// cut looks at a line that goes on behind the bytes at hand: the beginning of a long first prompt is enough for a list.
// Whose words they are stands behind them; the first message of a session is the user's.
func (p *peek) cut(line []byte) {
	if !p.s.OK || p.s.Prompt != "" || !bytes.Contains(line, []byte(`"type":"message"`)) {
		return
	}
	// The program writes contents before the role, so the beginning of the line shows the text but not whose it
	// is.
	const key = `"message":{"contents":[{"type":"text","content":`
	i := bytes.Index(line, []byte(key))
	if i < 0 {
		return
	}
	s := line[i+len(key):]
	s = s[:min(len(s), 600)]
	// The text may end here, or in the middle of an escape.
	if end, err := rawjson.Skip(s, 0); err == nil {
		s = s[:end-1]
	}
	// An escape is at most twelve bytes long (a surrogate pair), so some shorter beginning is whole.
	for k := 0; k < 12 && len(s) > 0; k++ {
		if t, ok := rawjson.Unquote(append(bytes.ToValidUTF8(bytes.Clone(s), nil), '"')); ok {
			p.s.Prompt = t
			return
		}
		s = s[:len(s)-1]
	}
}
