package pi

import (
	"bytes"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the two ends of a log.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	p := peek{Peeker: dialect.Peeker{Summary: dialect.NewSummary(whole), Text: dialect.GetText()}}
	defer dialect.PutText(p.Text)
	p.Lines(dialect.TrimBOM(head), true, whole, p.line, p.cut)
	if p.OK && len(tail) > 0 {
		p.Last = nil // only the tail has the last time
		p.Lines(tail, false, true, p.line, p.cut)
	}
	if whole && p.Damaged {
		p.Recount(d, head)
	}
	if p.Last != nil {
		p.Active = session.Time{Text: string(p.Last)}
	}
	if p.name != "" {
		p.Title = p.name
	}
	if p.Title == "" && !p.untitled {
		p.Title = p.short
	}
	return p.Summary
}

type peek struct {
	dialect.Peeker
	slot     bool
	untitled bool   // the title slot says that there is no title
	name     string // the last session_info
	short    string // the short summary of the last compaction
}

// line takes a whole line and returns false if it is not exactly one record.
func (p *peek) line(line []byte, last bool) bool {
	if p.glance(line, last) {
		return true
	}
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

// The beginning of a message as the programs write it, up to its text.
var (
	messageStart = []byte(`{"type":"message",`)
	timeStart    = []byte(`"timestamp":"`)
	roleStart    = []byte(`"message":{"role":"`)
	userStart    = []byte(`user","content":`)
	textStart    = []byte(`[{"type":"text","text":`)
)

// glance looks only at the beginning of a line and returns false if that is not enough. It is enough for messages as the
// programs write them, which are most bytes of most logs, unless messages are counted.
func (p *peek) glance(line []byte, last bool) bool {
	if !p.OK || p.Messages >= 0 || !bytes.HasPrefix(line, messageStart) {
		return false
	}
	if !last && p.Prompt != "" {
		return true // only the time of the last line matters
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
	if p.Prompt == "" {
		at := len(begin) - len(after) + role + len(roleStart)
		if content, ok := bytes.CutPrefix(line[at:], userStart); ok {
			if p.Prompt, ok = leadingText(content); !ok {
				return false
			}
		}
	}
	from := len(begin) - len(after) - 1
	p.Last = line[from : from+end+2]
	return true
}

// leadingText returns the text at the beginning of content, if it is the whole content or a long text.
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
	id, cwd, parent, version           []byte // members of the header
	role                               []byte // of the message
	content                            []byte // the content and everything after it
}

// promptInitials are the initials of the members that are read from a message.
var promptInitials = rawjson.InitialsOf("role", "content")

// scan reads a record once. It returns false for a line that is not one whole object.
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
	switch string(text(m.typ)) {
	case "title":
		p.slot, p.Title = true, str(m.title)
		p.untitled = p.Title == ""
	case "session":
		p.Header(m.id, m.cwd, m.parent, m.timestamp, versionOf(m.version))
		if p.OK && !p.slot {
			p.Title = str(m.title)
		}
	default:
		p.Refused = true
	}
}

// entry takes an entry.
func (p *peek) entry(m *members) {
	if rawjson.IsString(m.timestamp) {
		p.Last = m.timestamp
	}
	switch string(text(m.typ)) {
	case "message":
		if p.Messages >= 0 {
			p.Messages++
		}
		if p.Prompt == "" && string(text(m.role)) == "user" {
			p.Prompt = plainText(m.content)
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
	m := bytes.Index(line, []byte(`"role":"user"`))
	if m < 0 || !bytes.HasPrefix(line, []byte(`{"type":"message"`)) {
		return
	}
	rest := line[m:]
	for _, key := range []string{`"text":"`, `"content":"`} {
		if i := bytes.Index(rest, []byte(key)); i >= 0 {
			p.Prompt = dialect.Beginning(rest[i+len(key)-1:])
			return
		}
	}
}

// plainText joins the text blocks of a content. Of a long text it gives only the beginning: lists show no more.
func plainText(content []byte) string {
	if s, ok := leadingText(content); ok {
		return s
	}
	var all strings.Builder
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
		if all.Len() > 0 {
			all.WriteByte(' ')
		}
		if all.WriteString(s); all.Len() > dialect.PromptMost {
			break
		}
	}
	return all.String()
}
