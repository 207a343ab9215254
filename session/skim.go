package session

import "github.com/treeline-dev/treeline/internal/rawjson"

// Skimmer is an EntryCodec that reads entries for a caller that keeps nothing of them. An index needs the parts and the usage
// of every entry: reading both at once halves the work, and texts that are dropped at once need no memory of their own.
type Skimmer interface {
	// Skim gives what Parts gives and, for an answer, what Body says of it. Texts may point into raw: they are valid until s
	// is reset or raw changes. The caller has reset s.
	Skim(e Entry, raw []byte, s *Skim) error
}

// Skim is the result of a Skimmer, in memory that is reused. The zero value is ready. Methods of a nil Skim allocate.
type Skim struct {
	Parts []Part
	// Provider, Model and Usage are those of an answer; Usage is zero where it has none.
	Provider, Model string
	Usage           Usage

	room rawjson.Room
}

// Reset makes s ready for the next entry.
func (s *Skim) Reset() {
	clear(s.Parts) // they would keep their texts alive
	s.Parts = s.Parts[:0]
	s.Provider, s.Model, s.Usage = "", "", Usage{}
	s.room.Reset()
}

// Trim is Reset that also lets go of the memory of very long texts.
func (s *Skim) Trim() {
	s.Reset()
	s.room.Trim()
}

// Text decodes a JSON string; ok is false for any other value.
func (s *Skim) Text(value []byte) (text string, ok bool) {
	if s == nil {
		return rawjson.Unquote(value)
	}
	return s.room.Unquote(value)
}

// Plain gives a piece of raw, or of a decoded text, as a string.
func (s *Skim) Plain(b []byte) string {
	if s == nil {
		return string(b)
	}
	return s.room.String(b)
}
