package wire

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/jsonschema"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Context is what the model would see. The members of the agent's own context are there, too.
type contextShape struct {
	Messages []json.RawMessage `json:"messages"`
	Tokens   int64             `json:"estimatedTokens"`
	Problems []session.Problem `json:"problems,omitempty"`
}

// document is docs/json.schema.json.
type document struct {
	Schema      string          `json:"$schema"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Defs        jsonschema.Defs `json:"$defs"`
}

// shapeName is the name under which a struct is described.
func shapeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[run.Problem]():
		return "RunProblem"
	case reflect.TypeFor[contextShape]():
		return "Context"
	}
	return t.Name()
}

// describe describes every shape in the order of docs/json.md.
func describe() *jsonschema.Set {
	d := &jsonschema.Set{Prefix: "#/$defs/", Name: shapeName}
	for _, shape := range []any{
		Row{}, Source{}, Entry{}, contextShape{}, PartsContext{}, SearchResult{}, Change{}, session.Problem{}, Secret{}, Export{}, Exported{}, Copied{}, Prompt{}, Import{}, Stats{},
		Session{}, Appended{}, Label{}, Conversion{}, Resume{}, Trashed{}, Plan{}, GC{}, Token{}, AuditRecord{},
		Run{}, Recording{}, Receipt{}, Audit{}, RunDiff{}, Exchange{}, Endpoint{}, Served{}, Replayed{}, Version{}, Message{},
	} {
		d.Add(reflect.TypeOf(shape))
	}
	comments := commentsOf(".", "../session", "../run")
	for _, t := range d.Types {
		pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
		d.Defs[shapeName(t)].Description = comments[pkg+"."+t.Name()]
	}
	return d
}

// words describes the values of a schema.
func words(s *jsonschema.Schema) string {
	switch {
	case s.Ref != "":
		return s.Name()
	case s.AnyOf != nil:
		var list []string
		for _, one := range s.AnyOf {
			list = append(list, words(one))
		}
		return strings.Join(list, " or ")
	case s.Items != nil:
		return "list of " + words(s.Items)
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// commentsOf returns the comments of the types in some folders, by package and name, without the words that repeat the name.
func commentsOf(dirs ...string) map[string]string {
	comments := map[string]string{}
	for _, dir := range dirs {
		files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				continue // go vet reports it
			}
			for _, decl := range file.Decls {
				gen, ok := decl.(*ast.GenDecl)
				if !ok || gen.Tok != token.TYPE {
					continue
				}
				for _, spec := range gen.Specs {
					if t := spec.(*ast.TypeSpec); gen.Doc != nil {
						comments[file.Name.Name+"."+t.Name.Name] = strings.Join(strings.Fields(gen.Doc.Text()), " ")
					}
				}
			}
		}
	}
	return comments
}

// TestSchemaFile: docs/json.schema.json matches the types.
func TestSchemaFile(t *testing.T) {
	t.Parallel()
	text, err := json.MarshalIndent(document{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "treeline --json",
		Description: "The JSON that the commands of treeline print. docs/json.md says which command prints what. New members may be added.",
		Defs:        describe().Defs,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compareFile(t, "../docs/json.schema.json", string(text)+"\n")
}

// compareFile compares a generated file, or writes it with -update.
func compareFile(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := difftest.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not what the code says; go test ./wire -update writes it (-want +got):\n%s", path, diff)
	}
}

const shapesBegin = "<!-- The rest is made from the code by go test ./wire -update. -->\n"

// TestShapesInDocs: docs/json.md describes every shape and every member, and explains each name that several shapes share once.
func TestShapesInDocs(t *testing.T) {
	t.Parallel()
	const path = "../docs/json.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(text), shapesBegin)
	if !ok {
		t.Fatalf("%s has no place for the shapes", path)
	}
	d := describe()
	var b strings.Builder
	uses := map[string]int{}
	for _, shape := range d.Types {
		s := d.Defs[shapeName(shape)]
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| member | value |\n|---|---|\n", shapeName(shape), s.Description)
		for _, name := range s.Order {
			uses[name]++
			optional := ""
			if !slices.Contains(s.Required, name) {
				optional = "; may be absent"
			}
			fmt.Fprintf(&b, "| `%s` | %s%s |\n", name, words(s.Properties[name]), optional)
		}
	}
	compareFile(t, path, head+shapesBegin+b.String())

	_, vocabulary, _ := strings.Cut(head, "## Vocabulary")
	vocabulary, _, _ = strings.Cut(vocabulary, "\n## ")
	explained := map[string]bool{}
	for line := range strings.Lines(vocabulary) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || !strings.Contains(cells[1], "`") {
			continue
		}
		for _, name := range strings.Split(cells[1], ",") {
			name = strings.Trim(strings.TrimSpace(name), "`")
			if explained[name] = true; uses[name] == 0 {
				t.Errorf("no shape has the member %s, which the vocabulary explains", name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		if uses[name] > 1 && !explained[name] {
			t.Errorf("%d shapes have %s, and the vocabulary does not explain it", uses[name], name)
		}
	}
}

// TestGoldensFitSchema: the output of the commands is valid by the schema file.
func TestGoldensFitSchema(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/json.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	// The shape of each value in a file; the last one also applies to all further values.
	shapes := map[string][]string{
		"appended": {"Appended"}, "changes": {"Change"}, "diff": {"RunDiff"}, "entries": {"Entry"}, "exchanges": {"Exchange"}, "gc": {"GC"},
		"hit": {"SearchResult", "SearchResult", "SearchResult", ""}, "label": {"Label"}, "other": {"Recording", "Import", "Prompt", "Version"},
		"plan": {"Plan"}, "receipt": {"Receipt"}, "row": {"Row"}, "run": {"Run"}, "session": {"Session"}, "source": {"Source"}, "trashed": {"Trashed"}, "token": {"Token"}, "auditRecord": {"AuditRecord"},
		"stats": {"Stats"}, "tree": {"Entry"}, "message": {"Message"}, "conversion": {"Conversion"}, "resume": {"Resume"}, "audit": {"Audit"}, "replay": {"Endpoint", "Served", "Served", "Replayed"},
		"parts": {"PartsContext"}, "context": {""}, "context-empty": {""}, // members of the agent's own context
	}
	files, err := filepath.Glob("testdata/json/*.json")
	if err != nil || len(files) != len(shapes) {
		t.Errorf("%d files for %d shapes, %v", len(files), len(shapes), err)
	}
	for _, path := range files {
		list, ok := shapes[strings.TrimSuffix(filepath.Base(path), ".json")]
		if !ok {
			t.Errorf("%s: of what shape is it?", path)
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for n, value := range valuesOf(t, json.NewDecoder(f)) {
			if shape := list[min(n, len(list)-1)]; shape != "" {
				if err := d.Defs.Check(&jsonschema.Schema{Ref: shape}, value); err != nil {
					t.Errorf("%s, value %d: %v", path, n+1, err)
				}
			}
		}
		f.Close()
	}
}

// valuesOf returns the values of a file, with lists split into their elements.
func valuesOf(t *testing.T, dec *json.Decoder) (values []json.RawMessage) {
	t.Helper()
	for dec.More() {
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
		var list []json.RawMessage
		if json.Unmarshal(value, &list) == nil {
			values = append(values, list...)
			continue
		}
		values = append(values, value)
	}
	return values
}
