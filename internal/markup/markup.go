// Package markup turns the texts of sessions into HTML that is safe to put into a page, and into blocks of spans for interfaces other than
// browsers (see Blocks).
//
// A session's text is hostile: it may come from a web page that an agent fetched. Whatever the text is, the result has only elements and
// attributes that this package writes, and they are balanced. It has no script, no style attribute and nothing that a browser loads. Raw
// HTML is shown as text. Links lead to http, https and mailto; for any other the destination is shown. Definitions of link references,
// which Markdown hides, are shown too. Control characters and those that change the direction of writing are shown by name. The time is
// linear in the length of the text.
//
// The classes, for a style sheet:
//
//	k keyword   s string   c comment   n number   f function, key or attribute   t type   o operator
//	m meta (preprocessor, annotations, headers of a diff)   a added line   d deleted line
//	ctl           a control character, shown by name
//	cut           the mark where a text was cut
//	dest          the destination of a link that leads nowhere
//	task          a list item with a check box
//	right, center a cell of a table
//
// Nothing is built before its first use.
package markup

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// HTML writes a text in Markdown as HTML: CommonMark, with tables, strikethrough, task lists and bare links. A newline in a
// paragraph is a line break, as people mean it in a conversation. Images become links.
// most limits how many bytes of the text are shown; a mark says how much was cut. 0 is no limit.
func HTML(dst *bytes.Buffer, text string, most int) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	whole := len(text)
	if most > 0 && whole > most {
		text = text[:cutAt(text, most)]
	}
	r := renderer{dst: dst}
	for p := (pieces{rest: text, most: maxPiece}); p.rest != ""; {
		r.piece(p.next())
	}
	if more := whole - len(text); more > 0 {
		dst.WriteString(`<p class="cut">… ` + strconv.Itoa(more) + " more bytes</p>\n")
	}
}

// cutAt returns where to cut a text that is longer than most: after a line in the second half, or else between two characters.
func cutAt(text string, most int) int {
	if i := strings.LastIndexByte(text[:most], '\n'); i >= most/2 {
		return i + 1
	}
	for i := most; i > max(0, most-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return most
}

// maxPiece limits how much is parsed at once. The parser's time and memory are not linear for all inputs, such as blank lines in nested
// lists, so a longer text is parsed in pieces. A list that is cut is rendered as two.
const maxPiece = 64 << 10

// pieces are the parts of a text that are parsed one after the other.
type pieces struct {
	rest  string
	most  int    // size of a piece in bytes
	fence string // the line that opened the code block in which the last piece ended
}

// next removes and returns the next piece. If the last one ended in a fenced code block, the piece begins with the same fence.
func (p *pieces) next() string {
	piece := p.rest
	if len(piece) > p.most {
		n := cutAt(piece, p.most)
		if i := strings.LastIndex(piece[:n], "\n\n"); i >= p.most/2 {
			n = i + 2
		}
		piece = piece[:n]
	}
	p.rest = p.rest[len(piece):]
	piece = p.fence + piece
	if p.fence = ""; p.rest != "" {
		p.fence = openFence(piece)
	}
	if strings.Contains(piece, blankLines) {
		piece = squeeze(piece)
	}
	return piece
}

// openFence returns the line that opens the fenced code block in which a text ends, or "".
func openFence(text string) string {
	var f fence
	for line := range strings.Lines(text) {
		f.see(line)
	}
	if len(f.open) > 200 {
		return f.mark + "\n"
	}
	return f.open
}

// blankLines are more blank lines than a text has for a reason.
var blankLines = strings.Repeat("\n", 64)

// squeeze drops repeated blank lines outside of fenced code blocks. The parser looks at each open list for each blank line.
func squeeze(text string) string {
	var b strings.Builder
	var f fence
	blank := 0
	for line := range strings.Lines(text) {
		if f.see(line); line != "\n" {
			blank = 0
		} else if blank++; blank > 2 && f.open == "" {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// fence follows the fenced code blocks of a text from line to line.
type fence struct {
	open string // the line that opened the block; "" outside
	mark string // its fence
}

func (f *fence) see(line string) {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 {
		return
	}
	run := s[:len(s)-len(strings.TrimLeft(s, "`"))]
	if run == "" {
		run = s[:len(s)-len(strings.TrimLeft(s, "~"))]
	}
	info := strings.TrimSpace(s[len(run):])
	switch {
	case len(run) < 3:
	case f.open == "" && (run[0] == '~' || !strings.Contains(info, "`")):
		f.open, f.mark = line, run
	case f.open != "" && strings.HasPrefix(run, f.mark) && info == "":
		f.open = ""
	}
}
