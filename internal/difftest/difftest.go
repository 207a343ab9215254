// Package difftest describes the differences of two values, for tests.
//
// github.com/google/go-cmp does more. It also looks up methods by number, so that the linker keeps every exported method of every test
// program that imports it: linking all of them took a third longer.
package difftest

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/diff"
)

// An Option makes a comparison less strict.
type Option func(*comparison)

// EmptyIsNil makes slices and maps without elements equal to nil.
func EmptyIsNil(c *comparison) { c.emptyIsNil = true }

// Roughly treats numbers with fractions as equal if they differ by at most a millionth.
func Roughly(c *comparison) { c.roughly = true }

// Without leaves fields out, named as "Type.Field".
func Without(fields ...string) Option {
	return func(c *comparison) { c.without = append(c.without, fields...) }
}

// Diff returns the places where two values differ, a line or a few for each; "" if they are equal. Unexported fields count, too. Pointers
// are equal if what they point to is. Times are equal if they are the same instant. Functions are equal if both are nil.
func Diff(want, got any, options ...Option) string {
	c := comparison{seen: map[pointers]bool{}}
	for _, o := range options {
		o(&c)
	}
	c.compare("", reflect.ValueOf(want), reflect.ValueOf(got))
	if c.left > 0 {
		fmt.Fprintf(&c.out, "and %d more\n", c.left)
	}
	return c.out.String()
}

// most is how many places are described. The others are only counted.
const most = 20

type comparison struct {
	emptyIsNil, roughly bool
	without             []string

	out    strings.Builder
	places int
	left   int
	seen   map[pointers]bool // pairs that are being compared, or were
}

// pointers are two pointers of one type.
type pointers struct {
	to        reflect.Type
	want, got uintptr
}

// differ describes a difference.
func (c *comparison) differ(path, how string) {
	if c.places++; c.places > most {
		c.left++
		return
	}
	fmt.Fprintf(&c.out, "%s: %s\n", cmp.Or(path, "the value"), how)
}

func (c *comparison) compare(path string, want, got reflect.Value) {
	switch {
	case !want.IsValid() && !got.IsValid():
		return
	case !want.IsValid() || !got.IsValid() || want.Type() != got.Type():
		c.differ(path, "-"+show(want)+" +"+show(got))
		return
	}
	if a, ok := moment(want); ok {
		if b, _ := moment(got); !a.Equal(b) {
			c.differ(path, fmt.Sprintf("-%v +%v", a, b))
		}
		return
	}
	equal := true
	switch want.Kind() {
	case reflect.Struct:
		c.fields(path, want, got)
	case reflect.Slice, reflect.Array:
		c.elements(path, want, got)
	case reflect.Map:
		c.keys(path, want, got)
	case reflect.Pointer:
		pair := pointers{want.Type(), want.Pointer(), got.Pointer()}
		if pair.want == pair.got || c.seen[pair] {
			return
		}
		c.seen[pair] = true
		c.compare(path, want.Elem(), got.Elem())
	case reflect.Interface:
		c.compare(path, want.Elem(), got.Elem())
	case reflect.String:
		if a, b := want.String(), got.String(); a != b {
			c.differ(path, texts(a, b))
		}
	case reflect.Float32, reflect.Float64:
		a, b := want.Float(), got.Float()
		equal = a == b || a != a && b != b || c.roughly && math.Abs(a-b) <= 1e-6
	case reflect.Func:
		equal = want.IsNil() && got.IsNil()
	default:
		equal = want.Equal(got)
	}
	if !equal {
		c.differ(path, "-"+show(want)+" +"+show(got))
	}
}

func (c *comparison) fields(path string, want, got reflect.Value) {
	t := want.Type()
	for i := range t.NumField() {
		if name := t.Field(i).Name; !slices.Contains(c.without, t.Name()+"."+name) {
			c.compare(path+"."+name, want.Field(i), got.Field(i))
		}
	}
}

// elements compares the elements of two lists of the same length.
func (c *comparison) elements(path string, want, got reflect.Value) {
	a, b := want.Len(), got.Len()
	if want.Kind() == reflect.Slice {
		switch {
		case want.IsNil() != got.IsNil() && (a+b > 0 || !c.emptyIsNil):
			c.differ(path, "-"+show(want)+" +"+show(got))
			return
		case want.Type().Elem().Kind() == reflect.Uint8:
			if x, y := want.Bytes(), got.Bytes(); !bytes.Equal(x, y) {
				c.differ(path, texts(string(x), string(y)))
			}
			return
		}
	}
	if a != b {
		c.differ(path, fmt.Sprintf("-%d elements +%d elements", a, b))
	}
	for i := range max(a, b) {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case i >= a:
			c.differ(at, "+"+show(got.Index(i)))
		case i >= b:
			c.differ(at, "-"+show(want.Index(i)))
		default:
			c.compare(at, want.Index(i), got.Index(i))
		}
	}
}

// keys compares the values of two maps under the same keys, in the order of the keys as they are shown.
func (c *comparison) keys(path string, want, got reflect.Value) {
	if want.IsNil() != got.IsNil() && (want.Len()+got.Len() > 0 || !c.emptyIsNil) {
		c.differ(path, "-"+show(want)+" +"+show(got))
		return
	}
	keys := want.MapKeys()
	for _, k := range got.MapKeys() {
		if !want.MapIndex(k).IsValid() {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(x, y reflect.Value) int { return cmp.Compare(show(x), show(y)) })
	for _, k := range keys {
		at := path + "[" + show(k) + "]"
		switch a, b := want.MapIndex(k), got.MapIndex(k); {
		case !a.IsValid():
			c.differ(at, "+"+show(b))
		case !b.IsValid():
			c.differ(at, "-"+show(a))
		default:
			c.compare(at, a, b)
		}
	}
}

// moment returns the time in a value. The time in an unexported field cannot be read; it is compared as any struct.
func moment(v reflect.Value) (time.Time, bool) {
	if v.Type() != reflect.TypeFor[time.Time]() || !v.CanInterface() {
		return time.Time{}, false
	}
	return v.Interface().(time.Time), true
}

// texts describes two texts that differ: by lines if one of them has several.
func texts(want, got string) string {
	if utf8.ValidString(want) && utf8.ValidString(got) && strings.Contains(want+got, "\n") {
		return "\n" + strings.TrimSuffix(string(diff.Append(nil, diff.Compare(want, got, 2))), "\n")
	}
	return fmt.Sprintf("-%q +%q", want, got)
}

// show describes a value in a line.
func show(v reflect.Value) string {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return "nil"
	case (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.IsNil():
		return fmt.Sprintf("nil (%s)", v.Type())
	case v.Kind() == reflect.String:
		return fmt.Sprintf("%q", v.String())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return fmt.Sprintf("%q", v.Bytes())
	}
	return fmt.Sprintf("%+v (%s)", v, v.Type())
}
