package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// decode reads parameters into a struct. They are named; absent ones and null are the same, except for those of type
// json.RawMessage. Unknown members are ignored, as the agents' own methods ignore them: a newer client must be able to talk
// to an older server.
func decode(params json.RawMessage, into any) error {
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
		// The last part of the path is what the client wrote. The rest are names of embedded Go structs.
		name := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		return badParams("parameter %q: must be a %s, not %s", name, typeName(wrong), wrong.Value)
	case err != nil:
		return badParams("%v", err)
	}
	return require(reflect.ValueOf(into).Elem())
}

// typeName is the type in the words of JSON: a client in another language does not know Go's types.
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

// kinds are the characters that the JSON of a kind begins with.
var kinds = map[string]string{
	"an object":          "{",
	"a number":           "-0123456789",
	"a string or a list": `"[`,
	"a string or null":   `"n`,
}

// require checks the fields that have a tag "need", in their order. A pointer must not be nil. A json.RawMessage must be of
// the kind that the tag names. Its content is not checked further: it goes into the log as it came.
func require(params reflect.Value) error {
	for i := range params.NumField() {
		field := params.Type().Field(i)
		kind, needed := field.Tag.Lookup("need")
		if !needed {
			continue
		}
		name := field.Tag.Get("json")
		value, isJSON := params.Field(i).Interface().(json.RawMessage)
		switch begin := kinds[kind]; {
		case !isJSON && !params.Field(i).IsNil():
		case !isJSON, value == nil, given(value) == nil && !strings.Contains(begin, "n"):
			return missing(name)
		case strings.IndexByte(begin, value[0]) < 0:
			return badParams("parameter %q: must be %s", name, kind)
		}
	}
	return nil
}

func missing(name string) error { return badParams("parameter %q is missing", name) }

// given is nil for a parameter that is null.
func given(value json.RawMessage) json.RawMessage {
	if string(value) == "null" {
		return nil
	}
	return value
}

// or gives an optional parameter.
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

// texts gives a list of strings, none of which may be null.
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
