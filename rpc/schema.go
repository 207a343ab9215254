package rpc

import (
	"encoding/json"
	"reflect"
	"strings"
)

// schema is what a JSON value may be, in the words of JSON Schema. The zero value allows everything.
type schema struct {
	Ref        string             `json:"$ref,omitempty"`
	Type       string             `json:"type,omitempty"`
	Enum       []string           `json:"enum,omitempty"`
	Items      *schema            `json:"items,omitempty"`
	MinItems   int                `json:"minItems,omitempty"`
	MaxItems   int                `json:"maxItems,omitempty"`
	Properties map[string]*schema `json:"properties,omitempty"`
	Required   []string           `json:"required,omitempty"`
	Additional *schema            `json:"additionalProperties,omitempty"`
	AnyOf      []*schema          `json:"anyOf,omitempty"`
	from       reflect.Type       // of a struct
}

// schemas are those of the structs that were met, by name.
type schemas map[string]*schema

var (
	stringType  = reflect.TypeFor[string]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	writtenType = reflect.TypeFor[written]()
	nothingType = reflect.TypeFor[nothing]()
	moreType    = reflect.TypeFor[more]()
)

// of gives the schema of a type as encoding/json writes it. A struct is described once, under its name.
func (b schemas) of(t reflect.Type) *schema {
	switch {
	case t == nothingType:
		return &schema{Type: "null"}
	case t == rawType:
		return &schema{}
	case t.Implements(writtenType):
		return b.of(reflect.Zero(t).Interface().(written).shape())
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(b.of(t.Elem()))
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Float64:
		return &schema{Type: "number"}
	case reflect.Int, reflect.Int64:
		return &schema{Type: "integer"}
	case reflect.Slice:
		return &schema{Type: "array", Items: b.of(t.Elem())}
	case reflect.Array:
		return &schema{Type: "array", Items: b.of(t.Elem()), MinItems: t.Len(), MaxItems: t.Len()}
	case reflect.Map:
		return &schema{Type: "object", Additional: b.of(t.Elem())}
	case reflect.Struct:
		name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
		if met := b[name]; met == nil {
			s := &schema{Type: "object", from: t}
			b[name] = s // before its members: a struct may hold itself
			b.members(s, t, true)
		} else if met.from != t {
			panic("rpc: " + met.from.String() + " and " + t.String() + " would have the same name")
		}
		return &schema{Ref: "#/components/schemas/" + name}
	}
	panic("rpc: a result of type " + t.String()) // a test makes every schema
}

// members adds the members of a struct. Those of an embedded pointer may all be absent.
func (b schemas) members(s *schema, t reflect.Type, present bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Type == moreType:
			s.Additional = &schema{}
			continue
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Pointer:
			b.members(s, f.Type.Elem(), false)
			continue
		case f.Anonymous && name == "":
			b.members(s, f.Type, present)
			continue
		case !f.IsExported() || name == "-":
			continue
		}
		if s.Properties == nil {
			s.Properties = map[string]*schema{}
		}
		kind := f.Type
		if absent := strings.Contains(options, "omit"); !absent && present {
			s.Required = append(s.Required, name)
		} else if absent && kind.Kind() == reflect.Pointer {
			kind = kind.Elem() // absent, never null
		}
		s.Properties[name] = b.of(kind)
	}
}

// param gives the schema of a parameter. Any but a needed one may also be null.
func (b schemas) param(p param) *schema {
	kind := p.kind
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Pointer {
		kind = reflect.SliceOf(kind.Elem().Elem()) // a pointer there only shows whether an element is null, which is refused
	}
	s := b.of(kind)
	switch p.json {
	case "an object":
		s = &schema{Type: "object"}
	case "a number":
		s = &schema{Type: "number"}
	case "a string or a list":
		s = &schema{AnyOf: []*schema{{Type: "string"}, {Type: "array", Items: &schema{}}}}
	case "a string or null":
		s = nullable(&schema{Type: "string"})
	case "a string, an object or null":
		s = &schema{AnyOf: []*schema{{Type: "string"}, {Type: "object"}, {Type: "null"}}}
	}
	s.Enum = p.one
	if !p.needed && kind != rawType {
		s = nullable(s)
	}
	return s
}

func nullable(s *schema) *schema { return &schema{AnyOf: []*schema{s, {Type: "null"}}} }
