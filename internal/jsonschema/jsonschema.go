// Package jsonschema describes Go types as encoding/json writes them, in the words of JSON Schema, and checks JSON values
// against such a description. Tests use it to keep docs/json.schema.json and docs/json.md true.
package jsonschema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Schema is what a value may be. The zero value allows everything.
type Schema struct {
	Ref         string             `json:"$ref,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        string             `json:"type,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	AnyOf       []*Schema          `json:"anyOf,omitempty"`

	// Order has the names of the properties as the type declares them.
	Order []string `json:"-"`
}

// Document is a file of schemas.
type Document struct {
	Schema      string             `json:"$schema"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Defs        map[string]*Schema `json:"$defs"`

	// Names have the name of a type whose own is taken by another one.
	Names map[reflect.Type]string `json:"-"`
	// Types are the structs in the order in which they were met.
	Types []reflect.Type `json:"-"`
}

const defs = "#/$defs/"

// Name is the name under which a struct is described.
func (d *Document) Name(t reflect.Type) string {
	if name, ok := d.Names[t]; ok {
		return name
	}
	return t.Name()
}

// Add describes a type. A struct gets a definition of its own, and so do those that it holds.
func (d *Document) Add(t reflect.Type) *Schema {
	if t == reflect.TypeFor[json.RawMessage]() {
		return &Schema{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return &Schema{AnyOf: []*Schema{d.Add(t.Elem()), {Type: "null"}}}
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.Float64:
		return &Schema{Type: "number"}
	case reflect.Int, reflect.Int64:
		return &Schema{Type: "integer"}
	case reflect.Slice, reflect.Array:
		return &Schema{Type: "array", Items: d.Add(t.Elem())}
	case reflect.Struct:
		name := d.Name(t)
		if _, met := d.Defs[name]; !met {
			s := &Schema{Type: "object", Properties: map[string]*Schema{}}
			if d.Defs == nil {
				d.Defs = map[string]*Schema{}
			}
			d.Defs[name] = s // before its members: a struct may hold itself
			d.Types = append(d.Types, t)
			d.members(s, t, true)
		}
		return &Schema{Ref: defs + name}
	}
	panic("jsonschema: a value of type " + t.String()) // a test adds every type
}

// members adds the members of a struct. Those of an embedded pointer may all be absent.
func (d *Document) members(s *Schema, t reflect.Type, present bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := f.Type
		if f.Anonymous && name == "" {
			embedded := kind.Kind() == reflect.Pointer
			if embedded {
				kind = kind.Elem()
			}
			d.members(s, kind, present && !embedded)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if absent := strings.Contains(options, "omitempty"); !absent && present {
			s.Required = append(s.Required, name)
		} else if absent && kind.Kind() == reflect.Pointer {
			kind = kind.Elem() // absent, never null
		}
		s.Order = append(s.Order, name)
		s.Properties[name] = d.Add(kind)
	}
}

// Check reports the first place where a value is not what the definition with that name allows. A member that the definition
// does not name is an error: the documentation must not lag.
func (d *Document) Check(name string, value []byte) error {
	return d.check(&Schema{Ref: defs + name}, value, name)
}

func (d *Document) check(s *Schema, value []byte, at string) error {
	if s.Ref != "" {
		def, ok := d.Defs[strings.TrimPrefix(s.Ref, defs)]
		if !ok {
			return fmt.Errorf("%s: there is no definition %s", at, s.Ref)
		}
		return d.check(def, value, at)
	}
	if s.AnyOf != nil {
		var first error
		for _, one := range s.AnyOf {
			err := d.check(one, value, at)
			if err == nil {
				return nil
			}
			if first == nil {
				first = err
			}
		}
		return first
	}
	var err error
	switch s.Type {
	case "":
		if !json.Valid(value) {
			err = fmt.Errorf("not JSON")
		}
	case "null":
		if string(value) != "null" {
			err = fmt.Errorf("not null")
		}
	case "string":
		err = into[string](value)
	case "boolean":
		err = into[bool](value)
	case "number":
		err = into[float64](value)
	case "integer":
		err = into[int64](value)
	case "array":
		return d.array(s, value, at)
	case "object":
		return d.object(s, value, at)
	default:
		err = fmt.Errorf("the schema has the unknown type %q", s.Type)
	}
	if err != nil {
		return fmt.Errorf("%s: %.80s: %w", at, value, err)
	}
	return nil
}

// into reports why a value is not of a type. To encoding/json null is of every type.
func into[T any](value []byte) error {
	var to *T
	if err := json.Unmarshal(value, &to); err != nil {
		return err
	}
	if to == nil {
		return fmt.Errorf("null")
	}
	return nil
}

func (d *Document) array(s *Schema, value []byte, at string) error {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil || list == nil {
		return fmt.Errorf("%s: %.80s is not a list", at, value)
	}
	for i, one := range list {
		if err := d.check(s.Items, one, fmt.Sprintf("%s/%d", at, i)); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) object(s *Schema, value []byte, at string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(value, &object); err != nil || object == nil {
		return fmt.Errorf("%s: %.80s is not an object", at, value)
	}
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("%s: %q is missing", at, name)
		}
	}
	for name, member := range object {
		want, ok := s.Properties[name]
		if !ok {
			return fmt.Errorf("%s: %q is not in the schema", at, name)
		}
		if err := d.check(want, member, at+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

// Words says what a value may be, for people.
func (s *Schema) Words() string {
	switch {
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, defs)
	case s.AnyOf != nil:
		var list []string
		for _, one := range s.AnyOf {
			list = append(list, one.Words())
		}
		return strings.Join(list, " or ")
	case s.Items != nil:
		return "list of " + s.Items.Words()
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// Optional reports whether a member may be absent.
func (s *Schema) Optional(name string) bool { return !slices.Contains(s.Required, name) }
