package rpc

import (
	"strings"

	"github.com/treeline-dev/treeline/internal/jsonschema"
	"github.com/treeline-dev/treeline/wire"
)

// openRPC is the version of the specification that the document follows.
const openRPC = "1.3.2"

// document is an OpenRPC document.
type document struct {
	OpenRPC    string           `json:"openrpc"`
	Info       info             `json:"info"`
	Methods    []documentMethod `json:"methods"`
	Components components       `json:"components"`
	// Notifications are those of the server. OpenRPC has no member for notifications.
	Notifications []descriptor `json:"x-notifications"`
	// Accepted are those that a client may send.
	Accepted []descriptor `json:"x-client-notifications"`
}

type info struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Version     string `json:"version"`
}

type documentMethod struct {
	Name        string       `json:"name"`
	Tags        []named      `json:"tags"`
	Summary     string       `json:"summary"`
	Description string       `json:"description"`
	Structure   string       `json:"paramStructure"`
	Params      []descriptor `json:"params"`
	Result      descriptor   `json:"result"`
}

type named struct {
	Name string `json:"name"`
}

type descriptor struct {
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Required    bool               `json:"required,omitempty"`
	Schema      *jsonschema.Schema `json:"schema"`
}

type components struct {
	Schemas jsonschema.Defs `json:"schemas"`
}

// Document returns the OpenRPC document of all methods, the answer of rpc.discover. version is the version of the program.
func Document(version string) ([]byte, error) { return encode(describeAll(version)) }

func discover(c *call, _ struct{}) (raw[openRPCDocument], error) {
	return Document(c.opt.Version.Version)
}

func version(c *call, _ struct{}) (wire.Version, error) { return c.opt.Version, nil }

// describeAll makes the document from the table and the types that it names.
func describeAll(version string) document {
	b := newSchemas()
	d := document{
		OpenRPC: openRPC,
		Info: info{
			Title: "treeline", Version: version,
			Description: "Sessions of coding agents. One JSON object per line on standard input and standard output of `treeline rpc`.",
		},
		Components: components{b.Defs},
	}
	for _, s := range table() {
		for _, m := range s.methods {
			d.Methods = append(d.Methods, b.method(m, s.title))
		}
	}
	for _, n := range notifications {
		d.Notifications = append(d.Notifications, descriptor{Name: n.name, Description: n.doc, Schema: b.Add(n.params)})
	}
	for _, n := range accepted {
		d.Accepted = append(d.Accepted, descriptor{Name: n.name, Description: n.doc, Schema: b.Add(n.params)})
	}
	return d
}

func (b *schemas) method(m *method, title string) documentMethod {
	d := documentMethod{
		Name: m.name, Tags: []named{{title}}, Summary: m.summary(), Description: m.doc, Structure: "by-name", Params: []descriptor{},
		Result: descriptor{Name: "result", Schema: b.Add(m.result)},
	}
	for _, p := range m.all() {
		d.Params = append(d.Params, descriptor{Name: p.name, Description: p.doc, Required: p.needed, Schema: b.param(p)})
	}
	return d
}

// summary returns the first sentence of doc.
func (m *method) summary() string {
	first, _, _ := strings.Cut(m.doc, ". ")
	return strings.TrimSuffix(first, ".")
}

// all lists the parameters of a method, the session first.
func (m *method) all() []param {
	list := paramsOf(m.params)
	if m.session == never {
		return list
	}
	return append([]param{{
		name: "session", doc: "the handle of an open session", kind: stringType, needed: m.session == always,
	}}, list...)
}
