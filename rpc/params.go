package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// param is a parameter of a method, as the tags of a struct field describe it:
//
//	json  the name
//	need  it must be given; for a json.RawMessage, the kind of JSON that it must be, see kinds
//	one   the values that it may have, separated by spaces
//	doc   what it is, for rpc.discover
type param struct {
	name, doc string
	field     []int // its index, through embedded structs
	kind      reflect.Type
	needed    bool
	json      string // a key of kinds
	one       []string
}

// paramsOf lists the parameters in a struct, including those of embedded structs, in order.
func paramsOf(t reflect.Type) []param {
	var list []param
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		p := param{name: f.Tag.Get("json"), doc: f.Tag.Get("doc"), field: f.Index, kind: f.Type, one: strings.Fields(f.Tag.Get("one"))}
		p.json, p.needed = f.Tag.Lookup("need")
		list = append(list, p)
	}
	return list
}

// decode reads named parameters into a struct. An absent parameter is the same as null, except in a json.RawMessage. Unknown members are
// ignored, as the agents' own methods ignore them, so that a newer client can talk to an older server.
func decode(params json.RawMessage, into any, list []param) error {
	if len(params) == 0 || string(params) == "null" {
		params = json.RawMessage("{}")
	}
	if params[0] != '{' {
		return badParams("the parameters must be an object")
	}
	err := json.Unmarshal(params, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		// The client wrote the last part of the path. The rest are names of embedded Go structs.
		name := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		return badParams("parameter %q: must be a %s, not %s", name, typeName(wrong), wrong.Value)
	case err != nil:
		return badParams("%v", err)
	}
	for i := range list {
		if err := list[i].check(reflect.ValueOf(into).Elem().FieldByIndex(list[i].field)); err != nil {
			return err
		}
	}
	return nil
}

// typeName returns the name of a type in JSON: a client in another language does not know Go's types.
func typeName(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind(); kind {
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "number"
	case reflect.Slice:
		return "list"
	default:
		return kind.String()
	}
}

// kinds has, for each kind of JSON, the characters that it may begin with.
var kinds = map[string]string{
	"an object":                   "{",
	"a number":                    "-0123456789",
	"a string or a list":          `"[`,
	"a string or null":            `"n`,
	"a string, an object or null": `"{n`,
}

// check refuses a value that the tags do not allow. A required pointer must not be nil. A required json.RawMessage must be of the kind in
// the tag. Its content is not checked further: it is written to the log unchanged.
func (p *param) check(value reflect.Value) error {
	if text := value.Kind() == reflect.String && value.Len() > 0; text && len(p.one) > 0 && !slices.Contains(p.one, value.String()) {
		return badParams("parameter %q: must be one of %s, not %q", p.name, strings.Join(p.one, ", "), value.String())
	}
	if !p.needed {
		return nil
	}
	text, isJSON := value.Interface().(json.RawMessage)
	switch begin := kinds[p.json]; {
	case !isJSON && !value.IsNil():
	case !isJSON, text == nil, given(text) == nil && !strings.Contains(begin, "n"):
		return missing(p.name)
	case strings.IndexByte(begin, text[0]) < 0:
		return badParams("parameter %q: must be %s", p.name, p.json)
	}
	return nil
}

func missing(name string) error { return badParams("parameter %q is missing", name) }

// given returns a parameter, or nil if it is null.
func given(value json.RawMessage) json.RawMessage {
	if string(value) == "null" {
		return nil
	}
	return value
}

// or returns an optional parameter, or its default.
func or[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

// records converts a list.
func records(values []json.RawMessage) [][]byte {
	list := make([][]byte, len(values))
	for i, v := range values {
		list[i] = v
	}
	return list
}

// texts converts a list of strings, none of which may be null.
func texts(name string, values []*string) ([]string, error) {
	list := make([]string, len(values))
	for i, v := range values {
		if v == nil {
			return nil, missing(fmt.Sprintf("%s[%d]", name, i))
		}
		list[i] = *v
	}
	return list, nil
}
