package pi

import (
	"bytes"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the two ends of a log.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	p := peek{s: dialect.NewSummary(whole), text: dialect.GetText()}
	defer dialect.PutText(p.text)
	p.lines(dialect.TrimBOM(head), true, whole)
	if p.s.OK && len(tail) > 0 {
		p.active = nil // only the tail has the last
		p.lines(tail, false, true)
	}
	if whole && p.damaged {
		p.s.Recount(d, head)
	}
	if p.active != nil {
		p.s.Active = session.Time{Text: string(p.active)}
	}
	if p.name != "" {
		p.s.Title = p.name
	}
	if p.s.Title == "" && !p.untitled {
		p.s.Title = p.short
	}
	return p.s
}

type peek struct {
	s        dialect.Summary
	text     *rawjson.Text
	slot     bool
	untitled bool   // the title slot says that there is no title
	name     string // the last session_info
	short    string // the last compaction's short summary
	active   []byte // the last entry's time
	refused  bool   // the first record is not a header
	damaged  bool   // a line is not exactly one record
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
		case p.glance(line, end == dialect.LineLast):
		case !m.scan(p.text, line):
			p.damaged = p.damaged || len(bytes.TrimSpace(line)) > 0
		case p.s.OK:
			p.entry(&m)
		default:
			p.front(&m)
		}
	}
}

// How the programs write a message, up to its text.
var (
	messageStart = []byte(`{"type":"message",`)
	timeStart    = []byte(`"timestamp":"`)
	roleStart    = []byte(`"message":{"role":"`)
	userStart    = []byte(`user","content":`)
	textStart    = []byte(`[{"type":"text","text":`)
)

// glance looks only at the beginning of a line and gives false where that is not enough. It is enough for messages as the
// programs write them, which are most bytes of most logs, unless messages are counted.
func (p *peek) glance(line []byte, last bool) bool {
	if !p.s.OK || p.s.Messages >= 0 || !bytes.HasPrefix(line, messageStart) {
		return false
	}
	if !last && p.s.Prompt != "" {
		return true // only the last time matters
	}
	const front = 256
	begin := line[:min(len(line), front)]
	_, after, ok := bytes.Cut(begin, timeStart)
	if !ok {
		return false
	}
	end := bytes.IndexByte(after, '"')
	role := bytes.Index(after, roleStart)
	if end < 0 || role < end {
		return false
	}
	if p.s.Prompt == "" {
		at := len(begin) - len(after) + role + len(roleStart)
		if content, ok := bytes.CutPrefix(line[at:], userStart); ok {
			if p.s.Prompt, ok = leadingText(content); !ok {
				return false
			}
		}
	}
	from := len(begin) - len(after) - 1
	p.active = line[from : from+end+2]
	return true
}

// leadingText gives the text that content begins with, if it is the whole content or a long text.
func leadingText(content []byte) (string, bool) {
	first, isBlock := bytes.CutPrefix(content, textStart)
	if len(first) == 0 || first[0] != '"' {
		return "", false
	}
	end, err := rawjson.Skip(first[:min(len(first), dialect.PromptMost)], 0)
	switch {
	case err != nil:
		return dialect.Beginning(first), true
	case isBlock && !bytes.HasPrefix(first[end:], []byte("}]")):
		return "", false
	}
	return dialect.Unquote(first[:end])
}

// members are the raw members of a record that a list needs.
type members struct {
	typ, timestamp, title, name, short []byte
	id, cwd, parent, version           []byte // of the header
	role                               []byte // of the message
	content                            []byte // and everything after it
}

// promptInitials are the initials of the members that are read from a message.
var promptInitials = rawjson.InitialsOf("role", "content")

// scan reads a record once. It gives false for a line that is not one whole object.
func (m *members) scan(t *rawjson.Text, line []byte) bool {
	if !rawjson.IsObject(line) {
		return false
	}
	t.Reset(line)
	list, end, err := t.Outline(0, promptInitials)
	if err != nil {
		return false
	}
	inMessage := false
	for k := range list {
		x := &list[k]
		key := t.Key(x)
		if x.Inner {
			switch {
			case !inMessage:
			case string(key) == "role":
				m.role = t.Value(x)
			case string(key) == "content":
				m.content = t.From(x)
			}
			continue
		}
		inMessage = false
		switch string(key) {
		case "type":
			m.typ = t.Value(x)
		case "timestamp":
			m.timestamp = t.Value(x)
		case "title":
			m.title = t.Value(x)
		case "id":
			m.id = t.Value(x)
		case "cwd":
			m.cwd = t.Value(x)
		case "parentSession":
			m.parent = t.Value(x)
		case "version":
			m.version = t.Value(x)
		case "name":
			m.name = t.Value(x)
		case "shortSummary":
			m.short = t.Value(x)
		case "message":
			inMessage = true
			m.role, m.content = nil, nil
		}
	}
	return rawjson.SkipSpace(line, end) >= len(line)
}

// front takes a record before the entries.
func (p *peek) front(m *members) {
	str := func(value []byte) string { s, _ := rawjson.Unquote(value); return s }
	switch string(text(m.typ)) {
	case "title":
		p.slot, p.s.Title = true, str(m.title)
		p.untitled = p.s.Title == ""
	case "session":
		if p.refused = !rawjson.IsString(m.id); p.refused {
			return
		}
		p.s.OK = true
		p.s.ID = session.ID(str(m.id))
		p.s.CWD, p.s.Parent = str(m.cwd), str(m.parent)
		p.s.Version = versionOf(m.version)
		p.s.Created = session.Time{Text: string(m.timestamp)}
		if !p.slot {
			p.s.Title = str(m.title)
		}
	default:
		p.refused = true
	}
}

// entry takes an entry.
func (p *peek) entry(m *members) {
	if rawjson.IsString(m.timestamp) {
		p.active = m.timestamp
	}
	switch string(text(m.typ)) {
	case "message":
		if p.s.Messages >= 0 {
			p.s.Messages++
		}
		if p.s.Prompt == "" && string(text(m.role)) == "user" {
			p.s.Prompt = plainText(m.content)
		}
	case "session_info":
		name, _ := rawjson.Unquote(m.name)
		p.name = oneLine(name)
	case "compaction":
		if short, _ := rawjson.Unquote(m.short); short != "" {
			p.short = short
		}
	}
}

// cut takes a line that goes on after the bytes at hand: the beginning of a long first prompt is enough for a list.
func (p *peek) cut(line []byte) {
	if !p.s.OK || p.s.Prompt != "" {
		return
	}
	m := bytes.Index(line, []byte(`"role":"user"`))
	if m < 0 || !bytes.HasPrefix(line, []byte(`{"type":"message"`)) {
		return
	}
	rest := line[m:]
	for _, key := range []string{`"text":"`, `"content":"`} {
		if i := bytes.Index(rest, []byte(key)); i >= 0 {
			p.s.Prompt = dialect.Beginning(rest[i+len(key)-1:])
			return
		}
	}
}

// plainText joins the text blocks of a content. Of a long text it gives only the beginning: lists show no more.
func plainText(content []byte) string {
	if s, ok := leadingText(content); ok {
		return s
	}
	all := ""
	for b := range rawjson.Elements(content) {
		var kind, text []byte
		for key, value := range rawjson.Fields(b) {
			switch key {
			case "type":
				kind = value
			case "text":
				text = value
			}
		}
		if string(kind) != `"text"` {
			continue
		}
		s, _ := rawjson.Unquote(text)
		if all != "" {
			all += " "
		}
		all += s
	}
	return all
}
