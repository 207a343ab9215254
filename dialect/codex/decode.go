package codex

import (
	"bytes"
	"fmt"
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
	turns []int // positions at which the turns that count begin
	// parent is the entry that the next one hangs on, where it is not the one before.
	parent  []byte
	hanging bool
	open    int // position of the last task_started that no user message followed, or -1
	needs   []dialect.Need
	bases   []base
	// paginated: every line has an ordinal. numbered: the last one has.
	paginated, numbered bool
}

// base is a log that this one goes on from.
type base struct {
	need dialect.Need
	end  int64 // its records with a smaller ordinal count
	data []byte
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	r := &reader{Dialect: d}
	b.SetCodec(session.Codec{EntryCodec: r, MessageCodec: d})
	return &decoder{b: b, r: r, open: -1, Headed: dialect.Headed{
		Lines: dialect.Lines{Builder: b, Starts: []string{`{"timestamp":`, `{"ordinal":`, `{"type":`}}, What: "session_meta line", Log: "rollout of Codex",
	}}
}

// Decode takes the next record.
func (dec *decoder) Decode(r dialect.Record) { dec.Read(r, dec) }

// IsRecord tells a record from an object inside a torn one.
func (dec *decoder) IsRecord(object []byte) bool {
	return rawjson.IsString(rawjson.Get(object, "timestamp")) && rawjson.IsObject(rawjson.Get(object, "payload"))
}

// fields are the raw members of an envelope.
type fields struct {
	typ, timestamp, ordinal, payload []byte
	inner, role                      []byte // type and role of the payload
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
			f.timestamp = t.Value(m)
		case "ordinal":
			f.ordinal = t.Value(m)
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
		dec.paginated = rawjson.Str(rawjson.Get(record, "payload"), "history_mode") == "paginated"
	case string(f.typ) == typeMeta:
		dec.Again(r, span)
	default:
		// The program reads neither of two records that share a line.
		alone := len(bytes.TrimSpace(data[:pos])) == 0 && len(bytes.TrimSpace(data[end:])) == 0
		if !alone || !rawjson.IsString(f.timestamp) {
			dec.lose(dec.b.Len())
		}
		dec.entry(r, record, span, &f, false)
	}
	dec.numbered = dialect.IsNumber(f.ordinal)
	return end, nil
}

// lose notes that the program skips the entry at a position.
func (dec *decoder) lose(at int) {
	if dec.r.lost == nil {
		dec.r.lost = map[int]bool{}
	}
	dec.r.lost[at] = true
}

// Finish implements dialect.Decoder.
func (dec *decoder) Finish() error {
	if dec.paginated && !dec.numbered && dec.r.refused == "" {
		dec.r.refused = "the last line has no ordinal"
	}
	if dec.r.refused != "" && dec.Begun {
		dec.b.Problem(session.Problem{Line: 1, Kind: session.ProblemField, Message: "Codex refuses to resume the file: " + dec.r.refused, Advice: "it is read as if Codex did"})
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
		Timestamp: session.Time{Text: string(rawjson.Get(payload, "timestamp"))}, Parent: parentOf(payload),
		Raw: bytes.Clone(record), Span: span, Line: r.Line,
	})
	for _, key := range required {
		if !rawjson.IsString(rawjson.Get(payload, key)) {
			dec.r.refused = "the header has no " + key
		}
	}
	if !rawjson.IsString(f.timestamp) {
		dec.r.refused = "the header's line has no timestamp"
	}
	dec.want(payload)
}

// parentOf is the thread that this one comes from: the one that it was forked from, or that started it as a sub-agent.
func parentOf(payload []byte) string {
	for _, key := range []string{"forked_from_id", "parent_thread_id"} {
		if id := rawjson.Str(payload, key); id != "" {
			return id
		}
	}
	return rawjson.Str(rawjson.Get(payload, "history_base"), "thread_id")
}

// want asks for the base that a header names.
func (dec *decoder) want(payload []byte) {
	at := rawjson.Get(payload, "history_base")
	id := rawjson.Str(at, "thread_id")
	if id == "" {
		return
	}
	b := base{need: dialect.Need{Kind: dialect.NeedLog, Name: "*/*/*/rollout-*" + id + ".jsonl"}}
	b.end = dialect.Integer(rawjson.Get(at, "end_ordinal_exclusive"))
	dec.bases = append(dec.bases, b)
	dec.needs = append(dec.needs, b.need)
}

// Needs implements dialect.Needer.
func (dec *decoder) Needs() []dialect.Need {
	needs := dec.needs
	dec.needs = nil
	return needs
}

// Supply implements dialect.Needer. The records of a base are added when those of its own base are known.
func (dec *decoder) Supply(n dialect.Need, content []byte, err error) {
	k := len(dec.bases) - 1
	if k < 0 || dec.bases[k].need != n {
		return
	}
	if err != nil {
		dec.b.Problem(session.Problem{Line: 1, Kind: session.ProblemUnreadable, Message: fmt.Sprintf("the rollout that this one goes on from cannot be read: %v", err),
			Advice: "what comes before is missing"})
		dec.r.refused = "the rollout that it goes on from is missing"
		dec.bases = dec.bases[:k]
	} else {
		dec.bases[k].data = content
		first, _, _ := bytes.Cut(content, []byte{'\n'})
		before := len(dec.bases)
		dec.want(rawjson.Get(first, "payload"))
		if len(dec.bases) > before {
			return
		}
	}
	for k := len(dec.bases) - 1; k >= 0; k-- {
		dec.adopt(dec.bases[k])
	}
	dec.bases = nil
}

// adopt adds the records of a base.
func (dec *decoder) adopt(b base) {
	line, at := 0, int64(0)
	var text rawjson.Text
	for data := range bytes.Lines(b.data) {
		line++
		offset := at
		at += int64(len(data))
		record := bytes.TrimSpace(data)
		if line == 1 || !rawjson.IsObject(record) {
			continue
		}
		var f fields
		text.Reset(record)
		if end, err := f.scan(&text, 0); err != nil || end != len(record) || string(f.typ) == typeMeta {
			continue
		}
		if dialect.Integer(f.ordinal) >= b.end {
			continue
		}
		dec.entry(dialect.Record{Data: record, Offset: offset, Line: line}, record, session.Span{Offset: offset, Length: int64(len(record))}, &f, true)
	}
}

// entry passes an envelope to the builder.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, f *fields, foreign bool) {
	env := &dec.env
	*env = session.Envelope{
		Type: f.typ, Span: span, Line: r.Line, Record: record, Foreign: foreign, Made: true, Repeats: true, InOrder: true,
	}
	if foreign {
		env.Record = bytes.Clone(record)
	}
	env.ID = strconv.AppendInt(nil, int64(r.Line), 10)
	if dialect.IsNumber(f.ordinal) {
		env.ID = append([]byte("o"), f.ordinal...)
	}
	env.Kind, env.Role = kindOf(f)
	if dec.hanging {
		env.InOrder, env.Parent, dec.hanging = false, dec.parent, false
	}
	at := dec.b.Len()
	switch {
	case string(f.typ) == typeEvent && string(f.inner) == "task_started":
		dec.open = at
	case string(f.typ) == typeAgents, string(f.typ) == typeItem && isPrompt(record, f):
		begin := at
		if dec.open >= 0 {
			begin = dec.open
		}
		dec.turns, dec.open = append(dec.turns, begin), -1
	}
	dec.b.Add(env)
	if string(f.inner) == "thread_rolled_back" && string(f.typ) == typeEvent {
		dec.rollBack(numTurns(rawjson.Get(record, "payload")))
	}
}

// rollBack abandons the last n turns: the next entry hangs on the one before them.
func (dec *decoder) rollBack(n int) {
	if n <= 0 || len(dec.turns) == 0 {
		return
	}
	first := dec.turns[max(len(dec.turns)-n, 0)]
	dec.turns = dec.turns[:max(len(dec.turns)-n, 0)]
	dec.parent, dec.hanging = nil, true
	if first > 0 {
		dec.parent = []byte(dec.b.At(first - 1).ID)
	}
}

// kindOf says what a line is.
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
	case typeEvent, "world_state", "token_usage_record", "security_risk_score":
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
		return dialect.RoleOf(role, "")
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		return session.RoleTool
	case "agent_message":
		return session.RoleUser
	}
	return session.RoleAssistant
}
