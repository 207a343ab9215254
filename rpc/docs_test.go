package rpc_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/jsonschema"
)

type parameter struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Required    bool               `json:"required"`
	Schema      *jsonschema.Schema `json:"schema"`
}

type openRPC struct {
	Methods []struct {
		Name        string                  `json:"name"`
		Tags        []struct{ Name string } `json:"tags"`
		Summary     string                  `json:"summary"`
		Description string                  `json:"description"`
		Params      []parameter             `json:"params"`
		Result      parameter               `json:"result"`
	} `json:"methods"`
	Notifications []parameter `json:"x-notifications"`
	Components    struct {
		Schemas jsonschema.Defs `json:"schemas"`
	} `json:"components"`
}

// words describes the values of a schema for docs/rpc.md.
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
	case s.Enum != nil:
		return `"` + strings.Join(s.Enum, `" or "`) + `"`
	case s.Items != nil:
		return "[" + words(s.Items) + "]"
	case s.Additional != nil:
		return "{string: " + words(s.Additional) + "}"
	}
	return cmp.Or(s.Type, "any")
}

// membersOf lists the members of an object.
func membersOf(s *jsonschema.Schema) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		optional := "?"
		if slices.Contains(s.Required, name) {
			optional = ""
		}
		list = append(list, name+optional+": "+words(s.Properties[name]))
	}
	if list != nil && s.Additional != nil {
		list = append(list, "…")
	}
	if list == nil {
		return "an object as the agent, or the specification, defines it"
	}
	return "`{" + strings.Join(list, ", ") + "}`"
}

// shared is the number of methods from which on a common description of a parameter is given once for all of them.
const shared = 4

// tables returns the tables of docs/rpc.md by heading.
func (d openRPC) tables() map[string]string {
	uses := map[parameter]int{}
	key := func(p parameter) parameter { return parameter{Name: p.Name, Description: p.Description} }
	for _, m := range d.Methods {
		for _, p := range m.Params {
			uses[key(p)]++
		}
	}
	all := map[string]string{
		"Common parameters": "| parameter | what it is |\n|---|---|\n",
		"Shapes":            "| shape | members |\n|---|---|\n",
	}
	for _, p := range slices.SortedFunc(maps.Keys(uses), func(a, b parameter) int {
		return cmp.Or(uses[b]-uses[a], cmp.Compare(a.Name, b.Name), cmp.Compare(a.Description, b.Description))
	}) {
		if uses[p] >= shared {
			all["Common parameters"] += fmt.Sprintf("| `%s` | %s |\n", p.Name, p.Description)
		}
	}
	all["Notifications"] = "| notification | parameters | when |\n|---|---|---|\n"
	for _, n := range d.Notifications {
		all["Notifications"] += fmt.Sprintf("| `%s` | `%s` | %s |\n", n.Name, words(n.Schema), n.Description)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		all["Shapes"] += fmt.Sprintf("| `%s` | %s |\n", name, membersOf(d.Components.Schemas[name]))
	}
	for _, m := range d.Methods {
		title := m.Tags[0].Name
		if all[title] == "" {
			all[title] = "| method | parameters | result | what it does |\n|---|---|---|---|\n"
		}
		var params []string
		for _, p := range m.Params {
			text := "`" + p.Name + "`"
			if !p.Required {
				text = "`" + p.Name + "?`"
			}
			if uses[key(p)] < shared && p.Description != "" {
				text += " (" + p.Description + ")"
			}
			params = append(params, text)
		}
		all[title] += fmt.Sprintf("| `%s` | %s | `%s` | %s |\n", m.Name, strings.Join(params, ", "), words(m.Result.Schema), m.Description)
	}
	return all
}

// The tables of docs/rpc.md match the OpenRPC document. -update rewrites them.
func TestDocumented(t *testing.T) {
	t.Parallel()
	const path = "../docs/rpc.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tables := promised.tables()
	var want strings.Builder
	heading := ""
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.TrimSpace(title)
		}
		table, ours := tables[heading]
		if !ours || !strings.HasPrefix(line, "|") {
			want.WriteString(line)
			continue
		}
		if table != "" { // at the first line of the old table
			want.WriteString(table)
			tables[heading] = ""
		}
	}
	for title, table := range tables {
		if table != "" {
			t.Errorf("docs/rpc.md has no section %q with a table", title)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	equal(t, "docs/rpc.md, which go test ./rpc -update writes", strings.Split(string(text), "\n"), strings.Split(want.String(), "\n"))
}
