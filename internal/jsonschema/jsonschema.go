// Package jsonschema describes Go types as encoding/json writes them, in the words of JSON Schema, and checks JSON values
// against such a description. rpc.discover and docs/json.schema.json are made with it.
package jsonschema

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Schema restricts values. The zero value allows everything.
type Schema struct {
	Ref         string             `json:"$ref,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        string             `json:"type,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	MinItems    int                `json:"minItems,omitempty"`
	MaxItems    int                `json:"maxItems,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  *Schema            `json:"additionalProperties,omitempty"`
	AnyOf       []*Schema          `json:"anyOf,omitempty"`

	// Order has the names of the properties as the type declares them.
	Order []string `json:"-"`
}

// Defs are the schemas of structs by name.
type Defs map[string]*Schema

// Nullable allows null in addition to s.
func Nullable(s *Schema) *Schema { return &Schema{AnyOf: []*Schema{s, {Type: "null"}}} }

// Name returns the name of the definition that s refers to, or "".
func (s *Schema) Name() string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }

// More is the type of a blank field that marks a struct whose JSON may have members beside those that it names.
type More struct{}

// Set describes types. Each struct gets one definition.
type Set struct {
	Defs  Defs
	Types []reflect.Type // the structs in the order in which they were met

	// Prefix stands before a name in a reference, such as "#/$defs/".
	Prefix string
	// Name returns the name of a struct. By default it is that of the type.
	Name func(reflect.Type) string
	// Special returns the schema of a type that encoding/json does not write by its kind, and nil for all others. It may be nil.
	Special func(reflect.Type) *Schema

	names map[string]reflect.Type
}

// Add describes a type and the structs that it holds. It panics if encoding/json cannot write the type, and if two structs
// have one name.
func (b *Set) Add(t reflect.Type) *Schema {
	if b.Special != nil {
		if s := b.Special(t); s != nil {
			return s
		}
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return &Schema{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return Nullable(b.Add(t.Elem()))
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.Float64:
		return &Schema{Type: "number"}
	case reflect.Int, reflect.Int64:
		return &Schema{Type: "integer"}
	case reflect.Slice:
		return &Schema{Type: "array", Items: b.Add(t.Elem())}
	case reflect.Array:
		return &Schema{Type: "array", Items: b.Add(t.Elem()), MinItems: t.Len(), MaxItems: t.Len()}
	case reflect.Map:
		return &Schema{Type: "object", Additional: b.Add(t.Elem())}
	case reflect.Struct:
		return &Schema{Ref: b.Prefix + b.define(t)}
	}
	panic("jsonschema: a value of type " + t.String())
}

// define describes a struct, once, and returns its name.
func (b *Set) define(t reflect.Type) string {
	name := t.Name()
	if b.Name != nil {
		name = b.Name(t)
	}
	if other, met := b.names[name]; met && other == t {
		return name
	} else if met {
		panic("jsonschema: " + other.String() + " and " + t.String() + " are both named " + name)
	}
	if b.Defs == nil {
		b.Defs = Defs{}
	}
	if b.names == nil {
		b.names = map[string]reflect.Type{}
	}
	s := &Schema{Type: "object"}
	b.Defs[name], b.names[name] = s, t // before its members: a struct may hold itself
	b.Types = append(b.Types, t)
	b.members(s, t, true)
	return name
}

// members adds the members of a struct. Those of an embedded pointer may all be absent.
func (b *Set) members(s *Schema, t reflect.Type, present bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := f.Type
		switch {
		case kind == reflect.TypeFor[More]():
			s.Additional = &Schema{}
			continue
		case f.Anonymous && name == "":
			embedded := kind.Kind() == reflect.Pointer
			if embedded {
				kind = kind.Elem()
			}
			b.members(s, kind, present && !embedded)
			continue
		case !f.IsExported() || name == "-":
			continue
		}
		if absent := strings.Contains(options, "omit"); !absent && present {
			s.Required = append(s.Required, name)
		} else if absent && kind.Kind() == reflect.Pointer {
			kind = kind.Elem() // absent, never null
		}
		if s.Properties == nil {
			s.Properties = map[string]*Schema{}
		}
		s.Order = append(s.Order, name)
		s.Properties[name] = b.Add(kind)
	}
}
