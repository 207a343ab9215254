package pi

import (
	"math"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// The programs are written in JavaScript, and the texts that they send to a provider show how it converts values to strings.
// This file does the same, for members that are missing or of another type.

// jsString converts a value like JavaScript; nil is undefined.
func jsString(value []byte) string { return jsText(value, 0) }

// jsText is jsString at a depth of nesting. Elements of arrays are joined with commas, objects are "[object Object]".
func jsText(value []byte, depth int) string {
	if s, ok := rawjson.Unquote(value); ok {
		return s
	}
	switch {
	case value == nil:
		return "undefined"
	case rawjson.IsObject(value):
		return "[object Object]"
	case rawjson.IsArray(value):
		return jsJoin(value, depth+1)
	}
	if f, ok := number(value); ok {
		return jsNumber(f)
	}
	return string(value) // true, false, null
}

// jsJoin joins the elements of an array with commas; null is empty.
func jsJoin(array []byte, depth int) string {
	if depth > 8 { // each level is scanned again: deeper nesting is hostile
		return ""
	}
	var texts []string
	for e := range rawjson.Elements(array) {
		if rawjson.IsNull(e) {
			texts = append(texts, "")
			continue
		}
		texts = append(texts, jsText(e, depth))
	}
	return strings.Join(texts, ",")
}

// number reads a JSON number; a number that is too large is infinite, as in JavaScript.
func number(value []byte) (float64, bool) {
	if len(value) == 0 || value[0] != '-' && value[0]-'0' > 9 {
		return 0, false
	}
	f, _ := strconv.ParseFloat(string(value), 64)
	return f, true
}

// jsNumber spells a number like JavaScript, with the limits 1e21 and 1e-6 of Number::toString.
func jsNumber(f float64) string {
	switch abs := math.Abs(f); {
	case f == 0:
		return "0"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+") + "inity"
	case abs >= 1e21 || abs < 1e-6:
		s := strconv.FormatFloat(f, 'e', -1, 64)
		digits, exponent, _ := strings.Cut(s, "e")
		return digits + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func jsTrim(s string) string { return strings.TrimFunc(s, dialect.JSSpace) }
