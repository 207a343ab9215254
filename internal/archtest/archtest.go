// Package archtest is the architecture as a test: who may import whom, what packages and types may be called, how long
// a file may grow, and a few habits of the house.
//
// The rules are tables, meant to be read: imports.go says which package may import which, and why; names.go and
// source.go hold the rest. A rule that is broken fails `go test ./internal/archtest` with the place and the reason.
// To change the architecture, change the table and its reason; there is no other way around it and no allow-list.
//
// The rules are about production files. Test files may import whatever they need, the suites (backendtest,
// dialecttest, …) and generators above all. Files of every platform are looked at, not only those built here.
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
	"path"
	"slices"
	"strings"
)

// A Module is the parsed source of a Go module.
// Only syntax is looked at: types would need everything to compile for every platform.
type Module struct {
	Path     string // as go.mod says it
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

// A Violation is a broken rule: where, what, and why there is such a rule.
type Violation struct {
	Where string // file:line, or a folder
	What  string
	Why   string
}

// String is the violation as a test prints it.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s\n\twhy: %s", v.Where, v.What, v.Why)
}

// Load parses all Go files of the module in fsys. What the go command passes over is passed over here too: testdata,
// vendor, hidden folders, modules inside the module and files that are never built.
// fsys is the module's root, so the test can be tested on a module in memory.
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

// skip answers fs.SkipDir for the folders that hold no packages of this module.
// A module inside the module has its own rules, or none.
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

// Comments are parsed, too: package comments and generated-file marks are in them.
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
	p.Files = append(p.Files, &File{
		Name:   name,
		Test:   strings.HasSuffix(name, "_test.go"),
		Lines:  bytes.Count(src, []byte("\n")),
		Syntax: syntax,
	})
	return nil
}

// at finds the package of a folder, or begins it.
// A linear search: there are a few dozen packages.
func (m *Module) at(dir string) *Package {
	for _, p := range m.Packages {
		if p.Dir == dir {
			return p
		}
	}
	p := &Package{Dir: dir}
	m.Packages = append(m.Packages, p)
	return p
}

// neverBuilt says whether the file is for `go run` alone (//go:build ignore).
// Constraints stand before the package clause; a comment behind it is just a comment.
func neverBuilt(f *ast.File) bool {
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			return false
		}
		for _, c := range group.List {
			expr, err := constraint.Parse(c.Text)
			if err != nil {
				continue
			}
			if tag, ok := expr.(*constraint.TagExpr); ok && tag.Tag == "ignore" {
				return true
			}
		}
	}
	return false
}

// Production gives the files that are not tests.
// Rules are about these; see the package comment.
func (p *Package) Production() []*File {
	return slices.DeleteFunc(slices.Clone(p.Files), func(f *File) bool { return f.Test })
}

// where names the place of a node as file:line.
func (m *Module) where(n ast.Node) string {
	pos := m.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", pos.Filename, pos.Line)
}

// Check applies every rule. Notes are things to know that break nothing, such as a file that is getting long.
// All violations are given at once: whoever moves a package wants to see all of what that breaks.
func Check(m *Module) (violations []Violation, notes []string) {
	for _, p := range m.Packages {
		violations = append(violations, checkImports(m, p)...)
		violations = append(violations, checkNames(m, p)...)
		violations = append(violations, checkComment(p)...)
		violations = append(violations, checkHabits(m, p)...)
		long, note := checkLength(p)
		violations = append(violations, long...)
		notes = append(notes, note...)
	}
	return violations, notes
}
