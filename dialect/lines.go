package dialect

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Lines goes through the lines of a log on which each record is a JSON object. What goes wrong with such lines (a byte
// order mark, NUL bytes, several records on a line, a record that was cut off) is the same for every agent, and so is
// what is said about it.
// The zero value with a Builder and Starts is ready. It is used for one log, from one goroutine.
type Lines struct {
	Builder *session.Builder
	// Text is the line at hand, prepared for scanning.
	Text rawjson.Text
	// Starts are the ways in which the agent's records begin: one is looked for behind a damaged piece of a line.
	// A start must be specific enough that blocks inside of a record do not begin with it, or IsRecord must tell
	// them apart.
	Starts  []string
	started bool
}

// Objects is what Lines finds.
type Objects interface {
	// Object takes the object at pos of the line and gives the offset behind it, or why it is no JSON. at is where in the
	// log the line's data begin.
	Object(r Record, data []byte, at int64, pos int) (end int, err error)
	// Other is told of a value that is no object. It was reported.
	Other(value []byte)
	// IsRecord tells a record from the other objects that a torn record has inside.
	IsRecord(object []byte) bool
}

var bom = []byte("\xef\xbb\xbf")

// TrimBOM takes away a byte order mark.
func TrimBOM(data []byte) []byte { return bytes.TrimPrefix(data, bom) }

// DecodeLog gives a decoder all records of a log in memory, and returns what Finish says of them.
// Lines end at \n alone, with one \r before it taken off: the texts inside of records have their line breaks
// escaped, but U+2028 may stand in them.
func DecodeLog(dec Decoder, log []byte) error {
	line, offset := 0, int64(0)
	for data := range bytes.Lines(log) {
		line++
		record, whole := bytes.CutSuffix(data, []byte{'\n'})
		dec.Decode(Record{Data: bytes.TrimSuffix(record, []byte{'\r'}), Offset: offset, Line: line, Torn: !whole})
		offset += int64(len(data))
	}
	return dec.Finish()
}

// Behind says that the lines begin in the middle of a log.
// No byte order mark is looked for then: at any other place those bytes are damage.
func (l *Lines) Behind() { l.started = true }

// Started says whether a line with anything on it was seen.
func (l *Lines) Started() bool { return l.started }

// Decode takes the next line. It gives the offset of a record that was cut off at the end of the log, or -1.
// Everything that is not a blank is either handed to Objects or reported; nothing is passed over in silence.
func (l *Lines) Decode(r Record, to Objects) (cutOff int64) {
	data, at := r.Data, r.Offset
	if !l.started {
		if bytes.HasPrefix(data, bom) {
			data, at = data[len(bom):], at+int64(len(bom))
			l.Problem(r, 0, session.ProblemBOM, "byte order mark before the first record", "it is passed over")
		}
		// A blank first line does not count as begun: what follows may still have the mark.
		l.started = len(data) > 0
	}
	if data, at = l.trimNULs(r, data, at); len(data) == 0 {
		return -1
	}
	l.Text.Reset(data)
	cutOff = -1
	pos, pieces := 0, 0
	for {
		if pos = rawjson.SkipSpace(data, pos); pos >= len(data) {
			break
		}
		end, err := l.one(r, data, at, pos, to)
		if err != nil {
			next := l.damaged(r, data, at, pos, err, to)
			if next < 0 {
				// The caller of a log whose only record is cut off must refuse it rather than take it for empty.
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
			"all of them are kept; 'treeline repair' puts each on a line of its own")
	}
	return cutOff
}

// Problem reports something wrong with a line, pos bytes behind the beginning of the record. A place in what Object gets is
// behind more than that where something was cut off: at says where in the log it begins.
func (l *Lines) Problem(r Record, pos int, kind session.ProblemKind, message, advice string) {
	l.Builder.Problem(session.Problem{Line: r.Line, Offset: r.Offset + int64(pos), Kind: kind, Message: message, Advice: advice})
}

// trimNULs cuts off the NUL bytes that file systems leave at the end of a file when a machine goes down.
// Journalling file systems grow a file before its bytes are written. So the size may survive a crash, and the
// bytes not.
func (l *Lines) trimNULs(r Record, data []byte, at int64) ([]byte, int64) {
	if len(data) == 0 || data[0] != 0 && data[len(data)-1] != 0 {
		return data, at
	}
	trimmed := bytes.TrimLeft(data, "\x00")
	at += int64(len(data) - len(trimmed))
	trimmed = bytes.TrimRight(trimmed, "\x00")
	l.Problem(r, 0, session.ProblemNULs, fmt.Sprintf("%d NUL bytes", len(data)-len(trimmed)),
		"they are passed over; an entry may have been lost here when the machine went down")
	return trimmed, at
}

// one takes the value at pos and gives the offset behind it.
// A number or null alone on a line crashes some of the programs, and is an entry to others. It is neither here.
func (l *Lines) one(r Record, data []byte, at int64, pos int, to Objects) (int, error) {
	if data[pos] == '{' {
		return to.Object(r, data, at, pos)
	}
	end, err := rawjson.Skip(data, pos)
	if err != nil {
		return 0, err
	}
	// pos counts in data, from which a byte order mark or NULs may have been cut off.
	l.Problem(r, int(at-r.Offset)+pos, session.ProblemNotObject, fmt.Sprintf("the record is %s, not an object", Shorten(data[pos:end])),
		"it is passed over and stays in the file")
	to.Other(data[pos:end])
	return end, nil
}

// damaged reports a piece of a line that is not JSON and looks whether a whole record follows it on the same line, as
// happens when a program appends to a torn file. It gives the offset to go on at, -1 for the end of the line.
// Whether what is broken was cut off or is garbage decides what can be done about it: what was cut off can be
// moved aside.
func (l *Lines) damaged(r Record, data []byte, at int64, pos int, err error, to Objects) int {
	next := l.nextRecord(data, pos+1, to)
	end := next
	if end < 0 {
		end = len(data)
	}
	var syntax *rawjson.SyntaxError
	// a JSON text that ends too early, wherever the line ends
	short := errors.As(err, &syntax) && syntax.Short
	kind, message := session.ProblemMalformed, fmt.Sprintf("%d bytes are not a JSON record: %v", end-pos, err)
	advice := "they are passed over and stay in the file"
	if next < 0 && (r.Torn || short) {
		kind = session.ProblemTorn
		message = fmt.Sprintf("the record was cut off after %d bytes", end-pos)
		advice = "it cannot be read and stays in the file; all before it was kept"
	}
	if next >= 0 {
		advice = "the rest of the line was kept"
	}
	l.Builder.Problem(session.Problem{Line: r.Line, Offset: at + int64(pos), Kind: kind, Message: message, Advice: advice})
	return next
}

// nextRecord looks behind a damaged piece for a record that runs, alone or with others, to the end of the line. The work
// is limited: a hostile line must not make us scan it again for each of its braces.
func (l *Lines) nextRecord(data []byte, from int, to Objects) int {
	// Eight times the line is far more than one damaged piece and a few false starts need.
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
		// the comparison is done only where a brace and a quote stand together
		for _, s := range l.Starts {
			if bytes.HasPrefix(data[from:], []byte(s)) {
				return from
			}
		}
		from++
	}
}

// Shorten makes a piece of a record fit for a message.
func Shorten(b []byte) string {
	const most = 60
	if len(b) > most {
		return string(bytes.ToValidUTF8(b[:most], nil)) + "…"
	}
	return string(b)
}
