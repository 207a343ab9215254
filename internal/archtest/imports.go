package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// testOnly are the patterns of packages for tests and tools. No other package may import them, whatever its row says, and
// only they may import "testing" and test libraries.
var testOnly = []string{
	"dialect/dialecttest", "backend/backendtest", "index/indextest", "index/query/querytest", "store/storetest", "access/accesstest",
	"internal/durable/*",
	"internal/archtest", "internal/gen", "internal/bench", "internal/interop", "internal/interop/*", "internal/world", "internal/rowstest", "internal/browser", "internal/pgtest",
	"internal/soak", "internal/soak/*", "internal/mutants",
}

const whyTestOnly = "suites, generators and fakes are for tests and tools; imported here, they would be linked into the program"

// testLibraries are the libraries for tests.
var testLibraries = []string{
	"testing", "github.com/rogpeppe/go-internal/testscript", "pgregory.net/rapid", "go.uber.org/goleak",
}

// impure are the packages that a pure package must not import, and what to do instead.
var impure = map[string]string{
	"os":           "files, environment and process are injected",
	"net":          "there is no network below the faces and backends",
	"syscall":      "system calls belong to internal/durable",
	"io/ioutil":    "there are no files here",
	"database/sql": "databases are backends, indexes or companions",
	"log":          "problems are returned as values, never printed",
	"crypto/rand":  "ids and randomness are injected, so that tests see the same ones every time",
	"math/rand":    "ids and randomness are injected, so that tests see the same ones every time",
	"plugin":       "there are no files here",
}

// impureCalls are the functions that a pure package must not use, in packages that are otherwise pure.
var impureCalls = map[string][]string{
	"time": {
		"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation",
	},
	"path/filepath": {"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"},
}

const whyImpureCall = "clock, time zone and file system are injected, so that the same bytes always mean the same"

// checkImports compares the imports of a package with its row.
func (c *checker) checkImports(p *Package) {
	files := p.Production()
	if len(files) == 0 {
		return
	}
	r, pattern, ok := rowOf(p.Dir)
	if !ok {
		c.report(p.Dir, "package without a row in the import table of internal/archtest",
			"imports are decided before code is written; add a row with its reason")
		return
	}
	for _, f := range files {
		for _, spec := range f.Syntax.Imports {
			if what, why := r.judge(c.Path, p.Dir, pattern, importPath(spec)); what != "" {
				c.report(c.where(spec), what, why)
			}
		}
		if r.pure {
			c.checkCalls(f)
		}
	}
}

func importPath(spec *ast.ImportSpec) string {
	target, _ := strconv.Unquote(spec.Path.Value) // the parser checked it
	return target
}

// importName returns the name under which a file uses an imported package.
func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(importPath(spec))
}

// StaleRows finds patterns of the import table that match no package.
func StaleRows(m *Module) (found []Violation) {
	used := map[string]bool{}
	for _, p := range m.Packages {
		_, pattern, _ := rowOf(p.Dir)
		used[pattern] = true
	}
	for _, r := range importTable {
		for _, pattern := range r.packages.list() {
			if !used[pattern] {
				found = append(found, Violation{"internal/archtest/table.go", "no package matches " + pattern,
					"the table is the architecture as it is; a row for nothing hides mistakes"})
			}
		}
	}
	return found
}

// rowOf returns the row of a package and the pattern that matched.
func rowOf(dir string) (row, string, bool) {
	for _, r := range importTable {
		for _, pattern := range r.packages.list() {
			if matches(pattern, dir) {
				return r, pattern, true
			}
		}
	}
	return row{}, "", false
}

// matches reports whether a package matches a pattern.
func matches(pattern, dir string) bool {
	if pattern == "*" || pattern == dir {
		return true
	}
	folder, ok := strings.CutSuffix(pattern, "*")
	return ok && strings.HasPrefix(dir, folder)
}

// judge returns what is wrong with an import, and the reason for the rule; "" if it is allowed.
func (r row) judge(module, from, pattern, target string) (what, why string) {
	if target == "C" {
		return "imports C", "there is no cgo: the program cross-compiles"
	}
	isTest := isTestOnly(from)
	if !isTest && slices.ContainsFunc(testLibraries, func(l string) bool { return below(target, l) }) {
		return "imports " + target, whyTestOnly
	}
	if target == module || strings.HasPrefix(target, module+"/") {
		dir := strings.TrimPrefix(strings.TrimPrefix(target, module), "/")
		if dir == "" {
			dir = "."
		}
		return r.judgeOurs(from, pattern, dir, isTest)
	}
	if strings.Contains(firstElement(target), ".") {
		if isTest || slices.ContainsFunc(r.modules.list(), func(l string) bool { return l == "*" || below(target, l) }) {
			return "", ""
		}
		return fmt.Sprintf("imports %s; %s may import no other module than %s", target, r.packages, r.modules), r.why
	}
	if r.pure {
		for std, instead := range impure {
			if below(target, std) {
				return "imports " + target + " (" + instead + ")", r.why
			}
		}
	}
	return "", ""
}

// judgeOurs is judge for packages of this module.
func (r row) judgeOurs(from, pattern, target string, isTest bool) (what, why string) {
	if own := family(pattern, from); own != "" && below(target, own) || target == everywhere {
		return "", ""
	}
	if !slices.ContainsFunc(r.may.list(), func(p string) bool { return matches(p, target) }) {
		return fmt.Sprintf("imports %s; %s may import of ours: %s", target, r.packages, r.may), r.why
	}
	if !isTest && isTestOnly(target) {
		return "imports " + target, whyTestOnly
	}
	return "", ""
}

// isTestOnly reports whether a package is for tests and tools.
func isTestOnly(dir string) bool {
	return slices.ContainsFunc(testOnly, func(pattern string) bool { return matches(pattern, dir) })
}

// family returns the folder of a sibling: backend/postgres for backend/postgres/schema and the pattern backend/*. A pattern without a star
// has no siblings.
func family(pattern, dir string) string {
	folder, ok := strings.CutSuffix(pattern, "*")
	if !ok || folder == "" {
		return ""
	}
	return path.Join(folder, firstElement(strings.TrimPrefix(dir, folder)))
}

// checkCalls finds impure calls in a file.
func (c *checker) checkCalls(f *File) {
	paths := map[string]string{} // paths of imported packages, by their names in this file
	for _, spec := range f.Syntax.Imports {
		paths[importName(spec)] = importPath(spec)
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		// With an Obj it is a variable that shadows the package.
		if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && slices.Contains(impureCalls[paths[x.Name]], sel.Sel.Name) {
			c.report(c.where(sel), "uses "+path.Base(paths[x.Name])+"."+sel.Sel.Name, whyImpureCall)
		}
		return true
	})
}

// below reports whether an import path is a folder or in it.
func below(target, folder string) bool {
	return target == folder || strings.HasPrefix(target, folder+"/")
}

func firstElement(p string) string {
	first, _, _ := strings.Cut(p, "/")
	return first
}
