package markup

import (
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Limits keep the parser's time linear and the result shallow. No text for human readers reaches them; beyond them the characters of
// Markdown are plain text.
const (
	maxDepth      = 16  // quotes and lists inside each other
	maxDelimiters = 200 // in one block: runs of *, _ and ~ that can open or close something
	maxRun        = 8   // characters of such a run
	maxBrackets   = 200 // in one block: [
	maxOpenSpans  = 16  // in one block: runs of ` that nothing closes
	maxOpenLinks  = 16  // in one block: ]( that no end of a link follows
)

// markdown is the parser, made when it is first needed. It has no raw HTML, which is text, and no link references.
var markdown = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(shallow{parser.NewListParser()}, 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(codeSpans{parser.NewCodeSpanParser()}, 100),
			util.Prioritized(newLinks(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(delimiters{parser.NewEmphasisParser()}, 500),
			util.Prioritized(delimiters{strikeParser{}}, 500),
		),
		parser.WithParagraphTransformers(util.Prioritized(tables{}, 100)),
	)
})

// shallow limits how deep containers nest.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		if k := n.Kind(); k == ast.KindList || k == ast.KindBlockquote {
			depth++
		}
	}
	if depth >= maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, r, pc)
}

// counts are the numbers of things seen in the block whose inlines are being parsed.
type counts struct {
	block                                      ast.Node
	delimiters, brackets, openSpans, openLinks int
}

var countsKey = parser.NewContextKey()

func countsOf(block ast.Node, pc parser.Context) *counts {
	c, _ := pc.Get(countsKey).(*counts)
	if c == nil {
		c = &counts{}
		pc.Set(countsKey, c)
	}
	if c.block != block {
		*c = counts{block: block}
	}
	return c
}

// run reads the characters equal to the next one and returns them as text.
func run(r text.Reader) ast.Node {
	line, segment := r.PeekLine()
	n := runLength(line)
	r.Advance(n)
	return ast.NewTextSegment(segment.WithStop(segment.Start + n))
}

func runLength(line []byte) (n int) {
	for n < len(line) && line[n] == line[0] {
		n++
	}
	return n
}

// codeSpans limits how often the rest of a block is searched in vain for the end of a code span.
type codeSpans struct{ parser.InlineParser }

func (s codeSpans) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	c := countsOf(parent, pc)
	if c.openSpans >= maxOpenSpans {
		return run(r)
	}
	n := s.InlineParser.Parse(parent, r, pc)
	if n != nil && n.Kind() == ast.KindText {
		c.openSpans++
	}
	return n
}

// delimiters limits emphasis and strikethrough, whose openers are searched back from each closer.
type delimiters struct{ parser.InlineParser }

func (d delimiters) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	line, _ := r.PeekLine()
	c := countsOf(parent, pc)
	if c.delimiters >= maxDelimiters || runLength(line) > maxRun {
		return run(r)
	}
	n := d.InlineParser.Parse(parent, r, pc)
	if d, ok := n.(*parser.Delimiter); ok && (d.CanOpen || d.CanClose) {
		c.delimiters++
	}
	return n
}

// links limits the brackets of a block, since each closing one checks everything since the opening one, and how often the rest of a block
// is searched in vain for the end of a link.
type links struct {
	parser.InlineParser
	parser.CloseBlocker
}

func newLinks() links {
	p := parser.NewLinkParser()
	return links{p, p.(parser.CloseBlocker)}
}

func (l links) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	c := countsOf(parent, pc)
	if c.brackets >= maxBrackets || c.openLinks >= maxOpenLinks {
		return nil
	}
	line, _ := r.PeekLine()
	n := l.InlineParser.Parse(parent, r, pc)
	switch {
	case line[0] != ']':
		c.brackets++
	case n == nil && len(line) > 1 && line[1] == '(':
		c.openLinks++
	}
	return n
}

// strikeParser parses ~~deleted~~. A single tilde is text: it is a home directory more often than not.
type strikeParser struct{}

func (strikeParser) Trigger() []byte { return []byte{'~'} }

func (strikeParser) Parse(_ ast.Node, r text.Reader, pc parser.Context) ast.Node {
	before := r.PrecendingCharacter()
	line, segment := r.PeekLine()
	d := parser.ScanDelimiter(line, before, 2, strikeDelimiters{})
	if d == nil || d.OriginalLength != 2 {
		return run(r)
	}
	d.Segment = segment.WithStop(segment.Start + 2)
	r.Advance(2)
	pc.PushDelimiter(d)
	return d
}

type strikeDelimiters struct{}

func (strikeDelimiters) IsDelimiter(c byte) bool { return c == '~' }
func (strikeDelimiters) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}
func (strikeDelimiters) OnMatch(int) ast.Node { return &strike{} }

// strike is deleted text.
type strike struct{ ast.BaseInline }

var kindStrike = ast.NewNodeKind("Strike")

func (*strike) Kind() ast.NodeKind              { return kindStrike }
func (s *strike) Dump(source []byte, level int) { ast.DumpHelper(s, source, level, nil, nil) }
