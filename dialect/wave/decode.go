package wave

import (
	"bytes"
	"fmt"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Detect claims a log whose first object is a metadata line or a message with blocks. No other family writes either.
// The answer depends on the first object alone, so it stays the same while the log grows.
func (d *Dialect) Detect(first []dialect.Record) bool {
	for _, r := range first {
		data := dialect.TrimBOM(r.Data)
		if !rawjson.IsObject(data) {
			continue
		}
		end, err := rawjson.Skip(data, 0)
		if err != nil {
			continue
		}
		return isRecord(data[:end])
	}
	return false
}

// isRecord tells a record of the family from every other object.
// Both members of a metadata line are optional to us, since others may write one without; but with neither it
// could be anybody's.
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

// starts are the beginnings of a record, as the program and the document's example write them.
// They must be the beginnings of records only; blocks begin with their type.
var starts = []string{`{"timestamp":`, `{"role":`, `{"type":"metadata"`}

// decoder is the state of reading one log.
// There is no version and no second value of a header, so little state is needed.
type decoder struct {
	b      *session.Builder
	lines  dialect.Lines
	env    session.Envelope
	header bool // the metadata line, or the first message in its place
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	b.SetCodec(d.Codec())
	return &decoder{b: b, lines: dialect.Lines{Builder: b, Starts: starts}}
}

// Decode takes the next record: usually one message.
func (dec *decoder) Decode(r dialect.Record) { dec.lines.Decode(r, dec) }

// Other is told of a value that is no object: there is nothing to count.
func (dec *decoder) Other([]byte) {}

// IsRecord tells a record from the blocks and parameters that a torn one has inside.
func (dec *decoder) IsRecord(object []byte) bool { return isRecord(object) }

// Finish says whether it was a session: whether any record of it could be read.
// There is no header that could be missing: one message that can be read makes it a session.
func (dec *decoder) Finish() error {
	if dec.header || !dec.lines.Started() {
		return nil
	}
	return &session.Problem{Line: 1, Kind: session.ProblemNoHeader,
		Message: "no line of it is a metadata line or a message of Wave",
		Advice:  "the file was not changed; if it is a session, all its lines were damaged or lost"}
}

// fields are the members of an envelope, as they stand.
type fields struct {
	typ, id, role []byte // what is between the quotes
	// From the list to the end of the line: where it ends is not worth finding out, and whether it is empty can be
	// seen at its beginning.
	blocks             []byte // and all behind it, where it is a list
	timestamp          []byte
	workdir, createdAt []byte // of the metadata line
	// "may": an inner object of a block could have such a type as well; hasCompact looks closely where it is set.
	compact bool // one of the blocks may be a compaction
}

// typeInitial is that of all that an envelope needs of a block.
var typeInitial = rawjson.InitialsOf("type")

// scan goes once through the record at pos.
// Members inside of blocks are outlined, too (OutlineLists), but only those whose names begin as "type" does.
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
	end, err := f.scan(&dec.lines.Text, pos)
	if err != nil {
		return 0, err
	}
	record := data[pos:end]
	span := session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	if f.isMetadata() {
		dec.metadata(r, record, span, &f)
		return end, nil
	}
	dec.entry(r, record, span, &f)
	return end, nil
}

func (dec *decoder) problem(r dialect.Record, span session.Span, kind session.ProblemKind, message, advice string) {
	dec.b.Problem(session.Problem{Line: r.Line, Offset: span.Offset, Kind: kind, Message: message, Advice: advice})
}

// metadata takes the line that today's program writes first. The id is not in it: it stays what the log's name says.
// The first one counts, as with the headers of the other families.
func (dec *decoder) metadata(r dialect.Record, record []byte, span session.Span, f *fields) {
	if dec.header {
		dec.problem(r, span, session.ProblemHeaderAgain, "a metadata line behind the first one", "it stays in the file and is no entry")
		return
	}
	dec.header = true
	h := dec.b.Header()
	h.Version, h.Raw, h.Span, h.Line = version, bytes.Clone(record), span, r.Line
	// The name of the folder is a guess at most, so what the line says counts.
	h.CWD = string(rawjson.Inside(f.workdir))
	h.Timestamp = session.Time{Text: string(f.createdAt)}
	h.Parent = rawjson.Str(rawjson.Get(record, ours), "parent")
	dec.b.SetHeader(h)
	if h.CWD == "" {
		dec.problem(r, span, session.ProblemField, "the metadata line names no workdir", "it is kept as it is")
	}
	if !isISO(f.createdAt) {
		dec.problem(r, span, session.ProblemField, fmt.Sprintf("createdAt is %s, not a time in ISO 8601", orNothing(f.createdAt)), "it is kept as it is")
	}
}

// first makes a header of the first message of a log that has none.
// InEntry: the header is an entry as well and must not be counted or copied as something beside it.
func (dec *decoder) first(r dialect.Record, record []byte, span session.Span, f *fields) {
	dec.header = true
	h := dec.b.Header()
	h.Version, h.Raw, h.Span, h.Line, h.InEntry = version, bytes.Clone(record), span, r.Line, true
	if h.Timestamp.Text == "" { // the name of the log has none
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

// ours is the member, of the metadata line or of the first message's metadata, that holds what the format has no place
// for.
const ours = "treeline"

// version is what we call the format: it carries none.
const version = 1

// entry hands an envelope to the builder.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, f *fields) {
	// Either is enough: a message without blocks, or without a role, is damaged but still somebody's words.
	isMessage := f.role != nil || f.blocks != nil
	if !dec.header && isMessage {
		dec.first(r, record, span, f)
	}
	env := &dec.env
	*env = session.Envelope{
		// Repeats: the program writes messages again behind a compaction, ids included, and that is no damage.
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
			dec.problem(r, span, session.ProblemField, "the record is neither a message nor of a named type", "it is kept as it is")
		}
	case f.compact && hasCompact(record):
		env.Kind = session.KindCompaction
	}
	if isMessage {
		for _, wrong := range violations(f.role, f.blocks, f.timestamp) {
			dec.problem(r, span, session.ProblemField, wrong, "the message is kept as it is")
		}
	}
	dec.b.Add(env)
}

var messageType = []byte("message")

// hasCompact says whether one of the blocks of a message is a compaction.
func hasCompact(record []byte) bool {
	for b := range rawjson.Elements(rawjson.Get(record, "blocks")) {
		if rawjson.IsObject(b) && rawjson.Str(b, "type") == "compact" {
			return true
		}
	}
	return false
}

func orNothing(value []byte) string {
	if value == nil {
		return "missing"
	}
	return dialect.Shorten(value)
}
