package copilot

import (
	"bytes"
	"fmt"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Detect claims a log that begins with a session.start. No other agent has such a type.
func (d *Dialect) Detect(first []dialect.Record) bool { return isStart(dialect.FirstObject(first)) }

// isStart reports whether an object is the event that begins a session.
func isStart(object []byte) bool {
	return rawjson.Str(object, "type") == typeStart && rawjson.IsString(rawjson.Get(rawjson.Get(object, "data"), "sessionId"))
}

// decoder is the state of reading one log.
type decoder struct {
	dialect.Headed
	b   *session.Builder
	r   *reader
	env session.Envelope
	// asked: Needs has asked for the file with the name.
	asked bool
	// whole is the length of the line that is read, without white space around it.
	whole int
	// main is the position of the last event of the conversation, -1 before the first; agents are those of the sub-agents.
	main   int
	agents map[string]int
	// continued: reading began after the header. earlier: an event of a sub-agent may follow one before that place.
	continued, earlier bool
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	r := &reader{}
	b.SetCodec(session.Codec{EntryCodec: r, MessageCodec: d})
	b.SetSides()
	return &decoder{b: b, r: r, main: -1, Headed: dialect.Headed{
		Lines: dialect.Lines{Builder: b, Starts: []string{`{"type":"`, `{"id":"`}},
		What:  "session.start", Log: "session of Copilot CLI",
	}}
}

// Continue implements dialect.Continuer. The first event of the conversation follows the last one before it. For events of sub-agents the
// last one is unknown.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	dec := d.NewDecoder(b).(*decoder)
	dec.Continued()
	dec.continued = true
	return dec, true
}

// Finish implements dialect.Decoder.
func (dec *decoder) Finish() error {
	if dec.earlier {
		return dialect.ErrEarlier
	}
	return dec.Headed.Finish()
}

// Decode takes the next record.
func (dec *decoder) Decode(r dialect.Record) {
	dec.whole = len(bytes.TrimSpace(dialect.TrimBOM(r.Data)))
	dec.Read(r, dec)
}

// IsRecord reports whether an object is an event rather than an object inside a torn one.
func (dec *decoder) IsRecord(object []byte) bool {
	return rawjson.IsString(rawjson.Get(object, "type")) && rawjson.IsObject(rawjson.Get(object, "data")) && rawjson.IsString(rawjson.Get(object, "id"))
}

// fields are the raw members of an event.
type fields struct {
	typ, id, timestamp, parent, agent []byte // JSON values
	data                              []byte // the data and everything after it
	ephemeral                         bool   // the program does not read the event if it is an answer
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
		case "type":
			f.typ = t.Value(m)
		case "id":
			f.id = t.Value(m)
		case "timestamp":
			f.timestamp = t.Value(m)
		case "parentId":
			f.parent = t.Value(m)
		case "agentId":
			f.agent = t.Value(m)
		case "ephemeral":
			f.ephemeral = string(t.Value(m)) == "true"
		case "data":
			f.data = t.From(m)
		}
	}
	return end, nil
}

// Object takes an event.
func (dec *decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	var f fields
	end, err := f.scan(&dec.Lines.Text, pos)
	if err != nil {
		return 0, err
	}
	record := data[pos:end]
	span := session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	// When the program resumes a session it removes lines that are not JSON as a whole, with all records on them. NUL bytes
	// beside a record, which are not in data, make a line invalid too.
	lost := dec.whole != len(record)
	if dec.r.refused == nil && !lost {
		dec.refuse(r, span, &f)
	}
	switch {
	case dec.Refused():
	case string(rawjson.Inside(f.typ)) == typeStart && len(rawjson.Inside(f.agent)) == 0:
		dec.start(r, record, span)
	case !dec.Begun:
		dec.RefuseFirst(r, span, record, rawjson.Inside(f.typ), "")
	default:
		if lost || f.ephemeral && string(rawjson.Inside(f.typ)) == typeAnswer {
			dec.r.lost = append(dec.r.lost, dec.b.Len())
		}
		dec.entry(r, record, span, &f)
	}
	return end, nil
}

// refuse notes why the program would not resume the session.
func (dec *decoder) refuse(r dialect.Record, span session.Span, f *fields) {
	why := misplaced(f)
	if why == "" {
		why = violation(string(rawjson.Inside(f.typ)), f.value())
	}
	if why != "" {
		dec.r.refused = &session.Problem{Line: r.Line, Offset: span.Offset, Kind: session.ProblemRefused,
			Message: "Copilot CLI does not resume the session: " + why, Advice: "its entries are shown all the same"}
	}
}

// start makes the header.
func (dec *decoder) start(r dialect.Record, record []byte, span session.Span) {
	if dec.Begun {
		dec.Again(r, span)
		return
	}
	data := rawjson.Get(record, "data")
	id := rawjson.Str(data, "sessionId")
	if id == "" {
		dec.RefuseFirst(r, span, record, nil, "a sessionId")
		return
	}
	dec.Begun = true
	h := dec.b.Header()
	h.ID, h.CWD, h.Parent = session.ID(id), rawjson.Str(rawjson.Get(data, "context"), "cwd"), rawjson.Str(data, parentMember)
	h.Timestamp = session.Time{Text: string(rawjson.Get(data, "startTime"))}
	if h.Timestamp.Text == "" {
		h.Timestamp = session.Time{Text: string(rawjson.Get(record, "timestamp"))}
	}
	h.Version, h.Raw, h.Span, h.Line = int(dialect.Integer(rawjson.Get(data, "version"))), bytes.Clone(record), span, r.Line
	if h.Newer = h.Version > newest; h.Newer {
		dec.Newer(r, span, fmt.Sprintf("the session has version %d; versions up to %d are known", h.Version, newest))
	}
	dec.b.SetHeader(h)
}

// entry passes an envelope to the builder.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, f *fields) {
	env := &dec.env // setting some members is faster than clearing all of them
	env.ID, env.Type, env.Span, env.Line, env.Record, env.Repeats = rawjson.Inside(f.id), rawjson.Inside(f.typ), span, r.Line, record, true
	env.Kind, env.Role, env.Parent, env.InOrder, env.Aside = session.KindCustom, session.RoleNone, nil, false, false
	if len(env.ID) == 0 {
		env.ID = nil
	}
	if len(env.Type) == 0 {
		env.Type = []byte("unknown")
	}
	dec.kind(f)
	parent, agent := dec.main, string(rawjson.Inside(f.agent))
	if agent != "" {
		env.Aside = true
		last, ok := dec.agents[agent]
		if ok {
			parent = last
		}
		dec.earlier = dec.earlier || dec.continued && !ok
	}
	if parent >= 0 {
		env.Parent = []byte(dec.b.At(parent).ID)
	}
	env.InOrder = dec.continued && parent < 0
	at := dec.b.Len()
	dec.b.Add(env)
	switch {
	case agent == "":
		dec.main = at
	case dec.agents == nil:
		dec.agents = map[string]int{agent: at}
	default:
		dec.agents[agent] = at
	}
}

// kind determines the kind and role of an event.
func (dec *decoder) kind(f *fields) {
	env := &dec.env
	if len(f.data) == 0 || f.data[0] != '{' {
		env.Kind = session.KindOpaque
		return
	}
	switch string(env.Type) {
	case typeUser:
		env.Kind, env.Role = session.KindMessage, session.RoleUser
		switch inserted := rawjson.Get(f.value(), insertedMember); {
		case inserted == nil:
		case rawjson.Get(inserted, "from") != nil:
			env.Kind, env.Role = session.KindBranchSummary, session.RoleNone
		default:
			env.Kind, env.Role = session.KindCustomMessage, session.RoleNone
		}
	case typeNotification:
		env.Kind, env.Role = session.KindMessage, session.RoleUser
	case typeAnswer:
		env.Kind, env.Role = session.KindMessage, session.RoleAssistant
	case typeResult:
		env.Kind, env.Role = session.KindMessage, session.RoleTool
	case typeCompaction:
		// A summary without a text has no effect.
		if data := f.value(); string(rawjson.Get(data, "success")) == "true" && rawjson.Str(data, "summaryContent") != "" {
			env.Kind = session.KindCompaction
		}
	case typeModel:
		env.Kind = session.KindModelChange
	case typeTitle:
		env.Kind = session.KindSessionInfo
	default:
		if !isKnown(env.Type) {
			env.Kind = session.KindOpaque
		}
	}
}

// value is the member data.
func (f *fields) value() []byte {
	end, err := rawjson.Skip(f.data, 0)
	if err != nil {
		return nil
	}
	return f.data[:end]
}

// isKnown reports whether the program writes events of a type. The part before the dot decides.
func isKnown(typ []byte) bool {
	group, _, _ := bytes.Cut(typ, []byte{'.'})
	switch string(group) {
	case "session", "user", "assistant", "tool", "system", "subagent", "skill", "model", "hook", "permission", "abort", "treeline":
		return true
	}
	return false
}
