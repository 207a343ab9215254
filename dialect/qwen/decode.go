package qwen

import (
	"bytes"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Detect claims a log whose first object is a line of the program: no other agent's lines have both a sessionId and a content.
func (d *Dialect) Detect(first []dialect.Record) bool { return isOurs(dialect.FirstObject(first)) }

// isOurs reports whether only this program writes such a line.
func isOurs(object []byte) bool {
	if !rawjson.IsString(rawjson.Get(object, "uuid")) || !rawjson.IsString(rawjson.Get(object, "sessionId")) || !isType(rawjson.Str(object, "type")) {
		return false
	}
	message := rawjson.Get(object, "message")
	if message != nil {
		return rawjson.Get(message, "content") == nil && (rawjson.IsArray(rawjson.Get(message, "parts")) || rawjson.Str(message, "role") == "model")
	}
	// Lines of Claude Code have no provenance, and have the member isSidechain.
	return rawjson.Str(object, "type") == typeSystem && rawjson.Get(object, "isSidechain") == nil &&
		(rawjson.Get(object, "systemPayload") != nil || rawjson.IsString(rawjson.Get(object, "provenance")))
}

// isType reports whether the program knows lines of a type.
func isType(typ string) bool {
	return typ == typeUser || typ == typeAssistant || typ == typeResult || typ == typeSystem
}

// decoder is the state of reading one log.
type decoder struct {
	dialect.Unheaded
	b      *session.Builder
	r      *reader
	env    session.Envelope
	header bool
	cwd    bool // a line named the working directory
	// first is the value of the first line's sessionId. last is the uuid of the last line of the conversation.
	first, last []byte
	line        glued
	continued   bool // reading began after the first line
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	r := &reader{}
	b.SetCodec(session.Codec{EntryCodec: r, MessageCodec: d})
	dec := &decoder{b: b, r: r, Unheaded: dialect.Unheaded{Lines: dialect.Lines{Builder: b, Starts: []string{`{"uuid":`, `{"parentUuid":`}}, What: "one of Qwen Code"}}
	b.OnRepeat(dec.join)
	return dec
}

// Continue implements dialect.Continuer. Lines name their parents. Only a line that continues the record of an earlier line needs that line.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	dec := d.NewDecoder(b).(*decoder)
	dec.Continued()
	dec.header, dec.cwd, dec.continued = true, true, true
	dec.first = bytes.Clone(rawjson.Get(b.Header().Raw, "sessionId"))
	return dec, true
}

// Decode takes the next record.
func (dec *decoder) Decode(r dialect.Record) { dec.Lines.Decode(r, dec) }

// IsRecord reports whether an object is a record rather than an object inside a torn record.
func (dec *decoder) IsRecord(object []byte) bool {
	return rawjson.IsString(rawjson.Get(object, "uuid")) && rawjson.IsString(rawjson.Get(object, "sessionId")) && isType(rawjson.Str(object, "type"))
}

// fields are the raw members of a line.
type fields struct {
	id, parent, typ, subtype, session, cwd, timestamp, fork, agent []byte // JSON values
	message                                                        bool   // the message is an object
	payload                                                        []byte // the payload and everything after it
}

// none says that no members of inner objects are needed.
var none rawjson.Initials

// scan reads the record at pos once and gives the offset of its end.
func (f *fields) scan(t *rawjson.Text, pos int) (int, error) {
	members, end, err := t.Outline(pos, none)
	if err != nil {
		return 0, err
	}
	for k := range members {
		m := &members[k]
		if m.Inner {
			continue
		}
		switch string(t.Key(m)) {
		case "uuid":
			f.id = t.Value(m)
		case "parentUuid":
			f.parent = t.Value(m)
		case "type":
			f.typ = t.Value(m)
		case "subtype":
			f.subtype = t.Value(m)
		case "sessionId":
			f.session = t.Value(m)
		case "cwd":
			f.cwd = t.Value(m)
		case "timestamp":
			f.timestamp = t.Value(m)
		case "forkedFrom":
			f.fork = t.Value(m)
		case "agentId":
			f.agent = t.Value(m)
		case "message":
			f.message = t.From(m)[0] == '{'
		case "systemPayload":
			f.payload = t.From(m)
		}
	}
	return end, nil
}

// Object takes a record.
func (dec *decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	var f fields
	end, err := f.scan(&dec.Lines.Text, pos)
	if err != nil {
		return 0, err
	}
	record := data[pos:end]
	span := session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	typ := string(rawjson.Inside(f.typ))
	ours := rawjson.IsString(f.id) && rawjson.IsString(f.session) && isType(typ)
	dec.Seen = dec.Seen || ours
	if !dec.header || !dec.cwd && len(rawjson.Inside(f.cwd)) > 0 {
		first := !dec.header
		if dec.begin(r, record, span, &f); first && string(rawjson.Inside(f.subtype)) == subHeader {
			return end, nil
		}
	}
	dec.entry(r, record, span, &f, dec.skipped(&f, typ, data, at, pos, end))
	return end, nil
}

// skipped returns why the program does not read a line, or "".
func (dec *decoder) skipped(f *fields, typ string, data []byte, at int64, pos, end int) string {
	alone := end-pos == len(data)
	switch {
	case len(rawjson.Inside(f.id)) == 0 || len(rawjson.Inside(f.session)) == 0 || f.parent == nil || !rawjson.IsString(f.parent) && !rawjson.IsNull(f.parent):
		return "it has no valid uuid, parentUuid or sessionId"
	case !isType(typ):
		return "its type is not known"
	case !alone && !dec.line.recovered(data, at, pos, end):
		return "it stands behind a damaged record"
	case alone && !dec.Lines.Text.ASCII() && dialect.HasBreak(data) || !alone && dec.line.breaks:
		return "a character in it ends the line for the program"
	}
	return ""
}

// glued follows the program through a line that is not a single object. It remembers how far it has read, so that a line of many
// records is read only once.
type glued struct {
	at     int64 // the offset of the line
	begun  bool
	next   int // everything before it was read
	depth  int
	start  int // where the current object begins, or -1
	quoted bool
	breaks bool // see dialect.HasBreak
}

// recovered reports whether the program finds the object at data[pos:end]. The program counts brackets outside of strings from the
// beginning of the line, so a torn record hides what follows it.
func (g *glued) recovered(line []byte, at int64, pos, end int) (found bool) {
	if !g.begun || g.at != at {
		*g = glued{at: at, begun: true, start: -1, breaks: dialect.HasBreak(line)}
	}
	for ; g.next < end; g.next++ {
		switch c := line[g.next]; {
		case g.quoted:
			if c == '\\' {
				g.next++
			}
			g.quoted = c != '"'
		case c == '"':
			g.quoted = true
		case c == '{':
			if g.depth == 0 {
				g.start = g.next
			}
			g.depth++
		case c == '}':
			if g.depth--; g.depth == 0 && g.start == pos && g.next+1 == end {
				found = true
			}
			if g.depth <= 0 {
				g.depth, g.start = 0, -1
			}
		}
	}
	return found
}

// begin makes the header from the first line, and from the first line that names a working directory. The id is in the name of the
// file; without a name, the id in the lines is used.
func (dec *decoder) begin(r dialect.Record, record []byte, span session.Span, f *fields) {
	h := dec.b.Header()
	if !dec.header {
		dec.header = true
		h.Version, h.Raw, h.Span, h.Line, h.InEntry = version, bytes.Clone(record), span, r.Line, string(rawjson.Inside(f.subtype)) != subHeader
		dec.first = bytes.Clone(f.session)
	}
	if h.ID == "" {
		h.ID = session.ID(rawjson.Inside(f.session))
	}
	if h.Timestamp.Text == "" {
		h.Timestamp = session.Time{Text: string(f.timestamp)}
	}
	if h.Parent == "" {
		h.Parent = rawjson.Str(f.fork, "sessionId")
	}
	if !(layout{}).Main(string(h.ID)) {
		h.Parent, h.Task = string(rawjson.Inside(f.session)), true
	}
	if cwd := rawjson.Inside(f.cwd); len(cwd) > 0 {
		h.CWD, dec.cwd = string(cwd), true
	}
	dec.b.SetHeader(h)
}

// entry passes an envelope to the builder.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, f *fields, lost string) {
	env := &dec.env // setting some members is faster than clearing all of them
	id := rawjson.Inside(f.id)
	env.ID, env.Type, env.Span, env.Line, env.Record = id, rawjson.Inside(f.typ), span, r.Line, record
	env.Parent, env.Message, env.Kind, env.Role, env.Aside, env.InOrder, env.Repeats = nil, nil, session.KindOpaque, session.RoleNone, lost != "", false, true
	if len(id) == 0 {
		env.ID = nil
	}
	switch parent := rawjson.Inside(f.parent); {
	case len(parent) > 0:
		env.Parent = parent
	case f.parent == nil:
		env.InOrder = dec.b.Position() > 0 // shown below the line before it
	}
	switch string(env.Type) {
	case typeUser:
		env.Kind, env.Role = session.KindMessage, session.RoleUser
		switch string(rawjson.Inside(f.subtype)) {
		case subBranch:
			env.Kind, env.Role = session.KindBranchSummary, session.RoleNone
		case subMessage:
			env.Kind, env.Role = session.KindCustomMessage, session.RoleNone
		}
	case typeAssistant:
		env.Kind, env.Role, env.Message = session.KindMessage, session.RoleAssistant, env.ID
	case typeResult:
		env.Kind, env.Role = session.KindMessage, session.RoleTool
	case typeSystem:
		dec.system(f)
	case "":
		env.Type = []byte("unknown")
	}
	if !f.message && env.Kind == session.KindMessage {
		env.Kind, env.Role = session.KindCustom, session.RoleNone // such a line is only a link
	}
	at := dec.b.Len()
	if lost != "" {
		if dec.r.lost == nil {
			dec.r.lost = map[int]string{}
		}
		dec.r.lost[at] = lost
	} else if dec.first != nil && !bytes.Equal(f.session, dec.first) && dec.r.refused == "" {
		dec.r.refused = "its lines name several sessions"
	}
	dec.b.Add(env)
	if lost == "" && !env.Aside {
		dec.last = append(dec.last[:0], id...)
	}
}

// system fills in the envelope of a line of type "system".
func (dec *decoder) system(f *fields) {
	env, sub := &dec.env, rawjson.Inside(f.subtype)
	if len(sub) > 0 {
		env.Type = sub
	}
	switch env.Kind = session.KindCustom; string(sub) {
	case subCompression:
		if end, err := rawjson.Skip(f.payload, 0); err == nil && rawjson.Truthy(rawjson.Get(f.payload[:end], "compressedHistory")) {
			env.Kind = session.KindCompaction
		}
	case subTitle:
		// The next entry's parent is the line before the title, so the title must not look like a branch.
		env.Kind = session.KindSessionInfo
		env.Aside = env.Aside || bytes.Equal(env.Parent, dec.last)
		dec.Unsure = dec.Unsure || dec.continued && dec.last == nil
	case "session_artifact_event", "session_artifact_snapshot", "session_sources_snapshot",
		"managed_session_header_v1", "managed_session_event_v1", "managed_session_commit_v1":
		env.Aside = true
	}
}

// join notes a line that continues the record of an earlier line with the same id.
func (dec *decoder) join(at, first int) {
	if _, lost := dec.r.lost[at]; lost || first < 0 {
		return
	}
	if dec.r.pieces == nil {
		dec.r.pieces = map[int][]int{}
		dec.b.SetCodec(session.Codec{EntryCodec: &joining{dec.r}, MessageCodec: Qwen})
	}
	dec.r.pieces[first] = append(dec.r.pieces[first], at)
}
