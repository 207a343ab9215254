package pi

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// texts are kept for the next Peek: a list looks at thousands of logs.
var texts = sync.Pool{New: func() any { return new(rawjson.Text) }}

// Peek makes a list's row from the two ends of a log.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	p := peek{s: dialect.Summary{Messages: -1}, text: texts.Get().(*rawjson.Text)}
	defer texts.Put(p.text)
	if whole {
		p.s.Messages = 0
	}
	p.lines(bytes.TrimPrefix(head, bom), true, whole)
	if p.s.OK && len(tail) > 0 {
		p.active = nil // that of the head is not the last
		p.lines(tail, false, true)
	}
	p.text.Reset(nil)
	if whole && p.damaged {
		p.count(d, head)
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
	refused  bool   // the first record is no header
	damaged  bool   // a line is not simply a record
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
		p.s.Version, p.s.Created, p.s.Title = h.Version, h.Timestamp, h.Title
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
		case p.glance(line, len(rest) == 0):
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

// The way the programs spell a message, up to its text.
var (
	messageStart = []byte(`{"type":"message",`)
	timeStart    = []byte(`"timestamp":"`)
	roleStart    = []byte(`"message":{"role":"`)
	userStart    = []byte(`user","content":`)
	textStart    = []byte(`[{"type":"text","text":`)
)

// glance looks at the beginning of a line only, and says false where that is not enough. It is enough for messages as the
// programs write them where messages are not counted: most bytes of most logs.
func (p *peek) glance(line []byte, last bool) bool {
	if !p.s.OK || p.s.Messages >= 0 || !bytes.HasPrefix(line, messageStart) {
		return false
	}
	if !last && p.s.Prompt != "" {
		return true // only the last time is of interest
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

// leadingText gives the text that content begins with, where that is all there is, or long.
func leadingText(content []byte) (string, bool) {
	first, isBlock := bytes.CutPrefix(content, textStart)
	if len(first) == 0 || first[0] != '"' {
		return "", false
	}
	end, err := rawjson.Skip(first[:min(len(first), promptMost)], 0)
	switch {
	case err != nil:
		return beginning(first), true
	case isBlock && !bytes.HasPrefix(first[end:], []byte("}]")):
		return "", false
	}
	return unquote(first[:end])
}

// unquote is rawjson.Unquote for texts of a usual kind, whose only escapes are newlines, tabs, quotes and backslashes: a
// list has thousands of them.
func unquote(value []byte) (string, bool) {
	if bytes.IndexByte(value, '\\') < 0 || !utf8.Valid(value) {
		return rawjson.Unquote(value)
	}
	var out strings.Builder
	out.Grow(len(value))
	for rest := value[1 : len(value)-1]; ; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 || i+1 == len(rest) {
			out.Write(rest)
			return out.String(), i < 0
		}
		out.Write(rest[:i])
		switch c := rest[i+1]; c {
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case '"', '\\', '/':
			out.WriteByte(c)
		default:
			return rawjson.Unquote(value)
		}
		rest = rest[i+2:]
	}
}

// members are what a list may want to know of a record, as they stand in it.
type members struct {
	typ, timestamp, title, name, short []byte
	id, cwd, parent, version           []byte // of the header
	role                               []byte // of the message
	content                            []byte // from there to the end of the line
}

// promptInitials are those of what is looked at in a message.
var promptInitials = rawjson.InitialsOf("role", "content")

// scan goes once through a record. It says false for what is no whole object.
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

// front looks at a record before the entries.
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

// entry looks at an entry.
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

// cut looks at a line that goes on behind the bytes at hand: the beginning of a long first prompt is enough for a list.
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
			p.s.Prompt = beginning(rest[i+len(key)-1:])
			return
		}
	}
}

// promptMost is how many bytes of the first prompt are read.
const promptMost = 600

// beginning gives the text of a JSON string of which only the first bytes may be there.
func beginning(s []byte) string {
	if end, err := rawjson.Skip(s[:min(len(s), promptMost)], 0); err == nil {
		s = s[:end-1]
	}
	s = s[:min(len(s), promptMost)]
	if bytes.IndexByte(s, '\\') < 0 && len(s) > 0 {
		return wholeRunes(s[1:])
	}
	// An escape of up to twelve bytes (a surrogate pair) may be cut off.
	for k := 0; k < 12 && len(s) > 0; k++ {
		if text, ok := unquote(append(bytes.ToValidUTF8(bytes.Clone(s), nil), '"')); ok {
			return text
		}
		s = s[:len(s)-1]
	}
	return ""
}

// wholeRunes gives a text without the character that its end may cut in two.
func wholeRunes(s []byte) string {
	for k := 1; k <= utf8.UTFMax && k <= len(s); k++ {
		if utf8.RuneStart(s[len(s)-k]) {
			if !utf8.FullRune(s[len(s)-k:]) {
				s = s[:len(s)-k]
			}
			break
		}
	}
	if utf8.Valid(s) {
		return string(s)
	}
	return strings.ToValidUTF8(string(s), "")
}

// plainText joins the text blocks of a message's content. Of a long one it is the beginning: lists show no more.
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
