package dialect

import "fmt"

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
	NeedLog    NeedKind = iota // another log: a pattern of path.Match, relative to Root.Sessions; the last match in name order is meant
	NeedBeside                 // a file beside the log: relative to the folder of the log
	NeedRoot                   // a file of the agent, such as a registry: relative to the folder that holds Root.Sessions
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

// Supplied gives a decoder whose needs are met by get; dec itself where it has none. get is called once for each Need of
// a log. One that is asked for again is answered with an error, so forks that name each other end.
func Supplied(dec Decoder, get func(Need) ([]byte, error)) Decoder {
	n, ok := dec.(Needer)
	if !ok {
		return dec
	}
	return &supplied{dec, n, get, map[Need]bool{}}
}

// supplied is a decoder together with what meets its needs.
type supplied struct {
	Decoder
	needer Needer
	get    func(Need) ([]byte, error)
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
			if s.asked[n] {
				s.needer.Supply(n, nil, fmt.Errorf("%s: asked for twice", n.Name))
				continue
			}
			fresh, s.asked[n] = true, true
			content, err := s.get(n)
			s.needer.Supply(n, content, err)
		}
		if !fresh {
			return // the decoder asks for the same again and again
		}
	}
}
