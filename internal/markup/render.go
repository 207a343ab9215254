package markup

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// renderer writes the HTML of one text. Every text goes through Plain, and every attribute consists of constants, numbers, or the results
// of attribute and address.
type renderer struct {
	dst    *bytes.Buffer
	source []byte
	depth  int    // nesting of inline elements
	inLink bool   // links do not nest
	inCell bool   // \| is a pipe, in code too
	box    string // box of the task whose text comes next
}

// maxInline limits how deep inline elements nest in the result. Deeper ones are shown without their element.
const maxInline = 16

// piece writes one piece of a text.
func (r *renderer) piece(markup string) {
	r.source = []byte(markup)
	r.blocks(markdown().Parse(text.NewReader(r.source)))
}

func (r *renderer) blocks(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		r.block(n)
	}
}

func (r *renderer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Paragraph:
		r.wrap("p", n, r.inlines, "\n")
	case *ast.TextBlock:
		r.inlines(n)
		if n.NextSibling() != nil {
			r.dst.WriteByte('\n')
		}
	case *ast.Heading:
		r.wrap("h"+strconv.Itoa(n.Level), n, r.inlines, "\n")
	case *ast.ThematicBreak:
		r.dst.WriteString("<hr>\n")
	case *ast.Blockquote:
		r.wrap("blockquote", n, r.blocks, "\n")
	case *ast.List:
		r.list(n)
	case *ast.FencedCodeBlock:
		language := ""
		if n.Info != nil {
			language = string(n.Language(r.source))
		}
		r.code(n.Lines(), language)
	case *ast.CodeBlock:
		r.code(n.Lines(), "")
	case *table:
		r.table(n)
	default: // no other block is parsed; if one were, its text would still be shown
		r.inlines(n)
	}
}

// wrap writes an element; write makes its content from a node.
func (r *renderer) wrap(tag string, n ast.Node, write func(ast.Node), after string) {
	r.dst.WriteString("<" + tag + ">")
	write(n)
	r.dst.WriteString("</" + tag + ">" + after)
}

func (r *renderer) list(n *ast.List) {
	tag := "ul"
	if n.IsOrdered() {
		tag = "ol"
	}
	r.dst.WriteString("<" + tag + ` dir="auto"`) // the side of the bullets or numbers follows from the text
	if n.IsOrdered() && n.Start != 1 {
		r.dst.WriteString(` start="` + strconv.Itoa(n.Start) + `"`)
	}
	r.dst.WriteString(">\n")
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		r.item(item)
	}
	r.dst.WriteString("</" + tag + ">\n")
}

// item writes an item of a list. The box of a task is a character: it works without a form.
func (r *renderer) item(n ast.Node) {
	r.box = ""
	if first := n.FirstChild(); first != nil && first.Lines().Len() > 0 && !first.IsRaw() {
		line := first.Lines().At(0)
		r.box = task(string(line.Value(r.source)))
	}
	if r.box == "" {
		r.dst.WriteString("<li>")
	} else {
		r.dst.WriteString(`<li class="task">`)
	}
	r.blocks(n)
	r.dst.WriteString("</li>\n")
}

// task returns the box at the beginning of a line, or "".
func task(line string) string {
	if len(line) < 4 || line[0] != '[' || line[2] != ']' || line[3] != ' ' {
		return ""
	}
	switch line[1] {
	case ' ':
		return "☐"
	case 'x', 'X':
		return "☑"
	}
	return ""
}

// code writes a code block.
func (r *renderer) code(lines *text.Segments, language string) {
	source := string(lines.Value(r.source))
	lang := languageNamed(language)
	if lang == nil {
		r.dst.WriteString("<pre><code>")
		Plain(r.dst, source)
	} else {
		r.dst.WriteString(`<pre><code class="lang-` + lang.name + `">`)
		lang.highlight(htmlPen(r.dst), source)
	}
	r.dst.WriteString("</code></pre>\n")
}

func (r *renderer) table(n *table) {
	r.dst.WriteString("<table>\n<thead>\n")
	tag := "th"
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		r.dst.WriteString("<tr>")
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			if r.dst.WriteString("<" + tag); c.(*tableCell).align != "" {
				r.dst.WriteString(` class="` + c.(*tableCell).align + `"`)
			}
			r.dst.WriteByte('>')
			r.inCell = true
			r.inlines(c)
			r.inCell = false
			r.dst.WriteString("</" + tag + ">")
		}
		r.dst.WriteString("</tr>\n")
		if tag == "th" {
			r.dst.WriteString("</thead>\n<tbody>\n")
			tag = "td"
		}
	}
	r.dst.WriteString("</tbody>\n</table>\n")
}

// inlines writes the inline nodes of a block or of an inline node. Neighbouring texts are joined, since a bare link may be split.
func (r *renderer) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		t, ok := n.(*ast.Text)
		if !ok {
			r.inline(n)
			continue
		}
		segment, last := joined(t)
		t, n = last, last
		r.text(string(segment.Value(r.source)))
		if t.SoftLineBreak() || t.HardLineBreak() {
			r.dst.WriteString("<br>\n")
		}
	}
}

// joined returns a text with the texts that follow it on the same line, and the last of them.
func joined(t *ast.Text) (text.Segment, *ast.Text) {
	segment := t.Segment
	for !t.SoftLineBreak() && !t.HardLineBreak() {
		next, ok := t.NextSibling().(*ast.Text)
		if !ok || next.Segment.Start != segment.Stop {
			break
		}
		segment.Stop = next.Segment.Stop
		t = next
	}
	return segment, t
}

func (r *renderer) inline(n ast.Node) {
	if r.depth++; r.depth > maxInline {
		r.inlines(n)
		r.depth--
		return
	}
	switch n := n.(type) {
	case *ast.CodeSpan:
		r.dst.WriteString("<code>")
		Plain(r.dst, spanText(n, r.source, r.inCell))
		r.dst.WriteString("</code>")
	case *ast.Emphasis:
		tag := "em"
		if n.Level == 2 {
			tag = "strong"
		}
		r.wrap(tag, n, r.inlines, "")
	case *strike:
		r.wrap("del", n, r.inlines, "")
	case *ast.Link:
		r.link(string(n.Destination), string(n.Title), func() { r.inlines(n) })
	case *ast.Image:
		r.link(string(n.Destination), string(n.Title), func() {
			r.dst.WriteString("🖼 ")
			if r.inlines(n); n.FirstChild() == nil {
				Plain(r.dst, "image")
			}
		})
	case *ast.AutoLink:
		r.autoLink(n)
	default:
		r.inlines(n)
	}
	r.depth--
}

// spanText returns the text of a code span. Its newlines become spaces.
func spanText(n ast.Node, source []byte, inCell bool) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		t, ok := c.(*ast.Text)
		if !ok {
			continue
		}
		s := strings.ReplaceAll(string(t.Segment.Value(source)), "\n", " ")
		if inCell {
			s = strings.ReplaceAll(s, `\|`, "|")
		}
		b.WriteString(s)
	}
	return b.String()
}
