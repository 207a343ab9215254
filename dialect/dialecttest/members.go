package dialecttest

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
)

// oddMembers: a record that lacks a member, or has a value of another type there, is read like any other: what is made of it is
// JSON. The soak makes every change, CI every 7th and plain "go test" every 53rd, others for each fixture.
func (f *fixture) oddMembers(t *testing.T) {
	whole, _ := Decode(f.d, f.name, f.data)
	skip := soaktest.Part(7, 53)
	if os.Getenv(soaktest.EnvTime) != "" {
		skip = 1
	}
	n := len(f.data) % skip
	for e := range whole.Entries() {
		before, record, after := f.data[:e.Span.Offset], f.data[e.Span.Offset:e.Span.End()], f.data[e.Span.End():]
		variants(record, func(changed []byte) {
			if n++; n%skip != 0 || t.Failed() {
				return
			}
			tree, err := Decode(f.d, f.name, bytes.Join([][]byte{before, changed, after}, nil))
			if err != nil {
				return // it is refused
			}
			for _, at := range []int{e.Index, tree.Len() - 1} {
				if at < 0 || at >= tree.Len() {
					continue
				}
				if err := wellFormed(f.d, tree, tree.At(at)); err != nil {
					t.Errorf("with the record %s: %v", changed, err)
				}
			}
		})
	}
}

// wellFormed reports whether all JSON that is made of an entry, and of the path to it, is JSON.
func wellFormed(d dialect.Dialect, tree *session.Tree, e session.Entry) error {
	if err := checkLeaf(tree, e); err != nil {
		return err
	}
	body, err := e.Body()
	if err != nil {
		return err
	}
	parts, err := e.Parts()
	if err != nil {
		return err
	}
	if m, ok := body.(session.Message); ok {
		if p, ok := d.(dialect.Parter); ok {
			parts = append(parts, p.MessageParts(m.JSON)...)
		}
	}
	if bad := badJSON(reflect.ValueOf([]any{body, parts})); bad != nil {
		return fmt.Errorf("the entry %s has %q in %#v", e.ID, bad, body)
	}
	return checkSkim(d, e)
}

// badJSON finds a session.Raw that is neither empty nor JSON.
func badJSON(v reflect.Value) []byte {
	if raw, ok := v.Interface().(session.Raw); ok {
		if len(raw) == 0 || rawjson.Valid(raw) {
			return nil
		}
		return raw
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			return badJSON(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if bad := badJSON(v.Index(i)); bad != nil {
				return bad
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				if bad := badJSON(v.Field(i)); bad != nil {
					return bad
				}
			}
		}
	}
	return nil
}

// others are put in the place of members.
var others = []string{"null", "17", `"odd"`, "[]", "{}", "false"}

// variants gives a value without each of the members in it, and with each of others there.
func variants(value []byte, take func(changed []byte)) {
	if rawjson.IsArray(value) {
		n := 0
		for element := range rawjson.Elements(value) {
			at := n
			n++
			inPlace := func(changed []byte) {
				k := -1
				take(rawjson.MapElements(value, func(old []byte) []byte {
					if k++; k == at {
						return changed
					}
					return old
				}))
			}
			for _, other := range others {
				inPlace([]byte(other))
			}
			variants(element, inPlace)
		}
		return
	}
	for key, member := range rawjson.Fields(value) {
		take(rawjson.Delete(value, key))
		for _, other := range others {
			take(rawjson.Set(value, key, []byte(other)))
		}
		variants(member, func(changed []byte) { take(rawjson.Set(value, key, changed)) })
	}
}
