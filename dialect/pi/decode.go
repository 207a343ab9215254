package pi

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Continuer = (*Dialect)(nil)

// Detect claims a log whose first object is a header of the family, or a title slot before one. Operator's header has the
// same type, but its time is a number. Only three members of the object are looked at, with a Text that is reused: a header may have
// megabytes.
func (d *Dialect) Detect(first []dialect.Record) bool {
	t := dialect.GetText()
	defer dialect.PutText(t)
	for _, r := range first {
		t.Reset(dialect.TrimBOM(r.Data))
		o, ok := t.Object(0)
		if !ok {
			continue
		}
		var typ, id, at []byte
		for o.Next() {
			switch string(o.Key) {
			case "type":
				typ = o.Value()
			case "id":
				id = o.Value()
			case "timestamp":
				at = o.Value()
			}
		}
		if _, err := o.End(); err != nil {
			continue
		}
		switch string(text(typ)) {
		case "session":
			return rawjson.IsString(id) && (at == nil || rawjson.IsString(at) || rawjson.IsNull(at))
		case "title":
			continue // the header after the slot decides
		}
		return false
	}
	return false
}

// names is how the family spells the members of an envelope.
var names = dialect.Names{}

// text reads a type, an id or a role.
func text(value []byte) []byte { return names.Word(value) }

// decoder is the state of reading one log.
type decoder struct {
	dialect.Headed
	b   *session.Builder
	env session.Envelope // reused: the builder copies what it keeps
	// slot is the title in a title slot. It takes precedence over that of the header, even if it is empty.
	slot    string
	hasSlot bool
	// ordinals has, for version 1 only, the entry index of each record, -1 for headers.
	ordinals []int
	// v is the header's version, which decides how entries are read. Before the header it is today's.
	v int
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	b.SetCodec(d.Codec())
	return &decoder{b: b, v: version, Headed: dialect.Headed{
		Lines: dialect.Lines{Builder: b, Starts: []string{`{"type":`}}, What: "session header", Log: "session",
	}}
}

// Continue implements dialect.Continuer. Logs of version 1 are excluded, because their entries have neither ids nor parents
// and name others by position. All old versions are excluded, because the first program that appends to them rewrites them anyway.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	if b.Header().Version != version {
		return nil, false
	}
	dec := d.NewDecoder(b).(*decoder)
	dec.Continued()
	return dec, true
}

// Decode takes the next record: usually one entry.
func (dec *decoder) Decode(r dialect.Record) { dec.Read(r, dec) }

// Add implements dialect.Adder for messages, which nearly all entries are: it takes the envelope from where Record put it.
// Parsing the record again would double the cost of an append. A record in any other form is decoded as usual.
func (dec *decoder) Add(n dialect.NewEntry, r dialect.Record) bool {
	m, ok := n.Body.(session.Message)
	if !ok || !dec.Begun || dec.v < version {
		return false
	}
	const start, middle = `{"type":"message","id":"`, `","parentId":"`
	idEnd := len(start) + len(n.ID)
	parent, parentEnd := idEnd+len(middle), idEnd+len(middle)+len(n.Parent)
	if len(r.Data) <= parentEnd || string(r.Data[len(start):idEnd]) != string(n.ID) || n.ID == "" ||
		n.Parent != "" && (string(r.Data[idEnd:parent]) != middle || string(r.Data[parent:parentEnd]) != string(n.Parent)) {
		return false
	}
	env := dec.begin(r, r.Data, session.Span{Offset: r.Offset, Length: int64(len(r.Data))})
	env.ID, env.Kind, env.Role, env.Type = r.Data[len(start):idEnd], session.KindMessage, m.Role, r.Data[len(`{"type":"`):len(`{"type":"message`)]
	if n.Parent != "" {
		env.Parent = r.Data[parent:parentEnd]
	}
	dec.b.Add(env)
	return true
}

// Other counts arrays: in version 1 the program counts every line that parses to something of typeof "object".
func (dec *decoder) Other(value []byte) {
	if dec.v < 2 && value[0] == '[' {
		dec.ordinals = append(dec.ordinals, dec.b.Len())
	}
}

// Object decodes the object at pos and gives the offset of its end.
func (dec *decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	var f dialect.Fields
	end, err := f.Scan(&dec.Lines.Text, pos, names)
	if err != nil {
		return 0, err
	}
	span := session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	switch {
	case !dec.Begun:
		dec.first(r, data[pos:end], span, &f)
	case string(f.Type) == "session":
		dec.Again(r, span)
		if dec.v < 2 {
			dec.ordinals = append(dec.ordinals, -1)
		}
	default:
		dec.entry(r, data[pos:end], span, &f)
	}
	return end, nil
}

// first takes the record that must be the header, or the title slot before it. A damaged file may have several slots: the
// last one before the header counts. Like the programs, it refuses a header whose id is not a string.
func (dec *decoder) first(r dialect.Record, record []byte, span session.Span, f *dialect.Fields) {
	switch header := string(f.Type) == "session"; {
	case string(f.Type) == "title":
		dec.hasSlot, dec.slot = true, rawjson.Str(record, "title")
		return
	case !header:
		dec.RefuseFirst(r, span, record, f.Type, "")
		return
	case !rawjson.IsString(rawjson.Get(record, "id")):
		dec.RefuseFirst(r, span, record, f.Type, "an id")
		return
	}
	h := session.Header{
		ID: session.ID(rawjson.Str(record, "id")), Version: versionOf(rawjson.Get(record, "version")),
		Timestamp: session.Time{Text: string(rawjson.Get(record, "timestamp"))},
		CWD:       rawjson.Str(record, "cwd"), Title: rawjson.Str(record, "title"),
		Parent: rawjson.Str(record, "parentSession"),
		Raw:    bytes.Clone(record), Span: span, Line: r.Line,
	}
	if dec.hasSlot {
		h.Title = dec.slot
	}
	if h.Version > version {
		h.Newer = true
		dec.Newer(r, span, fmt.Sprintf("the log is of version %d, newer than %d", h.Version, version))
	}
	dec.Begun, dec.v = true, h.Version
	// In version 1 compactions count lines, and the header is number 0.
	dec.ordinals = append(dec.ordinals, -1)
	dec.b.SetHeader(h)
}

// versionOf reads the version of a header: 1 if it is absent. The programs compare it as JavaScript does, which turns
// strings and booleans into numbers. Any comparison with NaN is false, so such a version is not an old one.
func versionOf(value []byte) int {
	if rawjson.IsNull(value) {
		return 1
	}
	if s, ok := rawjson.Unquote(value); ok {
		value = []byte(jsTrim(s))
	}
	v, err := strconv.ParseFloat(string(value), 64)
	switch string(value) {
	case "", "false":
		v, err = 0, nil
	case "true":
		v, err = 1, nil
	}
	switch {
	case err != nil || v != v:
		return version
	case v < 1:
		return 1
	case v > 1e6:
		return 1e6
	}
	return int(v)
}

// begin clears the envelope and sets the place of the record. The fields are set in place: copying a value that was just written
// would stall the processor.
func (dec *decoder) begin(r dialect.Record, record []byte, span session.Span) *session.Envelope {
	env := &dec.env
	*env = session.Envelope{}
	env.Record, env.Span, env.Line = record, span, r.Line
	return env
}

// entry passes an envelope to the builder. The programs treat an empty id or parent as absent.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, f *dialect.Fields) {
	env := dec.begin(r, record, span)
	env.ID, env.Parent, env.Kind, env.Role, env.Type = f.ID, f.Parent, kindOf(f.Type), roleOf(f.Role), f.Type
	env.Migrated = dec.v < version
	if len(f.ID) == 0 {
		env.ID = nil
	}
	if len(f.Parent) == 0 {
		env.Parent = nil
	}
	if env.Kind == session.KindLabel {
		env.Target, env.Label = f.Target, f.Label
	}
	if dec.v < 2 {
		// the migration ignores ids in a file of version 1: every entry follows the one before
		env.ID, env.InOrder = nil, true
		if env.Kind == session.KindCompaction && f.KeepIndex != nil {
			env.HasKeepIndex, env.KeepIndex = dec.keepIndex(f.KeepIndex)
		}
		dec.ordinals = append(dec.ordinals, dec.b.Len())
	} else if env.ID == nil {
		dec.Lines.ProblemAt(r, span, session.ProblemNoID, "an entry without an id", "it gets an id that is the same whenever the file is read")
	}
	dec.b.Add(env)
}

// keepIndex finds the first entry that a compaction of version 1 keeps. A number that is not the position of an earlier
// entry keeps nothing; any other value is left alone. ordinals has an element for each line that the program counts.
func (dec *decoder) keepIndex(value []byte) (isNumber bool, index int) {
	k, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return false, 0
	}
	switch n := float64(len(dec.ordinals)); {
	case k == n: // the compaction itself: nothing is kept
		return true, dec.b.Len()
	case k >= 0 && k < n && k == float64(int(k)):
		return true, dec.ordinals[int(k)]
	}
	return true, -1
}

// IsRecord reports whether an object is a record rather than another typed object inside a torn record: content blocks, and items of a
// provider's history. These have no parent. Records of version 1 have no parent either: there a known kind and a time must suffice.
func (dec *decoder) IsRecord(object []byte) bool {
	var t rawjson.Text
	t.Reset(object)
	var f dialect.Fields
	if _, err := f.Scan(&t, 0, names); err != nil || f.Type == nil {
		return false
	}
	switch kind := kindOf(f.Type); {
	case string(f.Type) == "session":
		return f.ID != nil
	case dec.v >= 2:
		return f.ID != nil && f.HasParent
	default:
		return kind != session.KindOpaque && (kind != session.KindMessage || f.Role != nil) && rawjson.IsString(f.Timestamp)
	}
}

// Finish implements dialect.Decoder.
func (dec *decoder) Finish() error {
	if dec.hasSlot && !dec.Begun && !dec.Refused() {
		dec.Refuse(dialect.Record{Line: 1}, 0, "there is a title and nothing after it")
	}
	return dec.Headed.Finish()
}
