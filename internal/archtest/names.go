package archtest

import (
	"go/ast"
	"slices"
	"strings"
	"unicode"
)

// packageNames are names that say nothing about the content of a package.
var packageNames = []string{
	"util", "utils", "common", "helper", "helpers", "types", "misc",
	"manager", "service", "engine", "provider", "processor", "impl", "data",
}

// typeWords are words that must not be in the name of an exported type.
var typeWords = []string{"Manager", "Service", "Engine", "Provider", "Processor", "Impl"}

const (
	whyPackageName = "a package is named after what it holds; this name fits anything"
	whyTypeWord    = "the vocabulary has a plain noun for each thing; this word says that something is done, not what it is"
)

// checkNames finds forbidden names of packages and exported types. In test files only the package name counts.
func checkNames(m *Module, p *Package) []Violation {
	var found []Violation
	for element := range strings.SplitSeq(p.Dir, "/") {
		if slices.Contains(packageNames, element) {
			found = append(found, Violation{p.Dir, "package folder is called " + element, whyPackageName})
		}
	}
	for _, f := range p.Files {
		name := strings.TrimSuffix(f.Syntax.Name.Name, "_test")
		if slices.Contains(packageNames, name) {
			found = append(found, Violation{m.where(f.Syntax.Name), "package is called " + name, whyPackageName})
		}
		if !f.Test {
			found = append(found, checkTypes(m, f)...)
		}
	}
	return found
}

// checkTypes finds forbidden words in the names of exported types.
func checkTypes(m *Module, f *File) []Violation {
	var found []Violation
	for _, decl := range f.Syntax.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok || !t.Name.IsExported() {
				continue
			}
			for _, word := range words(t.Name.Name) {
				if slices.Contains(typeWords, word) {
					found = append(found, Violation{m.where(t), "type " + t.Name.Name + " has the word " + word, whyTypeWord})
				}
			}
		}
	}
	return found
}

// words splits a name at its capitals: SessionManager is Session, Manager; IDError is ID, Error.
func words(name string) []string {
	var out []string
	start, runes := 0, []rune(name)
	for i := 1; i < len(runes); i++ {
		if unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			out = append(out, string(runes[start:i]))
			start = i
		}
	}
	return append(out, string(runes[start:]))
}
