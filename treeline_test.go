package treeline_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// machine gives this process a home folder of its own.
func machine(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"OMP_CODING_AGENT_DIR", "PI_CODING_AGENT_DIR", "XDG_STATE_HOME", "TMUX_PANE", "ZELLIJ_PANE_ID",
		"CMUX_SURFACE_ID", "KITTY_WINDOW_ID", "WEZTERM_PANE", "TERM_SESSION_ID", "WT_SESSION"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	return home
}

// The functions of the package work on this machine.
func TestThisMachine(t *testing.T) {
	home := machine(t)
	ctx := t.Context()
	s, err := treeline.Create(ctx, treeline.CreateOptions{CWD: home})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.Path(), filepath.Join(home, ".omp", "agent", "sessions")) {
		t.Errorf("it lies at %s", s.Path())
	}
	first := say(s, "user", "question")
	say(s, "assistant", "answer")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (*treeline.Session, error){
		"Open": func() (*treeline.Session, error) { return treeline.Open(ctx, s.Path(), treeline.WriteOptions{}) },
		"ContinueRecent": func() (*treeline.Session, error) {
			return treeline.ContinueRecent(ctx, treeline.CreateOptions{CWD: home})
		},
	} {
		got, err := open()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.ID() != s.ID() || !got.Tree().Has(first) {
			t.Errorf("%s gives session %s", name, got.ID())
		}
		if err := got.Close(); err != nil {
			t.Error(err)
		}
	}
	fork, err := treeline.ForkFrom(ctx, s.Path(), treeline.CreateOptions{CWD: home, Write: treeline.WriteOptions{}})
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	if fork.Header().Parent != string(s.ID()) || fork.Header().CWD != home {
		t.Errorf("%+v; want fork.Header().Parent == string(s.ID()), fork.Header().CWD == %v", fork.Header(), home)
	}
	memory, err := treeline.InMemory(ctx, treeline.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	if memory.Path() != "" {
		t.Errorf("it lies at %s", memory.Path())
	}
	for c, err := range treeline.Watch(ctx, treeline.WatchOptions{}) {
		if err != nil || c.Kind != treeline.ChangeStart || c.Sessions != 2 { // the first one and the fork
			t.Errorf("watching begins with %+v, %v", c, err)
		}
		break
	}
}

// What a backend repairs is reported, in words that users understand.
func TestRepairsAreTold(t *testing.T) {
	machine(t)
	dir := t.TempDir()
	header := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}` + "\n"
	whole := `{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x"}}`
	for name, test := range map[string]struct{ content, want string }{
		"whole": {header + whole, "had no newline"},
		"torn":  {header + whole + "\n" + whole[:30], "torn record"},
	} {
		path := filepath.Join(dir, name+".jsonl")
		if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil { // the log has not changed for a long time
			t.Fatal(err)
		}
		var told []string
		opt := treeline.WriteOptions{Observer: func(e treeline.Event) {
			if e.Kind == store.EventRepaired {
				told = append(told, e.Problem.String())
			}
		}}
		s, err := treeline.Open(t.Context(), path, opt)
		if err != nil {
			t.Fatal(err)
		}
		say(s, "user", "more")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if len(told) != 1 || !strings.Contains(told[0], test.want) || !strings.Contains(told[0], path) {
			t.Errorf("%s: told %q", name, told)
		}
	}
}

// The index of a folder that is not a source is kept only in a cache that the caller names; that of an
// agent's own folder is kept in the usual cache.
func TestRootsAreKept(t *testing.T) {
	const line = `{"type":"session","version":3,"id":"a1","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/p","title":"T"}` + "\n"
	home, mine := t.TempDir(), t.TempDir()
	usual := filepath.Join(home, ".cache", "treeline")
	for _, tt := range []struct {
		name, root, cache, kept string // kept is where the catalogue ends up
	}{
		{"a folder", "backup", "", ""},
		{"a folder, and a cache of one's own", "backup", mine, mine},
		{"an agent's", ".omp/agent", "", usual},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(home, tt.root, "sessions", "-p", "a.jsonl")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := treeline.New(treeline.Options{
				Home: home, Getenv: func(string) string { return "" }, Roots: []string{filepath.Join(home, tt.root)}, Cache: tt.cache,
			})
			if err != nil {
				t.Fatal(err)
			}
			rows, err := s.Catalogue(t.Context(), treeline.RefreshOptions{})
			if err != nil || len(rows) != 1 {
				t.Fatalf("%v, %v; want no error, len(rows) == 1", rows, err)
			}
			for _, dir := range []string{usual, mine} {
				_, err := os.Stat(filepath.Join(dir, "catalogue"))
				if want := dir == tt.kept; (err == nil) != want {
					t.Errorf("a catalogue in %s: %v, want %t", dir, err, want)
				}
			}
			if tt.kept != "" {
				if err := os.RemoveAll(tt.kept); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A store that only reads does not write, whatever method is called.
func TestReadOnly(t *testing.T) {
	home := machine(t)
	st, err := treeline.New(treeline.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Create(t.Context(), treeline.CreateOptions{}); !errors.Is(err, backend.ErrReadOnly) {
		t.Errorf("Create: %v", err)
	}
	if left, _ := os.ReadDir(home); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	path := filepath.Join(home, "a.jsonl")
	if err := os.WriteFile(path, []byte(`{"type":"session","version":3,"id":"s"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := st.Open(t.Context(), path, treeline.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, write := range map[string]func() error{
		"append": func() error { _, err := s.AppendMessage(t.Context(), []byte(`{}`)); return err },
		"rename": func() error { return s.Rename(t.Context(), "x") },
		"branch": func() error { _, err := s.Branch(t.Context(), "", treeline.BranchOptions{}); return err },
		"fork":   func() error { return s.Fork(t.Context()) },
		"move":   func() error { return s.Move(t.Context(), "/") },
		"delete": func() error { return s.Delete(t.Context()) },
		"flush":  func() error { return s.Flush(t.Context()) },
		"label":  func() error { _, err := s.Label(t.Context(), "x", "y"); return err },
		"compact": func() error {
			_, err := s.Compact(t.Context(), session.Compaction{})
			return err
		},
		"rewrite":  func() error { return s.RewriteEntries(context.Background(), nil) },
		"new":      func() error { return s.NewSession(t.Context(), "", "") },
		"branched": func() error { return s.BranchedSession(t.Context(), "x") },
	} {
		if err := write(); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: %v; want the error store.ErrReadOnly", name, err)
		}
	}
}

// Every exported name has a comment, in every package.
func TestDocumented(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "testdata" || len(name) > 1 && strings.HasPrefix(e.Name(), ".")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			undocumented(d, func(id *ast.Ident) { t.Errorf("%s: %s has no comment", set.Position(id.Pos()), id.Name) })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// undocumented finds exported names without a comment of their own or of the group they stand in.
func undocumented(d ast.Decl, found func(*ast.Ident)) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		known := d.Name.Name == "Error" || d.Name.Name == "Unwrap" || d.Name.Name == "String"
		if d.Name.IsExported() && d.Doc == nil && !known && exportedReceiver(d) {
			found(d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && spec.Doc == nil && d.Doc == nil {
					found(spec.Name)
				}
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					if name.IsExported() && spec.Doc == nil && spec.Comment == nil && d.Doc == nil {
						found(name)
					}
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}
