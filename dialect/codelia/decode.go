package codelia

import (
	"bytes"
	"fmt"
	"math"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Continuer = (*Dialect)(nil)

// Detect claims a log whose first object is the header of a run.
func (d *Dialect) Detect(first []dialect.Record) bool {
	object := dialect.FirstObject(first)
	if object == nil {
		return false
	}
	s, err := scanned(object)
	return err == nil && s.IsHeader()
}

// scanned reads the envelope of one object.
func scanned(object []byte) (s run.Scanned, err error) {
	var t rawjson.Text
	t.Reset(object)
	_, err = s.Scan(&t, 0)
	return s, err
}

// decoder is the state of reading one log. env and id are reused: the builder copies what it keeps.
type decoder struct {
	dialect.Headed
	b   *session.Builder
	env session.Envelope
	id  [8]byte
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder {
	b.SetCodec(d.Codec())
	return &decoder{b: b, Headed: dialect.Headed{
		Lines: dialect.Lines{Builder: b, Starts: []string{`{"type":`}}, What: "header of a run", Log: "run log",
	}}
}

// Continue implements dialect.Continuer: records follow each other and get their ids from Builder.Position.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	dec := d.NewDecoder(b).(*decoder)
	dec.Continued()
	return dec, true
}

// Decode takes the next record.
func (dec *decoder) Decode(r dialect.Record) { dec.Read(r, dec) }

// Object decodes the object at pos and gives the offset of its end.
func (dec *decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	var s run.Scanned
	end, err := s.Scan(&dec.Lines.Text, pos)
	if err != nil {
		return 0, err
	}
	span := session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	switch {
	case dec.Refused():
	case !dec.Begun:
		dec.first(r, data[pos:end], span, &s)
	case string(s.Type) == string(run.TypeHeader):
		dec.Again(r, span)
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
		missing := ""
		if string(s.Type) == string(run.TypeHeader) {
			missing = "a run_id"
		}
		dec.RefuseFirst(r, span, record, s.Type, missing)
		return
	}
	dec.Begun = true
	header := headerOf(h, raw)
	header.Span, header.Line = span, r.Line
	// A lower version is unknown as well, because there never was one.
	if h.SchemaVersion != run.SchemaVersion {
		header.Newer = true
		dec.Newer(r, span, fmt.Sprintf("the log is of schema_version %s; %d is the one we know", schema(raw), run.SchemaVersion))
	}
	dec.b.SetHeader(header)
}

// headerOf returns the header of a run as the header of a session, with the id of the run: lists show runs like sessions.
func headerOf(h run.Header, raw []byte) session.Header {
	return session.Header{
		ID: session.ID(h.RunID), Version: int(min(max(h.SchemaVersion, 0), math.MaxInt32)), CWD: h.WorkDir(),
		Timestamp: session.Time{Text: string(rawjson.Get(raw, "started_at"))}, Raw: raw,
	}
}

func schema(header []byte) string {
	if v := rawjson.Get(header, "schema_version"); v != nil {
		return dialect.Shorten(v)
	}
	return "(none)"
}

// entry passes an envelope to the builder. Records have no ids.
func (dec *decoder) entry(r dialect.Record, record []byte, span session.Span, s *run.Scanned) {
	kind, role := kindOf(s.Type)
	dec.id = dialect.PlaceID(dec.b.Position())
	dec.env = session.Envelope{
		ID: dec.id[:], Made: true, InOrder: true, Kind: kind, Role: role, Type: s.Type, Span: span, Line: r.Line, Record: record,
	}
	dec.b.Add(&dec.env)
}

// IsRecord reports whether an object is a record rather than another object inside a torn record.
func (dec *decoder) IsRecord(object []byte) bool {
	s, err := scanned(object)
	return err == nil && s.IsRecord()
}
