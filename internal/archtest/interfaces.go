package archtest

import (
	"go/ast"
	"path"
	"strconv"
	"strings"
)

// scope is where the names in a type expression are resolved.
type scope struct {
	dir  string // of the package
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
			for _, decl := range f.Syntax.Decls {
				gen, ok := decl.(*ast.GenDecl)
				if !ok {
					continue
				}
				for _, spec := range gen.Specs {
					t, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					if i, ok := t.Type.(*ast.InterfaceType); ok {
						found[p.Dir+"."+t.Name.Name] = declared{scope{p.Dir, f.Syntax}, i}
					}
				}
			}
		}
	}
	return found
}

// addMethods adds the names of the methods of an interface to a set, including those of embedded interfaces of this module.
// An embedded interface of another module counts as one method.
func (m *Module) addMethods(set map[string]bool, known map[string]declared, i declared) {
	for _, field := range i.syntax.Methods.List {
		for _, name := range field.Names {
			set[name.Name] = true
		}
		if len(field.Names) > 0 {
			continue
		}
		name := m.embedded(i.scope, field.Type)
		if name == "" || set[name] {
			continue // a type constraint, or embedded before
		}
		set[name] = true
		if next, ok := known[name]; ok {
			m.addMethods(set, known, next)
		}
	}
}

// countMethods returns the number of methods of an interface.
func (m *Module) countMethods(known map[string]declared, i declared) (n int) {
	set := map[string]bool{}
	m.addMethods(set, known, i)
	for name := range set {
		if _, ours := known[name]; !ours {
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
			target, _ := strconv.Unquote(spec.Path.Value)
			if spec.Name != nil && spec.Name.Name != x.Name || spec.Name == nil && path.Base(target) != x.Name {
				continue
			}
			dir := strings.TrimPrefix(target, m.Path+"/")
			if target == m.Path {
				dir = "."
			}
			return dir + "." + e.Sel.Name
		}
	}
	return ""
}
