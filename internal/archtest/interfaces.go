package archtest

import (
	"go/ast"
	"strings"
)

// scope is where the names in a type expression are resolved.
type scope struct {
	dir  string // folder of the package
	file *ast.File
}

// declared is an interface type with the scope of its declaration.
type declared struct {
	scope
	syntax *ast.InterfaceType
}

// interfaces returns the named interfaces of the production files, by "dir.Name".
func (m *Module) interfaces() map[string]declared {
	found := map[string]declared{}
	for _, p := range m.Packages {
		for _, f := range p.Production() {
			for t := range f.types() {
				if i, ok := t.Type.(*ast.InterfaceType); ok {
					found[p.Dir+"."+t.Name.Name] = declared{scope{p.Dir, f.Syntax}, i}
				}
			}
		}
	}
	return found
}

// addMethods adds the names of the methods of an interface to a set, including those of embedded interfaces of this module.
// An embedded interface of another module counts as one method.
func (c *checker) addMethods(set map[string]bool, i declared) {
	for _, field := range i.syntax.Methods.List {
		for _, name := range field.Names {
			set[name.Name] = true
		}
		if len(field.Names) > 0 {
			continue
		}
		name := c.embedded(i.scope, field.Type)
		if name == "" || set[name] {
			continue // a type constraint, or embedded before
		}
		set[name] = true
		if next, ok := c.known[name]; ok {
			c.addMethods(set, next)
		}
	}
}

// countMethods returns the number of methods of an interface.
func (c *checker) countMethods(i declared) (n int) {
	set := map[string]bool{}
	c.addMethods(set, i)
	for name := range set {
		if _, ours := c.known[name]; !ours {
			n++
		}
	}
	return n
}

// embedded returns the name of an embedded interface: "dir.Name" for one of this module, otherwise the import path and the
// name; "" for a type constraint.
func (m *Module) embedded(in scope, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IndexExpr: // a generic interface
		return m.embedded(in, e.X)
	case *ast.IndexListExpr:
		return m.embedded(in, e.X)
	case *ast.Ident:
		return in.dir + "." + e.Name
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		if !ok {
			return ""
		}
		for _, spec := range in.file.Imports {
			if importName(spec) != x.Name {
				continue
			}
			target := importPath(spec)
			dir := strings.TrimPrefix(target, m.Path+"/")
			if target == m.Path {
				dir = "."
			}
			return dir + "." + e.Sel.Name
		}
	}
	return ""
}
