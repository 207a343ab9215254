package markup

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// BlockKind is the kind of a Block.
type BlockKind uint8

// The kinds of blocks.
const (
	Prose BlockKind = iota
	Heading
	// CodeBlock is code. Its lines must not be joined or filled.
	CodeBlock
	// ThematicBreak is a horizontal rule.
	ThematicBreak
	// Table has rows instead of lines.
	Table
)

// Style is the style of a span, a set of flags.
type Style uint8

// The styles.
const (
	Strong Style = 1 << iota
	Emphasis
	Deleted
	// Literal is code in a line of prose.
	Literal
	// Link is the label of a link, Destination its target.
	Link
	Destination
)

// Span is a stretch of text in one style. Its text is not cleaned: it must be treated as hostile.
type Span struct {
	Text  string
	Style Style
	// Class is the class of a code token, as the package comment lists them; "" for none.
	Class string
}

// Cell is a cell of a table.
type Cell struct {
	Spans []Span
	// Align is "", "right" or "center".
	Align string
}

// Block is a part of a text in Markdown without its signs, for interfaces other than browsers. It is not wrapped to a width.
type Block struct {
	Kind BlockKind
	// First precedes the first line: the bars of quotes, the bullet of a list item, an indentation. Rest precedes all other lines, and the
	// continuation of a wrapped line.
	First, Rest string
	// Gap: an empty line precedes the block, with the prefix Between.
	Gap     bool
	Between string
	// Level is the level of a heading, from 1.
	Level int
	// Lines are the content, with the line breaks of the text.
	Lines [][]Span
	// Rows are the rows of a table. The first one is its head.
	Rows [][]Cell
}

// Split splits a long text in Markdown into pieces of about most bytes or less, each of which Blocks can read alone. A code block that is
// cut continues in the next piece. A list that is cut becomes two.
func Split(text string, most int) (list []string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for p := (pieces{rest: text, most: min(most, maxPiece)}); p.rest != ""; {
		list = append(list, p.next())
	}
	return list
}

// Blocks reads a text in Markdown; see HTML for what it understands.
func Blocks(markup string) []Block {
	var l lister
	for _, piece := range Split(markup, maxPiece) {
		l.source = []byte(piece)
		l.blocks(markdown().Parse(text.NewReader(l.source)), true)
	}
	return l.list
}

// CodeLines returns the lines of a piece of code, highlighted as by Code.
func CodeLines(source, language string) [][]Span {
	source = strings.TrimSuffix(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
	lines := [][]Span{nil}
	p := pen{put: func(class, s string) {
		for {
			head, tail, more := strings.Cut(s, "\n")
			if head != "" {
				lines[len(lines)-1] = append(lines[len(lines)-1], Span{Text: head, Class: class})
			}
			if !more {
				return
			}
			lines = append(lines, nil)
			s = tail
		}
	}}
	if l := languageNamed(language); l != nil {
		l.highlight(&p, source)
	} else {
		p.write("", source)
	}
	return lines
}

// lister makes blocks of a parsed text.
type lister struct {
	source []byte
	list   []Block
	// first precedes the next block, rest its other lines, between the empty line above it.
	first, rest, between string

	lines [][]Span // lines of the block that is being made
	style Style
	depth int
	cell  bool   // \| is a pipe, in code too
	box   string // box of the task whose text comes next
}

// blocks adds the blocks in a container. The blocks of a tight list follow each other without empty lines.
func (l *lister) blocks(parent ast.Node, loose bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		l.block(n, loose)
	}
}

// add adds a block. After that the container's first line is used up.
func (l *lister) add(b Block, loose bool) {
	b.First, b.Rest, b.Between = l.first, l.rest, strings.TrimRight(l.between, " ")
	b.Gap = loose && len(l.list) > 0
	l.list = append(l.list, b)
	l.first, l.between = l.rest, l.rest
}

func (l *lister) block(n ast.Node, loose bool) {
	switch n := n.(type) {
	case *ast.Heading:
		l.add(Block{Kind: Heading, Level: n.Level, Lines: l.inlinesOf(n)}, loose)
	case *ast.ThematicBreak:
		l.add(Block{Kind: ThematicBreak}, loose)
	case *ast.Blockquote:
		l.within("│ ", "│ ", func() { l.blocks(n, loose) })
	case *ast.List:
		l.items(n, loose)
	case *ast.FencedCodeBlock:
		language := ""
		if n.Info != nil {
			language = string(n.Language(l.source))
		}
		l.code(n.Lines(), language, loose)
	case *ast.CodeBlock:
		l.code(n.Lines(), "", loose)
	case *table:
		l.table(n, loose)
	default: // a paragraph; no other block is parsed, and if one were, its text would still be shown
		l.add(Block{Lines: l.inlinesOf(n)}, loose)
	}
}

// within calls f; the blocks that f adds get more text before their first line and before the others.
func (l *lister) within(first, rest string, f func()) {
	outer := l.rest
	l.first, l.rest = l.first+first, l.rest+rest
	f()
	l.first, l.rest, l.between = outer, outer, outer
}

func (l *lister) items(n *ast.List, loose bool) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		if l.box = l.taskOf(item); l.box != "" {
			mark = l.box + " "
		}
		gap := !n.IsTight || item == n.FirstChild() && loose
		l.within(mark, strings.Repeat(" ", len([]rune(mark))), func() {
			if item.FirstChild() == nil {
				l.add(Block{Lines: [][]Span{nil}}, gap)
			}
			for c := item.FirstChild(); c != nil; c = c.NextSibling() {
				l.block(c, gap)
				gap = !n.IsTight
			}
		})
		loose = false
	}
}

// taskOf returns the box of an item, "" if it is not a task.
func (l *lister) taskOf(item ast.Node) string {
	first := item.FirstChild()
	if first == nil || first.IsRaw() || first.Lines().Len() == 0 {
		return ""
	}
	line := first.Lines().At(0)
	return task(string(line.Value(l.source)))
}

func (l *lister) code(lines *text.Segments, language string, loose bool) {
	l.add(Block{Kind: CodeBlock, Lines: CodeLines(string(lines.Value(l.source)), language)}, loose)
}

func (l *lister) table(n *table, loose bool) {
	var rows [][]Cell
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []Cell
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			l.cell = true
			lines := l.inlinesOf(c)
			l.cell = false
			cells = append(cells, Cell{Spans: lines[0], Align: c.(*tableCell).align})
		}
		rows = append(rows, cells)
	}
	l.add(Block{Kind: Table, Rows: rows}, loose)
}

// inlinesOf returns the lines of a block.
func (l *lister) inlinesOf(n ast.Node) [][]Span {
	l.lines, l.style = [][]Span{nil}, 0
	l.inlines(n)
	if last := len(l.lines) - 1; last > 0 && l.lines[last] == nil {
		l.lines = l.lines[:last]
	}
	return l.lines
}

// put adds to the last line.
func (l *lister) put(s string, style Style) {
	if s == "" {
		return
	}
	last := &l.lines[len(l.lines)-1]
	if k := len(*last) - 1; k >= 0 && (*last)[k].Style == l.style|style {
		(*last)[k].Text += s
		return
	}
	*last = append(*last, Span{Text: s, Style: l.style | style})
}

// inlines adds the inline nodes of a block or of an inline node.
func (l *lister) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		t, ok := n.(*ast.Text)
		if !ok {
			l.inline(n)
			continue
		}
		segment, last := joined(t)
		t, n = last, last
		s := string(segment.Value(l.source))
		if l.box != "" && task(s) == l.box {
			s = s[4:] // the box replaces the bullet
		}
		l.box = ""
		l.text(unescape(s))
		if t.SoftLineBreak() || t.HardLineBreak() {
			l.lines = append(l.lines, nil)
		}
	}
}

// text adds a text with its bare links.
func (l *lister) text(s string) {
	if l.style&Link != 0 {
		l.put(s, 0)
		return
	}
	bareLinks(s, func(part string, link bool) {
		if link {
			l.put(part, Link)
		} else {
			l.put(part, 0)
		}
	})
}

func (l *lister) styled(style Style, n ast.Node) {
	before := l.style
	l.style |= style
	l.inlines(n)
	l.style = before
}

func (l *lister) inline(n ast.Node) {
	if l.depth++; l.depth > maxInline {
		l.inlines(n)
		l.depth--
		return
	}
	switch n := n.(type) {
	case *ast.CodeSpan:
		l.put(spanText(n, l.source, l.cell), Literal)
	case *ast.Emphasis:
		style := Emphasis
		if n.Level == 2 {
			style = Strong
		}
		l.styled(style, n)
	case *strike:
		l.styled(Deleted, n)
	case *ast.Link:
		l.link(string(n.Destination), n)
	case *ast.Image:
		l.put("🖼 ", Link)
		if n.FirstChild() == nil {
			l.put("image", Link)
		}
		l.link(string(n.Destination), n)
	case *ast.AutoLink:
		l.put(string(n.Label(l.source)), Link)
	default:
		l.inlines(n)
	}
	l.depth--
}

// link adds the label of a link, and its target unless the label is equal to it.
func (l *lister) link(to string, n ast.Node) {
	row, before := len(l.lines)-1, len(l.lines[len(l.lines)-1])
	l.styled(Link, n)
	to = unescape(to)
	if to == "" || len(l.lines)-1 == row && len(l.lines[row]) == before+1 && l.lines[row][before].Text == to {
		return
	}
	l.put(" ("+to+")", Destination)
}
