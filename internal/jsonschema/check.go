package jsonschema

import (
	"encoding/json"
	"fmt"
)

// Check reports the first place where a value violates a schema. A member that the schema of a struct does not name is an error, although
// JSON Schema allows it: a document must name every member that the code writes.
func (d Defs) Check(s *Schema, value []byte) error { return d.check(s, value, "value") }

func (d Defs) check(s *Schema, value []byte, at string) error {
	switch {
	case s.Ref != "":
		def, ok := d[s.Name()]
		if !ok {
			return fmt.Errorf("%s: there is no definition %s", at, s.Ref)
		}
		return d.check(def, value, at)
	case s.AnyOf != nil:
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
		_, err = as[string](value)
	case "boolean":
		_, err = as[bool](value)
	case "number":
		_, err = as[float64](value)
	case "integer":
		_, err = as[int64](value)
	case "array":
		return d.array(s, value, at)
	case "object":
		return d.object(s, value, at)
	default:
		err = fmt.Errorf("the schema has the unknown type %q", s.Type)
	}
	return wrong(err, value, at)
}

// wrong adds to an error which value it concerns.
func wrong(err error, value []byte, at string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %.80s: %w", at, value, err)
}

// as decodes a value. Null is an error, although encoding/json accepts it for every type.
func as[T any](value []byte) (T, error) {
	var to *T
	err := json.Unmarshal(value, &to)
	if err == nil && to == nil {
		err = fmt.Errorf("null")
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return *to, nil
}

func (d Defs) array(s *Schema, value []byte, at string) error {
	list, err := as[[]json.RawMessage](value)
	if err == nil && (len(list) < s.MinItems || s.MaxItems > 0 && len(list) > s.MaxItems) {
		err = fmt.Errorf("%d elements, not %d to %d", len(list), s.MinItems, s.MaxItems)
	}
	if err != nil {
		return wrong(err, value, at)
	}
	for i, one := range list {
		if err := d.check(s.Items, one, fmt.Sprintf("%s/%d", at, i)); err != nil {
			return err
		}
	}
	return nil
}

func (d Defs) object(s *Schema, value []byte, at string) error {
	object, err := as[map[string]json.RawMessage](value)
	if err != nil {
		return wrong(err, value, at)
	}
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("%s: %q is missing", at, name)
		}
	}
	for name, member := range object {
		want, ok := s.Properties[name]
		switch {
		case ok:
		case s.Additional != nil:
			want = s.Additional
		case s.Properties == nil:
			continue // a struct without members: any object
		default:
			return fmt.Errorf("%s: %q is not in the schema", at, name)
		}
		if err := d.check(want, member, at+"/"+name); err != nil {
			return err
		}
	}
	return nil
}
