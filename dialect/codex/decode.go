package codex

import (
	"bytes"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// required are the members of the header's payload without which the program refuses a file.
var required = []string{"id", "timestamp", "cwd", "originator", "cli_version"}

// Detect claims a log whose first object is the header.
func (d *Dialect) Detect(first []dialect.Record) bool {
	object := dialect.FirstObject(first)
	return rawjson.Str(object, "type") == typeMeta && rawjson.IsObject(rawjson.Get(object, "payload"))
}

// decoder is the state of reading one log.
type decoder struct {
	dialect.Headed
	b     *session.Builder
	r     *reader
	env   session.Envelope
	turns []int // positions of the beginnings of the turns that count
	// parent is the parent of the next entry, if it is not the entry before.
	parent  []byte
	hanging bool
	open    int                                 // position of the last task_started without a user message after it, or -1
	lead    int                                 // position of the first of the program's messages that belong to the next turn, or -1
	known   map[session.EntryID]session.EntryID // results of seen
	bases
	// paginated: every line has an ordinal. numbered: the last line has one.
	paginated, numbered bool
	// continued: reading began after the header. earlier: a record depends on one before that place.
	continued, earlier bool
	id                 []byte // of the current entry; the builder copies it
	number             int    // the position in id; -1 if id is an ordinal
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	r := &reader{}
	b.SetCodec(session.Codec{EntryCodec: r, MessageCodec: d})
	return &decoder{b: b, r: r, open: -1, lead: -1, number: -1, env: session.Envelope{Made: true}, Headed: dialect.Headed{
		Lines: dialect.Lines{Builder: b, Starts: []string{`{"timestamp":`, `{"ordinal":`, `{"type":`}}, What: "session_meta line", Log: "rollout of Codex",
	}}
}

// Continue implements dialect.Continuer. A rollout that continues another one is excluded, because the records of that one come first.
// A rollback can be read if all turns that it rolls back are known, and the one before them.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	payload := rawjson.Get(b.Header().Raw, "payload")
	if isPaginated(payload) && rawjson.IsObject(rawjson.Get(payload, "history_base")) {
		return nil, false
	}
	dec := d.NewDecoder(b).(*decoder)
	dec.Continued()
	dec.continued, dec.paginated = true, isPaginated(payload)
	return dec, true
}

// Decode takes the next record.
func (dec *decoder) Decode(r dialect.Record) { dec.Read(r, dec) }

// IsRecord reports whether an object is a record rather than an object inside a torn record.
func (dec *decoder) IsRecord(object []byte) bool {
	return rawjson.IsString(rawjson.Get(object, "timestamp")) && rawjson.IsObject(rawjson.Get(object, "payload"))
}

// fields are the raw members of an envelope.
type fields struct {
	typ, ordinal []byte
	payload      []byte // the payload and everything after it
	inner, role  []byte // type and role of the payload
	// stamped: the timestamp is a string. numbered: the ordinal is a number that the program reads. odd: the program does not read
	// the metadata.
	stamped, numbered, odd bool
}

var innerInitials = rawjson.InitialsOf("type", "role")

// scan reads the record at pos once and gives the offset of its end.
func (f *fields) scan(t *rawjson.Text, pos int) (int, error) {
	members, end, err := t.Outline(pos, innerInitials)
	if err != nil {
		return 0, err
	}
	inPayload := false
	for k := range members {
		m := &members[k]
		key := t.Key(m)
		if m.Inner {
			if inPayload {
				switch string(key) {
				case "type":
					f.inner = rawjson.Inside(t.Value(m))
				case "role":
					f.role = rawjson.Inside(t.Value(m))
				}
			}
			continue
		}
		inPayload = false
		switch string(key) {
		case "type":
			f.typ = rawjson.Inside(t.Value(m))
		case "timestamp":
			f.stamped = t.Value(m)[0] == '"'
		case "ordinal":
			f.ordinal = t.Value(m)
			f.numbered = isOrdinal(f.ordinal)
		case "metadata":
			c := t.From(m)[0]
			f.odd = c != '{' && c != 'n'
		case "payload":
			f.payload = t.From(m)
			inPayload = true
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
	switch {
	case !dec.Begun:
		dec.header(r, record, span, &f)
		if dec.r.refused == "" && (dec.b.Problems() > 0 || !isAlone(data, pos, end)) {
			dec.r.refused = "the first line is not the header alone"
		}
		dec.paginated = rawjson.Str(rawjson.Get(record, "payload"), "history_mode") == "paginated"
	case string(f.typ) == typeMeta:
		dec.Again(r, span)
		if dec.paginated {
			dec.r.from = dec.b.Len()
		}
	default:
		// The program reads none of several records that share a line.
		if !isAlone(data, pos, end) || !isLine(&f) {
			dec.r.lose(dec.b.Len())
		}
		dec.entry(r, record, span, &f, nil)
	}
	if f.numbered || dialect.IsNumber(f.ordinal) {
		dec.numbered = true
	} else if dec.paginated && isRead(&f, record) && isAlone(data, pos, end) {
		dec.numbered = false
	}
	return end, nil
}

// isAlone reports whether nothing else is on the line of a record.
func isAlone(line []byte, pos, end int) bool {
	return end-pos == len(line) || len(bytes.TrimSpace(line[:pos])) == 0 && len(bytes.TrimSpace(line[end:])) == 0
}

// Finish implements dialect.Decoder.
func (dec *decoder) Finish() error {
	if dec.paginated && !dec.numbered && dec.r.refused == "" {
		dec.r.refused = "the last line has no ordinal"
	}
	if dec.earlier {
		return dialect.ErrEarlier
	}
	return dec.Headed.Finish()
}

// header takes the first record.
func (dec *decoder) header(r dialect.Record, record []byte, span session.Span, f *fields) {
	payload := rawjson.Get(record, "payload")
	if string(f.typ) != typeMeta || !rawjson.IsString(rawjson.Get(payload, "id")) {
		missing := ""
		if string(f.typ) == typeMeta {
			missing = "an id"
		}
		dec.RefuseFirst(r, span, record, f.typ, missing)
		return
	}
	dec.Begun = true
	dec.b.SetHeader(session.Header{
		ID: session.ID(rawjson.Str(payload, "id")), Version: version, CWD: rawjson.Str(payload, "cwd"),
		Timestamp: session.Time{Text: string(rawjson.Get(payload, "timestamp"))}, Parent: parentOf(payload), Task: isTask(payload),
		Raw: bytes.Clone(record), Span: span, Line: r.Line,
	})
	for _, key := range required {
		if !rawjson.IsString(rawjson.Get(payload, key)) {
			dec.r.refused = "the header has no " + key
		}
	}
	if !f.stamped {
		dec.r.refused = "the header's line has no timestamp"
	}
	if why := badHeader(payload); why != "" && dec.r.refused == "" {
		dec.r.refused = why
	}
	dec.needs = append(dec.needs, dialect.Need{Kind: dialect.NeedRoot, Name: nameFile})
	if why := dec.want(payload); why != "" {
		dec.r.refused = why
	}
	dec.r.baseless = rawjson.IsObject(rawjson.Get(payload, "history_base")) && !isPaginated(payload)
}

// parentOf is the rollout or thread that this one comes from: the one that it continues, that it was forked from, or
// that started it as a sub-agent.
func parentOf(payload []byte) string {
	if id := rawjson.Str(rawjson.Get(payload, "history_base"), "thread_id"); id != "" {
		return id
	}
	for _, key := range []string{"forked_from_id", "parent_thread_id"} {
		if id := rawjson.Str(payload, key); id != "" {
			return id
		}
	}
	return ""
}

// isTask reports whether the thread is that of a sub-agent.
func isTask(payload []byte) bool {
	return rawjson.Get(rawjson.Get(payload, "source"), "subagent") != nil || rawjson.Str(payload, "parent_thread_id") != ""
}

// entry passes an envelope to the builder. from is the base that the record is in; nil for the log itself.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, f *fields, from dialect.OtherLog) {
	// Setting some members is faster than clearing all of them.
	env := &dec.env
	env.Type, env.Span, env.Line, env.Record = f.typ, span, r.Line, record
	env.InOrder, env.Parent, env.Target = true, nil, nil
	if env.Foreign = from != nil; env.Foreign {
		env.Source = from
	}
	env.ID, env.Repeats = dec.name(f)
	env.Kind, env.Role = kindOf(f)
	if dec.hanging {
		env.InOrder, env.Parent, dec.hanging = false, dec.parent, false
	}
	at := dec.b.Len()
	last := &dec.r.last
	switch {
	case string(f.typ) == typeEvent && string(f.inner) == eventStarted:
		dec.open, last.bound = at, at+1
		if rawjson.IsString(rawjson.Get(rawjson.Get(record, "payload"), "turn_id")) {
			dec.r.note(&dec.r.bounds.starts, at)
		}
	case string(f.typ) == typeEvent && (string(f.inner) == eventComplete || string(f.inner) == eventAborted):
		last.bound = at + 1
	case string(f.typ) == typeEvent && string(f.inner) == typeLeaf:
		if dec.rollBack(numTurns(rawjson.Get(record, "payload"))); env.Kind == session.KindLeaf {
			last.leaf = at + 1
		}
		dec.r.note(&dec.r.bounds.rollbacks, at)
	case string(f.typ) == typeCompacted && !rawjson.IsNull(rawjson.Get(rawjson.Get(record, "payload"), "replacement_history")):
		dec.r.note(&dec.r.bounds.replacements, at)
	case string(f.typ) == typeAgents, string(f.typ) == typeItem && isPrompt(f):
		begin := at
		for _, before := range []int{dec.open, dec.lead} {
			if before >= 0 {
				begin = min(begin, before)
			}
		}
		dec.turns, dec.open, dec.lead, last.prompt = append(dec.turns, begin), -1, -1, at+1
	case string(f.typ) == typeItem:
		if leads := string(f.inner) == "message" && (string(f.role) == "developer" || string(f.role) == "user"); !leads {
			dec.lead = -1
		} else if dec.lead < 0 {
			dec.lead = at
		}
	}
	env.Aside = isAside(env.Kind, string(f.typ))
	dec.b.Add(env)
}

// name makes an id for an entry from its ordinal, or else from its position. again reports whether an earlier entry may have that id.
func (dec *decoder) name(f *fields) (id []byte, again bool) {
	if f.numbered {
		dec.id, dec.number = append(append(dec.id[:0], 'o'), f.ordinal...), -1
		return dec.id, true
	}
	number, last := dec.b.Position()+2, len(dec.id)-1
	if dec.number == number-1 && last >= 0 && dec.id[last] < '9' {
		dec.id[last]++
	} else {
		dec.id = strconv.AppendInt(dec.id[:0], int64(number), 10)
	}
	dec.number = number
	return dec.id, false
}

// rollBack abandons the last n turns: the parent of the next entry is the one before them, and the leaf moves to the last entry
// there that the model sees.
func (dec *decoder) rollBack(n int) {
	if n <= 0 {
		return
	}
	// The first of these turns may begin before the place where reading began.
	if dec.continued && n >= len(dec.turns) {
		dec.earlier = true
		return
	}
	if len(dec.turns) == 0 {
		return
	}
	first := dec.turns[max(len(dec.turns)-n, 0)]
	dec.turns = dec.turns[:max(len(dec.turns)-n, 0)]
	dec.parent, dec.hanging, dec.open, dec.lead = nil, true, -1, -1
	env := &dec.env
	env.Kind = session.KindLeaf
	parent := dec.b.At(first).Parent
	if parent != "" {
		dec.parent = []byte(parent)
	}
	target := dec.seen(parent)
	if target != "" {
		env.Target = []byte(target)
	}
	dec.r.lead(dec.b.Len(), target)
}

// seen returns the last entry on the path to id that the model sees, "" if there is none. It remembers the result, so that rollbacks
// that lead to the same place, or to one after it, do not walk over the same events again.
func (dec *decoder) seen(id session.EntryID) (target session.EntryID) {
	for at := id; ; {
		e, ok := dec.b.Lookup(at)
		if known, again := dec.known[at]; again || !ok {
			target = known
			break
		}
		if !isAside(e.Kind, e.Type) && e.Kind != session.KindLeaf {
			target = at
			break
		}
		at = e.Parent
	}
	if dec.known == nil {
		dec.known = map[session.EntryID]session.EntryID{}
	}
	dec.known[id] = target
	return target
}

// kindOf returns the kind and role of a line.
func kindOf(f *fields) (session.Kind, session.Role) {
	switch string(f.typ) {
	case typeItem:
		return session.KindMessage, roleOf(f.inner, f.role)
	case typeAgents:
		return session.KindMessage, session.RoleUser
	case typeCompacted:
		return session.KindCompaction, session.RoleNone
	case typeTurnContext:
		return session.KindModelChange, session.RoleNone
	case typeEvent, typeCustom, "world_state", "token_usage_record", "security_risk_score":
		return session.KindCustom, session.RoleNone
	}
	return session.KindOpaque, session.RoleNone
}

// roleOf says who speaks in an item of the Responses API.
func roleOf(item, role []byte) session.Role {
	switch string(item) {
	case "message":
		if string(role) == "developer" {
			return session.RoleSystem
		}
		return dialect.RoleOf(role, "tool")
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		return session.RoleTool
	case "agent_message":
		return session.RoleUser
	}
	return session.RoleAssistant
}
