package dialect

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Object is a JSON object that is being written. The zero value is an object without members.
type Object []byte

// Add adds a member. value is JSON.
func (o *Object) Add(key string, value []byte) {
	switch n := len(*o); {
	case n == 0:
		*o = append(*o, '{')
	case (*o)[n-1] != '{':
		*o = append(*o, ',')
	}
	*o = append(rawjson.AppendString(*o, key), ':')
	*o = append(*o, value...)
}

// Str adds a string.
func (o *Object) Str(key, value string) { o.Add(key, rawjson.Quote(value)) }

// Optional adds a string that is not empty.
func (o *Object) Optional(key, value string) {
	if value != "" {
		o.Str(key, value)
	}
}

// Copy adds those of the members keys that the record raw has.
func (o *Object) Copy(raw []byte, keys ...string) {
	for _, key := range keys {
		if value := rawjson.Get(raw, key); value != nil {
			o.Add(key, value)
		}
	}
}

// Others adds the members of raw, except those with these names, without white space between tokens.
func (o *Object) Others(raw []byte, names ...string) {
	for key, value := range rawjson.Fields(raw) {
		if !slices.Contains(names, key) {
			o.Add(key, rawjson.Compact(value))
		}
	}
}

// Raw adds a value that comes from outside, on one line; nil adds nothing. It fails if the value is not JSON.
func (o *Object) Raw(key string, value []byte) error {
	if value == nil {
		return nil
	}
	if !rawjson.Valid(value) {
		return fmt.Errorf("%s is not JSON", key)
	}
	o.Add(key, rawjson.Compact(value))
	return nil
}

// End returns the object.
//
//go:noinline // its copies took 45 KB
func (o Object) End() []byte {
	if len(o) == 0 {
		o = append(o, '{')
	}
	return append(o, '}')
}

// Array joins JSON values.
//
//go:noinline // its copies took 20 KB
func Array(items [][]byte) []byte {
	out := append([]byte{'['}, bytes.Join(items, []byte{','})...)
	return append(out, ']')
}

// SetText sets a member of a record to a text. nil leaves the record as it is. "" removes the member unless empty is
// set.
func SetText(record []byte, key string, text *string, empty bool) []byte {
	switch {
	case text == nil:
		return record
	case *text == "" && !empty:
		return rawjson.Delete(record, key)
	}
	return rawjson.Set(record, key, rawjson.Quote(*text))
}
