package clients

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// typed returns the TypeScript type of a schema.
func (s *schema) typed() string {
	switch {
	case s.Ref != "":
		return s.name()
	case s.AnyOf != nil:
		var list []string
		for _, one := range s.AnyOf {
			list = append(list, one.typed())
		}
		return strings.Join(list, " | ")
	case s.Enum != nil:
		return `"` + strings.Join(s.Enum, `" | "`) + `"`
	case s.Items != nil:
		return "Array<" + s.Items.typed() + ">"
	case s.Additional != nil:
		return "Record<string, " + s.Additional.typed() + ">"
	}
	return map[string]string{
		"": "any", "null": "null", "string": "string", "boolean": "boolean", "integer": "number", "number": "number",
		"object": "Record<string, any>",
	}[s.Type]
}

// node returns the generated parts of the ES module.
func (d document) node() map[string]string {
	return map[string]string{
		"client":  "class ClientMethods extends Caller {\n" + d.nodeMethods(false) + "}\n",
		"session": "class SessionMethods extends Caller {\n" + d.nodeMethods(true) + "}\n",
	}
}

func (d document) nodeMethods(session bool) string {
	var b strings.Builder
	for i := range d.Methods {
		m := &d.Methods[i]
		_, onSession, onClient := m.split()
		if session && !onSession || !session && !onClient || m.Name == "close" {
			continue // Session.close is written by hand
		}
		call := fmt.Sprintf("this._call(%q, params, options)", m.Name)
		if m.Result.Schema.Ref != "" && m.Result.Schema.name() == "Opened" {
			call = "this._opened(await " + call + ")"
		}
		fmt.Fprintf(&b, "  async %s(params, options) {\n    return %s;\n  }\n", m.own(), call)
		if rows := d.rows(m); rows != "" {
			fmt.Fprintf(&b, "  %s(params, options) {\n    return this._pages(%q, %q, params, options);\n  }\n", iterName(m), m.Name, rows)
		}
	}
	return b.String()
}

func iterName(m *method) string { return "iter" + strings.ToUpper(m.own()[:1]) + m.own()[1:] }

// types returns the generated parts of the declarations.
func (d document) types() map[string]string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		if s.Properties == nil {
			fmt.Fprintf(&b, "export type %s = Record<string, any>;\n\n", name)
			continue
		}
		fmt.Fprintf(&b, "export interface %s {\n", name)
		for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
			optional := "?"
			if slices.Contains(s.Required, member) {
				optional = ""
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", member, optional, s.Properties[member].typed())
		}
		if s.Additional != nil {
			b.WriteString("  [member: string]: any;\n")
		}
		b.WriteString("}\n\n")
	}
	for i := range d.Methods {
		m := &d.Methods[i]
		params, _, _ := m.split()
		if len(params) == 0 {
			continue
		}
		fmt.Fprintf(&b, "export interface %s {\n", paramsName(m))
		for _, p := range params {
			optional := "?"
			if p.Required {
				optional = ""
			}
			if p.Description != "" {
				fmt.Fprintf(&b, "  /** %s */\n", p.Description)
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", p.Name, optional, p.Schema.typed())
		}
		b.WriteString("}\n\n")
	}
	return map[string]string{
		"shapes":  b.String(),
		"client":  "interface ClientMethods {\n" + d.typedMethods(false) + "}\n",
		"session": "interface SessionMethods {\n" + d.typedMethods(true) + "}\n",
	}
}

func paramsName(m *method) string { return strings.ToUpper(m.own()[:1]) + m.own()[1:] + "Params" }

func (d document) typedMethods(session bool) string {
	var b strings.Builder
	for i := range d.Methods {
		m := &d.Methods[i]
		params, onSession, onClient := m.split()
		if session && !onSession || !session && !onClient {
			continue
		}
		argument := "params?: NoParams, options?: CallOptions"
		if len(params) > 0 {
			argument = "params?: " + paramsName(m) + ", options?: CallOptions"
		}
		if len(params) > 0 && params[0].Required {
			argument = "params: " + paramsName(m) + ", options?: CallOptions"
		}
		if m.Name == "close" {
			argument = "" // Session.close is written by hand
		}
		result := m.Result.Schema.typed()
		switch result {
		case "Opened":
			result = "Session"
		case "null":
			result = "void"
		}
		b.WriteString("  /**\n" + strings.Join(wrap(m.sentences(), "   * "), "\n") + "\n   */\n")
		fmt.Fprintf(&b, "  %s(%s): Promise<%s>;\n", m.own(), argument, result)
		if rows := d.rows(m); rows != "" {
			item := d.Components.Schemas[m.Result.Schema.name()].Properties[rows].Items.typed()
			fmt.Fprintf(&b, "  /** All %s of %s, page by page. */\n", rows, m.Name)
			fmt.Fprintf(&b, "  %s(%s): AsyncGenerator<%s, void, undefined>;\n", iterName(m), argument, item)
		}
	}
	return b.String()
}
