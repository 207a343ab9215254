package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// decode reads parameters. They are named; absent ones and null are the same, but for those of type json.RawMessage.
// Members that are not known are ignored, as the agents' own methods ignore them: a newer client must be able to
// talk to an older server.
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
		// The last part of the path is what the client wrote: the rest are names of embedded Go structs.
		name := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		return badParams("parameter %q: must be a %s, not %s", name, typeName(wrong), wrong.Value)
	case err != nil:
		return badParams("%v", err)
	}
	return nil
}

// typeName says it in JSON's words: a client in another language knows nothing of Go's types.
func typeName(e *json.UnmarshalTypeError) string {
	switch e.Type.String() {
	case "bool":
		return "boolean"
	case "int", "float64":
		return "number"
	case "[]*string", "[]json.RawMessage":
		return "list"
	}
	return e.Type.String()
}

// wanted collects what is wrong with the parameters of a call: the first complaint counts.
// A method asks for all that it needs first and looks at err once. Until then the values it has may be zero, so
// nothing must be done with them before.
type wanted struct{ err error }

func (w *wanted) complain(format string, args ...any) {
	if w.err == nil {
		w.err = badParams(format, args...)
	}
}

// need gives a parameter that must be there.
func need[T any](w *wanted, name string, value *T) T {
	if value == nil {
		w.complain("parameter %q is missing", name)
		var zero T
		return zero
	}
	return *value
}

// or gives a parameter that need not be there.
func or[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

// needJSON gives a parameter that may be any JSON of some kinds: those that begin with one of the characters.
// The value itself is not looked at further: it goes into the log as it came.
func (w *wanted) needJSON(name string, value json.RawMessage, kinds, what string) json.RawMessage {
	if given(value) == nil {
		w.complain("parameter %q is missing", name)
		return nil
	}
	for i := range len(kinds) {
		if value[0] == kinds[i] {
			return value
		}
	}
	w.complain("parameter %q: must be %s", name, what)
	return nil
}

// given is nil for a parameter that is null.
// Where null means something of its own ("not set", the place before the first entry), the caller asks for nil
// before given.
func given(value json.RawMessage) json.RawMessage {
	if string(value) == "null" {
		return nil
	}
	return value
}

// numbers is what a JSON number can begin with, for needJSON.
const numbers = "-0123456789"

// list gives the elements of a list that must be there.
func (w *wanted) list(name string, values *[]json.RawMessage) [][]byte {
	list := make([][]byte, 0, len(need(w, name, values)))
	for _, v := range need(w, name, values) {
		list = append(list, v)
	}
	return list
}

// strings gives a list of strings that must be there.
func (w *wanted) strings(name string, values *[]*string) []string {
	list := make([]string, 0, len(need(w, name, values)))
	for i, v := range need(w, name, values) {
		list = append(list, need(w, fmt.Sprintf("%s[%d]", name, i), v))
	}
	return list
}
