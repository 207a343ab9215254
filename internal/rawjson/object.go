package rawjson

import (
	"bytes"
	"iter"
)

// Object goes through the members of one object of a Text, in order. The usual loop:
//
//	for o.Next() {
//		switch string(o.Key) {
//		case "id":
//			id = o.Value()
//		}
//	}
//	end, err := o.End()
//
// A value that is not asked for is skipped, and checked, all the same.
type Object struct {
	// Key is the current member's key, decoded. It is valid until Next.
	Key []byte

	t       *Text
	at      int  // where to go on: at the current value, or behind it
	pending bool // at is at the current value
	first   bool
	closed  bool
	bad     int // complement of the place of an error, 0 where there is none
}

// Object begins at the object at or behind i; ok is false where there is another value, or none.
// A Text goes forward only; one that was read past i is used without its index.
func (t *Text) Object(i int) (o Object, ok bool) {
	if t.passed(i) {
		t.Damaged() // there is no way back in the index
	}
	i = SkipSpace(t.b, i)
	if i >= len(t.b) || t.b[i] != '{' {
		return Object{}, false
	}
	return Object{t: t, at: i + 1, first: true}, true
}

// Next moves to the next member.
// Errors are kept and told by End, so that a loop over members needs no check in each turn.
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

// Value gives the current member's value as it stands in the text, nil where it is not JSON.
// A second call gives nil: the value was passed.
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

// decodeKey decodes what stands between the quotes of a string.
func decodeKey(inside []byte) []byte {
	s, _ := Unquote(append(append([]byte{'"'}, inside...), '"'))
	return []byte(s)
}

// Enter goes into the current value where it is an object. When its members are done, call Leave.
// An array is no object: it is skipped by Next like every other value.
func (o *Object) Enter() (Object, bool) {
	if !o.pending {
		return Object{}, false
	}
	return o.t.Object(o.at)
}

// Leave goes on behind an object that Enter gave; members of it that were not visited are skipped.
// What is wrong inside is wrong for the object around it as well.
func (o *Object) Leave(in *Object) {
	for in.Next() {
	}
	o.at, o.pending, o.bad = in.at, false, in.bad
}

// Offset is where the current value begins, or behind the last one that was read.
func (o *Object) Offset() int { return o.at }

// End skips what is left and gives the offset behind the object.
func (o *Object) End() (int, error) {
	for o.Next() {
	}
	if o.bad != 0 {
		return ^o.bad, syntaxError(o.t.b, ^o.bad)
	}
	return o.at, nil
}

// Fields goes through the members of an object: keys decoded, values as they stand. It ends where the object is not
// well formed; call Valid first where that matters.
// Keys are copied into strings; who looks for a few known keys of many objects uses Object or Outline.
func Fields(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for key, value := range Members(object) {
			if !yield(string(key), value) {
				return
			}
		}
	}
}

// Members is Fields with keys that are good until the next.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		t := borrow(object)
		defer t.done()
		o, ok := t.Object(0)
		if !ok {
			return
		}
		for o.Next() {
			key := o.Key
			value := o.Value()
			if value == nil || !yield(key, value) {
				return
			}
		}
	}
}

// Elements goes through the elements of an array, as they stand.
// It is lenient about commas, because it goes through what Valid has accepted.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
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
}

// Get gives the value of a member, nil where there is none. The last of repeated keys counts.
// The whole object is walked through, since a later member may repeat the key. For several members of one object
// see Pick.
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

// Pick is Get for several members in one pass: values[i] becomes that of keys[i], nil where there is none.
// values must be as long as keys. A few keys are compared one by one, which is faster than a map.
func Pick(object []byte, keys []string, values [][]byte) {
	clear(values)
	t := borrow(object)
	defer t.done()
	if t.plain && t.pickTight(keys, values) {
		return
	}
	clear(values)
	if o, ok := t.Object(0); ok {
		o.pick(keys, values)
	}
}

// pickTight is pick for an object as programs write it: no white space between members, and no escape in a key. It gives false
// for others. Small objects, usages and their costs, are in every answer.
func (t *Text) pickTight(keys []string, values [][]byte) bool {
	b, i, next := t.b, 1, 0
	if len(b) == 0 || b[0] != '{' {
		return false
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return false
		}
		start := i + 1
		for i = start; i < len(b) && b[i] != '"'; i++ {
			if b[i] == '\\' || b[i] < ' ' {
				return false
			}
		}
		if i+2 >= len(b) || b[i+1] != ':' {
			return false
		}
		key, from := b[start:i], i+2
		switch c := b[from]; {
		case c == '"':
			i, _ = skipString(b, from+1)
		case c-'0' <= 9:
			i = skipNumber(b, from)
		case c <= ' ':
			return false
		default:
			i = t.skip(from)
		}
		if i < 0 || i >= len(b) {
			return false
		}
		// They mostly stand in the order in which they are asked for.
		for n := range keys {
			if k := (next + n) % len(keys); string(key) == keys[k] {
				values[k], next = b[from:i], k+1
				break
			}
		}
		switch b[i] {
		case '}':
			return true
		case ',':
			i++
		default:
			return false
		}
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

// PickIn is Pick for an object that is a member of another, and gives all of that member's value: one pass through both,
// where Get and Pick take two. Of a member that is no object nothing is picked.
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
		clear(values) // of one with the same key that stood before
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

// Str gives the text of a member that is a string, "" for all else.
func Str(object []byte, key string) string {
	s, _ := Unquote(Get(object, key))
	return s
}

// IsObject and IsArray look at the first byte that counts.
func IsObject(value []byte) bool { return first(value) == '{' }

// IsArray says whether the value is an array.
func IsArray(value []byte) bool { return first(value) == '[' }

// IsString says whether the value is a string.
func IsString(value []byte) bool { return first(value) == '"' }

// IsNull says whether the value is absent or null.
func IsNull(value []byte) bool { c := first(value); return c == 0 || c == 'n' }

// Truthy says whether JavaScript takes the value for true.
// Every object and list is true. Other spellings of zero are, too; JSON.stringify writes none.
func Truthy(value []byte) bool {
	switch value = bytes.TrimSpace(value); string(value) {
	case "", "null", "false", `""`, "0", "-0":
		return false
	}
	return true
}

func first(value []byte) byte {
	if i := SkipSpace(value, 0); i < len(value) {
		return value[i]
	}
	return 0
}
