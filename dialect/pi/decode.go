package pi

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var bom = []byte("\xef\xbb\xbf")

// Detect claims a log whose first object is a header of the family, or a title slot before one. Operator writes a header
// of the same type; its times are numbers.
// Text.Object and not Get: of a header of megabytes only a few members are read, and the Text is reused from log
// to log.
func (d *Dialect) Detect(first []dialect.Record) bool {
	t := texts.Get().(*rawjson.Text)
	defer texts.Put(t)
	for _, r := range first {
		data := bytes.TrimPrefix(r.Data, bom)
		t.Reset(data)
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
			// a title slot says nothing yet: the header behind it decides
			continue
		}
		return false
	}
	return false
}

// decoder is the state of reading one log.
// It is used for one log. env is used again for each entry, so the builder must copy what it keeps.
type decoder struct {
	d      *Dialect
	b      *session.Builder
	lines  dialect.Lines
	env    session.Envelope
	header bool
	// slot is the title of a title slot; it counts over the header's, also when it is empty.
	slot    string
	hasSlot bool
	refused *session.Problem // why there is no header
	// ordinals has, for version 1 only, the entry index of each record, -1 for headers.
	ordinals []int
	// v is the header's version, which decides how entries are read; before the header it is today's.
	v int
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	b.SetCodec(d.Codec())
	return &decoder{
		d: d, b: b, v: version,
		lines: dialect.Lines{Builder: b, Starts: []string{`{"type":`}},
	}
}

// Decode takes the next record: usually one entry.
func (dec *decoder) Decode(r dialect.Record) {
	if dec.refused != nil {
		return
	}
	// Half a header is nothing that could be opened; the programs would begin a new session in its place.
	if cut := dec.lines.Decode(r, dec); cut >= 0 && !dec.header && dec.refused == nil {
		dec.refuse(r, cut, "the only record is cut off")
	}
}

// Add implements dialect.Adder for messages, which nearly all entries are: the envelope is where Record put it.
// What was written a moment ago is not parsed again: an append would cost twice. Where anything is not as Record
// writes it, the usual way is taken.
func (dec *decoder) Add(n dialect.NewEntry, r dialect.Record) bool {
	role, _, ok := messageOf(n.Body)
	if !ok || !dec.header || dec.v < version {
		return false
	}
	const start, middle = `{"type":"message","id":"`, `","parentId":"`
	idEnd := len(start) + len(n.ID)
	parent, parentEnd := idEnd+len(middle), idEnd+len(middle)+len(n.Parent)
	if len(r.Data) <= parentEnd || string(r.Data[len(start):idEnd]) != string(n.ID) || n.ID == "" ||
		n.Parent != "" && string(r.Data[idEnd:parentEnd]) != middle+string(n.Parent) {
		return false
	}
	env := &dec.env
	*env = session.Envelope{
		ID: r.Data[len(start):idEnd], Kind: session.KindMessage, Role: role, Type: r.Data[len(`{"type":"`):len(`{"type":"message`)],
		Span: session.Span{Offset: r.Offset, Length: int64(len(r.Data))}, Line: r.Line, Record: r.Data,
	}
	if n.Parent != "" {
		env.Parent = r.Data[parent:parentEnd]
	}
	dec.b.Add(env)
	return true
}

// Other notes a value that is no object: version 1 counts arrays.
func (dec *decoder) Other(value []byte) {
	// The program counts lines that parsed, and typeof an array is "object"; numbers and texts are left out by it.
	if dec.v < 2 && value[0] == '[' {
		dec.ordinals = append(dec.ordinals, dec.b.Len())
	}
}

// Object decodes the object at pos and gives the offset behind it.
func (dec *decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	var f fields
	// An error leaves the fields half filled; they are not looked at then.
	end, err := f.scan(&dec.lines.Text, pos)
	if err != nil {
		return 0, err
	}
	span := session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	switch {
	case !dec.header:
		dec.first(r, data[pos:end], span, &f)
	case string(f.typ) == "session":
		dec.lines.Problem(r, int(span.Offset-r.Offset), session.ProblemHeaderAgain, "a second header", "it stays in the file and is no entry")
		if dec.v < 2 {
			dec.ordinals = append(dec.ordinals, -1)
		}
	default:
		dec.entry(r, data[pos:end], span, &f)
	}
	return end, nil
}

// fields are the members of an envelope, as they stand.
type fields struct {
	typ, id, parent, target, label, keepIndex, role []byte
}

// roleInitial is that of all that an envelope needs of a message.
var roleInitial = rawjson.InitialsOf("role")

// scan goes once through the record at pos. Nothing is decoded but what has escapes.
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
		case "parentId":
			f.parent = text(t.Value(m))
		case "message":
			f.role, inMessage = nil, true
		case "targetId":
			f.target = text(t.Value(m))
		case "label":
			f.label = text(t.Value(m))
		case "firstKeptEntryIndex":
			f.keepIndex = t.Value(m)
		}
	}
	return end, nil
}

// text gives what is between the quotes of a string, a number as it is spelled (an id may be one), nil for all else. It is
// rawjson.Inside written out: a second call for each member would be a thirtieth of the time that opening a log takes.
func text(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		// 0 is no id to the programs: it is false to JavaScript.
		if len(value) > 0 && (value[0] == '-' || value[0]-'0' <= 9) && string(value) != "0" {
			return value
		}
		return nil
	}
	inside := value[1 : len(value)-1]
	if bytes.IndexByte(inside, '\\') >= 0 {
		s, _ := rawjson.Unquote(value)
		return []byte(s)
	}
	return inside
}

// first takes the record that must be the header, or the title slot before it.
func (dec *decoder) first(r dialect.Record, record []byte, span session.Span, f *fields) {
	// There may be several slots only in a damaged file; the last one before the header counts.
	if string(f.typ) == "title" {
		dec.hasSlot, dec.slot = true, rawjson.Str(record, "title")
		return
	}
	// The programs test the same: an id that is no string is no header.
	if string(f.typ) != "session" || !rawjson.IsString(rawjson.Get(record, "id")) {
		dec.refuse(r, span.Offset, "the first record is "+describe(f, record))
		return
	}
	h := session.Header{
		ID: session.ID(rawjson.Str(record, "id")), Version: headerVersion(record),
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
		dec.b.Problem(session.Problem{Line: r.Line, Offset: span.Offset, Kind: session.ProblemNewer,
			Message: fmt.Sprintf("the log is of version %d, newer than %d", h.Version, version),
			Advice:  "it is read as well as we can and never written"})
	}
	dec.header, dec.v = true, h.Version
	// In version 1 compactions count lines, and the header is number 0.
	dec.ordinals = append(dec.ordinals, -1)
	dec.b.SetHeader(h)
}

func describe(f *fields, record []byte) string {
	if f.typ != nil && string(f.typ) != "session" {
		return fmt.Sprintf("of type %q", dialect.Shorten(f.typ))
	}
	if f.typ != nil {
		return "a header without an id"
	}
	return dialect.Shorten(record)
}

func (dec *decoder) refuse(r dialect.Record, offset int64, found string) {
	dec.refused = &session.Problem{Line: r.Line, Offset: offset, Kind: session.ProblemNoHeader,
		Message: "no session header: " + found,
		Advice:  "the file was not changed; if it is a session, its header line was damaged or lost"}
}

// headerVersion reads the version: absent means 1. The programs compare it as JavaScript compares, so it may be a text,
// and what is no number at all is no old version.
func headerVersion(record []byte) int { return versionOf(rawjson.Get(record, "version")) }

// JavaScript's comparison turns texts and booleans into numbers; what is none compares as false with everything,
// so it is no old version.
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

// entry hands an envelope to the builder.
// An empty id or parent is as good as none, as it is to the programs.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, f *fields) {
	env := &dec.env
	*env = session.Envelope{
		ID: f.id, Parent: f.parent, Kind: kindOf(f.typ), Role: roleOf(f.role), Type: f.typ,
		Span: span, Line: r.Line, Record: record, Migrated: dec.v < version,
	}
	if len(f.id) == 0 {
		env.ID = nil
	}
	if len(f.parent) == 0 {
		env.Parent = nil
	}
	if env.Kind == session.KindLabel {
		env.Target, env.Label = f.target, f.label
	}
	if dec.v < 2 {
		// ids in a file of version 1 are ignored by the migration, and every entry follows the one before
		env.ID, env.InOrder = nil, true
		if env.Kind == session.KindCompaction && f.keepIndex != nil {
			env.HasKeepIndex, env.KeepIndex = dec.keepIndex(f.keepIndex)
		}
		dec.ordinals = append(dec.ordinals, dec.b.Len())
	} else if env.ID == nil {
		dec.lines.Problem(r, int(span.Offset-r.Offset), session.ProblemNoID, "an entry without an id",
			"it gets an id that is the same whenever the file is read")
	}
	dec.b.Add(env)
}

// keepIndex finds the entry that a compaction of version 1 keeps from. A number that is not the position of an earlier
// entry keeps nothing; what is no number is left alone.
// The ordinals have an element for each line that the program counts, so an index can be looked up without reading
// again.
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

// IsRecord tells a record from the other objects with a type that a torn record has inside: blocks of its content, or
// items of a provider's history, which have an id as well.
// Blocks of a content have a type, too, but no parent; version 1 has no parents, so there the kind and a time must
// do.
func (dec *decoder) IsRecord(object []byte) bool {
	var t rawjson.Text
	t.Reset(object)
	var f fields
	if _, err := f.scan(&t, 0); err != nil || f.typ == nil {
		return false
	}
	switch kind := kindOf(f.typ); {
	case string(f.typ) == "session":
		return f.id != nil
	case dec.v >= 2:
		return f.id != nil && rawjson.Get(object, "parentId") != nil
	default: // no ids, and few kinds
		return kind != session.KindOpaque && (kind != session.KindMessage || f.role != nil) &&
			rawjson.IsString(rawjson.Get(object, "timestamp"))
	}
}

// Finish says whether it was a session.
func (dec *decoder) Finish() error {
	if dec.refused != nil {
		return dec.refused
	}
	if !dec.header && dec.lines.Started() {
		found := "no line of it is a record"
		if dec.hasSlot {
			found = "there is a title and nothing behind it"
		}
		dec.refuse(dialect.Record{Line: 1}, 0, found)
		return dec.refused
	}
	return nil
}
