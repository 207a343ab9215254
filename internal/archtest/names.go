package archtest

import (
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
func (c *checker) checkNames(p *Package) {
	for element := range strings.SplitSeq(p.Dir, "/") {
		if slices.Contains(packageNames, element) {
			c.report(p.Dir, "package folder is called "+element, whyPackageName)
		}
	}
	for _, f := range p.Files {
		name := strings.TrimSuffix(f.Syntax.Name.Name, "_test")
		if slices.Contains(packageNames, name) {
			c.report(c.where(f.Syntax.Name), "package is called "+name, whyPackageName)
		}
		if !f.Test {
			c.checkTypes(f)
		}
	}
}

// checkTypes finds forbidden words in the names of exported types.
func (c *checker) checkTypes(f *File) {
	for t := range f.types() {
		for _, word := range words(t.Name.Name) {
			if t.Name.IsExported() && slices.Contains(typeWords, word) {
				c.report(c.where(t), "type "+t.Name.Name+" has the word "+word, whyTypeWord)
			}
		}
	}
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
