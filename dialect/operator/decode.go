package operator

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Detect claims a log whose first object is a header of the family. The header of the pi family has the same type as the
// program's; its time is a text.
// "session_header" alone is enough for the document's; there the time may be a text.
func (d *Dialect) Detect(first []dialect.Record) bool { return headerType(first) != "" }

// Exact says that the log's header is the one that this value writes.
func (d *Dialect) Exact(first []dialect.Record) bool { return headerType(first) == d.header }

// headerType gives the type of the header that a log begins with, "" where there is none of the family.
func headerType(first []dialect.Record) string {
	for _, r := range first {
		data := dialect.TrimBOM(r.Data)
		if !rawjson.IsObject(data) {
			continue
		}
		end, err := rawjson.Skip(data, 0)
		if err != nil {
			continue
		}
		var typ, id, at []byte
		for key, value := range rawjson.Fields(data[:end]) {
			switch key {
			case "type":
				typ = value
			case "id":
				id = value
			case "timestamp":
				at = value
			}
		}
		// An id that is no string would make the program invent another at each load, so such a header names no
		// session.
		if !rawjson.IsString(id) {
			return ""
		}
		switch t := string(text(typ)); {
		case t == typeDocHeader:
			return typeDocHeader
		case t == typeHeader && isNumber(at):
			return typeHeader
		}
		return ""
	}
	return ""
}

func isNumber(value []byte) bool { return len(value) > 0 && (value[0] == '-' || value[0]-'0' <= 9) }

// decoder is the state of reading one log.
// Fields and envelope are used again for each record; the builder copies what it keeps.
type decoder struct {
	d       *Dialect
	b       *session.Builder
	lines   dialect.Lines
	env     session.Envelope
	header  bool
	old     bool             // entries are not as this value writes them
	refused *session.Problem // why there is no header
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	b.SetCodec(d.Codec())
	// The program writes the id first, the document the type.
	return &decoder{d: d, b: b, lines: dialect.Lines{Builder: b, Starts: []string{`{"id":`, `{"type":`}}}
}

// Decode takes the next record: usually one entry.
func (dec *decoder) Decode(r dialect.Record) {
	if dec.refused != nil {
		return
	}
	if cut := dec.lines.Decode(r, dec); cut >= 0 && !dec.header && dec.refused == nil {
		dec.refuse(r, cut, "the only record is cut off")
	}
}

// Other has nothing to do: what is no object is reported and passed over.
func (dec *decoder) Other([]byte) {}

// Object decodes the object at pos and gives the offset behind it.
func (dec *decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	var f fields
	end, err := f.scan(&dec.lines.Text, pos)
	if err != nil {
		return 0, err
	}
	span := session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	switch {
	case !dec.header:
		dec.first(r, data[pos:end], span, &f)
	case f.isHeader():
		dec.lines.Problem(r, int(span.Offset-r.Offset), session.ProblemHeaderAgain, "a second header", "it stays in the file and is no entry")
	default:
		dec.entry(r, data[pos:end], span, &f)
	}
	return end, nil
}

// fields are the members of an envelope, as they stand.
type fields struct {
	typ, id, parent, target, label, role []byte
	timestamp                            []byte // and all behind it
	hasParent                            bool
}

func (f *fields) isHeader() bool {
	return string(f.typ) == typeHeader || string(f.typ) == typeDocHeader
}

// roleInitial is that of all that an envelope needs of a message.
var roleInitial = rawjson.InitialsOf("role")

// scan goes once through the record at pos. Nothing is decoded but what has escapes.
// Outline gives all members of the record and, of those inside, only such with the right initial: whether one is
// "role" of "message" is looked at here.
func (f *fields) scan(t *rawjson.Text, pos int) (int, error) {
	members, end, err := t.Outline(pos, roleInitial)
	if err != nil {
		return 0, err
	}
	inMessage := false
	for k := range members {
		m := &members[k]
		key := t.Key(m)
		if m.Inner {
			if inMessage && string(key) == "role" {
				f.role = text(t.Value(m))
			}
			continue
		}
		inMessage = false
		switch string(key) {
		case "type":
			f.typ = text(t.Value(m))
		case "id":
			f.id = text(t.Value(m))
		case "parent_id":
			f.parent, f.hasParent = text(t.Value(m)), true
		case "timestamp":
			f.timestamp = t.From(m)
		case "target_id":
			f.target = text(t.Value(m))
		case "label":
			f.label = text(t.Value(m))
		case "message":
			f.role, inMessage = nil, true
		}
	}
	return end, nil
}

// text gives what is between the quotes of a string, a number as it is spelled (an id may be one), nil for all else.
// Numbers as ids are dropped by the program; we keep the entry, under the id that others name it by.
func text(value []byte) []byte {
	if isNumber(value) {
		return value
	}
	return rawjson.Inside(value)
}

// first takes the record that must be the header.
func (dec *decoder) first(r dialect.Record, record []byte, span session.Span, f *fields) {
	// The same test as in Detect but for the time: whoever says --dialect operator means it.
	if !f.isHeader() || !rawjson.IsString(rawjson.Get(record, "id")) {
		dec.refuse(r, span.Offset, "the first record is "+describe(f, record))
		return
	}
	h := session.Header{
		ID: session.ID(rawjson.Str(record, "id")), Version: versionOf(f.typ, rawjson.Get(record, "version")),
		Timestamp: session.Time{Text: string(rawjson.Get(record, "timestamp"))},
		CWD:       rawjson.Str(record, "cwd"), Parent: rawjson.Str(record, "parent_session"),
		Raw: bytes.Clone(record), Span: span, Line: r.Line,
	}
	if h.Version > version {
		h.Newer = true
		dec.b.Problem(session.Problem{Line: r.Line, Offset: span.Offset, Kind: session.ProblemNewer,
			Message: fmt.Sprintf("the log is of version %d, newer than %d", h.Version, version),
			Advice:  "it is read as well as we can and never written"})
	}
	dec.begin(string(f.typ))
	dec.b.SetHeader(h)
}

func describe(f *fields, record []byte) string {
	switch {
	case f.isHeader():
		return "a header without an id"
	case f.typ != nil:
		return fmt.Sprintf("of type %q", dialect.Shorten(f.typ))
	}
	return dialect.Shorten(record)
}

func (dec *decoder) refuse(r dialect.Record, offset int64, found string) {
	dec.refused = &session.Problem{Line: r.Line, Offset: offset, Kind: session.ProblemNoHeader,
		Message: "no session header: " + found,
		Advice:  "the file was not changed; if it is a session, its header line was damaged or lost"}
}

// versionOf reads a header's version. The document has none, which counts as 0; the program takes a header without one
// for today's.
// Versions beyond a million are cut there: the number only says "newer", and must fit an int.
func versionOf(typ, value []byte) int {
	v, err := strconv.ParseFloat(string(value), 64)
	switch {
	case err == nil && v >= 0 && v < 1e6:
		return int(v)
	case err == nil && v >= 1e6:
		return 1e6
	case string(typ) == typeDocHeader:
		return 0
	}
	return version
}

// entry hands an envelope to the builder.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, f *fields) {
	env := &dec.env
	*env = session.Envelope{
		Kind: kindOf(f.typ), Role: roleOf(f.role), Type: f.typ,
		Span: span, Line: r.Line, Record: record, Migrated: dec.old,
	}
	// The program makes one up at each load. Ours is made from the place in the log, so that it can be named
	// again.
	if len(f.id) > 0 {
		env.ID = f.id
	} else {
		dec.lines.Problem(r, int(span.Offset-r.Offset), session.ProblemNoID, "an entry without an id",
			"it gets an id that is the same whenever the file is read")
	}
	if len(f.parent) > 0 {
		env.Parent = f.parent
	}
	switch env.Kind {
	case session.KindLabel:
		env.Target, env.Label = f.target, f.label
	case session.KindLeaf:
		// No target is the place before the first entry, as the program has it.
		if len(f.target) > 0 {
			env.Target = f.target
		}
	}
	dec.b.Add(env)
}

// IsRecord tells a record from the other objects that a torn record has inside: blocks of its content have types and
// some have ids, but neither time nor parent.
// A block of type "tool_call" has type and id as well; it is the time or the parent that makes an entry.
func (dec *decoder) IsRecord(object []byte) bool {
	var t rawjson.Text
	t.Reset(object)
	var f fields
	if _, err := f.scan(&t, 0); err != nil {
		return false
	}
	return f.typ != nil && f.id != nil && (f.hasParent || isNumber(f.timestamp))
}

// Finish says whether it was a session.
func (dec *decoder) Finish() error {
	if dec.refused != nil {
		return dec.refused
	}
	if !dec.header && dec.lines.Started() {
		dec.refuse(dialect.Record{Line: 1}, 0, "no line of it is a record")
		return dec.refused
	}
	return nil
}
