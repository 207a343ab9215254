package dialect

import (
	"fmt"
	"iter"

	"github.com/treeline-dev/treeline/session"
)

// Need is a log or file that a decoder wants to see.
type Need struct {
	Kind NeedKind
	// Name is a slash path, relative to what Kind says.
	Name string
}

// NeedKind says what the name of a Need is relative to.
type NeedKind uint8

// The kinds.
const (
	// NeedLog is another log of the agent: a pattern of path.Match, relative to Root.Sessions. One without a slash is the name
	// of a file in any folder. Of several matches the last in name order is meant. A folder b.d beside b.jsonl is for that log
	// alone, and comes first.
	NeedLog    NeedKind = iota
	NeedBeside          // a file beside the log: relative to the folder of the log
	NeedRoot            // a file of the agent, such as a registry: relative to the folder that holds Root.Sessions
)

// Needer is a Decoder that cannot read a log by itself: it was forked from another log, or files beside it hold a part
// of it. The decoder names what it needs and the caller supplies it, so that dialects do no I/O.
type Needer interface {
	// Needs gives what is missing now. It is asked after each record, after each Supply and before Finish, so it must be
	// cheap where nothing is missing. What was supplied, also with an error, must not be asked for again.
	Needs() []Need
	// Supply gives the content of a Need, or why there is none: the decoder reports that as a Problem. The content is the
	// decoder's to keep. It may name further needs: the base of a base. Entries that come from it are Foreign.
	Supply(n Need, content []byte, err error)
}

// OtherLog is another log that a decoder asked for. It is read as far as the decoder needs it.
type OtherLog interface {
	// Source reads spans of it. An Envelope may name it, so that records stay in the log.
	session.Source
	// Size is its length in bytes.
	Size() int64
	// Records yields its records from the beginning. Data is valid until the next step.
	Records() iter.Seq2[Record, error]
}

// LogNeeder is a Needer that does not want other logs in memory: needs of kind NeedLog are met with SupplyLog.
type LogNeeder interface {
	// SupplyLog is Supply for another log. It can be read as long as the log that is decoded is open.
	SupplyLog(n Need, log OtherLog, err error)
}

// Supplies meets the needs of a decoder.
type Supplies struct {
	// File gives the content of a Need.
	File func(Need) ([]byte, error)
	// Log gives another log. Where it is nil, a LogNeeder gets what File gives.
	Log func(Need) (OtherLog, error)
}

// Meet gives a decoder whose needs are met; dec itself where it has none. Each Need of a log is asked for once. One that the decoder asks for
// again is answered with an error, so forks that name each other end.
func (s Supplies) Meet(dec Decoder) Decoder {
	n, ok := dec.(Needer)
	if !ok {
		return dec
	}
	if s.Log == nil {
		s.Log = func(n Need) (OtherLog, error) {
			content, err := s.File(n)
			return &memoryLog{content}, err
		}
	}
	return &supplied{dec, n, s, map[Need]bool{}}
}

// memoryLog is an OtherLog in memory.
type memoryLog struct{ content []byte }

// Size implements OtherLog.
func (m *memoryLog) Size() int64 { return int64(len(m.content)) }

// Bytes implements session.Source.
func (m *memoryLog) Bytes(s session.Span) ([]byte, error) {
	if s.Offset < 0 || s.End() > int64(len(m.content)) {
		return nil, fmt.Errorf("bytes %d to %d are outside the log", s.Offset, s.End())
	}
	return m.content[s.Offset:s.End():s.End()], nil
}

// Records implements OtherLog.
func (m *memoryLog) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r := range recordsOf(m.content) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// supplied is a decoder together with what meets its needs.
type supplied struct {
	Decoder
	needer Needer
	meet   Supplies
	asked  map[Need]bool
}

// Decode implements Decoder.
func (s *supplied) Decode(r Record) {
	s.Decoder.Decode(r)
	s.supply()
}

// Finish implements Decoder.
func (s *supplied) Finish() error {
	s.supply()
	return s.Decoder.Finish()
}

func (s *supplied) supply() {
	for needs := s.needer.Needs(); len(needs) > 0; needs = s.needer.Needs() {
		fresh := false
		for _, n := range needs {
			again := error(nil)
			if s.asked[n] {
				again = fmt.Errorf("%s: asked for twice", n.Name)
			}
			fresh, s.asked[n] = fresh || again == nil, true
			s.one(n, again)
		}
		if !fresh {
			return // the decoder asks for the same again and again
		}
	}
}

// one meets a Need; again is why it is not met.
func (s *supplied) one(n Need, again error) {
	logs, ok := s.Decoder.(LogNeeder)
	switch {
	case again != nil && ok && n.Kind == NeedLog:
		logs.SupplyLog(n, nil, again)
	case again != nil:
		s.needer.Supply(n, nil, again)
	case ok && n.Kind == NeedLog:
		log, err := s.meet.Log(n)
		logs.SupplyLog(n, log, err)
	default:
		content, err := s.meet.File(n)
		s.needer.Supply(n, content, err)
	}
}
