package rawjson

import (
	"bytes"
	"math/bits"
)

// Text is one record prepared for scanning: the places of its quotes are known, the inside of its strings is checked.
// A Text may be used again and keeps its memory.
type Text struct {
	b      []byte
	blocks []block // 64 bytes each
	// plain is set when the strings need another look, byte by byte: something in the text is not allowed in a
	// string, but it may stand outside of one.
	plain bool
}

// block has a bit for each byte of 64.
type block struct {
	quote uint64 // a quote that begins or ends a string
	slash uint64 // a backslash
}

const chunk = 64 // blocks at a time: the masks of 4 KB fit into the first-level cache

// Reset prepares b, which must not change while the Text is used.
func (t *Text) Reset(b []byte) {
	t.b = b
	blocks := (len(b) + 63) / 64
	if cap(t.blocks) < blocks {
		t.blocks = make([]block, blocks, max(2*blocks, 64))
	}
	t.blocks = t.blocks[:blocks]
	var (
		buf     [chunk]masks
		carry   uint64 // 1: the first byte of the block is escaped
		trouble uint64
	)
	for at := 0; at < blocks; {
		n := min(chunk, len(b)/64-at)
		if n > 0 {
			classify(b[at*64:], buf[:n])
		} else {
			var last [64]byte
			for i := copy(last[:], b[at*64:]); i < 64; i++ {
				last[i] = ' '
			}
			n = 1
			classify(last[:], buf[:1])
		}
		part := t.blocks[at : at+n]
		for k := range part {
			m := &buf[k]
			quote := m.quote
			if m.slash|carry != 0 {
				var escaped uint64
				escaped, carry = escapedBits(m.slash, carry)
				quote &^= escaped
				trouble |= escaped & m.noEsc
				if u := escaped & m.u; u != 0 && !t.hexFollows((at+k)*64, u) {
					trouble = 1
				}
			}
			trouble |= m.control
			part[k] = block{quote: quote, slash: m.slash}
		}
		at += n
	}
	t.plain = trouble != 0
}

// escapedBits gives the bytes that a backslash escapes; next is 1 where the first byte of the next block is one.
// A run of backslashes escapes every second byte of itself, and the byte behind it where its length is odd.
func escapedBits(slash, carry uint64) (escaped, next uint64) {
	const even = 0x5555555555555555
	slash &^= carry
	follows := slash<<1 | carry
	starts := slash &^ even &^ follows
	sum, over := bits.Add64(starts, slash, 0)
	return (even ^ sum<<1) & follows, over
}

// hexFollows says whether four hex digits stand behind each u of a block that a backslash escapes.
func (t *Text) hexFollows(base int, u uint64) bool {
	for ; u != 0; u &= u - 1 {
		i := base + bits.TrailingZeros64(u) + 1
		if i+4 > len(t.b) || !isHex(t.b[i]) || !isHex(t.b[i+1]) || !isHex(t.b[i+2]) || !isHex(t.b[i+3]) {
			return false
		}
	}
	return true
}

// Damaged says that the text is not JSON throughout: an open string in a damaged piece must not decide where the
// strings behind it begin, so each is looked at byte by byte from its opening quote.
func (t *Text) Damaged() { t.plain = true }

// str gives the offset behind the closing quote of the string whose text begins at i, or the complement of the offset
// where it goes wrong.
func (t *Text) str(i int) int {
	if k := i >> 6; !t.plain && k < len(t.blocks) {
		if w := t.blocks[k].quote >> (i & 63); w != 0 {
			return i + bits.TrailingZeros64(w) + 1
		}
		return t.strFar(k + 1)
	}
	return t.strPlain(i)
}

// strFar looks for the quote from block k on.
func (t *Text) strFar(k int) int {
	for ; k < len(t.blocks); k++ {
		if w := t.blocks[k].quote; w != 0 {
			return k<<6 + bits.TrailingZeros64(w) + 1
		}
	}
	return ^len(t.b)
}

// escaped says whether a backslash stands in [i, end).
func (t *Text) escaped(i, end int) bool {
	if t.plain {
		return bytes.IndexByte(t.b[i:end], '\\') >= 0
	}
	for i < end {
		k := i >> 6
		w := t.blocks[k].slash >> (i & 63)
		if n := end - i; n < 64 {
			w &= 1<<n - 1
		}
		if w != 0 {
			return true
		}
		i = (k + 1) << 6
	}
	return false
}

func (t *Text) strPlain(i int) int {
	if !t.plain {
		return ^len(t.b)
	}
	end, _ := skipString(t.b, i)
	return end
}

// What a byte is where a token begins.
const (
	tokNone = iota
	tokSpace
	tokString
	tokObject
	tokArray
	tokNumber
	tokWord
)

var tokens = [256]uint8{
	' ': tokSpace, '\t': tokSpace, '\r': tokSpace, '\n': tokSpace,
	'"': tokString, '{': tokObject, '[': tokArray, 't': tokWord, 'f': tokWord, 'n': tokWord,
	'-': tokNumber, '0': tokNumber, '1': tokNumber, '2': tokNumber, '3': tokNumber, '4': tokNumber, '5': tokNumber,
	'6': tokNumber, '7': tokNumber, '8': tokNumber, '9': tokNumber,
}

// skip gives the offset behind the value at or behind i, or the complement of the offset where it goes wrong. It does
// not recurse: see nesting.
func (t *Text) skip(i int) int {
	var n nesting
	b := t.b
value:
	if i >= len(b) {
		return ^len(b)
	}
	switch tokens[b[i]] {
	case tokString:
		if i = t.str(i + 1); i < 0 {
			return i
		}
	case tokNumber:
		if i = skipNumber(b, i); i < 0 {
			return i
		}
	case tokObject:
		i = SkipSpace(b, i+1)
		if i < len(b) && b[i] == '}' {
			i++
			break
		}
		n.push(true)
		goto key
	case tokArray:
		i = SkipSpace(b, i+1)
		if i < len(b) && b[i] == ']' {
			i++
			break
		}
		n.push(false)
		goto value
	case tokWord:
		if i = skipWord(b, i); i < 0 {
			return i
		}
	case tokSpace:
		i++
		goto value
	default:
		return ^i
	}
after:
	if n.depth == 0 {
		return i
	}
	if i >= len(b) {
		return ^len(b)
	}
	switch b[i] {
	case ',':
		if i++; n.object() {
			if i < len(b) && b[i] <= ' ' {
				i = SkipSpace(b, i)
			}
			goto key
		}
		goto value
	case '}':
		if !n.object() {
			return ^i
		}
		n.pop()
		i++
		goto after
	case ']':
		if n.object() {
			return ^i
		}
		n.pop()
		i++
		goto after
	case ' ', '\t', '\r', '\n':
		i++
		goto after
	}
	return ^i
key:
	if i >= len(b) {
		return ^len(b)
	}
	if b[i] != '"' {
		return ^i
	}
	if i = t.str(i + 1); i < 0 {
		return i
	}
	for i < len(b) && b[i] != ':' && isSpace(b[i]) {
		i++
	}
	if i >= len(b) {
		return ^len(b)
	}
	if b[i] != ':' {
		return ^i
	}
	i++
	goto value
}
