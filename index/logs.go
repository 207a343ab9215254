package index

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/session"
)

// Logs are the logs of a source in the byte order of their names. They are stored encoded, and decoded when they are asked for: of a
// hundred thousand, a list or a search needs a few. They never change. A nil pointer is an empty list.
type Logs struct {
	pool *pool
	refs []ref
}

// pool is the memory of the logs of a catalogue. Catalogues share it: what is in it never changes, and an update makes a pool
// with more pages.
type pool struct {
	pages []string // pages of records
	table []string // frequent strings; records contain their numbers
	size  int      // bytes of all pages
}

// ref is the position of a record: the number of its page in the upper half, its offset in the lower one.
type ref uint64

// record returns the content of a record, without its length.
func (p *pool) record(at ref) string {
	rest := p.pages[at>>32][uint32(at):]
	n, size := uvarintOf(rest)
	return rest[size:][:n]
}

// span returns the position of a record, with its length.
func (p *pool) span(at ref) (page, from, to int) {
	page, from = int(at>>32), int(uint32(at))
	n, size := uvarintOf(p.pages[page][from:])
	return page, from, from + size + n
}

// uvarintOf reads the length of a record, and returns how many bytes it takes. It is there: all records were checked when they were read.
func uvarintOf(s string) (n, size int) {
	var v uint64
	for i := 0; i < len(s) && i < binary.MaxVarintLen32; i++ {
		v |= uint64(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			return int(v), i + 1
		}
	}
	return 0, 0
}

// LogsOf makes a list of logs, which must be in the order of their names. The positions of their chunks stay.
func LogsOf(logs []Log) *Logs {
	w := newWriter(nil)
	refs := make([]ref, len(logs))
	for i := range logs {
		refs[i], _ = w.put(&logs[i])
	}
	return &Logs{pool: w.made(), refs: refs}
}

// reader returns a reader of the record of a log.
func (l *Logs) reader(i int) reader {
	return reader{text: l.pool.record(l.refs[i]), table: l.pool.table}
}

// Len returns the number of logs.
func (l *Logs) Len() int {
	if l == nil {
		return 0
	}
	return len(l.refs)
}

// At decodes a log. A damaged record yields a log whose stamp proves nothing, so that the log is read again.
func (l *Logs) At(i int) *Log {
	var log Log
	log.Stamp.Generation = string(appendGeneration(nil, l.Read(i, &log)))
	return &log
}

// Read is At into a log whose memory is reused. It leaves Stamp.Generation empty and returns the generation packed: no list shows it, and
// unpacking takes a tenth of the time.
func (l *Logs) Read(i int, log *Log) (generation string) {
	r := l.reader(i)
	*log = Log{pieces: log.pieces[:0], Summary: Summary{Models: log.Summary.Models[:0]}}
	generation = r.kept(log)
	if r.bad || r.left() > 0 {
		log.lose()
	}
	return generation
}

// All decodes all logs.
func (l *Logs) All() []*Log {
	list := make([]*Log, l.Len())
	for i := range list {
		list[i] = l.At(i)
	}
	return list
}

// Dialects returns the names of the dialects of all logs.
func (l *Logs) Dialects() (list []string) {
	for i := range l.Len() {
		if b := l.Brief(i); !slices.Contains(list, b.Dialect) {
			list = append(list, b.Dialect)
		}
	}
	return list
}

// Find looks a name up; if no log has it, i is the index that it would have.
func (l *Logs) Find(name string) (i int, ok bool) { return l.findFrom(0, name) }

// findFrom is Find among the logs from an index on.
func (l *Logs) findFrom(from int, name string) (i int, ok bool) {
	low, high := from, l.Len()
	for low < high {
		middle := int(uint(low+high) >> 1)
		if l.Compare(middle, name) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < l.Len() && l.Compare(low, name) == 0
}

// Compare compares the name of a log with another name, as strings.Compare does.
func (l *Logs) Compare(i int, name string) int {
	r := l.reader(i)
	r.flags()
	r.skipPieces()
	dir, base := r.name()
	if n := len(dir); len(name) >= n && name[:n] == dir {
		return strings.Compare(base, name[n:])
	}
	// The two differ within the folder, or name ends there.
	return strings.Compare(dir, name)
}

// Brief is the part of a log that lists and searches read of every log. It is decoded without allocation.
type Brief struct {
	dir, base  string
	generation string // packed
	// Size, Nanos, Changed and Racy are fields of the stamp.
	Size, Nanos, Changed int64
	Racy                 bool
	// The rest is as in a Summary.
	Session, Task bool
	Dialect       string
	ID            session.ID
	First         uint64
	CWD           string
	active        packedTime
}

// Brief returns the beginning of a log's record.
func (l *Logs) Brief(i int) (b Brief) {
	r := l.reader(i)
	r.brief(&b, r.flags())
	return b
}

// Parent returns Summary.Parent of a log without allocation.
func (l *Logs) Parent(i int) string {
	r := l.reader(i)
	var b Brief
	r.brief(&b, r.flags())
	r.string() // the title
	r.string() // the first prompt
	r.time()
	return r.string()
}

// NotSession reports whether the log was read and is not a session. An empty file does not count: an agent is about to fill it.
func (b *Brief) NotSession() bool { return !b.Session && b.Size > 0 }

// Name returns the name of the log.
func (b *Brief) Name() string { return b.dir + b.base }

// Active returns when the session was last used, according to its log.
func (b *Brief) Active() (at time.Time, ok bool) {
	if b.active.known {
		return time.UnixMilli(b.active.ms), true
	}
	return b.active.Time.Time()
}

// Same is Stamp.Same.
func (b *Brief) Same(generation string, size, nanos, changed int64) bool {
	if b.Racy || b.Size != size || b.Nanos != nanos || b.Changed != changed || generation == "" {
		return false
	}
	var room [64]byte
	full := appendGeneration(room[:0], b.generation)
	return len(full) >= len(generation) && string(full[:len(generation)]) == generation
}

// packedTime is a time that is known in milliseconds, or by its text.
type packedTime struct {
	session.Time
	ms    int64
	known bool
}

// text returns the time as the log spells it.
func (p *packedTime) text() session.Time {
	if !p.known {
		return p.Time
	}
	return session.TimeOf(time.UnixMilli(p.ms))
}

// usualTime is the spelling of session.TimeOf.
const usualTime = `"2006-01-02T15:04:05.000Z"`

// time writes a time: as milliseconds if it has the usual spelling.
func (w *writer) time(t session.Time) {
	if len(t.Text) == len(usualTime) {
		if at, ok := t.Time(); ok && at.UnixMilli() >= 0 && session.TimeOf(at) == t {
			w.uvarint(uint64(at.UnixMilli())<<1 | 1)
			return
		}
	}
	w.uvarint(uint64(len(t.Text)) << 1)
	w.data = append(w.data, t.Text...)
}

func (r *reader) time() (t packedTime) {
	n := r.uvarint()
	if n&1 != 0 {
		return packedTime{ms: int64(n >> 1), known: true}
	}
	return packedTime{Time: session.Time{Text: r.stringOf(n >> 1)}}
}

// generation writes a generation. The generation of a file consists of numbers of 16 hexadecimal digits, many of which are small: these are
// written as numbers.
func (w *writer) generation(g string) {
	words := len(g) / 16
	if len(g)%16 != 0 || words > 4 || strings.Trim(g, "0123456789abcdef") != "" {
		w.uvarint(uint64(len(g)) << 1)
		w.data = append(w.data, g...)
		return
	}
	w.uvarint(uint64(words)<<1 | 1)
	for ; words > 0; words-- {
		var v uint64
		for _, c := range []byte(g[:16]) {
			v = v<<4 | uint64(c&0xf)
			if c >= 'a' {
				v += 9
			}
		}
		w.uvarint(v)
		g = g[16:]
	}
}

// generation reads a generation, still packed.
func (r *reader) generation() string {
	at := r.at
	n := r.uvarint()
	if n&1 == 0 {
		r.stringOf(n >> 1)
	} else {
		for range min(n>>1, 4) {
			r.uvarint()
		}
	}
	if r.bad {
		return ""
	}
	return r.text[at:r.at]
}

// appendGeneration appends a packed generation as text.
func appendGeneration(dst []byte, packed string) []byte {
	const digits = "0123456789abcdef"
	r := reader{text: packed}
	n := r.uvarint()
	if n&1 == 0 {
		return append(dst, r.stringOf(n>>1)...)
	}
	for range min(n>>1, 4) {
		v := r.uvarint()
		for shift := 60; shift >= 0; shift -= 4 {
			dst = append(dst, digits[v>>shift&0xf])
		}
	}
	return dst
}

// within writes a string that is usually a part of another, which the reader has already.
func (w *writer) within(s, other string) {
	if at := strings.LastIndex(other, s); at >= 0 && s != "" {
		w.uvarint(uint64(at)<<1 | 1)
		w.uvarint(uint64(len(s)))
		return
	}
	w.uvarint(uint64(len(s)) << 1)
	w.data = append(w.data, s...)
}

func (r *reader) within(other string) string {
	n := r.uvarint()
	if n&1 == 0 {
		return r.stringOf(n >> 1)
	}
	at, size := n>>1, r.uvarint()
	if at > uint64(len(other)) || size > uint64(len(other))-at {
		r.fail()
		return ""
	}
	return other[at : at+size]
}

// Flags of a record.
const (
	flagRacy = 1 << iota
	flagSession
	flagResume
	flagUsed // tokens and cost follow
	flagTask
)

// kept writes the record of a log in the order of reader.kept. The fields that every list needs come first.
func (w *writer) kept(l *Log) {
	s := &l.Summary
	flags := flagsOf(l.Stamp.Racy, s.Session, l.resume != "", s.Tokens != (Tokens{}) || s.Cost != 0, s.Task)
	w.uvarint(flags)
	w.uvarint(uint64(len(l.pieces)))
	for _, p := range l.pieces {
		w.piece(p)
	}
	base := strings.LastIndexByte(l.Name, '/') + 1
	w.shared(l.Name[:base])
	w.string(l.Name[base:])
	w.generation(l.Stamp.Generation)
	w.varint(l.Stamp.Size)
	w.varint(l.Stamp.Nanos)
	w.varint(l.Stamp.Changed)
	w.shared(s.Dialect)
	w.within(string(s.ID), l.Name[base:])
	w.time(s.Active)
	w.uvarint(s.First)
	w.shared(s.CWD)

	w.string(s.Title)
	w.string(s.Prompt)
	w.time(s.Created)
	w.string(s.Parent)
	w.string(string(s.Origin))
	w.varint(s.Forked)
	w.numbersOf(s)
	if l.resume != "" {
		w.string(l.resume)
	}
}

// kept reads what writer.kept wrote.
func (r *reader) kept(l *Log) (generation string) {
	flags := r.flags()
	for range r.count(3) {
		l.pieces = append(l.pieces, r.piece())
	}
	var b Brief
	r.rest(&b, flags)
	s := &l.Summary
	l.Name = b.Name()
	l.Stamp = Stamp{Size: b.Size, Nanos: b.Nanos, Changed: b.Changed, Racy: b.Racy}
	s.Session, s.Task, s.Dialect, s.ID, s.First, s.Active = b.Session, b.Task, b.Dialect, b.ID, b.First, b.active.text()
	s.CWD, s.Title, s.Prompt = b.CWD, r.string(), r.string()
	created := r.time()
	s.Created = created.text()
	s.Parent, s.Origin = r.string(), session.ID(r.string())
	s.Forked = r.varint()
	r.numbersOf(s, flags&flagUsed != 0)
	if flags&flagResume != 0 {
		l.resume = r.string()
	}
	return b.generation
}

func (r *reader) flags() uint64 { return r.uvarint() }

func (r *reader) name() (dir, base string) { return r.shared(), r.string() }

// brief reads the beginning of a record after its flags.
func (r *reader) brief(b *Brief, flags uint64) {
	r.skipPieces()
	r.rest(b, flags)
}

// rest reads the beginning of a record after its pieces.
func (r *reader) rest(b *Brief, flags uint64) {
	b.dir, b.base = r.name()
	b.generation = r.generation()
	b.Size, b.Nanos, b.Changed = r.varint(), r.varint(), r.varint()
	b.Racy, b.Session, b.Task = flags&flagRacy != 0, flags&flagSession != 0, flags&flagTask != 0
	b.Dialect = r.shared()
	b.ID = session.ID(r.within(b.base))
	b.active = r.time()
	b.First = r.uvarint()
	b.CWD = r.shared()
}

// piece writes the position of a piece.
func (w *writer) piece(p piece) {
	w.varint(p.at)
	w.varint(p.size)
	if p.shared {
		w.uvarint(uint64(p.member)<<1 | 1)
	} else {
		w.uvarint(uint64(p.chunks) << 1)
	}
}

func (r *reader) piece() piece {
	p := piece{at: r.varint(), size: r.varint()}
	n := r.uvarint()
	if p.shared = n&1 != 0; p.shared {
		p.member, p.chunks = int32(min(n>>1, math.MaxInt32)), 1
	} else {
		p.chunks = int32(min(n>>1, math.MaxInt32))
	}
	return p
}

func (r *reader) skipPieces() {
	for range r.count(3) {
		r.uvarint()
		r.uvarint()
		r.uvarint()
	}
}

// eachPiece calls take with the pieces of a log.
func (l *Logs) eachPiece(i int, take func(piece)) {
	r := l.reader(i)
	r.flags()
	for range r.count(3) {
		take(r.piece())
	}
}
