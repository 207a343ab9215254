package clients

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/rpc"
)

// document is the OpenRPC document, from which the clients are generated.
type document struct {
	Methods       []method `json:"methods"`
	Notifications []param  `json:"x-notifications"`
	Components    struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

type method struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Params      []param `json:"params"`
	Result      param   `json:"result"`
}

type param struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Schema      *schema `json:"schema"`
}

type schema struct {
	Ref        string             `json:"$ref"`
	Type       string             `json:"type"`
	Enum       []string           `json:"enum"`
	Items      *schema            `json:"items"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Additional *schema            `json:"additionalProperties"`
	AnyOf      []*schema          `json:"anyOf"`
}

func discover(t *testing.T) (d document) {
	t.Helper()
	text, err := rpc.Document("0")
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// split returns the parameters without the session, and whether a client calls the method on an open session, on itself, or on either.
func (m *method) split() (params []param, onSession, onClient bool) {
	onClient = true
	for _, p := range m.Params {
		if p.Name == "session" {
			onSession, onClient = true, !p.Required
			continue
		}
		params = append(params, p)
	}
	// Required parameters come first: a caller may pass them by position.
	slices.SortStableFunc(params, func(a, b param) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return params, onSession, onClient
}

// rows returns the member of a page that has its rows, or "" for a method without pages.
func (d *document) rows(m *method) string {
	if !slices.ContainsFunc(m.Params, func(p param) bool { return p.Name == "cursor" }) {
		return ""
	}
	page := d.Components.Schemas[m.Result.Schema.name()]
	for _, name := range slices.Sorted(maps.Keys(page.Properties)) {
		if page.Properties[name].Type == "array" && name != "problems" {
			return name
		}
	}
	return ""
}

func (s *schema) name() string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }

// any reports whether null is a value of its own, rather than the same as absent.
func (s *schema) any() bool { return s.Ref == "" && s.Type == "" && s.AnyOf == nil }

// sentences returns the description without what only a Markdown page shows.
func (m *method) sentences() string { return strings.ReplaceAll(m.Description, "`", "") }

// own returns the name of a method in a client: rpc.discover becomes discover.
func (m *method) own() string { return m.Name[strings.LastIndexByte(m.Name, '.')+1:] }

// wrap wraps a text into lines.
func wrap(text, indent string) (lines []string) {
	const width = 120
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(indent)+len(line)+1+len(word) > width {
			lines, line = append(lines, indent+line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, indent+line)
}
