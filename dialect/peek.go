package dialect

import (
	"bytes"
	"iter"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// NewSummary returns an empty Summary. Messages are counted only if the whole log is at hand.
func NewSummary(whole bool) Summary {
	if whole {
		return Summary{}
	}
	return Summary{Messages: -1}
}

// LineEnd says where a line of PeekLines ends.
type LineEnd uint8

// The ends of a line.
const (
	LineWhole LineEnd = iota
	LineLast          // whole, and no other line follows
	LineCut           // the line goes on after the bytes at hand
)

// PeekLines returns the lines of one end of a log. If the bytes do not begin at the start of the log, the first line is
// left out. The last line is cut, unless it ends with a newline or toEnd is set.
func PeekLines(b []byte, fromStart, toEnd bool) iter.Seq2[[]byte, LineEnd] {
	return func(yield func([]byte, LineEnd) bool) {
		if !fromStart {
			i := bytes.IndexByte(b, '\n')
			if i < 0 {
				return
			}
			b = b[i+1:]
		}
		for len(b) > 0 {
			line, rest, found := bytes.Cut(b, []byte{'\n'})
			end := LineWhole
			switch {
			case !found && !toEnd:
				end = LineCut
			case len(rest) == 0:
				end = LineLast
			}
			if !yield(line, end) {
				return
			}
			b = rest
		}
	}
}

// Peeker is what Peek has found so far in a log whose first record is a header. The slices point into the bytes at hand.
type Peeker struct {
	Summary
	Text    *rawjson.Text
	Last    []byte // the last entry's time
	Refused bool   // the first record is not a header
	Damaged bool   // a line is not exactly one record
}

// Lines passes on the lines of one end of the log. take takes a whole line and returns false if it is not exactly one
// record; cut takes the beginning of a line that goes on after the bytes at hand.
func (p *Peeker) Lines(b []byte, fromStart, toEnd bool, take func(line []byte, last bool) bool, cut func(line []byte)) {
	for line, end := range PeekLines(b, fromStart, toEnd) {
		switch {
		case p.Refused:
			return
		case end != LineCut:
			p.Damaged = !take(line, end == LineLast) && len(bytes.TrimSpace(line)) > 0 || p.Damaged
		case p.OK && p.Prompt == "":
			cut(line)
		}
	}
}

// Header takes the members of a header. A header whose id is not a string is refused.
func (p *Peeker) Header(id, cwd, parent, at []byte, version int) {
	if p.Refused = !rawjson.IsString(id); p.Refused {
		return
	}
	str := func(value []byte) string { s, _ := rawjson.Unquote(value); return s }
	p.OK, p.ID, p.CWD, p.Parent = true, session.ID(str(id)), str(cwd), str(parent)
	p.Version, p.Created = version, session.Time{Text: string(at)}
}

// Ends is what Peek has found so far in the lines of both ends of a log.
type Ends struct {
	Prompt string  // the first prompt
	Title  *string // the last title; nil if no line has one
	Active []byte  // the time of the last line that has one
	// Later: if the beginning has no prompt, a prompt at the end counts.
	Later bool
}

// Peek implements Dialect.Peek. take takes a whole line that is a JSON object. Unless the whole log is at hand, begun is called
// after the lines of head and fills in what they say.
func (p *Ends) Peek(d Dialect, head, tail []byte, whole bool, take func(record []byte), begun func(s *Summary)) Summary {
	if whole {
		s := ReadWhole(d, head, func(_ *Summary, _ session.Entry, record []byte) { take(record) })
		p.fill(&s)
		return s
	}
	s := NewSummary(false)
	takeLines(TrimBOM(head), true, false, take)
	if begun(&s); !s.OK {
		return NewSummary(false)
	}
	if len(tail) > 0 {
		first := p.Prompt
		p.Active = nil
		takeLines(tail, false, true, take)
		if first != "" || !p.Later {
			p.Prompt = first
		}
	}
	p.fill(&s)
	s.TailShort = p.Active == nil
	return s
}

func (p *Ends) fill(s *Summary) {
	s.Prompt = p.Prompt
	if p.Title != nil {
		s.Title = *p.Title
	}
	if p.Active != nil {
		s.Active = session.Time{Text: string(p.Active)}
	}
}

// takeLines passes whole lines to take and skips damaged ones.
func takeLines(b []byte, fromStart, toEnd bool, take func(record []byte)) {
	for line, end := range PeekLines(b, fromStart, toEnd) {
		if end != LineCut && rawjson.IsObject(line) && rawjson.Valid(line) {
			take(line)
		}
	}
}

// ReadWhole makes a Summary of a whole log with its decoder. each, if not nil, is called for each entry.
func ReadWhole(d Dialect, log []byte, each func(s *Summary, e session.Entry, record []byte)) Summary {
	b := session.NewBuilder("", nil)
	if DecodeLog(d.NewDecoder(b), log) != nil || b.Header().Raw == nil {
		return Summary{Messages: -1}
	}
	h := b.Header()
	s := Summary{OK: true, ID: h.ID, CWD: h.CWD, Parent: h.Parent, Task: h.Task, Version: h.Version, Created: h.Timestamp, Title: h.Title}
	for e := range b.Finish().Entries() {
		if e.IsMessage() {
			s.Messages++
		}
		if each != nil {
			each(&s, e, log[e.Span.Offset:e.Span.End()])
		}
	}
	return s
}

// Recount counts the messages of a damaged log with its decoder, which knows what is still readable. If no header
// was found before, it takes the decoder's.
func (s *Summary) Recount(d Dialect, log []byte) {
	w := ReadWhole(d, log, nil)
	switch {
	case s.OK && w.OK:
		s.Messages = w.Messages
	case w.OK:
		w.Prompt, w.Active = s.Prompt, s.Active
		*s = w
	}
}

// PromptMost limits how many bytes of the first prompt a list reads.
const PromptMost = 600

// Beginning returns the text of a JSON string that may be cut off: at most PromptMost bytes of it.
func Beginning(s []byte) string {
	if end, err := rawjson.Skip(s[:min(len(s), PromptMost)], 0); err == nil {
		s = s[:end-1]
	}
	s = s[:min(len(s), PromptMost)]
	if bytes.IndexByte(s, '\\') < 0 && len(s) > 0 {
		return wholeRunes(s[1:])
	}
	// An escape of up to twelve bytes (a surrogate pair) may be cut off.
	for k := 0; k < 12 && len(s) > 0; k++ {
		if text, ok := Unquote(append(bytes.ToValidUTF8(bytes.Clone(s), nil), '"')); ok {
			return text
		}
		s = s[:len(s)-1]
	}
	return ""
}

// wholeRunes returns a text without a last character that is cut in two.
func wholeRunes(s []byte) string {
	for k := 1; k <= utf8.UTFMax && k <= len(s); k++ {
		if utf8.RuneStart(s[len(s)-k]) {
			if !utf8.FullRune(s[len(s)-k:]) {
				s = s[:len(s)-k]
			}
			break
		}
	}
	if utf8.Valid(s) {
		return string(s)
	}
	return strings.ToValidUTF8(string(s), "")
}

// Unquote is like rawjson.Unquote, but faster for texts whose only escapes are newlines, tabs, quotes and backslashes: a list has
// thousands of them.
func Unquote(value []byte) (string, bool) {
	if bytes.IndexByte(value, '\\') < 0 || !utf8.Valid(value) {
		return rawjson.Unquote(value)
	}
	var out strings.Builder
	out.Grow(len(value))
	for rest := value[1 : len(value)-1]; ; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 || i+1 == len(rest) {
			out.Write(rest)
			return out.String(), i < 0
		}
		out.Write(rest[:i])
		switch c := rest[i+1]; c {
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case '"', '\\', '/':
			out.WriteByte(c)
		default:
			return rawjson.Unquote(value)
		}
		rest = rest[i+2:]
	}
}

// texts are pooled: a list looks at thousands of logs.
var texts = sync.Pool{New: func() any { return new(rawjson.Text) }}

// GetText returns a Text for a short use; PutText takes it back.
func GetText() *rawjson.Text { return texts.Get().(*rawjson.Text) }

// PutText takes back a Text of GetText and clears its line.
func PutText(t *rawjson.Text) {
	t.Reset(nil)
	texts.Put(t)
}
