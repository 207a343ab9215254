package dialect

import (
	"fmt"
	"iter"

	"github.com/treeline-dev/treeline/session"
)

// Need is a log or file that a decoder asks for.
type Need struct {
	Kind NeedKind
	// Name is a slash path, relative to what Kind says.
	Name string
}

// NeedKind says what the name of a Need is relative to.
type NeedKind uint8

// The kinds.
const (
	// NeedLog is another log of the agent: a pattern of path.Match, relative to Root.Sessions. A pattern without a slash matches
	// file names in any folder. If several logs match, the last in name order is taken. A folder b.d beside b.jsonl serves only
	// that log, and is searched first.
	NeedLog    NeedKind = iota
	NeedBeside          // a file beside the log: relative to the folder of the log
	NeedRoot            // a file of the agent, such as a registry: relative to the folder that holds Root.Sessions
)

// Needer is a Decoder that may need more than the log itself: the log was forked from another one, or files beside it hold a
// part of it. The decoder names what it needs and the caller supplies it, so that dialects do no I/O.
type Needer interface {
	// Needs gives what is missing now. It is called after each record, after each Supply and before Finish, so it must be
	// cheap when nothing is missing. It must not name again what was supplied, even if that was an error.
	Needs() []Need
	// Supply gives the content of a Need, or an error that says why there is none; the decoder reports that as a Problem. The
	// decoder may keep the content. The content may lead to further needs, such as the base of a base. Its entries are Foreign.
	Supply(n Need, content []byte, err error)
}

// OtherLog is another log that a decoder asked for. The decoder reads as much of it as it needs.
type OtherLog interface {
	// An Envelope may name an OtherLog as its Source, so that records stay in that log.
	session.Source
	// Size is its length in bytes.
	Size() int64
	// Records yields its records from the beginning. Data is valid until the next step.
	Records() iter.Seq2[Record, error]
}

// LogNeeder is a Needer that does not want other logs in memory: needs of kind NeedLog are met by SupplyLog.
type LogNeeder interface {
	// SupplyLog is Supply for another log. It stays readable as long as the decoded log is open.
	SupplyLog(n Need, log OtherLog, err error)
}

// Supplies meets the needs of a decoder.
type Supplies struct {
	// File gives the content of a Need.
	File func(Need) ([]byte, error)
	// Log gives another log. If it is nil, a LogNeeder gets the content from File.
	Log func(Need) (OtherLog, error)
}

// Meet returns a decoder whose needs are met, or dec itself if it is not a Needer. Each Need of a log is met once. If the decoder
// asks for it again, it gets an error, so that forks that name each other end.
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

// supplied is a decoder together with the Supplies that meet its needs.
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
			return // the decoder keeps asking for the same
		}
	}
}

// one meets a Need. If again is set, it is the reason not to.
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
