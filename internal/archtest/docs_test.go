package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// code returns the texts between backquotes.
func code(text string) (list []string) {
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// Every row of the tables of FORMATS.md names an existing proof in its last column, or has a dash.
func TestFormatsNamesItsProofs(t *testing.T) {
	proofs, columns, proved := 0, 0, false
	for i, line := range strings.Split(read(t, "FORMATS.md"), "\n") {
		cells := strings.Split(line, "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			columns = 0
			continue
		case columns == 0:
			columns, proved = len(cells), strings.HasSuffix(line, "| proof |")
			continue
		case len(cells) != columns:
			t.Errorf("FORMATS.md:%d: a row of %d columns in a table of %d", i+1, len(cells)-2, columns-2)
			continue
		case !proved || strings.HasPrefix(line, "|---"):
			continue
		}
		last := strings.TrimSpace(cells[columns-2])
		list := code(last)
		if len(list) == 0 && last != "–" {
			t.Errorf("FORMATS.md:%d: %q names no proof", i+1, last)
		}
		for _, c := range list {
			if proofs++; !proofExists(t, c) {
				t.Errorf("FORMATS.md:%d: there is no %s", i+1, c)
			}
		}
	}
	if proofs < 500 {
		t.Errorf("%d proofs were found: FORMATS.md looks other than this test thinks", proofs)
	}
}

// proofExists reports whether a proof that FORMATS.md names exists. A name may end with "*".
func proofExists(t *testing.T, name string) bool {
	folder, base := path.Split(name)
	pattern := ""
	switch {
	case name == "make interop":
		return true
	case strings.HasPrefix(base, "Test") && folder != "":
		return testExists(t, folder, base)
	case strings.HasPrefix(base, "Test"): // a test of the dialect, or of the backend that shows its rows
		return testExists(t, "dialect/*", base) || testExists(t, "backend/rows/*", base)
	case path.Ext(base) == ".txtar" && folder == "":
		pattern = "cmd/treeline/testdata/script/" + base
	case folder == "context/":
		pattern = "session/testdata/context/" + base + ".txtar"
	case folder != "":
		pattern = "dialect/*/testdata*/" + name + ".jsonl"
	}
	files, _ := filepath.Glob("../../" + pattern)
	return pattern != "" && len(files) > 0
}

// testExists reports whether a test, fuzz target or example is in the test files of a folder. A name that ends with "*" is a prefix.
func testExists(t *testing.T, folder, name string) bool {
	declared, isPrefix := strings.CutSuffix("func "+name, "*")
	if !isPrefix {
		declared += "("
	}
	return strings.Contains(testsOf(t, folder), declared)
}

// tests caches the results of testsOf.
var tests = map[string]string{}

// testsOf returns the test files of the folders that a pattern matches.
func testsOf(t *testing.T, folders string) string {
	if _, ok := tests[folders]; !ok {
		files, _ := filepath.Glob(filepath.Join("../..", folders, "*_test.go"))
		var all strings.Builder
		for _, f := range files {
			all.WriteString(read(t, strings.TrimPrefix(filepath.ToSlash(f), "../../")))
		}
		tests[folders] = all.String()
	}
	return tests[folders]
}

// Every test that a document names exists: `store/TestKill` in its text, and "test server/TestX" beside a code block. The tests of promises
// are in a table with the test in its last column.
func TestDocumentsNameTheirProofs(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("(?:`|^```[a-z]+ test )((?:[a-z0-9]+/)*)((?:Test|Fuzz|Example)[A-Z][A-Za-z0-9_]*)(?:`|$)")
	for _, f := range append(files, "../../README.md") {
		file, _ := filepath.Rel("../..", f)
		proofs, table := 0, ""
		for i, line := range strings.Split(read(t, file), "\n") {
			found := name.FindAllStringSubmatch(line, -1)
			for _, m := range found {
				if proofs++; !testExists(t, m[1], m[2]) {
					t.Errorf("%s:%d: there is no test %s%s", file, i+1, m[1], m[2])
				}
			}
			switch {
			case !strings.HasPrefix(line, "|"):
				table = ""
			case table == "":
				table = line
			case strings.HasSuffix(table, "| test |") && !strings.HasPrefix(line, "|---") && len(found) == 0:
				t.Errorf("%s:%d: no test shows this", file, i+1)
			}
		}
		if least := map[string]int{"docs/durability.md": 20, "docs/security.md": 20}[filepath.ToSlash(file)]; proofs < least {
			t.Errorf("%s: %d tests are named, want %d at least: the document looks other than this test thinks", file, proofs, least)
		}
	}
}

// headings returns the anchors of a document, as GitHub makes them.
func headings(text string) (list []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		list = append(list, anchor)
	}
	return list
}

// Every link from a document to another file, or to a heading, has a target.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, f := range append(files, "../../README.md", "../../ARCHITECTURE.md", "../../CONTRIBUTING.md", "../../FORMATS.md", "../../CHANGELOG.md") {
		file, _ := filepath.Rel("../..", f)
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(read(t, file), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			target, anchor, _ := strings.Cut(m[1], "#")
			to := file
			if target != "" {
				to = filepath.Join(filepath.Dir(file), filepath.FromSlash(target))
			}
			if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			} else if anchor != "" && !slices.Contains(headings(read(t, to)), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", file, m[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links were found, want 50 at least", links)
	}
}

// ARCHITECTURE.md names every package of the program and every module that it depends on.
func TestArchitectureIsComplete(t *testing.T) {
	var named []string // in the first column of a table
	for _, line := range strings.Split(read(t, "ARCHITECTURE.md"), "\n") {
		if cells := strings.Split(line, " | "); len(cells) > 1 {
			named = append(named, code(cells[0])...)
		}
	}
	m, err := thisModule()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Packages {
		if p.Dir == "." || len(p.Production()) == 0 {
			continue
		}
		if !slices.Contains(named, p.Dir) && !slices.Contains(named, path.Dir(p.Dir)+"/*") && !isTestOnly(p.Dir) {
			t.Errorf("ARCHITECTURE.md does not say what %s is", p.Dir)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+?)(/v[0-9]+)? v\S+$`).FindAllStringSubmatch(read(t, "go.mod"), -1) {
		if !slices.Contains(named, m[1]) && !slices.Contains(named, m[1]+m[2]) {
			t.Errorf("ARCHITECTURE.md does not say why we depend on %s", m[1]+m[2])
		}
	}
}

// README.md names every command.
func TestReadmeNamesCommands(t *testing.T) {
	readme := read(t, "README.md")
	inside, err := filepath.Glob("../../cmd/treeline/internal/*/cmd_*.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../cmd/treeline/cmd_*.go")
	if files = append(files, inside...); err != nil || len(files) < 30 {
		t.Fatalf("%d commands, %v; want more", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "cmd_"), ".go")
		if strings.Contains(name, "_") {
			continue // a part of a command, or a command below it
		}
		if !regexp.MustCompile("(`|treeline )" + name + `\b`).MatchString(readme) {
			t.Errorf("README.md does not name %s", name)
		}
	}
}
