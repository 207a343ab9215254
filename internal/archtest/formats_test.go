package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Everything that FORMATS.md names as a proof exists.
func TestFormatsAreProved(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "FORMATS.md"))
	if err != nil {
		t.Fatal(err)
	}
	var tests []string
	fixtures := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)`)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasSuffix(path, "_test.go") {
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range declared.FindAllStringSubmatch(string(source), -1) {
				tests = append(tests, m[1])
			}
		}
		name := strings.TrimSuffix(d.Name(), filepath.Ext(path))
		fixtures[filepath.Base(filepath.Dir(path))+"/"+name] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\bTest[A-Z]\w*`).FindAllString(string(text), -1)
	for _, name := range named {
		found := false
		for _, have := range tests {
			found = found || strings.HasPrefix(have, name)
		}
		if !found {
			t.Errorf("FORMATS.md names %s, which does not exist", name)
		}
	}
	folders := `omp|pi|omp-doc|operator|operator-doc|wave|wave-doc|wave-legacy|codelia|codelia-doc|codelia-state|codelia-state-doc|refused`
	for _, m := range regexp.MustCompile("`((?:"+folders+")/[\\w-]+)`").FindAllStringSubmatch(string(text), -1) {
		if !fixtures[m[1]] {
			t.Errorf("FORMATS.md names the fixture %s, which does not exist", m[1])
		}
	}
	if len(named) < 50 {
		t.Errorf("only %d tests are named", len(named))
	}
}
