package session

import "github.com/treeline-dev/treeline/internal/rawjson"

// Skimmer is a Codec that reads entries for those who keep nothing of them. Who indexes many sessions asks for the parts of
// every entry, and for what every answer took; to look once is half of the work, and texts that are thrown away at once need
// no memory of their own.
type Skimmer interface {
	// Skim gives what Parts gives and, for an answer, what Body says of it. Texts may be pieces of raw, and are good until s
	// is reset or raw changes. s was reset before.
	Skim(e Entry, raw []byte, s *Skim) error
}

// Skim is what a Skimmer gives, in memory that is used again. The zero value is ready. In the place of one that is nil texts
// have memory of their own.
type Skim struct {
	Parts []Part
	// Provider, Model and Usage are those of the Message that an answer's Body is; Usage is zero where there is none.
	Provider, Model string
	Usage           Usage

	room rawjson.Room
}

// Reset makes it ready for the next entry.
func (s *Skim) Reset() {
	clear(s.Parts) // they would hold on to what they are of
	s.Parts = s.Parts[:0]
	s.Provider, s.Model, s.Usage = "", "", Usage{}
	s.room.Reset()
}

// Trim is Reset that also lets go of the memory of very long texts.
func (s *Skim) Trim() {
	s.Reset()
	s.room.Trim()
}

// Text decodes a JSON string; ok is false for all else.
func (s *Skim) Text(value []byte) (text string, ok bool) {
	if s == nil {
		return rawjson.Unquote(value)
	}
	return s.room.Unquote(value)
}

// Plain gives a piece of raw, or of what was decoded, as a string.
func (s *Skim) Plain(b []byte) string {
	if s == nil {
		return string(b)
	}
	return s.room.String(b)
}
