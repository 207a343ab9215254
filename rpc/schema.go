package rpc

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/treeline-dev/treeline/internal/jsonschema"
)

// schemas describes parameters and results for rpc.discover.
type schemas struct{ jsonschema.Set }

var (
	stringType  = reflect.TypeFor[string]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	writtenType = reflect.TypeFor[written]()
	nothingType = reflect.TypeFor[nothing]()
)

func newSchemas() *schemas {
	b := &schemas{jsonschema.Set{
		Defs: jsonschema.Defs{}, Prefix: "#/components/schemas/",
		Name: func(t reflect.Type) string { return strings.ToUpper(t.Name()[:1]) + t.Name()[1:] },
	}}
	b.Special = func(t reflect.Type) *jsonschema.Schema {
		switch {
		case t == nothingType:
			return &jsonschema.Schema{Type: "null"}
		case t.Implements(writtenType):
			return b.Add(reflect.Zero(t).Interface().(written).shape())
		}
		return nil
	}
	return b
}

// param returns the schema of a parameter. One that is not required may also be null.
func (b *schemas) param(p param) *jsonschema.Schema {
	kind := p.kind
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Pointer {
		kind = reflect.SliceOf(kind.Elem().Elem()) // such a pointer only shows whether an element is null, which is refused
	}
	s := b.Add(kind)
	switch p.json {
	case "an object":
		s = &jsonschema.Schema{Type: "object"}
	case "a number":
		s = &jsonschema.Schema{Type: "number"}
	case "a string or a list":
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: &jsonschema.Schema{}}}}
	case "a string or null":
		s = jsonschema.Nullable(&jsonschema.Schema{Type: "string"})
	case "a string, an object or null":
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "object"}, {Type: "null"}}}
	}
	s.Enum = p.one
	if !p.needed && kind != rawType {
		s = jsonschema.Nullable(s)
	}
	return s
}
