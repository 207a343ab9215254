package run

import (
	"strconv"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Scanned is what one look at a record finds, without decoding it. The slices point into the record and are as they
// stand there but for Type, which is text.
type Scanned struct {
	Type                                []byte
	RunID, SessionID, Time, Seq, CallID []byte
}

// Scan goes once through the record at pos and gives the offset behind it, or why it is no JSON.
// It finds only the members of the record itself, not those of messages inside, and of a repeated key the last, as
// JSON.parse does.
func (s *Scanned) Scan(t *rawjson.Text, pos int) (end int, err error) {
	o, _ := t.Object(pos)
	for o.Next() {
		switch string(o.Key) {
		case "type":
			s.Type = rawjson.Inside(o.Value())
		case "run_id":
			s.RunID = o.Value()
		case "session_id":
			s.SessionID = o.Value()
		case "ts":
			s.Time = o.Value()
		case "seq":
			s.Seq = o.Value()
		case "tool_call_id":
			s.CallID = o.Value()
		}
	}
	return o.End()
}

// IsHeader says whether the record is a header.
func (s *Scanned) IsHeader() bool {
	return string(s.Type) == string(TypeHeader) && rawjson.IsString(s.RunID)
}

// IsRecord tells a record from the other objects that a torn record has inside: messages and events have types, but no
// run.
func (s *Scanned) IsRecord() bool { return s.Type != nil && rawjson.IsString(s.RunID) }

// number gives a seq; ok is false where there is none.
func number(value []byte) (n int64, ok bool) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		ok = integer(&n, value)
		return n, ok
	}
	return n, true
}
