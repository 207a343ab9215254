package run

import "github.com/treeline-dev/treeline/internal/rawjson"

// Scanned is the envelope of a record, found without decoding the rest. The slices point into the record. Type is decoded,
// the others are raw.
type Scanned struct {
	Type, RunID, Time, Seq []byte
}

// Scan reads the record at pos once and gives the offset of its end, or why it is not JSON. It finds only the record's own
// members and of a repeated key the last, like JSON.parse.
func (s *Scanned) Scan(t *rawjson.Text, pos int) (end int, err error) {
	o, _ := t.Object(pos)
	for o.Next() {
		switch string(o.Key) {
		case "type":
			s.Type = rawjson.Inside(o.Value())
		case "run_id":
			s.RunID = o.Value()
		case "ts":
			s.Time = o.Value()
		case "seq":
			s.Seq = o.Value()
		}
	}
	return o.End()
}

// IsHeader reports whether the record is a header.
func (s *Scanned) IsHeader() bool {
	return string(s.Type) == string(TypeHeader) && rawjson.IsString(s.RunID)
}

// IsRecord reports whether an object is a record rather than another object inside a torn record: messages and events have types, but
// no run.
func (s *Scanned) IsRecord() bool { return s.Type != nil && rawjson.IsString(s.RunID) }
