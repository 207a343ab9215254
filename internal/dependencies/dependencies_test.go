package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// TestListed: docs/dependencies.md has the modules and versions of go.mod, and each that treeline imports itself has a reason.
func TestListed(t *testing.T) {
	t.Chdir("../..")
	modules, err := required()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	var direct []string
	for path, m := range modules {
		if want[path] = m.Version; !m.Indirect {
			direct = append(direct, path)
		}
	}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		path := strings.Trim(cells[1], " `")
		got[path] = strings.TrimSpace(cells[2])
		for i, what := range map[int]string{3: "licence", 4: "reason"} {
			if strings.TrimSpace(cells[i]) == "" {
				t.Errorf("%s has no %s", path, what)
			}
		}
	}
	if diff := difftest.Diff(want, got); diff != "" {
		t.Errorf("docs/dependencies.md does not agree with go.mod; make dependencies writes it anew\n%s", diff)
	}
	slices.Sort(direct)
	if diff := difftest.Diff(direct, slices.Sorted(maps.Keys(reasons))); diff != "" {
		t.Errorf("reasons are not those of the modules that are imported\n%s", diff)
	}
}

func TestPackageOf(t *testing.T) {
	for symbol, want := range map[string]string{
		"github.com/spf13/cobra.(*Command).Execute": "github.com/spf13/cobra", "modernc.org/sqlite/lib.Xsqlite3_open": "modernc.org/sqlite/lib",
		"slices.SortFunc[go.shape.[]github.com/x/y.T]": "slices", "gopkg.in/yaml%2ev3.parse": "gopkg.in/yaml.v3", "runtime.main": "runtime",
	} {
		if got := packageOf(symbol); got != want {
			t.Errorf("%s is of %q, want %q", symbol, got, want)
		}
	}
}

func TestLicences(t *testing.T) {
	for text, want := range map[string]string{
		"  Apache License\n   Version 2.0, January 2004": "Apache-2.0", "a licence of our own": "",
		"Redistributions in binary form must reproduce the above": "BSD-2-Clause",
	} {
		if got := nameOf(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
