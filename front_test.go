package treeline_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/session"
)

// The comment of Session lists its methods, because go doc shows none for an alias.
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
				names, _, _ := strings.Cut(row, "  ") // two spaces separate the explanation
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

// A program that embeds sessions links no database and no command line. .ci/run checks its size.
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

// A session under a URL goes to the trash and comes back, and garbage collection works beside it.
func TestBehindURL(t *testing.T) {
	t.Parallel()
	home, ctx := t.TempDir(), t.Context()
	s, err := treeline.New(treeline.Options{
		Home: home, WorkDir: home, Getenv: func(string) string { return "" },
		Backends: []backend.Driver{memory.Driver("box")}, Roots: []string{"box://shelf"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sess, err := s.Create(ctx, treeline.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []session.Role{session.RoleUser, session.RoleAssistant} {
		if _, err := sess.AppendText(ctx, role, "hello"); err != nil {
			t.Fatal(err)
		}
	}
	if err := sess.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := s.LoadEntries(ctx, sess.Path(), treeline.OpenOptions{})
	if err != nil || len(before) == 0 {
		t.Fatalf("%d entries, %v", len(before), err)
	}
	item, err := s.Trash(ctx, sess.Path())
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := s.List(ctx, treeline.ListOptions{}); err != nil || len(rows) != 0 {
		t.Errorf("%d sessions, %v", len(rows), err)
	}
	if _, err := s.Restore(ctx, item.ID); err != nil {
		t.Fatal(err)
	}
	after, err := s.LoadEntries(ctx, sess.Path(), treeline.OpenOptions{})
	if err != nil || !slices.EqualFunc(before, after, bytes.Equal) {
		t.Errorf("%q came back as %q, %v", before, after, err)
	}
	if _, err := s.GC(ctx, treeline.GCOptions{}); err != nil {
		t.Error(err)
	}
}
