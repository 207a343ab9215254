package index

import (
	"slices"
	"time"
)

// Spell is a part of a session, within a quarter of an hour, in which at most one model answered. Quarters are fine enough to assign every
// spell to a day in any time zone.
type Spell struct {
	// Quarter counts the quarters of an hour since 1970; 0 if the messages have no time.
	Quarter int64
	// Model is the index of the model in Summary.Models, -1 if no answer of the spell names one.
	Model int
	// Copied: the messages are older than the session, which was forked from another one.
	Copied bool
	// Messages counts all messages, Answers those of the model.
	Messages, Answers int
	Tokens            Tokens
	Cost              float64
}

const quarter = 15 * time.Minute

// QuarterOf returns the Spell.Quarter of a moment.
func QuarterOf(at time.Time) int64 { return at.Unix() / int64(quarter/time.Second) }

// Start returns the first moment of the spell's quarter; ok is false if the messages have no time.
func (s *Spell) Start() (at time.Time, ok bool) {
	return time.Unix(s.Quarter*int64(quarter/time.Second), 0), s.Quarter != 0
}

// Spells are the encoded spells of a session, in the order of its log: every list reads the catalogue, but only statistics decode them.
type Spells string

// EncodeSpells encodes a list.
func EncodeSpells(list []Spell) Spells {
	var w writer
	var last Spell
	for i := range list {
		w.spell(&list[i], &last)
		last = list[i]
	}
	return Spells(w.data)
}

// List decodes the spells. It is shorter than what was encoded if the data is damaged.
func (s Spells) List() []Spell {
	r := reader{text: string(s)}
	var list []Spell
	var last Spell
	for r.left() > 0 {
		if r.spell(&last); r.bad {
			break
		}
		list = append(list, last)
	}
	return list
}

// Flags of a spell, in the order of writer.spell.
const (
	spellCopied = 1 << iota
	spellTokens
	spellCost
)

// spell writes a spell in the order of reader.spell. Its quarter is usually near that of the spell before.
func (w *writer) spell(s, last *Spell) {
	flags := flagsOf(s.Copied, s.Tokens != (Tokens{}), s.Cost != 0)
	w.uvarint(flags)
	for _, n := range []int64{s.Quarter - last.Quarter, int64(s.Model), int64(s.Messages), int64(s.Answers)} {
		w.varint(n)
	}
	if flags&spellTokens != 0 {
		w.tokens(s.Tokens)
	}
	if flags&spellCost != 0 {
		w.float(s.Cost)
	}
}

// spell replaces the last spell by the next one.
func (r *reader) spell(s *Spell) {
	flags := r.uvarint()
	*s = Spell{Quarter: s.Quarter + r.varint(), Model: int(r.varint()), Messages: int(r.varint()), Answers: int(r.varint())}
	s.Copied = flags&spellCopied != 0
	if flags&spellTokens != 0 {
		s.Tokens = r.tokens()
	}
	if flags&spellCost != 0 {
		s.Cost = r.float()
	}
}

// Cut returns the first n spells, as the beginning of a new list; ok is false if there are fewer.
func (s Spells) Cut(n int) (list []Spell, ok bool) {
	if list = s.List(); n < 0 || n > len(list) {
		return nil, false
	}
	return slices.Clip(list[:n]), true
}
