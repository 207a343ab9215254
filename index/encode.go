package index

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// writer encodes.
type writer struct {
	data    []byte
	table   []string
	numbers map[string]uint64
}

//go:noinline // its copies took 11.7 KB
func (w *writer) uvarint(v uint64) { w.data = binary.AppendUvarint(w.data, v) }

func (w *writer) varint(v int64) { w.data = binary.AppendVarint(w.data, v) }

// flagsOf returns a number with a bit for each flag that is set.
func flagsOf(list ...bool) (n uint64) {
	for i, on := range list {
		if on {
			n |= 1 << i
		}
	}
	return n
}

//go:noinline // its copies took 9.7 KB
func (w *writer) string(s string) { w.uvarint(uint64(len(s))); w.data = append(w.data, s...) }

// shared writes a frequent string as its number in the table. Without a table it writes the string.
func (w *writer) shared(s string) {
	if w.numbers == nil {
		w.string(s)
		return
	}
	n, ok := w.numbers[s]
	if !ok {
		n = uint64(len(w.table))
		w.table = append(w.table, s)
		w.numbers[s] = n
	}
	w.uvarint(n)
}

// numbersOf writes the numbers of a summary. Tokens and cost are left out if all are 0; a flag of the log says so.
func (w *writer) numbersOf(s *Summary) {
	for _, n := range []int{s.Version, s.Messages, s.Entries, s.Branches, s.Problems} {
		w.varint(int64(n))
	}
	w.uvarint(uint64(s.Has))
	w.uvarint(uint64(len(s.Models)))
	for _, m := range s.Models {
		w.shared(m)
	}
	if s.Tokens != (Tokens{}) || s.Cost != 0 {
		w.usage(s.Tokens, s.Cost)
	}
	w.string(string(s.Spells))
}

func (w *writer) usage(t Tokens, cost float64) {
	w.tokens(t)
	w.float(cost)
}

func (w *writer) tokens(t Tokens) {
	for _, n := range []int64{t.Input, t.Output, t.CacheRead, t.CacheWrite, t.Total} {
		w.varint(n)
	}
}

func (w *writer) float(f float64) {
	w.data = binary.LittleEndian.AppendUint64(w.data, math.Float64bits(f))
}

// reader decodes. After an impossible value it sets bad, and all further values are zero.
type reader struct {
	text string
	at   int // position of the next byte
	bad  bool
	// alone: there is no table of frequent strings.
	alone bool

	table []string
}

// bytesOf returns the bytes of a string, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// textOf returns bytes as a string, which is valid as long as they do not change.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// fail drops the rest of the text, so that loops over counts end at once.
func (r *reader) fail() {
	r.bad, r.at = true, len(r.text)
}

// left returns how many bytes are left.
func (r *reader) left() int { return len(r.text) - r.at }

func (r *reader) uvarint() uint64 {
	if r.at < len(r.text) && r.text[r.at] < 0x80 { // the common case
		r.at++
		return uint64(r.text[r.at-1])
	}
	v, n := binary.Uvarint(bytesOf(r.text[r.at:]))
	if n <= 0 {
		r.fail()
		return 0
	}
	r.at += n
	return v
}

func (r *reader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// count reads a number of elements, each of at least so many bytes. A count that does not fit into the rest is damage, so nothing is
// allocated for it.
func (r *reader) count(least int) int {
	n := r.uvarint()
	if n > uint64(r.left()/least) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) bytes(n int) []byte {
	if n > r.left() {
		r.fail()
		return nil
	}
	return bytesOf(r.stringOf(uint64(n)))
}

func (r *reader) string() string { return r.stringOf(r.uvarint()) }

// stringOf reads a string of that length.
func (r *reader) stringOf(n uint64) string {
	if n > uint64(r.left()) {
		r.fail()
		return ""
	}
	at := r.at
	r.at += int(n)
	return r.text[at:r.at]
}

func (r *reader) shared() string {
	if r.alone {
		return r.string()
	}
	n := r.uvarint()
	if n >= uint64(len(r.table)) {
		r.fail()
		return ""
	}
	return r.table[n]
}

// numbersOf reads what writer.numbersOf wrote; used means that tokens and cost follow.
func (r *reader) numbersOf(s *Summary, used bool) {
	s.Version, s.Messages, s.Entries = int(r.varint()), int(r.varint()), int(r.varint())
	s.Branches, s.Problems = int(r.varint()), int(r.varint())
	s.Has = Has(r.uvarint())
	for range r.count(1) {
		s.Models = append(s.Models, r.shared())
	}
	if used {
		s.Tokens, s.Cost = r.usage()
	}
	s.Spells = Spells(r.string())
}

func (r *reader) usage() (t Tokens, cost float64) { return r.tokens(), r.float() }

func (r *reader) tokens() Tokens {
	return Tokens{r.varint(), r.varint(), r.varint(), r.varint(), r.varint()}
}

func (r *reader) float() float64 {
	if b := r.bytes(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}
