package markup

import (
	"strings"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Quote returns a text in Markdown as a part of a larger Markdown document, such as an issue. It looks the same but has no effects: raw
// HTML is shown as text, images become links, script links lead nowhere, @names notify nobody, and #numbers refer to no issue. Control
// characters are shown as escapes. Open constructs, such as a fence, are closed at its end. Code stays as it is.
func Quote(s string) string {
	s = strings.TrimRight(screen.Clean(strings.ReplaceAll(s, "\r\n", "\n")), "\n")
	var out strings.Builder
	out.Grow(len(s) + len(s)/16)
	last := ""
	for p := (pieces{rest: s, most: maxPiece}); p.rest != ""; {
		fence := p.fence
		last = p.next()
		quotePiece(&out, last, len(fence))
	}
	out.WriteByte('\n')
	if open := openFence(last + "\n"); open != "" && !closed(last) {
		mark := strings.TrimLeft(open, " ")
		if mark = mark[:runLength([]byte(mark))]; closed(last + "\n" + mark) {
			out.WriteString(mark + "\n")
			return out.String()
		}
	}
	if !closed(last) {
		return Fence(s, "") // no mark closes it
	}
	return out.String()
}

// closed reports whether a paragraph after the text would be a paragraph.
func closed(s string) bool {
	const more = "\n\nq\n"
	source := []byte(s + more)
	last := markdown().Parse(text.NewReader(source)).LastChild()
	if last == nil || last.Kind() != ast.KindParagraph {
		return false
	}
	lines := last.Lines()
	return lines.Len() == 1 && lines.At(0).Start == len(source)-2
}

// quotePiece writes a piece without its first bytes, which repeat a fence.
func quotePiece(out *strings.Builder, piece string, from int) {
	code := codeIn(piece)
	for i := from; i < len(piece); {
		end := len(piece)
		if len(code) > 0 {
			end = max(code[0].Start, i)
		}
		quoteProse(out, piece[i:end])
		i = end
		if len(code) > 0 {
			if code[0].Stop > i {
				out.WriteString(piece[i:code[0].Stop])
				i = code[0].Stop
			}
			code = code[1:]
		}
	}
}

// codeIn returns the places of code in a text, in order.
func codeIn(s string) (list []text.Segment) {
	root := markdown().Parse(text.NewReader([]byte(s)))
	_ = ast.Walk(root, func(n ast.Node, enter bool) (ast.WalkStatus, error) { // Walk fails only if the function does
		if !enter {
			return ast.WalkContinue, nil
		}
		switch n.Kind() {
		case ast.KindCodeSpan:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					list = append(list, t.Segment)
				}
			}
			return ast.WalkSkipChildren, nil
		case ast.KindFencedCodeBlock, ast.KindCodeBlock:
			for i := range n.Lines().Len() {
				list = append(list, n.Lines().At(i))
			}
		}
		return ast.WalkContinue, nil
	})
	return list
}

// unseen is a zero-width space: it separates characters that together would have a meaning.
const unseen = "\u200b"

// quoteProse writes text that is not code.
func quoteProse(out *strings.Builder, s string) {
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '<':
			out.WriteString("&lt;")
			continue
		case c == '!' && strings.HasPrefix(s[i:], "![") && (i == 0 || s[i-1] != '\\'):
			out.WriteByte('\\')
		case c == ':' && i >= 4 && strings.IndexByte("tTaA", s[i-1]) >= 0 && isScript(s[max(0, i-11):i]):
			out.WriteString(unseen)
		}
		out.WriteByte(c)
		if (c == '@' || c == '#') && i+1 < len(s) && isWord(s[i+1]) && (i == 0 || !isWord(s[i-1])) && (c == '@' || '0' <= s[i+1] && s[i+1] <= '9') {
			out.WriteString(unseen)
		}
	}
}

// isScript reports whether a text ends in a scheme that a browser executes or shows as a page of its own.
func isScript(s string) bool {
	start := len(s)
	for start > 0 && isWord(s[start-1]) {
		start--
	}
	switch strings.ToLower(s[start:]) {
	case "javascript", "vbscript", "data":
		return true
	}
	return false
}

// Fence returns a text as a block of code, with a fence that is longer than any in the text. Control characters are shown as escapes.
func Fence(s, language string) string {
	s = strings.Trim(screen.Clean(strings.ReplaceAll(s, "\r\n", "\n")), "\n")
	most, n := 2, 0
	for i := range len(s) {
		if s[i] != '`' {
			n = 0
			continue
		}
		n++
		most = max(most, n)
	}
	mark := strings.Repeat("`", most+1)
	return mark + language + "\n" + s + "\n" + mark + "\n"
}
