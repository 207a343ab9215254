package treeline_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
)

// The comment of Session lists its methods: an alias shows none in go doc.
func TestSessionTable(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "types.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var listed, methods []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE || g.Specs[0].(*ast.TypeSpec).Name.Name != "Session" {
			continue
		}
		for line := range strings.SplitSeq(g.Doc.Text(), "\n") {
			if row, ok := strings.CutPrefix(line, "\t"); ok {
				names, _, _ := strings.Cut(row, "  ") // the explanation is set off by spaces
				listed = append(listed, strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })...)
			}
		}
	}
	session := reflect.TypeFor[*treeline.Session]()
	for i := range session.NumMethod() {
		methods = append(methods, session.Method(i).Name)
	}
	slices.Sort(listed)
	if !slices.Equal(listed, methods) { // reflect sorts them by name
		t.Errorf("the comment lists\n  %q\nbut the methods are\n  %q", listed, methods)
	}
}

// A program that embeds sessions links neither a database nor a command line. .ci/run checks its size.
func TestLinks(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		for _, unwanted := range []string{"modernc.org/", "database/sql", "github.com/spf13/", "testing"} {
			if pkg = strings.TrimSpace(pkg); pkg == unwanted || strings.HasPrefix(pkg, unwanted) {
				t.Errorf("the root package links %s", pkg)
			}
		}
	}
}
