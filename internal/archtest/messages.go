package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

const whyMessage = `a failure says what was wanted, so that it is understood without the code: t.Errorf("%d entries, want 3", n)`

var (
	formatVerb = regexp.MustCompile(`%[-+# 0]*(\d+|\*)?(\.\d+)?[a-zA-Z]`)
	letter     = regexp.MustCompile(`\pL`)
)

// checkMessages finds failures of tests whose format consists of verbs alone. If a test fails only because of an error, the error is
// enough.
func (c *checker) checkMessages(p *Package) {
	for _, f := range p.Files {
		enough := map[ast.Node]bool{}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				for _, s := range n.Body.List {
					if e, ok := s.(*ast.ExprStmt); ok && onlyError(n.Cond) {
						enough[e.X] = true
					}
				}
			case *ast.CallExpr:
				if bareMessage(n) && !enough[n] {
					c.report(c.where(n), "a failure that does not say what was wanted", whyMessage)
				}
			}
			return true
		})
	}
}

// onlyError reports whether a condition is err != nil.
func onlyError(cond ast.Expr) bool {
	b, ok := cond.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ {
		return false
	}
	x, isName := b.X.(*ast.Ident)
	y, isNil := b.Y.(*ast.Ident)
	return isName && isNil && y.Name == "nil" && strings.HasSuffix(strings.ToLower(x.Name), "err")
}

// bareMessage reports whether a call is t.Errorf or t.Fatalf, of any receiver, with a format without a word.
func bareMessage(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Errorf" && f.Sel.Name != "Fatalf" || len(call.Args) < 2 {
		return false
	}
	if x, ok := f.X.(*ast.Ident); ok && x.Name == "fmt" {
		return false
	}
	format, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return false
	}
	text, err := strconv.Unquote(format.Value)
	return err == nil && !letter.MatchString(formatVerb.ReplaceAllString(text, ""))
}
