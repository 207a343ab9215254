package pi

import (
	"math"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// The programs are written in JavaScript, and the texts that they send to a provider show how it turns values into
// text. This file does the same, so that a text is the same where a member is missing or of another type.

// jsString gives the text that JavaScript makes of a value; nil stands for a member that is missing.
func jsString(value []byte) string { return jsText(value, 0) }

// Elements of arrays are joined with commas, objects say nothing: so it reads in the programs' texts, too.
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

// jsJoin gives the elements of an array with commas between them; null is nothing.
func jsJoin(array []byte, depth int) string {
	if depth > 8 { // each level is looked through again: what goes deeper is meant to keep us busy
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

// number reads a JSON number; what is too large is infinite, as in JavaScript.
func number(value []byte) (float64, bool) {
	if len(value) == 0 || value[0] != '-' && value[0]-'0' > 9 {
		return 0, false
	}
	f, _ := strconv.ParseFloat(string(value), 64)
	return f, true
}

// jsNumber spells a number as JavaScript does.
// The borders 1e21 and 1e-6 are those of ECMAScript's Number::toString.
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

// jsSpace says what JavaScript trims and its patterns call \s.
func jsSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}

func jsTrim(s string) string { return strings.TrimFunc(s, jsSpace) }
