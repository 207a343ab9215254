package markup

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Words returns a text in Markdown without its signs, on one line, as the name of a message in lists. It reads at most the first most
// bytes.
func Words(markup string, most int) string {
	if len(markup) > most {
		markup = markup[:cutAt(markup, most)]
	}
	source := []byte(markup)
	var b strings.Builder
	_ = ast.Walk(markdown().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeBlock {
			b.WriteByte(' ')
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			b.Write(n.Lines().Value(source))
		case *ast.CodeBlock:
			b.Write(n.Lines().Value(source))
		case *ast.AutoLink:
			b.Write(n.Label(source))
		case *ast.Text:
			value := n.Segment.Value(source)
			if _, code := n.Parent().(*ast.CodeSpan); !code {
				value = util.UnescapePunctuations(value)
			}
			b.Write(value)
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
