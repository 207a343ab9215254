package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Lines reads the lines of a log in which each record is a JSON object. Damage to such lines (a byte order mark, NUL
// bytes, several records on a line, a torn record) is the same for every agent and is reported here. A Lines with a Builder
// and Starts is ready for one log, in one goroutine.
type Lines struct {
	Builder *session.Builder
	// Text is the current line, prepared for scanning.
	Text rawjson.Text
	// Starts are the ways in which the agent's records begin. They are searched for after a damaged piece of a line. An
	// object inside a record must not begin like that, unless IsRecord tells it from a record.
	Starts  []string
	started bool
}

// Objects receives what Lines finds.
type Objects interface {
	// Object takes the object at data[pos:] and gives the offset of its end, or an error that says why it is not JSON. at is the
	// offset of data in the log.
	Object(r Record, data []byte, at int64, pos int) (end int, err error)
	// Other takes a value that is not an object. Lines has already reported it.
	Other(value []byte)
	// IsRecord reports whether an object is a record rather than an object inside a torn record.
	IsRecord(object []byte) bool
}

var bom = []byte("\xef\xbb\xbf")

// TrimBOM removes a byte order mark.
func TrimBOM(data []byte) []byte { return bytes.TrimPrefix(data, bom) }

// DecodeLog passes all records of a log in memory to a decoder and returns the error of Finish. A line ends at \n; one
// \r before it is removed. U+2028 does not end a line: it may occur inside records.
func DecodeLog(dec Decoder, log []byte) error {
	for r := range recordsOf(log) {
		dec.Decode(r)
	}
	return dec.Finish()
}

// recordsOf returns the records of a log in memory.
func recordsOf(log []byte) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		line, offset := 0, int64(0)
		for data := range bytes.Lines(log) {
			line++
			record, whole := bytes.CutSuffix(data, []byte{'\n'})
			if !yield(Record{Data: bytes.TrimSuffix(record, []byte{'\r'}), Offset: offset, Line: line, Torn: !whole}) {
				return
			}
			offset += int64(len(data))
		}
	}
}

// Continued says that the lines begin in the middle of a log, where a byte order mark counts as damage.
func (l *Lines) Continued() { l.started = true }

// Started reports whether a non-empty line was read.
func (l *Lines) Started() bool { return l.started }

// Decode takes the next line. It gives the offset of a torn record at the end of the log, or -1. Everything except white
// space is either passed to Objects or reported.
func (l *Lines) Decode(r Record, to Objects) (cutOff int64) {
	data, at := r.Data, r.Offset
	if !l.started {
		if bytes.HasPrefix(data, bom) {
			data, at = data[len(bom):], at+int64(len(bom))
			l.Problem(r, 0, session.ProblemBOM, "byte order mark before the first record", "it is ignored")
		}
		// The mark may also follow an empty first line.
		l.started = len(data) > 0
	}
	if len(data) > 0 && (data[0] == 0 || data[len(data)-1] == 0) {
		data, at = l.trimNULs(r, data, at)
	}
	if len(data) == 0 {
		return -1
	}
	l.Text.Reset(data)
	cutOff = -1
	pos, pieces := 0, 0
	for {
		if pos = rawjson.SkipSpace(data, pos); pos >= len(data) {
			break
		}
		end, err := 0, error(nil)
		if data[pos] == '{' {
			end, err = to.Object(r, data, at, pos)
		} else {
			end, err = l.other(r, data, at, pos, to)
		}
		if err != nil {
			next := l.damaged(r, data, at, pos, err, to)
			if next < 0 {
				// A log whose only record is torn must be refused, not read as empty.
				if r.Torn {
					cutOff = at + int64(pos)
				}
				return cutOff
			}
			pos = next
			continue
		}
		pieces++
		pos = end
	}
	if pieces > 1 {
		l.Problem(r, 0, session.ProblemGlued, fmt.Sprintf("%d records share the line", pieces),
			"all of them are kept; a repair puts each on a line of its own")
	}
	return cutOff
}

// HasBreak reports whether a line has U+2028 or U+2029, at which some programs split lines.
func HasBreak(line []byte) bool {
	for i := breaks.Index(line, 0); i >= 0; i = breaks.Index(line, i+1) {
		if line[i+1] == 0x80 {
			return true
		}
	}
	return false
}

// breaks are the first and the last byte of U+2028 and U+2029. A search for the first two bytes would also find dashes, quotation
// marks and ellipses, which are frequent in texts.
var breaks = rawjson.Pair{First: [2]byte{0xe2, 0xe2}, Second: [2]byte{0xa8, 0xa9}, Distance: 2}

// Problem reports something wrong with a line, pos bytes after the beginning of the record. Inside Object, an offset in data
// differs from pos if Lines trimmed the line: compute it from at.
func (l *Lines) Problem(r Record, pos int, kind session.ProblemKind, message, advice string) {
	l.Builder.Problem(session.Problem{Line: r.Line, Offset: r.Offset + int64(pos), Kind: kind, Message: message, Advice: advice})
}

// ProblemAt reports something wrong with the record at a span.
func (l *Lines) ProblemAt(r Record, at session.Span, kind session.ProblemKind, message, advice string) {
	l.Problem(r, int(at.Offset-r.Offset), kind, message, advice)
}

// trimNULs removes the NUL bytes that a crash of the machine leaves at the end of a file: journalling file systems grow a
// file before they write its bytes.
func (l *Lines) trimNULs(r Record, data []byte, at int64) ([]byte, int64) {
	trimmed := bytes.TrimLeft(data, "\x00")
	at += int64(len(data) - len(trimmed))
	trimmed = bytes.TrimRight(trimmed, "\x00")
	l.Problem(r, 0, session.ProblemNULs, fmt.Sprintf("%d NUL bytes", len(data)-len(trimmed)),
		"they are ignored; an entry may have been lost here when the machine went down")
	return trimmed, at
}

// other takes a value at pos that is not an object and gives the offset of its end. A number or null on a line crashes some
// agents' programs and is an entry to others; here it is a Problem.
func (l *Lines) other(r Record, data []byte, at int64, pos int, to Objects) (int, error) {
	end, err := rawjson.Skip(data, pos)
	if err != nil {
		return 0, err
	}
	// pos counts in data, from which a byte order mark or NULs may have been cut.
	l.Problem(r, int(at-r.Offset)+pos, session.ProblemNotObject, fmt.Sprintf("the record is %s, not an object", Shorten(data[pos:end])),
		"it is ignored and stays in the file")
	to.Other(data[pos:end])
	return end, nil
}

// damaged reports a piece of a line that is not JSON. It returns the offset of a whole record after it on the same line,
// which a program may have appended to a torn one, or -1. A torn record and garbage are different Problems: a repair can
// move a torn record aside.
func (l *Lines) damaged(r Record, data []byte, at int64, pos int, err error, to Objects) int {
	next := l.nextRecord(data, pos+1, to)
	end := next
	if end < 0 {
		end = len(data)
	}
	var syntax *rawjson.SyntaxError
	// short: the JSON text ends too early, at the end of the log or before it.
	short := errors.As(err, &syntax) && syntax.Short
	p := session.Problem{Line: r.Line, Offset: at + int64(pos)}
	switch {
	case next < 0 && (r.Torn || short):
		p.Kind, p.Message = session.ProblemTorn, "the record was cut off after "+strconv.Itoa(end-pos)+" bytes"
		p.Advice = "it cannot be read and stays in the file; all before it was kept"
	default:
		p.Kind, p.Message = session.ProblemMalformed, strconv.Itoa(end-pos)+" bytes are not a JSON record: "+err.Error()
		p.Advice = "they are ignored and stay in the file"
		if next >= 0 {
			p.Advice = "the rest of the line was kept"
		}
	}
	l.Builder.Problem(p)
	return next
}

// nextRecord searches after a damaged piece for records that run to the end of the line. The work is limited: a hostile
// line must not be scanned again for each of its braces.
func (l *Lines) nextRecord(data []byte, from int, to Objects) int {
	// This is far more than one damaged piece and a few false starts need.
	budget := 8*len(data) + 4096
	for budget > 0 {
		if from = l.nextStart(data, from); from < 0 {
			return -1
		}
		end, err := rawjson.Skip(data, from)
		budget -= end - from
		if err != nil {
			from++
			continue
		}
		rest := rawjson.SkipSpace(data, end)
		if (rest >= len(data) || data[rest] == '{') && to.IsRecord(data[from:end]) {
			l.Text.Damaged()
			return from
		}
		from = end
	}
	return -1
}

// nextStart finds the next place where a record may begin, -1 where there is none.
func (l *Lines) nextStart(data []byte, from int) int {
	for {
		i := bytes.Index(data[from:], []byte(`{"`))
		if i < 0 {
			return -1
		}
		from += i
		for _, s := range l.Starts {
			if bytes.HasPrefix(data[from:], []byte(s)) {
				return from
			}
		}
		from++
	}
}

// Shorten cuts a piece of a record to a length that fits into a message.
func Shorten(b []byte) string {
	const most = 60
	if len(b) > most {
		return string(bytes.ToValidUTF8(b[:most], nil)) + "…"
	}
	return string(b)
}

// Spelled returns the beginning of a value for a message about it; "missing" if there is none.
func Spelled(value []byte) string {
	if value == nil {
		return "missing"
	}
	return Shorten(value)
}
