package archtest

import (
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// thisModule is parsed once for all tests.
var thisModule = sync.OnceValues(func() (*Module, error) { return Load(os.DirFS("../..")) })

// TestArchitecture checks this module.
func TestArchitecture(t *testing.T) {
	m, err := thisModule()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Packages) < 5 {
		t.Fatalf("%d packages found: the rules were applied to nothing", len(m.Packages))
	}
	violations, notes := Check(m)
	for _, v := range append(violations, StaleRows(m)...) {
		t.Error(v)
	}
	for _, n := range notes {
		t.Log(n)
	}
}

// fake makes a module of the given files, each beginning with a package comment.
func fake(t *testing.T, files map[string]string) *Module {
	t.Helper()
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module example.org/m\n\ngo 1.26\n")}}
	for name, src := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(src)}
	}
	m, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// src returns the content of a file of a package, with a package comment.
func src(pkg, body string) string {
	return "// Package " + pkg + " is a fake.\npackage " + pkg + "\n\n" + body + "\n"
}

func TestRules(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  []string // a part of each violation, in order
	}{
		{"the model does no I/O", map[string]string{
			"session/a.go": src("session", `import "os"`),
		}, []string{"session/a.go:4: imports os"}},
		{"net/http is net", map[string]string{
			"session/a.go": src("session", `import "net/http"`),
		}, []string{"imports net/http"}},
		{"the model has no dependencies", map[string]string{
			"run/a.go": src("run", `import "github.com/google/uuid"`),
		}, []string{"may import no other module than nothing"}},
		{"the model may use raw JSON", map[string]string{
			"session/a.go": src("session", `import "example.org/m/internal/rawjson"`),
		}, nil},
		{"a failure says what was wanted", map[string]string{
			"session/a_test.go": src("session", "func f() {\n\tif err != nil {\n\t\tt.Fatalf(\"%d: %v\", n, err)\n\t}\n\tif n != 3 {\n\t\tt.Errorf(\"%+v\", n)\n\t}\n\tif n != 3 {\n\t\tt.Errorf(\"%d, want 3\", n)\n\t}\n}"),
		}, []string{"session/a_test.go:9: a failure that does not say what was wanted"}},
		{"a dialect is pure", map[string]string{
			"dialect/pi/a.go": src("pi", `import ("os"; "math/rand/v2"; "io/fs")`),
		}, []string{"imports os", "imports math/rand/v2"}},
		{"a dialect takes no time from the clock", map[string]string{
			"dialect/pi/a.go": src("pi", "import clock \"time\"\nvar t = clock.Now\nfunc f() { clock := x; clock.Now() }"),
		}, []string{"dialect/pi/a.go:5: uses time.Now"}},
		{"a dialect does not resolve links", map[string]string{
			"dialect/pi/a.go": src("pi", "import \"path/filepath\"\nvar f, g = filepath.EvalSymlinks, filepath.Clean"),
		}, []string{"uses filepath.EvalSymlinks"}},
		{"dialects do not see each other", map[string]string{
			"dialect/wave/a.go": src("wave", `import "example.org/m/dialect/pi"`),
		}, []string{"imports dialect/pi"}},
		{"the list of dialects sees all", map[string]string{
			"dialect/all/a.go": src("all", `import ("example.org/m/dialect"; "example.org/m/dialect/pi")`),
		}, nil},
		{"a dialect knows no backend", map[string]string{
			"dialect/pi/a.go": src("pi", `import "example.org/m/backend"`),
		}, []string{"imports backend"}},
		{"a backend knows neither model nor dialect", map[string]string{
			"backend/file/a.go": src("file", `import ("example.org/m/session"; "example.org/m/dialect"; "os")`),
		}, []string{"imports session", "imports dialect"}},
		{"backends do not see each other", map[string]string{
			"backend/file/a.go": src("file", `import "example.org/m/backend/memory"`),
		}, []string{"imports backend/memory"}},
		{"what lies below a backend is its own", map[string]string{
			"backend/postgres/a.go":        src("postgres", `import "example.org/m/backend/postgres/schema"`),
			"backend/postgres/schema/a.go": src("schema", `import "example.org/m/backend"`),
			"backend/postgresql/a.go":      src("postgresql", `import "example.org/m/backend/postgres/schema"`),
		}, []string{"backend/postgresql/a.go:4: imports backend/postgres/schema"}},
		{"the contract of backends knows nothing of ours", map[string]string{
			"backend/a.go": src("backend", `import "example.org/m/internal/jsonl"`),
		}, []string{"may import of ours: nothing"}},
		{"the store takes backends from outside, but for memory", map[string]string{
			"store/a.go": src("store", `import ("example.org/m/backend/file"; "example.org/m/backend/memory"; "example.org/m/dialect/pi")`),
		}, []string{"imports backend/file", "imports dialect/pi"}},
		{"a face asks the store", map[string]string{
			"rpc/a.go": src("rpc", `import ("example.org/m/dialect"; "example.org/m/store"; "example.org/m/backend")`),
		}, []string{"imports dialect", "imports backend"}},
		{"the root package and the command assemble", map[string]string{
			"m.go":              src("m", `import ("example.org/m/backend/file"; "example.org/m/dialect/all")`),
			"cmd/treeline/m.go": "// Treeline is a fake.\npackage main\nimport (\"example.org/m\"; \"example.org/m/store\"; \"os\")",
		}, nil},
		{"no lower package imports the root package", map[string]string{
			"store/a.go": src("store", `import "example.org/m"`),
		}, []string{"imports ."}},
		{"suites and generators are not shipped", map[string]string{
			"cmd/treeline/m.go":   "// Treeline is a fake.\npackage main\nimport (\"example.org/m/internal/gen\"; \"testing\")",
			"backend/x/a.go":      src("x", `import "example.org/m/internal/bench"`),
			"internal/bench/a.go": src("bench", `import ("testing"; "example.org/m/internal/gen"; "example.org/m/store")`),
		}, []string{"imports internal/bench", "imports internal/gen", "imports testing"}},
		{"file systems that fail are not shipped", map[string]string{
			"backend/x/a.go":                src("x", `import ("example.org/m/internal/durable"; "example.org/m/internal/durable/faultfs")`),
			"internal/durable/faultfs/a.go": src("faultfs", `import "example.org/m/internal/durable"`),
		}, []string{"imports internal/durable/faultfs"}},
		{"tests may import the suites", map[string]string{
			"backend/file/a.go":      src("file", ""),
			"backend/file/a_test.go": src("file_test", `import ("testing"; "example.org/m/backend/backendtest"; "example.org/m/session")`),
		}, nil},
		{"no cgo", map[string]string{
			"cmd/treeline/m.go": "// Treeline is a fake.\npackage main\nimport \"C\"",
		}, []string{"imports C"}},
		{"the ground floor has no dependencies", map[string]string{
			"internal/jsonl/a.go": src("jsonl", `import ("example.org/m/internal/rawjson"; "github.com/x/y"; "golang.org/x/sys/unix")`),
		}, []string{"imports internal/rawjson", "imports github.com/x/y"}},
		{"a package without a row", map[string]string{
			"cache/a.go": src("cache", ""),
		}, []string{"cache: package without a row"}},
		{"names that say nothing", map[string]string{
			"internal/bench/util/a.go": src("util", ""),
			"session/a_test.go":        src("helpers", ""),
		}, []string{"without a row", "package folder is called util", "package is called util", "package is called helpers"}},
		{"words that say nothing", map[string]string{
			"store/a.go": src("store", "type (\n SessionManager int\n Implicit int\n provider int\n FileImpl = int\n)\ntype URLService int"),
		}, []string{"type SessionManager", "type FileImpl", "type URLService"}},
		{"the wall", map[string]string{
			"store/a.go":      src("store", strings.Repeat("\n", wall)),
			"store/b.go":      src("store", strings.Repeat("\n", wall-10)),
			"store/c_test.go": src("store", strings.Repeat("\n", 2*wall)),
		}, []string{"store/a.go: 804 lines"}},
		{"no maps of anything", map[string]string{
			"store/a.go":            src("store", "var m map[string]any\nfunc f(map[string]interface{}, map[string]interface{ F() }, map[int]any) {}"),
			"internal/rawjson/a.go": src("rawjson", "var m map[string]any"),
			"store/a_test.go":       src("store", "var n map[string]any"),
		}, []string{"store/a.go:4: map[string]any", "store/a.go:5: map[string]any"}},
		{"eight methods make a full interface", map[string]string{
			"store/a.go":      src("store", "type Full interface { A(); B(); C(); D(); E(); F(); G(); H() }"),
			"store/b.go":      src("store", "type Fat interface { A(); B(); C(); D(); E(); F(); G(); H(); I() }"),
			"store/a_test.go": src("store", "type fake interface { A(); B(); C(); D(); E(); F(); G(); H(); I() }"),
		}, []string{"store/b.go:4: an interface of 9 methods"}},
		{"methods of embedded interfaces count, each once", map[string]string{
			"session/a.go": src("session", "type Seven[T any] interface { A(); B(); C(); D(); E(); F(); G() }"),
			"store/a.go": src("store", `import ("io"; s "example.org/m/session")`+
				"\ntype Eight interface { s.Seven[int]; io.Closer }\ntype Same interface { Eight; s.Seven[int]; A() }"+
				"\ntype Nine interface { Same; H() }\ntype Loop interface { Loop; A() }\ntype Number interface { ~int | ~string }"),
		}, []string{"store/a.go:7: an interface of 9 methods"}},
		{"a package has a wall, too", map[string]string{
			"store/a.go":      src("store", strings.Repeat("\n", wall-10)),
			"store/b.go":      src("store", strings.Repeat("\n", wall-10)),
			"store/c.go":      src("store", strings.Repeat("\n", wall-10)),
			"store/d.go":      src("store", strings.Repeat("\n", wall-10)),
			"store/e.go":      src("store", strings.Repeat("\n", wall-10)),
			"store/f.go":      src("store", strings.Repeat("\n", wall-10)),
			"store/g_test.go": src("store", strings.Repeat("\n", 2*packageWall)),
		}, []string{"store: a package of 4764 lines"}},
		{"nothing happens by being imported", map[string]string{
			"store/a.go":      src("store", "type T int\nfunc (T) init() {}\nfunc init() {}"),
			"store/a_test.go": src("store", "func init() {}"),
		}, []string{"store/a.go:6: func init"}},
		{"a package comment", map[string]string{
			"store/a.go":     "//go:build linux\n\npackage store",
			"session/a.go":   "// Copyright\n\npackage session",
			"session/doc.go": src("session", ""),
			"index/a.go":     "// The index.\npackage index",
		}, []string{"index: no package comment", "store: no package comment"}},
		{"files of other platforms are checked too", map[string]string{
			"dialect/pi/a_windows.go":  src("pi", `import "syscall"`),
			"dialect/pi/b.go":          "//go:build ignore\n\npackage main\nimport \"os\"",
			"dialect/pi/testdata/c.go": "package util",
			"other/go.mod":             "module example.org/other",
			"other/util/a.go":          "package util",
		}, []string{"dialect/pi/a_windows.go:4: imports syscall"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := Check(fake(t, tt.files))
			for i, v := range got {
				if i >= len(tt.want) || !strings.Contains(v.String(), tt.want[i]) {
					t.Errorf("unexpected: %v", v)
				}
				if v.Why == "" {
					t.Errorf("no reason given: %v", v)
				}
			}
			if len(got) < len(tt.want) {
				t.Errorf("not noticed: %q", tt.want[len(got):])
			}
		})
	}
}

// Each row of the import table refuses something, with its own reason.
func TestEveryRow(t *testing.T) {
	for _, r := range importTable {
		if r.why == "" {
			t.Errorf("%v: no reason", r.packages)
		}
		if r.may == "*" {
			continue
		}
		for _, pattern := range r.packages.list() {
			dir := strings.Replace(pattern, "*", "something", 1)
			m := fake(t, map[string]string{path.Join(dir, "a.go"): src("a", `import "example.org/m/cmd/treeline"`)})
			got, _ := Check(m)
			if len(got) != 1 || got[0].Why != r.why {
				t.Errorf("%s imports cmd/treeline: got %v, want the refusal of its own row", dir, got)
			}
		}
	}
}

func TestStaleRows(t *testing.T) {
	m := fake(t, map[string]string{"session/a.go": src("session", ""), "backend/all/a.go": src("all", "")})
	found := map[string]bool{}
	for _, v := range StaleRows(m) {
		found[v.What] = true
	}
	for pattern, want := range map[string]bool{"session": false, "run": true, "backend/all": false, "backend/*": true} {
		if found["no package matches "+pattern] != want {
			t.Errorf("%s is stale: %v, want %v", pattern, !want, want)
		}
	}
}

func TestLongFilesAreNoted(t *testing.T) {
	m := fake(t, map[string]string{
		"store/a.go": src("store", strings.Repeat("\n", longFile)),
		"store/b.go": "// Code generated by hand. DO NOT EDIT.\n\n" + src("store", strings.Repeat("\n", wall)),
	})
	violations, notes := Check(m)
	if len(violations) != 1 || len(notes) != 1 || !strings.HasPrefix(notes[0], "store/a.go: 404 lines") {
		t.Errorf("violations %v, notes %q; want that of store/b.go, which is generated, and a note of store/a.go", violations, notes)
	}
}

func TestBrokenSourceIsAnError(t *testing.T) {
	for name, fsys := range map[string]fstest.MapFS{
		"no go.mod":      {"a.go": {Data: []byte("package a")}},
		"no module line": {"go.mod": {Data: []byte("go 1.26\n")}},
		"no Go":          {"go.mod": {Data: []byte("module m\n")}, "a.go": {Data: []byte("pakcage a")}},
	} {
		if _, err := Load(fsys); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
