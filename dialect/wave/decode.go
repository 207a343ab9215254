package wave

import (
	"bytes"
	"fmt"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Continuer = (*Dialect)(nil)

// Detect claims a log whose first object is a metadata line or a message with blocks. No other family writes either.
func (d *Dialect) Detect(first []dialect.Record) bool { return isRecord(dialect.FirstObject(first)) }

// isRecord reports whether an object is a record of the family. Of the two members of a metadata line one is enough.
func isRecord(object []byte) bool {
	var f fields
	var t rawjson.Text
	t.Reset(object)
	if _, err := f.scan(&t, 0); err != nil {
		return false
	}
	if f.isMetadata() {
		return rawjson.IsString(f.workdir) || rawjson.IsString(f.createdAt)
	}
	return f.typ == nil && f.role != nil && rawjson.IsArray(f.blocks)
}

// starts are the beginnings of a record, as the program and the document's example write them. Blocks begin with their type.
var starts = []string{`{"timestamp":`, `{"role":`, `{"type":"metadata"`}

// decoder is the state of reading one log.
type decoder struct {
	// Seen: there is a header, which is the metadata line or the first message in its place.
	dialect.Unheaded
	b   *session.Builder
	env session.Envelope
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	b.SetCodec(d.Codec())
	return &decoder{b: b, Unheaded: dialect.Unheaded{Lines: dialect.Lines{Builder: b, Starts: starts}, What: "a metadata line or a message of Wave"}}
}

// Continue implements dialect.Continuer: messages follow each other, and each is complete in itself.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	dec := d.NewDecoder(b).(*decoder)
	dec.Continued()
	return dec, true
}

// Decode takes the next record: usually one message.
func (dec *decoder) Decode(r dialect.Record) { dec.Lines.Decode(r, dec) }

// IsRecord reports whether an object is a record rather than a block or parameters inside a torn record.
func (dec *decoder) IsRecord(object []byte) bool { return isRecord(object) }

// fields are the raw members of an envelope.
type fields struct {
	typ, id, role []byte // without their quotes
	// blocks has everything after the list, too: finding its end is not worth the time, and its beginning shows whether it is empty.
	blocks             []byte
	timestamp          []byte
	workdir, createdAt []byte // members of the metadata line
	// compact: one of the blocks may be a compaction. An object inside a block could have that type, too: see hasCompact.
	compact bool
}

// typeInitial is the initial of the only member of a block that an envelope needs.
var typeInitial = rawjson.InitialsOf("type")

// scan reads the record at pos once. OutlineLists gives members inside blocks, too, if they begin like "type".
func (f *fields) scan(t *rawjson.Text, pos int) (int, error) {
	members, end, err := t.OutlineLists(pos, typeInitial)
	if err != nil {
		return 0, err
	}
	inBlocks := false
	for k := range members {
		m := &members[k]
		key := t.Key(m)
		if m.Inner {
			if inBlocks && string(key) == "type" && string(rawjson.Inside(t.Value(m))) == "compact" {
				f.compact = true
			}
			continue
		}
		inBlocks = false
		switch string(key) {
		case "type":
			f.typ = rawjson.Inside(t.Value(m))
		case "id":
			f.id = rawjson.Inside(t.Value(m))
		case "role":
			f.role = rawjson.Inside(t.Value(m))
		case "blocks":
			inBlocks, f.compact = true, false
			if f.blocks = t.From(m); !rawjson.IsArray(f.blocks) {
				f.blocks = t.Value(m)
			}
		case "timestamp":
			f.timestamp = t.Value(m)
		case "workdir":
			f.workdir = t.Value(m)
		case "createdAt":
			f.createdAt = t.Value(m)
		}
	}
	return end, nil
}

func (f *fields) isMetadata() bool { return string(f.typ) == "metadata" }

// Object takes a record.
func (dec *decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	var f fields
	end, err := f.scan(&dec.Lines.Text, pos)
	if err != nil {
		return 0, err
	}
	record := data[pos:end]
	span := session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	if f.isMetadata() {
		dec.metadata(r, record, span, &f)
	} else {
		dec.entry(r, record, span, &f)
	}
	return end, nil
}

// metadata takes the line that today's program writes first. The line lacks the id, which comes from the name of the log. A
// second metadata line does not count.
func (dec *decoder) metadata(r dialect.Record, record []byte, span session.Span, f *fields) {
	if dec.Seen {
		dec.Lines.ProblemAt(r, span, session.ProblemHeaderAgain, "a second metadata line", "it stays in the file and is not an entry")
		return
	}
	dec.Seen = true
	h := dec.b.Header()
	h.Version, h.Raw, h.Span, h.Line = version, bytes.Clone(record), span, r.Line
	// The working directory from the name of the folder is only a guess.
	h.CWD = string(rawjson.Inside(f.workdir))
	h.Timestamp = session.Time{Text: string(f.createdAt)}
	h.Parent = rawjson.Str(rawjson.Get(record, ours), "parent")
	dec.b.SetHeader(h)
	if f.workdir != nil && h.CWD == "" {
		dec.Lines.ProblemAt(r, span, session.ProblemField, "the metadata line names no workdir", "it is kept as it is")
	}
	if !isISO(f.createdAt) {
		dec.Lines.ProblemAt(r, span, session.ProblemField, fmt.Sprintf("createdAt is %s, not a time in ISO 8601", dialect.Spelled(f.createdAt)), "it is kept as it is")
	}
}

// first makes a header from the first message of a log that has none. InEntry says that the header's record is an entry, too.
func (dec *decoder) first(r dialect.Record, record []byte, span session.Span, f *fields) {
	dec.Seen = true
	h := dec.b.Header()
	h.Version, h.Raw, h.Span, h.Line, h.InEntry = version, bytes.Clone(record), span, r.Line, true
	if h.Timestamp.Text == "" { // the name of the log has no time
		h.Timestamp = session.Time{Text: string(f.timestamp)}
	}
	own := rawjson.Get(rawjson.Get(record, "metadata"), ours)
	if dir := rawjson.Str(own, "workdir"); dir != "" {
		h.CWD = dir
	}
	if parent := rawjson.Str(own, "parent"); parent != "" {
		h.Parent = parent
	}
	dec.b.SetHeader(h)
}

// ours is the member, in the metadata line or in the first message's metadata, that holds what the format itself cannot.
const ours = "treeline"

// version is our number for the format, which itself has none.
const version = 1

// entry passes an envelope to the builder.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, f *fields) {
	// Either member is enough: a message without blocks, or without a role, is damaged but still a message.
	isMessage := f.role != nil || f.blocks != nil
	if !dec.Seen && isMessage {
		dec.first(r, record, span, f)
	}
	env := &dec.env
	*env = session.Envelope{
		// Repeats: after a compaction the program writes messages again, with the same ids.
		ID: f.id, InOrder: true, Repeats: true, Kind: session.KindMessage, Role: roleOf(f.role), Type: messageType,
		Span: span, Line: r.Line, Record: record,
	}
	if len(f.id) == 0 {
		env.ID = nil
	}
	switch {
	case !isMessage:
		env.Kind, env.Type = session.KindOpaque, f.typ
		if f.typ == nil {
			dec.Lines.ProblemAt(r, span, session.ProblemField, "the record is neither a message nor of a named type", "it is kept as it is")
		}
	case f.compact && hasCompact(record):
		env.Kind = session.KindCompaction
	}
	if isMessage {
		for _, wrong := range violations(f.role, f.blocks, f.timestamp) {
			dec.Lines.ProblemAt(r, span, session.ProblemField, wrong, "the message is kept as it is")
		}
	}
	dec.b.Add(env)
}

var messageType = []byte("message")

// hasCompact reports whether one of the blocks of a message is a compaction.
func hasCompact(record []byte) bool {
	for b := range rawjson.Elements(rawjson.Get(record, "blocks")) {
		if rawjson.IsObject(b) && rawjson.Str(b, "type") == "compact" {
			return true
		}
	}
	return false
}
