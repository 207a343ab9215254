package run

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// object is a struct that holds a JSON object. table gives its members in the order of the format's document, and the list
// of those that it does not know. Decode and Encode follow the table, so nothing that is read is lost when it is written.
type object interface {
	table() ([]member, *[]Member)
}

// member is a member of an object. at is a *string, *int64, **int64, **bool, *float64, *Raw, an object, an optional object, or
// a Type, which is constant.
type member struct {
	key string
	at  any
	how how
}

// how says which values a member may have, and when it is written.
type how int

const (
	unlessEmpty how = iota // written if it is not empty
	always                 // written even if it is empty
	ifArray                // accepted only if it is an array
	needArray              // must be an array to be written
	needObject             // must be an object to be written
)

// optional is an object that may be absent.
type optional interface {
	// get gives nil if the object is absent.
	get() object
	// set makes a new one, or none.
	set(present bool) object
}

// pointer is an optional object that is nil if it is absent. It is a single pointer, so that a table of them is one allocation.
type pointer[T any, P interface {
	*T
	object
}] struct{ at **T }

func (p pointer[T, P]) get() object {
	if *p.at == nil {
		return nil
	}
	return P(*p.at)
}

func (p pointer[T, P]) set(present bool) object {
	*p.at = nil
	if present {
		*p.at = new(T)
	}
	return p.get()
}

func opt[T any, P interface {
	*T
	object
}](at **T) pointer[T, P] {
	return pointer[T, P]{at}
}

// readObject fills an object. Members that are unknown or of an unexpected type go to its other list, in their order. Of a
// repeated key that is known the last counts, as in JSON.parse. It reports whether the value is an object.
func readObject(o object, value []byte) bool {
	table, other := o.table()
	*other = nil
	seen := 0 // a bit for each member of the table
	for key, v := range rawjson.Members(value) {
		i := slices.IndexFunc(table, func(m member) bool { return m.key == string(key) })
		if i >= 0 && seen>>i&1 == 1 {
			*other = slices.DeleteFunc(*other, func(m Member) bool { return m.Key == string(key) })
		}
		if i < 0 || !table[i].read(v) {
			*other = append(*other, Member{string(key), Raw(v)})
		}
		if i >= 0 {
			seen |= 1 << i
		}
	}
	// The object may have been filled from an earlier member of the same key.
	for i := range table {
		if seen>>i&1 == 0 {
			table[i].read(nil)
		}
	}
	return rawjson.IsObject(value)
}

// read reports whether the value is of the member's type; otherwise the member is as if it were absent. null is of no type
// but Raw.
func (m *member) read(v []byte) bool {
	switch at := m.at.(type) {
	case Type:
		return at == TypeHeader || rawjson.IsString(v)
	case *string:
		s, ok := rawjson.Unquote(v)
		return set(at, s, ok)
	case *int64:
		n, ok := integer(v)
		return set(at, n, ok)
	case **int64:
		n, ok := integer(v)
		return set(at, &n, ok)
	case **bool:
		b := string(v) == "true"
		return set(at, &b, b || string(v) == "false")
	case *float64:
		f, err := strconv.ParseFloat(string(v), 64)
		return set(at, f, err == nil)
	case *Raw:
		return set(at, Raw(v), m.how != ifArray || rawjson.IsArray(v))
	case object:
		return readObject(at, v)
	case optional:
		o := at.set(rawjson.IsObject(v))
		return o != nil && readObject(o, v)
	}
	return false
}

func set[T any](to *T, value T, ok bool) bool {
	*to = *new(T)
	if ok {
		*to = value
	}
	return ok
}

// integer also accepts 3.0 and 3e2, which JavaScript may write, up to the 53 bits that its numbers have.
func integer(value []byte) (n int64, ok bool) {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || math.Abs(f) >= 1<<53 || f != math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// writer writes an object. The first value that is not valid fails the record.
type writer struct {
	b   []byte
	err error
}

func (w *writer) object(o object) {
	w.b = append(w.b, '{')
	table, other := o.table()
	for i := range table {
		w.member(&table[i])
	}
	for _, m := range *other {
		w.raw(m.Key, m.Value)
	}
	w.b = append(w.b, '}')
}

func (w *writer) key(key string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(rawjson.AppendString(w.b, key), ':')
}

func (w *writer) member(m *member) {
	switch at := m.at.(type) {
	case Type:
		w.str(m.key, string(at))
	case *string:
		if *at != "" || m.how == always {
			w.str(m.key, *at)
		}
	case *int64:
		w.integer(m.key, at)
	case **int64:
		w.integer(m.key, *at)
	case **bool:
		if *at != nil {
			w.key(m.key)
			w.b = strconv.AppendBool(w.b, **at)
		}
	case *float64:
		if math.IsNaN(*at) || math.IsInf(*at, 0) {
			w.fail("%s must be a number", m.key)
		}
		w.key(m.key)
		w.b = strconv.AppendFloat(w.b, *at, 'g', -1, 64) // like JavaScript: 12.5, 100
	case *Raw:
		switch {
		case m.how == needArray && !rawjson.IsArray(*at):
			w.fail("%s must be an array", m.key)
		case m.how == needObject && !rawjson.IsObject(*at):
			w.fail("%s must be an object", m.key)
		default:
			w.raw(m.key, *at)
		}
	case object:
		w.key(m.key)
		w.object(at)
	case optional:
		if o := at.get(); o != nil {
			w.key(m.key)
			w.object(o)
		}
	}
}

func (w *writer) str(key, value string) {
	w.key(key)
	w.b = rawjson.AppendString(w.b, value)
}

func (w *writer) integer(key string, n *int64) {
	if n != nil {
		w.key(key)
		w.b = strconv.AppendInt(w.b, *n, 10)
	}
}

// raw copies a value without the white space between its tokens. An absent value is left out.
func (w *writer) raw(key string, value Raw) {
	switch {
	case len(value) == 0:
	case !rawjson.Valid(value):
		w.fail("%s is not JSON", key)
	default:
		w.key(key)
		w.b = append(w.b, rawjson.Compact(value)...)
	}
}

func (w *writer) fail(format, key string) {
	w.err = errors.Join(w.err, fmt.Errorf(format, key))
}
