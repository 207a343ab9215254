package claude

import (
	"bytes"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/files"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// metadata are the types of metadata lines that only this program writes, and their kinds.
var metadata = map[string]session.Kind{
	typeLastPrompt: session.KindLeaf, "custom-title": session.KindSessionInfo, "ai-title": session.KindSessionInfo,
	"agent-name": session.KindCustom, "permission-mode": session.KindCustom, "pr-link": session.KindCustom,
	"queue-operation": session.KindCustom, "file-history-snapshot": session.KindCustom, "tools-used": session.KindCustom,
	"cost-state": session.KindCustom, "atis-latch": session.KindCustom, "api-request-shape": session.KindCustom,
	"api-request-blob": session.KindCustom, "api-request": session.KindCustom, typeLabel: session.KindLabel,
	typeHeader: session.KindOpaque,
}

// Detect claims a log that begins with a line of the program. Lines of an unknown type may precede it if they name a
// session.
func (d *Dialect) Detect(first []dialect.Record) bool {
	for k := range first {
		object := dialect.FirstObject(first[k : k+1])
		if object == nil {
			continue
		}
		f, ok := read(object)
		if !ok || f.ours() {
			return ok && !ofAnother(object)
		}
		if f.typ == nil || !rawjson.IsString(f.session) {
			return false
		}
	}
	return false
}

// ofAnother reports whether another agent wrote a line of the same form: its messages have parts, and its system lines have a
// payload.
func ofAnother(object []byte) bool {
	if message := rawjson.Get(object, "message"); message != nil {
		return rawjson.Get(message, "content") == nil && (rawjson.IsArray(rawjson.Get(message, "parts")) || rawjson.Str(message, "role") == "model")
	}
	return rawjson.Get(object, "isSidechain") == nil && (rawjson.Get(object, "systemPayload") != nil || rawjson.Get(object, "provenance") != nil)
}

// read scans one object.
func read(object []byte) (f fields, ok bool) {
	var t rawjson.Text
	t.Reset(object)
	_, err := f.scan(&t, 0)
	return f, err == nil
}

// ours reports whether only this program writes such a line. Types that other programs have as well are told apart by other members.
func (f *fields) ours() bool {
	if _, ok := metadata[string(f.typ)]; ok {
		return true
	}
	switch string(f.typ) {
	case typeUser, typeAssistant, typeSystem, typeAttachment, typeProgress, "tag", "mode":
		return rawjson.IsString(f.session) || f.id != nil && f.hasParent
	case "summary":
		return rawjson.IsString(f.leaf) && rawjson.IsString(f.title)
	}
	return false
}

// starts are the beginnings of a record. Objects inside a record do not begin like that, except for those that IsRecord
// rejects.
var starts = []string{`{"parentUuid":`, `{"type":`, `{"isSidechain":`, `{"uuid":`}

// decoder is the state of reading one log.
type decoder struct {
	dialect.Unheaded
	b      *session.Builder
	r      *reader
	env    session.Envelope
	header bool
	cwd    bool // a line named the working directory
	blind  bool // reading began after the first entry, so that it is unknown
	asked  bool // Needs has asked for a file beside the log
	day    day
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	r := &reader{}
	b.SetCodec(session.Codec{EntryCodec: r, MessageCodec: d})
	return &decoder{b: b, r: r, Unheaded: dialect.Unheaded{Lines: dialect.Lines{Builder: b, Starts: starts}, What: "one of Claude Code"}}
}

// Decode takes the next record.
func (dec *decoder) Decode(r dialect.Record) { dec.Lines.Decode(r, dec) }

// IsRecord reports whether an object is a record rather than an object inside a torn record.
func (dec *decoder) IsRecord(object []byte) bool {
	f, ok := read(object)
	return ok && f.ours()
}

// fields are the raw members of an envelope. Strings are without their quotes.
type fields struct {
	typ, subtype, id, parent         []byte
	session, cwd, timestamp, title   []byte // JSON values, because most are not used
	leaf                             []byte
	hasParent, side, explicit, agent bool
	object                           bool // the message is an object
	message                          []byte
	content                          []byte // the content and everything after it
	compact, fork                    []byte // compactMetadata, forkedFrom
	second                           bool   // something stands before the record on its line
}

// inner are the initials of the members of a message that an envelope needs.
var inner = rawjson.InitialsOf("id", "content")

// scan reads the record at pos once and gives the offset of its end.
func (f *fields) scan(t *rawjson.Text, pos int) (int, error) {
	members, end, err := t.Outline(pos, inner)
	if err != nil {
		return 0, err
	}
	inMessage := false
	for k := range members {
		m := &members[k]
		key := t.Key(m)
		if m.Inner {
			if inMessage {
				f.inner(t, m, key)
			}
			continue
		}
		inMessage = false
		switch string(key) {
		case "type":
			f.typ = rawjson.Inside(t.Value(m))
		case "subtype":
			f.subtype = rawjson.Inside(t.Value(m))
		case "uuid":
			f.id = rawjson.Inside(t.Value(m))
		case "parentUuid":
			f.parent, f.hasParent = parentIn(t.Value(m)), true
		case "sessionId":
			f.session = t.Value(m)
		case "cwd":
			f.cwd = t.Value(m)
		case "timestamp":
			f.timestamp = t.Value(m)
		case "agentId":
			f.agent = t.From(m)[0] == '"'
		case "isSidechain":
			f.side = t.From(m)[0] == 't'
		case "explicit":
			f.explicit = t.From(m)[0] == 't'
		case "leafUuid":
			f.leaf = t.Value(m)
		case "summary", "customTitle", "aiTitle":
			f.title = t.Value(m)
		case "compactMetadata":
			f.compact = t.Value(m)
		case "forkedFrom":
			f.fork = t.Value(m)
		case "message":
			f.message, f.content = nil, nil
			f.object = t.From(m)[0] == '{'
			inMessage = f.object
		}
	}
	return end, nil
}

// parentIn reads the id of a parent. null, 0, false and "" mean a root. Any other value that is not a string is an id
// that no entry has.
func parentIn(value []byte) []byte {
	if !rawjson.IsString(value) && rawjson.Truthy(value) {
		return value
	}
	return rawjson.Inside(value)
}

// inner takes a member of the message.
func (f *fields) inner(t *rawjson.Text, m *rawjson.Member, key []byte) {
	switch string(key) {
	case "id":
		f.message = rawjson.Inside(t.Value(m))
	case "content":
		f.content = t.From(m)
	}
}

// Object takes a record.
func (dec *decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	var f fields
	end, err := f.scan(&dec.Lines.Text, pos)
	if err != nil {
		return 0, err
	}
	if f.content != nil {
		f.content = f.content[:len(f.content)-(len(data)-end)]
	}
	record := data[pos:end]
	span := session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	dec.Seen = dec.Seen || f.ours()
	if !dec.header || !dec.cwd && len(rawjson.Inside(f.cwd)) > 0 {
		first := !dec.header
		if dec.begin(r, record, span, &f); first && string(f.typ) == typeHeader {
			return end, nil
		}
	}
	// If a line has several records, the program reads only the first.
	f.second = r.Data[0] == 0 || pos > 0 && len(bytes.TrimSpace(data[:pos])) > 0
	dec.entry(r, record, span, &f)
	return end, nil
}

// begin makes the header from the first line, and from the first line that names a working directory. The id is in the name
// of the file; without a name, the id in the lines is used.
func (dec *decoder) begin(r dialect.Record, record []byte, span session.Span, f *fields) {
	h := dec.b.Header()
	if !dec.header {
		dec.header = true
		h.Version, h.Raw, h.Span, h.Line, h.InEntry = version, bytes.Clone(record), span, r.Line, string(f.typ) != typeHeader
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
	if h.Parent == "" && !(files.Layout{}).Main(string(h.ID)) {
		h.Parent, h.Task = string(rawjson.Inside(f.session)), true
	}
	if cwd := rawjson.Inside(f.cwd); len(cwd) > 0 { // the working directory in the log is better than that of the folder
		h.CWD, dec.cwd = string(cwd), true
	}
	dec.b.SetHeader(h)
}

// entry passes an envelope to the builder and notes what leaf and path need.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, f *fields) {
	dec.r.marks = append(dec.r.marks, mark{at: noTime, message: -1})
	m := &dec.r.marks[len(dec.r.marks)-1]
	env := &dec.env // setting the members is faster than clearing all of them
	env.ID, env.Type, env.Span, env.Line, env.Record = f.id, f.typ, span, r.Line, record
	env.Parent, env.Message, env.Target, env.Label = nil, nil, nil, nil
	env.Kind, env.Role, env.Aside, env.InOrder, env.Joined = session.KindOpaque, session.RoleNone, true, false, false
	if len(f.id) == 0 {
		env.ID = nil
	}
	switch string(f.typ) {
	case typeUser, typeAssistant, typeSystem, typeAttachment:
		dec.conversation(f, m)
	case typeProgress:
		m.flags = isProgress
	default:
		env.Kind = metadata[string(f.typ)]
		switch string(f.typ) {
		case "summary":
			env.Kind = session.KindSessionInfo
		case "mode", "tag":
			env.Kind = session.KindCustom
		}
		switch {
		case env.Kind == session.KindLeaf && !f.second:
			dec.lastPrompt(f)
		case env.Kind == session.KindLabel:
			env.Target, env.Label = []byte(rawjson.Str(record, "targetUuid")), []byte(rawjson.Str(record, "label"))
		}
	}
	switch {
	case len(f.parent) > 0:
		env.Parent = f.parent
	case f.id == nil:
		env.InOrder = dec.b.Position() > 0 // shown below the line before it
	}
	if f.second {
		m.flags = m.flags&(isUser|isAssistant) | isSecond
	}
	dec.b.Add(env)
	if env.Message != nil {
		m.message = int32(dec.b.FirstPiece(dec.b.Len() - 1))
	}
}

// conversation fills in the envelope of an entry of the tree. A message without a message object is a damaged line; to the program
// it is only a link.
func (dec *decoder) conversation(f *fields, m *mark) {
	env := &dec.env
	agent := dec.ofAgent(f)
	f.side = f.side && !agent
	env.Aside = f.side
	if at, ok := dec.day.millis(f.timestamp); ok {
		m.at = at
	}
	if f.side {
		m.flags |= isSide
	}
	if len(f.id) == 0 {
		m.flags |= isNameless
	}
	if f.id == nil {
		m.flags |= isUnnamed
	}
	switch string(f.typ) {
	case typeUser:
		env.Kind, env.Role = session.KindMessage, session.RoleUser
		m.flags |= isUser
		if hasResult(f.content) {
			env.Role, env.Joined = session.RoleTool, true
			m.flags |= isResult
		}
	case typeAssistant:
		env.Kind, env.Role = session.KindMessage, session.RoleAssistant
		m.flags |= isAssistant
		if len(f.message) > 0 && f.object {
			env.Message = f.message
		}
	case typeAttachment:
		env.Kind = session.KindCustomMessage
		m.flags |= isNote
	case typeSystem:
		env.Kind = session.KindCustom
		m.flags |= isNote
		switch string(f.subtype) {
		case subtypeBoundary:
			env.Kind = session.KindCompaction
			m.flags |= isBoundary
			if !f.second {
				dec.r.keep(int32(dec.b.Len()), f.compact)
			}
		case subtypeCommand:
			env.Kind = session.KindCustomMessage
		}
	}
	if m.flags&(isUser|isAssistant) != 0 && !f.object {
		m.flags, env.Kind, env.Role, env.Aside = isProgress, session.KindOpaque, session.RoleNone, true
		return
	}
	if m.flags&(isUser|isAssistant) != 0 && !rawjson.IsString(f.content) && !rawjson.IsArray(f.content) {
		m.flags |= isOdd
	}
	m.flags |= isEntry
}

// ofAgent reports whether an entry of a sub-agent is in the log of that sub-agent, where it is the conversation. Such a log begins
// with an entry that names the agent, and has no entry of a main conversation.
func (dec *decoder) ofAgent(f *fields) bool {
	r := dec.r
	dec.Unsure = dec.Unsure || dec.blind && f.side
	switch {
	case !f.side && r.agent:
		r.agent = false
		for i := range r.marks {
			if r.marks[i].flags&isEntry != 0 {
				r.marks[i].flags |= isSide
			}
		}
	case f.side && !r.begun:
		r.agent = f.agent
	}
	r.begun = true
	return r.agent
}

// lastPrompt notes the line that names the leaf. Only the last such line counts. A line that names no entry does not count, unless
// it says explicitly that the conversation starts afresh.
func (dec *decoder) lastPrompt(f *fields) {
	p := prompt{target: session.EntryID(rawjson.Inside(f.leaf)), explicit: f.explicit, at: int32(dec.b.Len()), set: true}
	p.anew = p.explicit && string(f.leaf) == "null"
	if rawjson.Truthy(f.leaf) || p.anew {
		dec.r.prompt = p
	}
}

// hasResult reports whether one of the blocks is a tool result. content is the value of the member. Results are long, so
// if the first block begins as the program writes a result, the rest is not read.
func hasResult(content []byte) bool {
	if !rawjson.IsArray(content) {
		return false
	}
	if rest, ok := bytes.CutPrefix(content, []byte(`[{"tool_use_id":"`)); ok {
		if end := bytes.IndexByte(rest[:min(len(rest), 128)], '"'); end >= 0 && bytes.HasPrefix(rest[end:], []byte(`","type":"tool_result",`)) {
			return true
		}
	}
	if bytes.HasPrefix(content, []byte(`[{"type":"tool_result",`)) {
		return true
	}
	if !bytes.Contains(content, []byte(`tool_result`)) {
		return false
	}
	for block := range rawjson.Elements(content) {
		if rawjson.Str(block, "type") == "tool_result" {
			return true
		}
	}
	return false
}
