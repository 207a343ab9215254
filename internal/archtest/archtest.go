// Package archtest is the architecture as a test: which packages may import which, which names of packages and types are allowed, how long
// a file may be, and a few house rules.
//
// The rules are tables: table.go says which package may import which, and why; names.go and source.go have the rest. A
// violation fails `go test ./internal/archtest` with its place and the reason for the rule. To change the architecture,
// change the table and its reason.
//
// The rules are about production files of every platform. Test files may import anything; their failures say what was wanted.
package archtest

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
)

// A Module is the parsed source of a Go module, without types: they would need a build for every platform.
type Module struct {
	Path     string // from go.mod
	Packages []*Package
	fset     *token.FileSet
}

// A Package is one folder with Go files. Dir is relative to the module, "." for its root.
type Package struct {
	Dir   string
	Files []*File // production files and test files, by name
}

// A File is one parsed Go file.
type File struct {
	Name   string // relative to the module
	Test   bool
	Lines  int
	Syntax *ast.File
}

// A Violation is a broken rule.
type Violation struct {
	Where string // file:line, or a folder
	What  string
	Why   string // the reason for the rule
}

// String returns the violation as a test prints it.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s\n\twhy: %s", v.Where, v.What, v.Why)
}

// Load parses all Go files of the module whose root is fsys. Like the go command it skips testdata, vendor, hidden folders,
// nested modules and files that are never built.
func Load(fsys fs.FS) (*Module, error) {
	m := &Module{fset: token.NewFileSet()}
	gomod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(gomod)) {
		if rest, ok := strings.CutPrefix(line, "module "); ok {
			m.Path = strings.TrimSpace(rest)
		}
	}
	if m.Path == "" {
		return nil, fmt.Errorf("go.mod: no module line")
	}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skip(fsys, name)
		case path.Ext(name) == ".go":
			return m.parse(fsys, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(m.Packages, func(a, b *Package) int { return cmp.Compare(a.Dir, b.Dir) })
	return m, nil
}

// skip returns fs.SkipDir for folders without packages of this module.
func skip(fsys fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	if base == "testdata" || base == "vendor" || base == "node_modules" || base[0] == '.' || base[0] == '_' {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// parse adds a file to its package.
func (m *Module) parse(fsys fs.FS, name string) error {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(m.fset, name, src, parser.ParseComments)
	if err != nil {
		return err
	}
	if neverBuilt(syntax) {
		return nil
	}
	p := m.at(path.Dir(name))
	p.Files = append(p.Files, &File{name, strings.HasSuffix(name, "_test.go"), bytes.Count(src, []byte("\n")), syntax})
	return nil
}

// at returns the package of a folder.
func (m *Module) at(dir string) *Package {
	if i := slices.IndexFunc(m.Packages, func(p *Package) bool { return p.Dir == dir }); i >= 0 {
		return m.Packages[i]
	}
	p := &Package{Dir: dir}
	m.Packages = append(m.Packages, p)
	return p
}

// neverBuilt reports whether the file has the constraint "ignore" before its package clause.
func neverBuilt(f *ast.File) bool {
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			return false
		}
		for _, c := range group.List {
			expr, _ := constraint.Parse(c.Text) // nil for other comments
			if tag, ok := expr.(*constraint.TagExpr); ok && tag.Tag == "ignore" {
				return true
			}
		}
	}
	return false
}

// Production returns the files that are not tests.
func (p *Package) Production() []*File {
	return slices.DeleteFunc(slices.Clone(p.Files), func(f *File) bool { return f.Test })
}

// types yields the type declarations of a file.
func (f *File) types() iter.Seq[*ast.TypeSpec] {
	return func(yield func(*ast.TypeSpec) bool) {
		for _, decl := range f.Syntax.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok && !yield(t) {
					return
				}
			}
		}
	}
}

// where returns the place of a node as file:line.
func (m *Module) where(n ast.Node) string {
	pos := m.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", pos.Filename, pos.Line)
}

// checker applies the rules and collects what it finds.
type checker struct {
	*Module
	known map[string]declared // interfaces, by "dir.Name"
	found []Violation
	notes []string
}

func (c *checker) report(where, what, why string) {
	c.found = append(c.found, Violation{where, what, why})
}

// Check applies the rules for packages and returns all violations. Notes are not violations: a file that is getting long.
func Check(m *Module) (violations []Violation, notes []string) {
	c := &checker{Module: m, known: m.interfaces()}
	for _, p := range m.Packages {
		c.checkImports(p)
		c.checkNames(p)
		c.checkComment(p)
		c.checkHabits(p)
		c.checkLength(p)
		c.checkMessages(p)
	}
	return c.found, c.notes
}
