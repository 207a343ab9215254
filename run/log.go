package run

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Source gives the bytes of records on demand. It holds the opened log.
type Source interface {
	Bytes(offset, length int64) ([]byte, error)
}

// Record is a record of a Log: its envelope and access to its content. It takes about a hundred bytes for a record of any
// size.
type Record struct {
	Type   Type
	Line   int
	Offset int64
	Length int64
	// Seq is the number of the request, response or event. HasSeq is false for any other record.
	Seq    int64
	HasSeq bool
	// Stray: the record names another run than the header does.
	Stray bool
	// Time is "ts" as the log spells it.
	Time string

	source Source
}

// Raw returns the record, byte for byte.
func (r Record) Raw() ([]byte, error) {
	if r.source == nil {
		return nil, errors.New("the record belongs to no log")
	}
	raw, err := r.source.Bytes(r.Offset, r.Length)
	if err != nil {
		return nil, fmt.Errorf("line %d (byte %d): %w", r.Line, r.Offset, err)
	}
	return raw, nil
}

// Body decodes the record.
func (r Record) Body() (Body, error) {
	raw, err := r.Raw()
	if err != nil {
		return nil, err
	}
	return Decode(raw)
}

// Log is one run: its header and the envelopes of its records. Their content is read on demand.
type Log struct {
	Header Header
	// HeaderRaw is the header's record.
	HeaderRaw []byte
	// Newer is set if the schema_version is not SchemaVersion. Reading such a log is best effort; it is never written.
	Newer    bool
	records  []Record
	problems []Problem
}

// Len is the number of records after the header.
func (l *Log) Len() int { return len(l.records) }

// At returns a record, in the order of the log.
func (l *Log) At(i int) Record { return l.records[i] }

// Records iterates over the records in log order.
func (l *Log) Records() iter.Seq2[int, Record] { return slices.All(l.records) }

// Problems lists what is wrong with the bytes of the log, in the order in which it was found. Audit checks their content.
func (l *Log) Problems() []Problem { return l.problems }

// End returns the last run.end; ok is false for a run that crashed or is still running.
func (l *Log) End() (r Record, ok bool) {
	for _, r := range slices.Backward(l.records) {
		if r.Type == TypeRunEnd {
			return r, true
		}
	}
	return Record{}, false
}

// Decoder makes a Log from lines, which it gets in order. Damage does not stop it: it keeps what is whole and reports the
// rest as Problems.
type Decoder struct {
	log    *Log
	source Source
	text   rawjson.Text
	// started: something other than a byte order mark was seen. header: the first record was a header. refused: it was not, and
	// the rest of the log is ignored.
	started bool
	header  bool
	refused *Problem
	// types shares one string for each type: a log with a million records has about ten types.
	types map[string]Type
}

// NewDecoder begins a log. The source gives its bytes on demand.
func NewDecoder(source Source) *Decoder {
	return &Decoder{log: new(Log), source: source, types: map[string]Type{}}
}

var bom = []byte("\xef\xbb\xbf")

// Line takes the next line, without its newline. torn says that it is the last line and has no newline. The caller may change data
// afterwards.
func (d *Decoder) Line(data []byte, offset int64, line int, torn bool) {
	if d.refused != nil {
		return
	}
	if !d.started {
		// A byte order mark anywhere else is damage.
		if rest, ok := bytes.CutPrefix(data, bom); ok {
			d.problem(line, offset, ProblemBOM, "byte order mark before the first record")
			data, offset = rest, offset+int64(len(bom))
		}
		d.started = len(data) > 0
	}
	// A file system leaves NULs in a file that was growing when the power failed. The records around them are often
	// whole.
	if n := len(data); n > 0 && (data[0] == 0 || data[n-1] == 0) {
		trimmed := bytes.TrimLeft(data, "\x00")
		begin := offset
		offset += int64(n - len(trimmed))
		data = bytes.TrimRight(trimmed, "\x00")
		d.problem(line, begin, ProblemNULs, fmt.Sprintf("%d NUL bytes", n-len(data)))
	}
	d.text.Reset(data)
	pieces := 0
	// A line may hold several records: a program that appends after a torn line glues its record to it.
	for pos := rawjson.SkipSpace(data, 0); pos < len(data) && d.refused == nil; pos = rawjson.SkipSpace(data, pos) {
		end, err := d.value(data, offset, pos, line)
		if err == nil {
			pos, pieces = end, pieces+1
			continue
		}
		// There is damage from pos on. It may be followed by a whole record that was appended after a crash.
		next := d.nextRecord(data, pos+1)
		d.damaged(data, offset, pos, next, line, torn, err)
		if next < 0 {
			break
		}
		pos = next
	}
	if pieces > 1 {
		d.problem(line, offset, ProblemGlued, fmt.Sprintf("%d records share the line", pieces))
	}
}

func (d *Decoder) problem(line int, offset int64, kind ProblemKind, message string) {
	d.log.problems = append(d.log.problems, Problem{Line: line, Offset: offset, Kind: kind, Message: message})
}

// value takes the value at pos and gives the offset of its end.
func (d *Decoder) value(data []byte, offset int64, pos, line int) (int, error) {
	// Numbers, texts and lists are JSON, but not records.
	if data[pos] != '{' {
		end, err := rawjson.Skip(data, pos)
		if err == nil {
			d.problem(line, offset+int64(pos), ProblemNotObject, "the record is not an object; it is ignored")
		}
		return end, err
	}
	var s Scanned
	end, err := s.Scan(&d.text, pos)
	if err != nil {
		return 0, err
	}
	at := offset + int64(pos)
	// The first object must be the header. Otherwise the whole file is refused.
	switch {
	case !d.header:
		d.first(data[pos:end], at, line, &s)
	case string(s.Type) == string(TypeHeader):
		d.problem(line, at, ProblemHeaderAgain, "a second header; the first one counts")
	default:
		d.add(at, int64(end-pos), line, &s)
	}
	return end, nil
}

// first takes the record that must be the header.
func (d *Decoder) first(record []byte, at int64, line int, s *Scanned) {
	if !s.IsHeader() {
		d.refused = &Problem{Line: line, Offset: at, Kind: ProblemNoHeader, Message: "the first record is not the header of a run"}
		return
	}
	d.header = true
	// The buffer of the line is reused.
	d.log.HeaderRaw = bytes.Clone(record)
	h, err := DecodeHeader(d.log.HeaderRaw)
	if err != nil { // unreachable: Scan accepted the header
		d.refused = &Problem{Line: line, Offset: at, Kind: ProblemNoHeader, Message: err.Error()}
		return
	}
	d.log.Header = h
	if h.SchemaVersion != SchemaVersion {
		d.log.Newer = true
		d.problem(line, at, ProblemNewer,
			fmt.Sprintf("schema_version %s is not %d; the log is read as well as we can and never written", version(d.log.HeaderRaw), SchemaVersion))
	}
}

// version returns the version as it is spelled, shortened.
func version(header []byte) string {
	if v := rawjson.Get(header, "schema_version"); v != nil {
		return string(v[:min(len(v), 40)])
	}
	return "(none)"
}

// add keeps the envelope. Type and time are copied, because data is reused.
func (d *Decoder) add(at, length int64, line int, s *Scanned) {
	typ, ok := d.types[string(s.Type)]
	if !ok {
		typ = Type(s.Type)
		d.types[string(typ)] = typ
	}
	r := Record{Type: typ, Line: line, Offset: at, Length: length, Time: string(rawjson.Inside(s.Time)), source: d.source}
	r.Seq, r.HasSeq = integer(s.Seq)
	// A record without a run_id belongs to this run.
	r.Stray = !rawjson.IsNull(s.RunID) && string(rawjson.Inside(s.RunID)) != d.log.Header.RunID
	d.log.records = append(d.log.records, r)
}

// damaged reports a piece of a line that is not JSON, up to the next record on the line or its end.
func (d *Decoder) damaged(data []byte, offset int64, pos, next, line int, torn bool, err error) {
	end := next
	if end < 0 {
		end = len(data)
	}
	var syntax *rawjson.SyntaxError
	kind, message := ProblemMalformed, fmt.Sprintf("%d bytes are not a JSON record: %v", end-pos, err)
	// A line with a newline may be torn, too: a program may have appended the newline later.
	if next < 0 && (torn || errors.As(err, &syntax) && syntax.Short) {
		kind, message = ProblemTorn, fmt.Sprintf("the record was cut off after %d bytes", end-pos)
	}
	d.problem(line, offset+int64(pos), kind, message)
}

// nextRecord searches after a damaged piece for a record that runs to the end of the line or to another record. The work is
// limited: a hostile line must not be scanned again for each of its braces.
func (d *Decoder) nextRecord(data []byte, from int) int {
	// This is far more than one torn record and the record after it need.
	budget := 8*len(data) + 4096
	for budget > 0 {
		// Recorders write the type first. A looser pattern would accept messages that are inside a torn record.
		i := bytes.Index(data[from:], []byte(`{"type":`))
		if i < 0 {
			return -1
		}
		from += i
		end, err := rawjson.Skip(data, from)
		budget -= max(end-from, 1)
		if err != nil {
			from++
			continue
		}
		var t rawjson.Text
		var s Scanned
		t.Reset(data[from:end])
		rest := rawjson.SkipSpace(data, end)
		if _, err := s.Scan(&t, 0); err == nil && s.IsRecord() && (rest >= len(data) || data[rest] == '{') {
			// Quotes were paired from the beginning of the line; an open string in the damage would pair them wrongly.
			d.text.Damaged()
			return from
		}
		from = end
	}
	return -1
}

// Finish returns the log. It fails only if the log has no header, with a *Problem.
func (d *Decoder) Finish() (*Log, error) {
	if !d.header && d.refused == nil {
		d.refused = &Problem{Line: 1, Kind: ProblemNoHeader, Message: "there is no header of a run"}
	}
	if d.refused != nil {
		return nil, d.refused
	}
	return d.log, nil
}

// Bytes is a log in memory.
type Bytes []byte

// Bytes implements Source. The slice is not copied.
func (b Bytes) Bytes(offset, length int64) ([]byte, error) {
	if offset < 0 || length < 0 || offset+length > int64(len(b)) {
		return nil, errors.New("outside of the log")
	}
	return b[offset : offset+length], nil
}

// DecodeBytes makes a Log from the bytes of a whole log. Lines end only at newlines: U+2028 may occur in a text.
func DecodeBytes(b []byte) (*Log, error) {
	d := NewDecoder(Bytes(b))
	offset := int64(0)
	line := 0
	for data := range bytes.SplitAfterSeq(b, []byte{'\n'}) {
		if len(data) == 0 {
			break
		}
		line++
		text, whole := bytes.CutSuffix(data, []byte{'\n'})
		d.Line(bytes.TrimSuffix(text, []byte{'\r'}), offset, line, !whole)
		offset += int64(len(data))
	}
	return d.Finish()
}
