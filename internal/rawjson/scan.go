// Package rawjson looks into JSON texts without decoding them: it finds the members of an object, checks that a value is
// well formed, and changes one member while every other byte stays the same.
//
// A session store needs this more than a decoder. A record that passes through must keep every byte (key order, number
// spellings, lone surrogates, unknown members), and of most records only a few members are looked at. The scanner allocates
// nothing and returns slices of its input.
//
// JSON is RFC 8259, checked in full, with two liberties that the programs that wrote the files also take: strings may
// contain invalid UTF-8, and an object may repeat a key (the last one wins).
package rawjson

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// SyntaxError is the position where a text stops being JSON. Offset counts from the start of the scanned bytes.
type SyntaxError struct {
	Offset int
	What   string
	// Short is set if the text ended before the value: everything up to its end was well formed.
	Short bool
}

// Error implements error.
func (e *SyntaxError) Error() string { return e.What + " at byte " + strconv.Itoa(e.Offset) }

const (
	ones   = 0x0101010101010101
	highs  = 0x8080808080808080
	quotes = ones * '"'
	slants = ones * '\\'
	blanks = ones * 0x20
)

// special marks, in the high bit of each byte of w, the bytes that end a run of plain string text: quotes, backslashes and
// control characters. Bytes above the lowest mark may be marked falsely (a borrow), the lowest never.
func special(w uint64) uint64 {
	q, s := w^quotes, w^slants
	return ((q-ones)&^q | (s-ones)&^s | (w-blanks)&^w) & highs
}

// skipString returns the offset after the closing quote of the string whose text begins at i (after the opening quote), or the
// complement of the position of an error.
func skipString(b []byte, i int) int {
	for {
		// Eight bytes at once: session text is mostly long runs without anything special.
		for i+8 <= len(b) {
			if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				goto found
			}
			i += 8
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
			i++
		}
		if i >= len(b) {
			return ^len(b)
		}
	found:
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			if i+1 >= len(b) {
				return ^len(b)
			}
			switch b[i+1] {
			case 'n', '"', '\\', 't', '/', 'r', 'b', 'f':
				i += 2
			case 'u':
				for k := i + 2; k < i+6; k++ {
					if k >= len(b) {
						return ^len(b)
					}
					if !isHex(b[k]) {
						return ^k
					}
				}
				i += 6
			default:
				return ^(i + 1)
			}
		default:
			return ^i
		}
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// SkipSpace returns the offset of the first byte at or after i that is not JSON white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && isSpace(b[i]) {
		i++
	}
	return i
}

// Skip returns the offset after the JSON value that begins at or after i. It checks the whole value: structure, literals,
// numbers, escapes and control characters, but not whether strings are valid UTF-8.
func Skip(b []byte, i int) (int, error) {
	t := borrow(b)
	defer t.done()
	// Without an index: the caller may need only the beginning of b, and the rest may not be JSON.
	t.plain = true
	end := t.skip(i)
	if end < 0 {
		return ^end, syntaxError(b, ^end)
	}
	return end, nil
}

// syntaxError distinguishes a text that ends too early from one that is wrong: only the first can be a torn record.
func syntaxError(b []byte, at int) error {
	if at >= len(b) {
		return &SyntaxError{Offset: len(b), What: "unexpected end", Short: true}
	}
	return &SyntaxError{Offset: at, What: "unexpected " + strconv.QuoteRune(rune(b[at]))}
}

// skipWord skips true, false and null.
func skipWord(b []byte, i int) int {
	word := "null"
	switch b[i] {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	}
	for k := range len(word) {
		if i+k >= len(b) {
			return ^len(b)
		}
		if b[i+k] != word[k] {
			return ^(i + k)
		}
	}
	return i + len(word)
}

// skipNumber follows RFC 8259: no leading zeros, no plus, digits on both sides of the point.
func skipNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return ^len(b)
	case b[i] == '0':
		i++
	case '1' <= b[i] && b[i] <= '9':
		i = skipDigits(b, i)
	default:
		return ^i
	}
	if i < len(b) && b[i] == '.' {
		i++
		if i >= len(b) || b[i]-'0' > 9 {
			return ^i
		}
		i = skipDigits(b, i)
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i >= len(b) || b[i]-'0' > 9 {
			return ^i
		}
		i = skipDigits(b, i)
	}
	return i
}

// skipDigits returns the offset of the first byte at or after i that is not a digit.
func skipDigits(b []byte, i int) int {
	for i+8 <= len(b) {
		// Eight at once: without the bits of '0' a digit is 0 to 9, and anything else is more.
		x := binary.LittleEndian.Uint64(b[i:i+8]) ^ ones*'0'
		if m := (x + ones*(0x7f-9) | x) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// Valid reports whether b is exactly one JSON value, with or without white space around it.
func Valid(b []byte) bool {
	t := borrow(b)
	defer t.done()
	i := t.skip(0)
	return i >= 0 && SkipSpace(b, i) == len(b)
}
