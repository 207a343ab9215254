package gemini

import (
	"bytes"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Detect claims a log whose first object is the header.
func (d *Dialect) Detect(first []dialect.Record) bool {
	object := dialect.FirstObject(first)
	return isHeader(object)
}

// isHeader reports whether an object is a header. The header of an old document may lack the project.
func isHeader(object []byte) bool {
	return rawjson.IsString(rawjson.Get(object, "sessionId")) &&
		(rawjson.IsString(rawjson.Get(object, "projectHash")) || rawjson.IsArray(rawjson.Get(object, "messages")) && rawjson.IsString(rawjson.Get(object, "startTime")))
}

// decoder is the state of reading one log.
type decoder struct {
	dialect.Headed
	b    *session.Builder
	r    *reader
	env  session.Envelope
	id   [8]byte // the id of an update
	live talk
	said []int32 // entries of messages that are not yet in live; see listen
	// parent is the parent of the next entry, if it is not the entry before.
	parent  []byte
	hanging bool
	answer  answer
	// startup has the positions of the user's messages that are not sent.
	startup map[int]bool
	// sets has the messages that occur only in a $set, by id, with the position of the $set. compacted has the messages that a compaction
	// begins with.
	sets      map[string]int
	compacted map[int][]live
	steps     []step      // see climb
	speaks    map[int]int // results of spoken
	nested    bool        // the current damaged piece may contain messages
	// continued: reading began after the header. earlier: a record depends on one before that place.
	continued, earlier bool
}

// live is a message of the conversation.
type live struct {
	id string
	at int // the position of the entry that added it
}

// answer is the last record of an answer. The next records may repeat it.
type answer struct {
	at     int
	id     []byte
	calls  bool
	record []byte
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	r := &reader{}
	b.SetCodec(session.Codec{EntryCodec: r, MessageCodec: d})
	return &decoder{b: b, r: r, answer: answer{at: -1}, Headed: dialect.Headed{
		Lines: dialect.Lines{Builder: b, Starts: []string{`{"id":`, `{"$set":`, `{"$rewindTo":`, `{"sessionId":`, `{"` + typeCustom + `":`}}, What: "header", Log: "session of Gemini CLI",
	}}
}

// Continue implements dialect.Continuer. Finish gives dialect.ErrEarlier if a record names messages from before the place where reading began.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	if b.Header().Span.Length != int64(len(b.Header().Raw)) {
		return nil, false // the header has messages in it
	}
	dec := d.NewDecoder(b).(*decoder)
	dec.Continued()
	dec.continued = true
	return dec, true
}

// Decode takes the next record.
func (dec *decoder) Decode(r dialect.Record) {
	if dec.Begun && isUpdate(r.Data) {
		dec.update(r)
		return
	}
	dec.Read(r, dec)
}

// IsRecord reports whether an object is a record rather than an object inside a torn one: a message in a $set, or a call in a message.
func (dec *decoder) IsRecord(object []byte) bool {
	return !dec.nested && rawjson.IsString(rawjson.Get(object, "timestamp")) && rawjson.IsString(rawjson.Get(object, "type")) && rawjson.IsString(rawjson.Get(object, "id")) ||
		rawjson.IsObject(rawjson.Get(object, typeSet)) || rawjson.IsString(rawjson.Get(object, typeRewind)) || isHeader(object) || rawjson.Get(object, typeCustom) != nil
}

// fields are the raw members of a record.
type fields struct {
	id, typ, rewind      []byte // without their quotes
	set, session, custom bool
	content              []byte // the content and everything after it
	messages, calls      bool
	summary, kind        []byte // members of a $set
}

// inner are the initials of the members of a $set that are needed.
var inner = rawjson.InitialsOf("messages", "summary", "kind")

// scan reads the record at pos once and gives the offset of its end.
func (f *fields) scan(t *rawjson.Text, pos int) (int, error) {
	members, end, err := t.Outline(pos, inner)
	if err != nil {
		return 0, err
	}
	inSet := false
	for k := range members {
		m := &members[k]
		key := t.Key(m)
		if m.Inner {
			if inSet {
				f.inner(t, m, key)
			}
			continue
		}
		inSet = false
		switch string(key) {
		case "id":
			f.id = stringIn(t.Value(m))
		case "type":
			f.typ = rawjson.Inside(t.Value(m))
		case "content":
			f.content = t.From(m)
		case "toolCalls":
			f.calls = t.From(m)[0] == '['
		case "sessionId":
			f.session = t.From(m)[0] == '"'
		case "messages":
			f.messages = t.From(m)[0] == '['
		case "kind":
			f.kind = t.Value(m)
		case typeSet:
			f.set = t.From(m)[0] == '{' || t.From(m)[0] == '['
			inSet = f.set
		case typeRewind:
			f.rewind = stringIn(t.Value(m))
		case typeCustom:
			f.custom = true
		}
	}
	return end, nil
}

// inner takes a member of a $set.
func (f *fields) inner(t *rawjson.Text, m *rawjson.Member, key []byte) {
	switch string(key) {
	case "messages":
		f.messages = t.From(m)[0] == '['
	case "summary":
		f.summary = t.Value(m)
	case "kind":
		f.kind = t.Value(m)
	}
}

// stringIn returns the text between the quotes of a string, which may be empty, and nil for any other value.
func stringIn(value []byte) []byte {
	if !rawjson.IsString(value) {
		return nil
	}
	if inside := rawjson.Inside(value); inside != nil {
		return inside
	}
	return []byte{}
}

// Object takes a record.
func (dec *decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	var f fields
	end, err := f.scan(&dec.Lines.Text, pos)
	if err != nil {
		dec.nested = bytes.Contains(data[pos:], []byte(`"messages"`))
		return 0, err
	}
	record := data[pos:end]
	if f.content != nil {
		f.content = f.content[:len(f.content)-(len(data)-end)]
	}
	span := session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	if !dec.Begun {
		dec.header(r, record, span, &f)
		if dec.Begun && !dec.readable(r, data, pos, end) {
			dec.r.refused = "the header is not alone on its line"
		}
		return end, nil
	}
	lost := !dec.readable(r, data, pos, end)
	if lost {
		put(&dec.r.lost, dec.b.Len(), true)
	}
	dec.entry(r, record, span, &f, lost)
	return end, nil
}

// isUpdate reports whether a line is the $set with only a time that follows each message. Half of the lines are updates: recognizing
// them by their spelling, without decoding them, makes a scan a fifth faster.
func isUpdate(line []byte) bool {
	const begin, end = `{"$set":{"lastUpdated":"`, `"}}`
	const longest = len(begin) + 40 + len(end)
	n := len(line) - len(end)
	if n < len(begin) || len(line) > longest || string(line[:len(begin)]) != begin || string(line[n:]) != end {
		return false
	}
	for _, c := range line[len(begin):n] {
		if c < '+' || c > 'Z' { // the characters of a time are between these two, and none of them needs an escape
			return false
		}
	}
	return true
}

// readable reports whether the program reads a record: it is alone on its line, and has no character that the program takes
// as the end of a line.
func (dec *decoder) readable(r dialect.Record, data []byte, pos, end int) bool {
	if len(r.Data) != len(data) { // a byte order mark or NULs were cut off
		return false
	}
	if end-pos != len(data) && (len(bytes.TrimSpace(data[:pos])) > 0 || len(bytes.TrimSpace(data[end:])) > 0) {
		return false
	}
	return dec.Lines.Text.ASCII() || !dialect.HasBreak(data)
}

// Finish implements dialect.Decoder.
func (dec *decoder) Finish() error {
	if dec.earlier {
		return dialect.ErrEarlier
	}
	return dec.Headed.Finish()
}

// header takes the first record.
func (dec *decoder) header(r dialect.Record, record []byte, span session.Span, f *fields) {
	if !isHeader(record) || f.id != nil || f.rewind != nil || f.set {
		missing := ""
		if f.session && f.id == nil {
			missing = "projectHash"
		}
		dec.RefuseFirst(r, span, record, f.typ, missing)
		return
	}
	dec.Begun = true
	dec.r.kind = string(rawjson.Inside(f.kind))
	header := bytes.Clone(record)
	if f.messages {
		header = rawjson.Compact(rawjson.Delete(header, "messages")) // its messages become entries
	}
	dec.b.SetHeader(session.Header{
		ID: session.ID(rawjson.Str(record, "sessionId")), Version: version, CWD: cwdOf(record), Title: rawjson.Str(record, "summary"),
		Timestamp: session.Time{Text: string(rawjson.Get(record, "startTime"))}, Parent: rawjson.Str(record, parentMember),
		Task: dec.r.kind == kindTask, Raw: header, Span: span, Line: r.Line,
	})
	if !f.messages {
		return
	}
	// The messages of an old document become entries.
	at, line := 0, r.Line
	for m := range rawjson.Elements(rawjson.Get(record, "messages")) {
		// Each begins where the one before ends.
		next := at + bytes.Index(record[at:], m)
		line += bytes.Count(record[at:next], []byte{'\n'})
		at = next
		var t rawjson.Text
		var mf fields
		t.Reset(m)
		if _, err := mf.scan(&t, 0); rawjson.IsObject(m) && err == nil {
			of := session.Span{Offset: span.Offset + int64(at), Length: int64(len(m))}
			dec.entry(dialect.Record{Data: m, Offset: of.Offset, Line: line}, m, of, &mf, false)
		}
		line += bytes.Count(m, []byte{'\n'})
		at += len(m)
	}
}

// types holds type names as bytes: converting them for each entry would allocate.
var types = struct{ rewind, set, header, custom, unknown, message []byte }{
	[]byte(typeRewind), []byte(typeSet), []byte(typeHeader), []byte(typeCustom), []byte("unknown"), []byte("message"),
}

// begin prepares the envelope of a record.
func (dec *decoder) begin(r dialect.Record, record []byte, span session.Span) *session.Envelope {
	// Setting some members is faster than clearing all of them.
	env := &dec.env
	env.Span, env.Line, env.Record = span, r.Line, record
	env.ID, env.Message, env.Parent, env.Target, env.InOrder, env.Made, env.Repeats = nil, nil, nil, nil, true, false, false
	env.Kind, env.Role, env.Aside = session.KindOpaque, session.RoleNone, true
	if dec.hanging {
		env.InOrder, env.Parent, dec.hanging = false, dec.parent, false
	}
	return env
}

// update passes the envelope of an update to the builder. Its id is made from its place: deriving one from its bytes would take a
// quarter of the time of such a line.
func (dec *decoder) update(r dialect.Record) {
	env := dec.begin(r, r.Data, session.Span{Offset: r.Offset, Length: int64(len(r.Data))})
	dec.id = dialect.PlaceID(dec.b.Position())
	env.ID, env.Made, env.Type, env.Kind = dec.id[:], true, types.set, session.KindCustom
	dec.b.Add(env)
}

// entry passes the envelope of any other record to the builder.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, f *fields, lost bool) {
	env := dec.begin(r, record, span)
	at := dec.b.Len()
	switch {
	case f.rewind != nil:
		env.Type = types.rewind
		env.Kind, env.Aside = session.KindLeaf, false
		if lost {
			env.Kind, env.Aside = session.KindCustom, true
			break
		}
		dec.rewind(at, string(f.rewind))
	case f.id != nil:
		dec.message(f)
	case f.set:
		env.Type, env.Kind = types.set, session.KindCustom
		switch {
		case lost:
		case f.messages:
			env.Aside = false
			dec.replace(at, rawjson.Get(rawjson.Get(record, typeSet), "messages"))
		case rawjson.IsString(f.summary):
			env.Kind = session.KindSessionInfo
		}
		dec.setKind(f, lost)
	case isHeader(record):
		env.Type, env.Kind = types.header, session.KindCustom
		dec.setKind(f, lost)
		if f.messages && !lost {
			env.Aside = false
			dec.merge(at, rawjson.Get(record, "messages"))
		}
	case f.custom:
		env.Type, env.Kind, env.Aside = types.custom, session.KindCustom, false
	default:
		env.Type = types.unknown
	}
	dec.b.Add(env)
	if f.id != nil && f.rewind == nil && !lost {
		dec.note(at, f)
	}
}

// message fills in the envelope of a message.
func (dec *decoder) message(f *fields) {
	env := &dec.env
	env.ID, env.Type, env.Aside, env.Repeats = f.id, f.typ, false, true
	if len(f.id) == 0 {
		env.ID = nil
	}
	switch string(f.typ) {
	case typeUser:
		env.Kind, env.Role = session.KindMessage, session.RoleUser
		if contents.HasResult(f.content) {
			env.Role = session.RoleTool
		}
	case typeAnswer:
		env.Kind, env.Role, env.Message = session.KindMessage, session.RoleAssistant, env.ID
	case "info", "error", "warning":
		env.Kind = session.KindCustom
	case "":
		env.Type = types.message
	}
}

// setKind sets the kind of the session; the last line that has one counts.
func (dec *decoder) setKind(f *fields, lost bool) {
	if !lost && f.kind != nil {
		dec.r.kind = string(rawjson.Inside(f.kind))
	}
}

// put sets an entry of a map and makes the map if it is nil: most logs need none.
func put[V any](m *map[int]V, key int, value V) {
	if *m == nil {
		*m = map[int]V{}
	}
	(*m)[key] = value
}
