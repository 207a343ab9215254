package operator

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Continuer = (*Dialect)(nil)

// Detect claims a log whose first object is a header of the family. The pi family's header has the same type as the
// program's, but its time is a string. The document's type alone is enough; there the time may be a string, too.
func (d *Dialect) Detect(first []dialect.Record) bool { return headerType(first) != "" }

// Exact reports whether the log's header is the one that this value writes.
func (d *Dialect) Exact(first []dialect.Record) bool { return headerType(first) == d.header }

// headerType returns the type of the header that a log begins with, "" if it is not a header of the family. A header whose id is not a
// string names no session, because the program makes up another id at each load.
func headerType(first []dialect.Record) string {
	var typ, id, at []byte
	for key, value := range rawjson.Fields(dialect.FirstObject(first)) {
		switch key {
		case "type":
			typ = value
		case "id":
			id = value
		case "timestamp":
			at = value
		}
	}
	switch t := string(text(typ)); {
	case !rawjson.IsString(id):
	case t == typeDocHeader, t == typeHeader && dialect.IsNumber(at):
		return t
	}
	return ""
}

// names is how the family spells the members of an envelope.
var names = dialect.Names{Snake: true, ZeroIsID: true}

// text reads a type, an id or a role. The program drops an entry whose id is a number; here it keeps that id.
func text(value []byte) []byte { return names.Word(value) }

// decoder is the state of reading one log.
type decoder struct {
	dialect.Headed
	d   *Dialect
	b   *session.Builder
	env session.Envelope // reused: the builder copies what it keeps
	old bool             // the entries are not in the form that this value writes
}

// NewDecoder starts to decode a log. Records of the program begin with the id, those of the document with the type.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	b.SetCodec(d.Codec())
	return &decoder{d: d, b: b, Headed: dialect.Headed{
		Lines: dialect.Lines{Builder: b, Starts: []string{`{"id":`, `{"type":`}}, What: "session header", Log: "session",
	}}
}

// Continue implements dialect.Continuer: every entry names its parent. Only the type of the header is needed: it decides how entries
// are encoded.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	dec := d.NewDecoder(b).(*decoder)
	dec.begin(rawjson.Str(b.Header().Raw, "type"))
	dec.Continued()
	return dec, true
}

// begin notes the type of the header.
func (dec *decoder) begin(header string) {
	dec.Begun = true
	dec.old = dec.d.header == typeHeader && header == typeDocHeader
}

// Decode takes the next record: usually one entry.
func (dec *decoder) Decode(r dialect.Record) { dec.Read(r, dec) }

// Object decodes the object at pos and gives the offset of its end.
func (dec *decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	var f dialect.Fields
	end, err := f.Scan(&dec.Lines.Text, pos, names)
	if err != nil {
		return 0, err
	}
	span := session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	switch header := isHeader(f.Type); {
	case header && dec.Begun:
		dec.Again(r, span)
	case !dec.Begun:
		dec.first(r, data[pos:end], span, &f)
	default:
		dec.entry(r, data[pos:end], span, &f)
	}
	return end, nil
}

func isHeader(typ []byte) bool { return string(typ) == typeHeader || string(typ) == typeDocHeader }

// first takes the record that must be the header. Unlike Detect it does not test the time, because the caller chose the dialect.
func (dec *decoder) first(r dialect.Record, record []byte, span session.Span, f *dialect.Fields) {
	if !isHeader(f.Type) {
		dec.RefuseFirst(r, span, record, f.Type, "")
		return
	}
	if !rawjson.IsString(rawjson.Get(record, "id")) {
		dec.RefuseFirst(r, span, record, f.Type, "an id")
		return
	}
	h := session.Header{
		ID: session.ID(rawjson.Str(record, "id")), Version: versionOf(f.Type, rawjson.Get(record, "version")),
		Timestamp: session.Time{Text: string(rawjson.Get(record, "timestamp"))},
		CWD:       rawjson.Str(record, "cwd"), Parent: rawjson.Str(record, "parent_session"),
		Raw: bytes.Clone(record), Span: span, Line: r.Line,
	}
	if h.Version > version {
		h.Newer = true
		dec.Newer(r, span, fmt.Sprintf("the log is of version %d, newer than %d", h.Version, version))
	}
	dec.begin(string(f.Type))
	dec.b.SetHeader(h)
}

// versionOf reads the version of a header. The document's header has none, which counts as 0; the program reads its own header
// without one as today's version. Versions above a million become a million: the number only says "newer" and must fit an int.
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

// entry passes an envelope to the builder. The program makes up a new id at each load for an entry without one. Here the id is
// derived from the position in the log, so that it stays the same.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, f *dialect.Fields) {
	env := &dec.env
	*env = session.Envelope{
		Kind: kindOf(f.Type), Role: roleOf(f.Role), Type: f.Type,
		Span: span, Line: r.Line, Record: record, Migrated: dec.old,
	}
	if len(f.ID) > 0 {
		env.ID = f.ID
	} else {
		dec.Lines.ProblemAt(r, span, session.ProblemNoID, "an entry without an id", "it gets an id that is the same whenever the file is read")
	}
	if len(f.Parent) > 0 {
		env.Parent = f.Parent
	}
	switch env.Kind {
	case session.KindMessage:
		if f.Role != nil {
			break // the message is an object
		}
		if m := rawjson.Get(record, "message"); !rawjson.IsObject(m) {
			dec.Lines.ProblemAt(r, span, session.ProblemField, "the message is "+dialect.Spelled(m)+", not an object", "it is kept as it is, and is not in the context")
		}
	case session.KindLabel:
		env.Target, env.Label = f.Target, f.Label
	case session.KindLeaf:
		// Without a target the leaf is the place before the first entry.
		if len(f.Target) > 0 {
			env.Target = f.Target
		}
	}
	dec.b.Add(env)
}

// IsRecord reports whether an object is a record rather than another object inside a torn record: content blocks have types and some
// have ids, but neither time nor parent.
func (dec *decoder) IsRecord(object []byte) bool {
	var t rawjson.Text
	t.Reset(object)
	var f dialect.Fields
	if _, err := f.Scan(&t, 0, names); err != nil {
		return false
	}
	return f.Type != nil && f.ID != nil && (f.HasParent || dialect.IsNumber(f.Timestamp))
}
