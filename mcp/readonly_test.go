package mcp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
)

// TestCallsNoWriter: the package calls no writing method of a store or a session. A session has such methods even if it is open for
// reading.
func TestCallsNoWriter(t *testing.T) {
	t.Parallel()
	writers := map[string]bool{}
	for _, kind := range []reflect.Type{reflect.TypeFor[*treeline.Session](), reflect.TypeFor[*treeline.Store]()} {
		for i := range kind.NumMethod() {
			name := kind.Method(i).Name
			for _, verb := range strings.Fields("Append Compact Branch Reset New Fork Rename Move Delete Rewrite Flush Create OpenWrite Continue Start Convert Repair Restore Trash Empty GC Push Pull Resume Note") {
				if strings.HasPrefix(name, verb) {
					writers[name] = true
				}
			}
		}
	}
	if len(writers) < 30 {
		t.Fatalf("only %d methods write: %v", len(writers), writers)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		imported := map[string]bool{"sdk": true}
		for _, i := range f.Imports {
			imported[path.Base(strings.Trim(i.Path.Value, `"`))] = true
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || !writers[s.Sel.Name] {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && imported[x.Name] {
				return true // a function of a package
			}
			t.Errorf("%s: calls %s, which writes", set.Position(s.Pos()), s.Sel.Name)
			return true
		})
	}
}
