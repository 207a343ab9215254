package archtest

import (
	"fmt"
	"go/ast"
	"strings"
)

const (
	longFile = 400 // longer files are noted
	wall     = 800 // longer files are violations

	packageWall = 4500 // total lines of production files

	fullInterface = 8 // number of methods, including those of embedded interfaces
)

// freeMaps is the package in which map[string]any is allowed.
const freeMaps = "internal/rawjson"

const (
	whyWall    = "a file of more than 800 lines holds more than one thing; split it by topic"
	whyPackage = "a package of more than 4,500 lines holds more than one capability; split it so that each can be found and changed alone"
	whyMap     = "nothing is decoded into a map: it loses key order, number spellings and repeated keys, and it is slow; use internal/rawjson or a type"
	whyInit    = "an import has no effects: lists are explicit and ordered, and starting the program costs nothing"
	whyMethods = "an interface of more than eight methods is two; what only some implementations can do is an optional interface"
	whyComment = "a package comment says what the package is for, what it promises and what it does not do"
)

// checkLength finds files and packages that are too long, and notes long files. Generated files count too: people read them.
func (c *checker) checkLength(p *Package) {
	lines := 0
	for _, f := range p.Production() {
		lines += f.Lines
	}
	if lines > packageWall {
		c.report(p.Dir, fmt.Sprintf("a package of %d lines", lines), whyPackage)
	}
	for _, f := range p.Production() {
		switch {
		case f.Lines > wall:
			c.report(f.Name, fmt.Sprintf("%d lines", f.Lines), whyWall)
		case f.Lines > longFile:
			c.notes = append(c.notes, fmt.Sprintf("%s: %d lines; %d is long and %d is the wall", f.Name, f.Lines, longFile, wall))
		}
	}
}

// checkComment finds a package without a package comment in the form that go doc expects.
func (c *checker) checkComment(p *Package) {
	files := p.Production()
	if len(files) == 0 {
		return
	}
	name := files[0].Syntax.Name.Name
	want := "Package " + name + " "
	if name == "main" {
		want = "" // a command begins with its own name
	}
	for _, f := range files {
		if text := f.Syntax.Doc.Text(); text != "" && strings.HasPrefix(text, want) {
			return
		}
	}
	c.report(p.Dir, fmt.Sprintf("no package comment (beginning with %q)", "Package "+name), whyComment)
}

// checkHabits finds init functions, map[string]any and large interfaces, also inside functions and signatures.
func (c *checker) checkHabits(p *Package) {
	for _, f := range p.Production() {
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					c.report(c.where(n), "func init", whyInit)
				}
			case *ast.InterfaceType:
				if count := c.countMethods(declared{scope{p.Dir, f.Syntax}, n}); count > fullInterface {
					c.report(c.where(n), fmt.Sprintf("an interface of %d methods", count), whyMethods)
				}
			case *ast.MapType:
				if p.Dir != freeMaps && isName(n.Key, "string") && isAny(n.Value) {
					c.report(c.where(n), "map[string]any", whyMap)
				}
			}
			return true
		})
	}
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// isAny reports whether a type is any or interface{}.
func isAny(e ast.Expr) bool {
	i, ok := e.(*ast.InterfaceType)
	return isName(e, "any") || ok && len(i.Methods.List) == 0
}
