package codelia

import (
	"bytes"
	"cmp"
	"fmt"
	"math"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Detect claims a log whose first object is the header of a run.
// Damaged lines before it are passed over, as a decoder does: both must take the same record for the first.
func (d *Dialect) Detect(first []dialect.Record) bool {
	for _, r := range first {
		data := dialect.TrimBOM(r.Data)
		if !rawjson.IsObject(data) {
			continue
		}
		var t rawjson.Text
		var s run.Scanned
		t.Reset(data)
		if _, err := s.Scan(&t, 0); err != nil {
			continue
		}
		return s.IsHeader()
	}
	return false
}

// decoder is the state of reading one log.
// Strings of one log are kept in env and id again and again: the builder copies what it keeps.
type decoder struct {
	b       *session.Builder
	lines   dialect.Lines
	env     session.Envelope
	id      [8]byte
	header  bool
	refused *session.Problem // why there is no header
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	b.SetCodec(d.Codec())
	return &decoder{b: b, lines: dialect.Lines{Builder: b, Starts: []string{`{"type":`}}}
}

// Decode takes the next record.
func (dec *decoder) Decode(r dialect.Record) {
	if dec.refused != nil {
		return
	}
	// A log that consists of half a header is that of a run which began this moment, or crashed at once. It is
	// refused, since there is no id to call it by.
	if cut := dec.lines.Decode(r, dec); cut >= 0 && !dec.header && dec.refused == nil {
		dec.refuse(r, cut, "the only record is cut off")
	}
}

// Other has nothing to do: what is no object is reported and passed over.
func (dec *decoder) Other([]byte) {}

// Object decodes the object at pos and gives the offset behind it.
func (dec *decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	var s run.Scanned
	end, err := s.Scan(&dec.lines.Text, pos)
	if err != nil {
		return 0, err
	}
	span := session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	switch {
	case dec.refused != nil:
	case !dec.header:
		dec.first(r, data[pos:end], span, &s)
	case string(s.Type) == string(run.TypeHeader):
		dec.lines.Problem(r, int(span.Offset-r.Offset), session.ProblemHeaderAgain, "a second header", "it stays in the file and is no entry")
	default:
		dec.entry(r, data[pos:end], span, &s)
	}
	return end, nil
}

// first takes the record that must be the header.
func (dec *decoder) first(r dialect.Record, record []byte, span session.Span, s *run.Scanned) {
	raw := bytes.Clone(record)
	h, err := run.DecodeHeader(raw)
	if err != nil {
		dec.refuse(r, span.Offset, "the first record is "+describe(s, record))
		return
	}
	dec.header = true
	header := headerOf(h, raw)
	header.Span, header.Line = span, r.Line
	// Unlike with sessions, a lower version is strange, too: there was never one.
	if h.SchemaVersion != run.SchemaVersion {
		header.Newer = true
		dec.b.Problem(session.Problem{Line: r.Line, Offset: span.Offset, Kind: session.ProblemNewer,
			Message: fmt.Sprintf("the log is of schema_version %s; %d is the one we know", schema(raw), run.SchemaVersion),
			Advice:  "it is read as well as we can and never written"})
	}
	dec.b.SetHeader(header)
}

// headerOf is what the header of a run says of a session: the log is that of the run, whose id it has.
// In lists a run takes the place of a session, so it needs the id, the directory and the time of one.
func headerOf(h run.Header, raw []byte) session.Header {
	header := session.Header{
		ID: session.ID(h.RunID), Version: int(min(max(h.SchemaVersion, 0), math.MaxInt32)),
		Timestamp: session.Time{Text: string(rawjson.Get(raw, "started_at"))}, Raw: raw,
	}
	if h.Runtime != nil {
		header.CWD = h.Runtime.CWD
	}
	// The program leaves the directory out where it was not told; where the workspace is, it knows.
	header.CWD = cmp.Or(header.CWD, rawjson.Str(rawjson.At(h.Meta, "/runtime_environment/workspace"), "root"))
	return header
}

func schema(header []byte) string {
	if v := rawjson.Get(header, "schema_version"); v != nil {
		return dialect.Shorten(v)
	}
	return "(none)"
}

func describe(s *run.Scanned, record []byte) string {
	switch {
	case string(s.Type) == string(run.TypeHeader):
		return "a header without a run_id"
	case s.Type != nil:
		return fmt.Sprintf("of type %q", dialect.Shorten(s.Type))
	}
	return dialect.Shorten(record)
}

// The text says that nothing was changed, because some programs answer such a file by replacing it.
func (dec *decoder) refuse(r dialect.Record, offset int64, found string) {
	dec.refused = &session.Problem{Line: r.Line, Offset: offset, Kind: session.ProblemNoHeader,
		Message: "no header of a run: " + found,
		Advice:  "the file was not changed; if it is a run log, its header line was damaged or lost"}
}

// entry hands an envelope to the builder. Records have no ids: they get eight hex digits, made from their position so that
// no two are equal (an odd factor turns numbers of 32 bits into each other) or begin alike.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, s *run.Scanned) {
	kind, role := kindOf(s.Type)
	// 2654435769 is 2^32 divided by the golden ratio, which spreads neighbours furthest apart. Position and not a
	// counter of our own: reading may begin in the middle of a log.
	short := uint32(dec.b.Position()+1) * 2654435769
	for k := range dec.id {
		dec.id[k] = "0123456789abcdef"[short>>(28-4*k)&0xf]
	}
	dec.env = session.Envelope{
		ID: dec.id[:], Made: true, InOrder: true, Kind: kind, Role: role, Type: s.Type, Span: span, Line: r.Line, Record: record,
	}
	dec.b.Add(&dec.env)
}

// IsRecord tells a record from the other objects that a torn record has inside.
func (dec *decoder) IsRecord(object []byte) bool {
	var t rawjson.Text
	var s run.Scanned
	t.Reset(object)
	_, err := s.Scan(&t, 0)
	return err == nil && s.IsRecord()
}

// Finish says whether it was a run log.
func (dec *decoder) Finish() error {
	if dec.refused == nil && !dec.header && dec.lines.Started() {
		dec.refuse(dialect.Record{Line: 1}, 0, "no line of it is a record")
	}
	if dec.refused != nil {
		return dec.refused
	}
	return nil
}
