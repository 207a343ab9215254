package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"unsafe"

	"github.com/treeline-dev/treeline/session"
)

// The file of the catalogue: a line that names it, the version, the length of the rest and its checksum; then a table of
// frequent strings, and the sources with their logs. Numbers are varints, strings are preceded by their length.
const (
	catalogueMagic = "treeline catalogue\n"
	// There is no migration: a file of another version is rebuilt from the logs. Every change of the encoding, or of the
	// meaning of what is encoded, takes the next number.
	catalogueVersion = 8
	catalogueHead    = len(catalogueMagic) + 4 + 8 + 4
)

// Reasons to rebuild the index.
var (
	errForeign = errors.New("it was written by another version")
	errDamaged = errors.New("its catalogue is damaged")
)

// encodeCatalogue returns the content of the file. The table, which comes first, is known when everything else is encoded.
func encodeCatalogue(c *Catalogue) []byte {
	const usual = 512 // bytes of a log
	w, logs := writer{numbers: map[string]uint64{}}, 0
	for i := range c.Sources {
		logs += len(c.Sources[i].Logs)
	}
	w.data = make([]byte, 0, usual*logs)
	w.uvarint(c.generation)
	w.varint(c.signatures)
	w.uvarint(uint64(len(c.Sources)))
	for i := range c.Sources {
		s := &c.Sources[i]
		w.string(s.Key)
		w.uvarint(uint64(len(s.Logs)))
		for k := range s.Logs {
			w.log(&s.Logs[k])
		}
	}
	body := w.data
	w.data = make([]byte, catalogueHead, catalogueHead+len(body)+128*(1+len(w.table)))
	w.uvarint(uint64(len(w.table)))
	for _, s := range w.table {
		w.string(s)
	}
	w.data = append(w.data, body...)
	at := copy(w.data, catalogueMagic)
	binary.LittleEndian.PutUint32(w.data[at:], catalogueVersion)
	binary.LittleEndian.PutUint64(w.data[at+4:], uint64(len(w.data)-catalogueHead))
	binary.LittleEndian.PutUint32(w.data[at+12:], crc32.Checksum(w.data[catalogueHead:], castagnoli))
	return w.data
}

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

// log writes a log. It must match reader.log, member by member and flag by flag.
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
	w.uvarint(uint64(len(l.pieces)))
	for _, p := range l.pieces {
		w.varint(p.at)
		w.varint(p.size)
		w.uvarint(uint64(p.chunks))
	}
	w.summary(&l.Summary)
	if l.resume != "" {
		w.string(l.resume)
	}
}

// summary writes what lists show. Tokens and cost are left out if all are 0, which a flag of the log says.
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

// decodeCatalogue decodes the content of the file. The strings of the catalogue share data, which must not change
// afterwards.
func decodeCatalogue(data []byte) (*Catalogue, error) {
	if len(data) < catalogueHead || string(data[:len(catalogueMagic)]) != catalogueMagic {
		return nil, errDamaged
	}
	head, body := data[len(catalogueMagic):catalogueHead], data[catalogueHead:]
	// The version comes before the checksum, since another version may compute it differently.
	if v := binary.LittleEndian.Uint32(head); v != catalogueVersion {
		return nil, fmt.Errorf("%w (%d, not %d)", errForeign, v, catalogueVersion)
	}
	if binary.LittleEndian.Uint64(head[4:]) != uint64(len(body)) || binary.LittleEndian.Uint32(head[12:]) != crc32.Checksum(body, castagnoli) {
		return nil, errDamaged
	}
	// The strings share the bytes of the file, which saves six allocations per session. Nothing else refers to data.
	r := reader{data: body, text: unsafe.String(unsafe.SliceData(body), len(body))}
	r.table = make([]string, r.count(1))
	for i := range r.table {
		r.table[i] = r.string()
	}
	c := &Catalogue{generation: r.uvarint(), signatures: r.varint()}
	c.Sources = make([]Source, r.count(2))
	for i := range c.Sources {
		s := &c.Sources[i]
		s.Key = r.string()
		s.Logs = make([]Log, r.count(8))
		for k := range s.Logs {
			r.log(&s.Logs[k])
		}
	}
	if r.bad || len(r.data) > 0 {
		return nil, errDamaged
	}
	return c, nil
}

// reader decodes. After an impossible value bad is set, and all further values are zero. It also reads pieces of signatures,
// where text is empty.
type reader struct {
	data []byte
	text string // ends where data ends
	bad  bool
	// alone: there is no table of frequent strings.
	alone bool

	table  []string
	models []string // memory shared by many logs
	pieces []piece
}

// fail drops the rest of the data, so that loops over counts end at once.
func (r *reader) fail() {
	r.bad, r.data = true, nil
}

func (r *reader) uvarint() uint64 {
	if len(r.data) > 0 && r.data[0] < 0x80 { // the common case
		v := r.data[0]
		r.data = r.data[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[n:]
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
	if n > uint64(len(r.data)/least) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.data) {
		r.fail()
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) string() string {
	n := r.count(1)
	at := len(r.text) - len(r.data)
	r.bytes(n)
	if r.bad {
		return ""
	}
	return r.text[at : at+n]
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
	if n := r.count(3); n > 0 {
		l.pieces = take(&r.pieces, n)
		for i := range l.pieces {
			l.pieces[i] = piece{at: r.varint(), size: r.varint(), chunks: int(r.uvarint())}
		}
	}
	l.Summary.Session = flags&2 != 0
	r.summary(&l.Summary, flags&8 != 0)
	l.Summary.Task = flags&16 != 0
	if flags&4 != 0 {
		l.resume = r.string()
	}
}

// summary reads what writer.summary wrote; used says that tokens and cost follow.
func (r *reader) summary(s *Summary, used bool) {
	s.ID = session.ID(r.string())
	s.Dialect, s.CWD = r.shared(), r.shared()
	s.Title, s.Prompt = r.string(), r.string()
	s.Created.Text, s.Active.Text = r.string(), r.string()
	s.Parent, s.Origin = r.string(), session.ID(r.string())
	s.First, s.Forked = r.uvarint(), r.varint()
	s.Version, s.Messages, s.Entries = int(r.varint()), int(r.varint()), int(r.varint())
	s.Branches, s.Problems = int(r.varint()), int(r.varint())
	s.Has = Has(r.uvarint())
	if n := r.count(1); n > 0 {
		s.Models = take(&r.models, n)
		for i := range s.Models {
			s.Models[i] = r.shared()
		}
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

// take cuts n elements off a block of memory, and allocates a new block if it is too short. The part has no spare capacity,
// so appending to it never overwrites its neighbour.
func take[T any](from *[]T, n int) []T {
	if len(*from) < n {
		*from = make([]T, max(n, 1024))
	}
	part := (*from)[:n:n]
	*from = (*from)[n:]
	return part
}
