package rawjson

import (
	"bytes"
	"iter"
)

// Object iterates over the members of one object of a Text, in order. The usual loop:
//
//	for o.Next() {
//		switch string(o.Key) {
//		case "id":
//			id = o.Value()
//		}
//	}
//	end, err := o.End()
//
// A value that is not asked for is skipped and checked all the same.
type Object struct {
	// Key is the key of the current member, decoded. It is valid until Next.
	Key []byte

	t       *Text
	at      int  // where to continue: at the current value, or after it
	pending bool // at is at the current value
	first   bool
	closed  bool
	bad     int // complement of the position of an error, 0 if there is none
}

// Object begins at the object at or after i; ok is false if there is another value, or none. A Text goes forward only; if it
// was read past i, its index is not used.
func (t *Text) Object(i int) (o Object, ok bool) {
	if t.passed(i) {
		t.Damaged() // the index cannot go back
	}
	i = SkipSpace(t.b, i)
	if i >= len(t.b) || t.b[i] != '{' {
		return Object{}, false
	}
	return Object{t: t, at: i + 1, first: true}, true
}

// Next moves to the next member. End returns its errors.
func (o *Object) Next() bool {
	if o.pending {
		o.Value()
	}
	if o.closed || o.bad != 0 {
		return false
	}
	b := o.t.b
	i := SkipSpace(b, o.at)
	switch {
	case i >= len(b):
		return o.fail(^len(b))
	case b[i] == '}':
		o.at, o.closed = i+1, true
		return false
	case o.first:
		o.first = false
	case b[i] == ',':
		i = SkipSpace(b, i+1)
	default:
		return o.fail(^i)
	}
	if i >= len(b) {
		return o.fail(^len(b))
	}
	if b[i] != '"' {
		return o.fail(^i)
	}
	end := o.t.str(i + 1)
	if end < 0 {
		return o.fail(end)
	}
	o.Key = b[i+1 : end-1]
	if bytes.IndexByte(o.Key, '\\') >= 0 {
		o.Key = decodeKey(o.Key)
	}
	if i = SkipSpace(b, end); i >= len(b) {
		return o.fail(^len(b))
	}
	if b[i] != ':' {
		return o.fail(^i)
	}
	o.at, o.pending = SkipSpace(b, i+1), true
	return true
}

func (o *Object) fail(at int) bool {
	o.bad = at
	return false
}

// Value returns the current member's value as in the text, nil if it is not JSON. A second call returns nil.
func (o *Object) Value() []byte {
	if !o.pending {
		return nil
	}
	start := o.at
	o.pending = false
	end := o.t.skip(start)
	if end < 0 {
		o.bad = end
		return nil
	}
	o.at = end
	return o.t.b[start:end]
}

// decodeKey decodes the inside of a string.
func decodeKey(inside []byte) []byte {
	s, _ := Unquote(append(append([]byte{'"'}, inside...), '"'))
	return []byte(s)
}

// Enter enters the current value if it is an object. Call Leave when its members are done.
func (o *Object) Enter() (Object, bool) {
	if !o.pending {
		return Object{}, false
	}
	return o.t.Object(o.at)
}

// Leave continues after an object that Enter returned, skipping the rest of its members. An error inside is an error of the
// outer object.
func (o *Object) Leave(in *Object) {
	for in.Next() {
	}
	o.at, o.pending, o.bad = in.at, false, in.bad
}

// Offset returns where the current value begins, or the position after the last one that was read.
func (o *Object) Offset() int { return o.at }

// End skips the rest and returns the offset after the object.
func (o *Object) End() (int, error) {
	for o.Next() {
	}
	if o.bad != 0 {
		return ^o.bad, syntaxError(o.t.b, ^o.bad)
	}
	return o.at, nil
}

// Fields iterates over the members of an object: keys decoded, values as in the text. It stops if the object is not well
// formed; call Valid first if that matters. Keys are copied into strings; Object and Outline are faster for a few known
// keys.
func Fields(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) { eachField(object, yield) }
}

// Members is Fields with keys that are valid until the next iteration.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) { eachMember(object, yield) }
}

// eachField is the loop of Fields, eachMember that of Members, and eachElement that of Elements. The iterators only call them: each loop over an
// iterator that is inlined has its own copy of what the iterator does.
//
//go:noinline // its copies took 6 KB
func eachField(object []byte, yield func(key string, value []byte) bool) {
	eachMember(object, func(key, value []byte) bool { return yield(string(key), value) })
}

func eachMember(object []byte, yield func(key, value []byte) bool) {
	t := borrow(object)
	defer t.done()
	o, ok := t.Object(0)
	for ok && o.Next() {
		key := o.Key
		value := o.Value()
		ok = value != nil && yield(key, value)
	}
}

// Elements iterates over the elements of an array, as in the text. It is lenient about commas, since Valid checks them.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { eachElement(array, yield) }
}

func eachElement(array []byte, yield func([]byte) bool) {
	i := SkipSpace(array, 0)
	if i >= len(array) || array[i] != '[' {
		return
	}
	t := borrow(array)
	defer t.done()
	for i = SkipSpace(array, i+1); i < len(array) && array[i] != ']'; {
		end := t.skip(i)
		if end < 0 || !yield(array[i:end]) {
			return
		}
		if i = SkipSpace(array, end); i < len(array) && array[i] == ',' {
			i = SkipSpace(array, i+1)
		}
	}
}

// Get returns the value of a member, nil if there is none. The last of repeated keys counts, so the whole object is read.
// See Pick for several members.
func Get(object []byte, key string) []byte {
	var found []byte
	t := borrow(object)
	defer t.done()
	o, ok := t.Object(0)
	if !ok {
		return nil
	}
	for o.Next() {
		if string(o.Key) == key {
			found = o.Value()
		}
	}
	return found
}

// First is Get that reads no further than the value: the first of repeated keys counts. With several keys it finds a member of a member.
func First(object []byte, keys ...string) []byte {
	t := borrow(object)
	defer t.done()
	o, ok := t.Object(0)
	for i := 0; ok && o.Next(); {
		if string(o.Key) != keys[i] {
			continue
		}
		if i++; i == len(keys) {
			return o.Value()
		}
		o, ok = o.Enter()
	}
	return nil
}

// Pick is Get for several members in one pass: values[i] becomes the value of keys[i], nil if there is none. values must be
// as long as keys.
func Pick(object []byte, keys []string, values [][]byte) {
	clear(values)
	t := borrow(object)
	defer t.done()
	if o, ok := t.Object(0); ok {
		o.pick(keys, values)
	}
}

// pick is Pick for an object that was begun.
func (o *Object) pick(keys []string, values [][]byte) {
	for o.Next() {
		for i, key := range keys {
			if string(o.Key) == key {
				values[i] = o.Value()
				break
			}
		}
	}
}

// PickIn is Pick for an object that is a member of another, and returns that member's whole value, in one pass. If the
// member is not an object, nothing is picked.
func PickIn(object []byte, member string, keys []string, values [][]byte) (value []byte) {
	clear(values)
	t := borrow(object)
	defer t.done()
	o, ok := t.Object(0)
	if !ok {
		return nil
	}
	for o.Next() {
		if string(o.Key) != member {
			continue
		}
		clear(values) // values of an earlier member with the same key
		from := o.Offset()
		in, ok := o.Enter()
		if !ok {
			value = o.Value()
			continue
		}
		in.pick(keys, values)
		if o.Leave(&in); o.bad != 0 {
			clear(values)
			return nil
		}
		value = object[from:o.Offset()]
	}
	return value
}

// Str returns the text of a member that is a string, otherwise "".
func Str(object []byte, key string) string {
	s, _ := Unquote(Get(object, key))
	return s
}

// IsObject reports whether the value is an object.
func IsObject(value []byte) bool { return first(value) == '{' }

// IsArray reports whether the value is an array.
func IsArray(value []byte) bool { return first(value) == '[' }

// IsString reports whether the value is a string.
func IsString(value []byte) bool { return first(value) == '"' }

// IsNull reports whether the value is absent or null.
func IsNull(value []byte) bool { c := first(value); return c == 0 || c == 'n' }

// Truthy reports whether the value is true in JavaScript. Objects and arrays are, and so are spellings of zero other than those of
// JSON.stringify.
//
//go:noinline // its copies took 7.6 KB
func Truthy(value []byte) bool {
	switch value = bytes.TrimSpace(value); string(value) {
	case "", "null", "false", `""`, "0", "-0":
		return false
	}
	return true
}

// first returns the first byte of a value.
func first(value []byte) byte {
	if i := SkipSpace(value, 0); i < len(value) {
		return value[i]
	}
	return 0
}
