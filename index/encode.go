package index

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/treeline-dev/treeline/session"
)

// writer encodes.
type writer struct {
	data    []byte
	table   []string
	numbers map[string]uint64
}

func (w *writer) uvarint(v uint64) { w.data = binary.AppendUvarint(w.data, v) }
func (w *writer) varint(v int64)   { w.data = binary.AppendVarint(w.data, v) }
func (w *writer) string(s string)  { w.uvarint(uint64(len(s))); w.data = append(w.data, s...) }

// shared writes a frequent string as its number in the table. Without a table it is written as it is.
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

// log writes a log for EncodeLog. It must match reader.log, member by member and flag by flag.
func (w *writer) log(l *Log) {
	w.string(l.Name)
	w.string(l.Stamp.Generation)
	w.varint(l.Stamp.Size)
	w.varint(l.Stamp.Nanos)
	w.varint(l.Stamp.Changed)
	flags := uint64(0)
	for i, on := range []bool{l.Stamp.Racy, l.Summary.Session, l.resume != "", l.Summary.Tokens != (Tokens{}) || l.Summary.Cost != 0, l.Summary.Task} {
		if on {
			flags |= 1 << i
		}
	}
	w.uvarint(flags)
	w.uvarint(0) // pieces, which a shared index keeps elsewhere
	w.summary(&l.Summary)
	if l.resume != "" {
		w.string(l.resume)
	}
}

// summary writes what lists show.
func (w *writer) summary(s *Summary) {
	w.string(string(s.ID))
	w.shared(s.Dialect)
	w.shared(s.CWD)
	w.string(s.Title)
	w.string(s.Prompt)
	w.string(s.Created.Text)
	w.string(s.Active.Text)
	w.string(s.Parent)
	w.string(string(s.Origin))
	w.uvarint(s.First)
	w.varint(s.Forked)
	w.numbersOf(s)
}

// numbersOf writes what a summary counts. Tokens and cost are left out if all are 0, which a flag of the log says.
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

// reader decodes. After an impossible value bad is set, and all further values are zero.
type reader struct {
	text string
	at   int // what is before was read
	bad  bool
	// alone: there is no table of frequent strings.
	alone bool

	table []string
}

// bytesOf gives the bytes of a string, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// textOf gives bytes as a string, which is valid as long as they do not change.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// fail drops the rest of the text, so that loops over counts end at once.
func (r *reader) fail() {
	r.bad, r.at = true, len(r.text)
}

// left is how many bytes are left.
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

// count reads a number of elements, each of at least so many bytes. A count that the rest has no room for is damage, so
// nothing is allocated for it.
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

// log reads what writer.log wrote. Calls in a composite literal are evaluated in the order of the file.
func (r *reader) log(l *Log) {
	l.Name = r.string()
	l.Stamp = Stamp{Generation: r.string(), Size: r.varint(), Nanos: r.varint(), Changed: r.varint()}
	flags := r.uvarint()
	l.Stamp.Racy = flags&1 != 0
	if r.uvarint() != 0 {
		r.fail()
	}
	l.Summary.Session = flags&2 != 0
	r.summary(&l.Summary, flags&8 != 0)
	l.Summary.Task = flags&16 != 0
	if flags&4 != 0 {
		l.resume = r.string()
	}
}

// summary reads what writer.summary wrote.
func (r *reader) summary(s *Summary, used bool) {
	s.ID = session.ID(r.string())
	s.Dialect, s.CWD = r.shared(), r.shared()
	s.Title, s.Prompt = r.string(), r.string()
	s.Created.Text, s.Active.Text = r.string(), r.string()
	s.Parent, s.Origin = r.string(), session.ID(r.string())
	s.First, s.Forked = r.uvarint(), r.varint()
	r.numbersOf(s, used)
}

// numbersOf reads what writer.numbersOf wrote; used says that tokens and cost follow.
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
