// Package rowlog reads logs whose records are rows of an agent's tables, as package backend/rows shows them:
//
//	{"SESSION":{"column":value,…}}
//	{"MESSAGE":{"column":value,…}}
//
// The first record is the row of the session, every other one is the row of a message. The log is linear.
//
// A dialect embeds a Dialect, which reads, and uses its Form to write.
package rowlog

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Form describes the rows of one agent.
type Form struct {
	// Agent is the name of the program, for messages.
	Agent string
	// Session and Message are the names of the tables.
	Session, Message string
	// Columns are the columns of a session, in the order of the table. The row of a session has all of Needed, and none of Without.
	Columns, Needed, Without []string
	// Header makes the header from the record of a session and the row in it, without Span and Line.
	Header func(record, row []byte) session.Header
	// Entry sets the id, the kind, the role and the type of a message. Where ids may repeat, they may also be missing.
	Entry func(row []byte, env *session.Envelope)
	// Prompt gives the text of a message of the user's role if the user typed it, otherwise "".
	Prompt func(row []byte) string
}

// Dialect is the part of a dialect.Dialect that reads.
type Dialect struct {
	dialect.Base
	dialect.NoBlobs
	Form *Form
	// CodecOf gives the codec of a log that the Decoder has read.
	CodecOf func(*Decoder) session.Codec
}

var _ dialect.Continuer = (*Dialect)(nil)

// Codec is the codec of a session without damage.
func (d *Dialect) Codec() session.Codec { return d.CodecOf(&Decoder{}) }

// Detect claims a log whose first object is the row of a session.
func (d *Dialect) Detect(first []dialect.Record) bool {
	return d.Form.Row(dialect.FirstObject(first)) != nil
}

// NewDecoder starts to decode a log.
func (d *Dialect) NewDecoder(b *session.Builder) dialect.Decoder { return d.newDecoder(b) }

// Continue implements dialect.Continuer: each message can be read alone.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	dec := d.newDecoder(b)
	dec.Continued()
	return dec, true
}

func (d *Dialect) newDecoder(b *session.Builder) *Decoder {
	starts := []string{`{"` + d.Form.Message + `":`, `{"` + d.Form.Session + `":`}
	dec := &Decoder{form: d.Form, b: b, Headed: dialect.Headed{
		Lines: dialect.Lines{Builder: b, Starts: starts}, What: "row of a session", Log: "session of " + d.Form.Agent,
	}}
	b.SetCodec(d.CodecOf(dec))
	return dec
}

// Row returns the row of a session in a record that is a header; nil for any other record.
func (f *Form) Row(record []byte) []byte {
	row := rawjson.Get(record, f.Session)
	if !rawjson.IsObject(row) || !rawjson.IsString(rawjson.Get(row, "id")) {
		return nil
	}
	has := func(name string) bool { return rawjson.Get(row, name) != nil }
	for _, name := range f.Needed {
		if !has(name) {
			return nil
		}
	}
	if slices.ContainsFunc(f.Without, has) {
		return nil
	}
	return row
}

// Said returns the row of a message in its record; nil for any other record.
func (f *Form) Said(record []byte) []byte { return rawjson.Get(record, f.Message) }

// Record returns the record of the row of a message.
func (f *Form) Record(row []byte) []byte {
	var w dialect.Object
	w.Add(f.Message, row)
	return w.End()
}

// WithRow returns a header with another row.
func (f *Form) WithRow(header, row []byte) []byte {
	if header == nil {
		header = []byte("{}")
	}
	return rawjson.Set(header, f.Session, row)
}

// SetColumn sets a column of the row of a session, at its place in the order of Columns; nil removes it.
func (f *Form) SetColumn(row []byte, name string, value []byte) []byte {
	if value == nil {
		return rawjson.Delete(row, name)
	}
	if rawjson.Get(row, name) != nil {
		return rawjson.Set(row, name, value)
	}
	var w dialect.Object
	done := false
	place := slices.Index(f.Columns, name)
	for key, v := range rawjson.Fields(row) {
		if at := slices.Index(f.Columns, key); !done && (at > place || at < 0) {
			w.Add(name, value)
			done = true
		}
		w.Add(key, v)
	}
	if !done {
		w.Add(name, value)
	}
	return w.End()
}

// Decoder is the state of reading one log.
type Decoder struct {
	dialect.Headed
	form *Form
	b    *session.Builder
	env  session.Envelope
	// Broken is the first line that is not a row, 0 if there is none: a program that cannot read one row does not read the session.
	Broken int
}

// Decode takes the next record.
func (dec *Decoder) Decode(r dialect.Record) {
	before, begun := dec.b.Len(), dec.Begun
	dec.Read(r, dec)
	if begun && dec.b.Len() == before && len(bytes.TrimSpace(r.Data)) > 0 && dec.Broken == 0 {
		dec.Broken = r.Line
	}
}

// IsRecord reports whether an object is a record rather than an object inside a torn record.
func (dec *Decoder) IsRecord(object []byte) bool {
	return dec.form.Row(object) != nil || rawjson.IsObject(dec.form.Said(object))
}

// Object takes a record.
func (dec *Decoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	end, err := rawjson.Skip(data, pos)
	if err != nil {
		return 0, err
	}
	record, span := data[pos:end], session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	headed := rawjson.Get(record, dec.form.Session) != nil
	switch {
	case dec.Refused():
	case !dec.Begun:
		row := dec.form.Row(record)
		if row == nil {
			missing := ""
			if headed {
				missing = "an id and its other columns"
			}
			dec.RefuseFirst(r, span, record, nil, missing)
			break
		}
		dec.Begun = true
		h := dec.form.Header(record, row)
		h.Span, h.Line, h.Raw = span, r.Line, bytes.Clone(record)
		dec.b.SetHeader(h)
	case headed:
		dec.Again(r, span)
	default:
		dec.env = session.Envelope{InOrder: true, Kind: session.KindMessage, Span: span, Line: r.Line, Record: record}
		dec.form.Entry(dec.form.Said(record), &dec.env)
		if len(dec.env.ID) == 0 && !dec.env.Repeats {
			dec.Lines.ProblemAt(r, span, session.ProblemField, "the message has no id", "it is kept as it is")
		}
		if len(dec.env.Type) == 0 {
			dec.env.Type = []byte("unknown")
		}
		dec.b.Add(&dec.env)
	}
	return end, nil
}

// Peek makes a list row from the row of the session, and from the messages if all of them are at hand. A list only has the row,
// because reading messages would mean loading whole sessions.
func (d *Dialect) Peek(head, _ []byte, whole bool) dialect.Summary {
	f := d.Form
	if whole {
		return dialect.ReadWhole(d, head, func(s *dialect.Summary, e session.Entry, record []byte) {
			if s.Prompt == "" && e.Role == session.RoleUser {
				s.Prompt = f.Prompt(f.Said(record))
			}
		})
	}
	return f.Peek(head)
}

// Peek makes a list row from the row of a session at the beginning of a log.
func (f *Form) Peek(head []byte) dialect.Summary {
	s := dialect.Summary{Messages: -1}
	for line := range bytes.SplitAfterSeq(dialect.TrimBOM(head), []byte{'\n'}) {
		line = bytes.Trim(bytes.TrimSpace(line), "\x00")
		end, err := rawjson.Skip(line, 0)
		if err != nil || !rawjson.IsObject(line) {
			continue
		}
		row := f.Row(line[:end])
		if row == nil {
			return s
		}
		h := f.Header(line[:end], row)
		s.OK, s.ID, s.CWD, s.Parent, s.Task, s.Version, s.Title, s.Created = true, h.ID, h.CWD, h.Parent, h.Task, h.Version, h.Title, h.Timestamp
		return s
	}
	return s
}

// Refusal is the Problem of a session that the program cannot read because of a line.
func (f *Form) Refusal(line int, offset int64, why string) session.Problem {
	return session.Problem{Line: line, Offset: offset, Kind: session.ProblemRefused, Message: f.Agent + " cannot read the session: " + why,
		Advice: "nothing is sent until the row is repaired or deleted"}
}

// mostSeconds is greater than any time in seconds, and less than any in milliseconds, that a program of today writes.
const mostSeconds = 1e11

// Time reads a column with seconds since 1970. Some programs wrote milliseconds.
func Time(column []byte) session.Time {
	n := dialect.Integer(column)
	if n == 0 {
		return session.Time{}
	}
	if n < mostSeconds {
		n *= 1000
	}
	return session.Time{Text: strconv.FormatInt(n, 10)}
}

// Integer encodes a number.
func Integer(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

// Frame is dialect.Framer.Frame for an agent that orders messages by a column with seconds and then by insertion: no new message
// gets a time before that of the last message.
func (f *Form) Frame(t *session.Tree, column string, batch iter.Seq[dialect.NewRecord], also ...string) iter.Seq2[dialect.Framed, error] {
	return func(yield func(dialect.Framed, error) bool) {
		last := int64(0)
		if n := t.Len(); n > 0 {
			raw, err := t.At(n - 1).Raw()
			if err != nil {
				yield(dialect.Framed{}, err)
				return
			}
			last = dialect.Integer(rawjson.Get(f.Said(raw), column))
		}
		for n := range batch {
			if n.Moved {
				yield(dialect.Framed{}, fmt.Errorf("going on after entry %s is %w: a session of %s has no branches; fork the session there instead",
					n.Parent, dialect.ErrUnsupported, f.Agent))
				return
			}
			row := f.Said(n.Record)
			if at := dialect.Integer(rawjson.Get(row, column)); at < last {
				for _, name := range append([]string{column}, also...) {
					row = rawjson.Set(row, name, Integer(last))
				}
				n.Record = rawjson.Set(n.Record, f.Message, row)
			} else {
				last = at
			}
			if !yield(dialect.Framed{Record: n.Record}, nil) {
				return
			}
		}
	}
}

// Header returns the header, as far as it was read.
func (dec *Decoder) Header() session.Header {
	if dec.b == nil {
		return session.Header{}
	}
	return dec.b.Header()
}
