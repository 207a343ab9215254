package rawjson

import "math/bits"

// Text is one record prepared for scanning: the places of its quotes are known, the inside of its strings is checked.
// A Text may be used again and keeps its memory.
type Text struct {
	b     []byte
	quote []uint64 // a bit for each quote that begins or ends a string
	// plain is set when the strings need another look, byte by byte: something in the text is not allowed in a
	// string, but it may stand outside of one.
	plain bool
}

const chunk = 64 // blocks at a time: the masks of 4 KB fit into the first-level cache

// Reset prepares b, which must not change while the Text is used.
func (t *Text) Reset(b []byte) {
	t.b, t.plain = b, false
	blocks := (len(b) + 63) / 64
	if cap(t.quote) < blocks {
		t.quote = make([]uint64, blocks, max(blocks, 64))
	}
	t.quote = t.quote[:blocks]
	var (
		buf     [chunk]masks
		carry   uint64
		trouble uint64
	)
	for at := 0; at < blocks; {
		part := buf[:min(chunk, blocks-at)]
		if full := len(b)/64 - at; full > 0 {
			part = part[:min(len(part), full)]
			classify(b[at*64:], part)
		} else {
			var last [64]byte
			for i := copy(last[:], b[at*64:]); i < 64; i++ {
				last[i] = ' '
			}
			part = part[:1]
			classify(last[:], part)
		}
		for k := range part {
			m := &part[k]
			var escaped uint64
			escaped, carry = escapedBits(m.slash, carry)
			t.quote[at+k] = m.quote &^ escaped
			trouble |= m.control | escaped&m.noEsc
			if u := escaped & m.u; u != 0 && !t.hexFollows((at+k)*64, u) {
				trouble = 1
			}
		}
		at += len(part)
	}
	t.plain = trouble != 0
}

// escapedBits gives the bytes that a backslash escapes; carry is 1 where the first byte of the next block is one.
// A run of backslashes escapes every second byte of itself, and the byte behind it where its length is odd.
func escapedBits(slash, carry uint64) (escaped, next uint64) {
	if slash == 0 {
		return carry, 0
	}
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

// str is skipString with what Reset found out.
func (t *Text) str(i int) int {
	if t.plain {
		end, _ := skipString(t.b, i)
		return end
	}
	k := i >> 6
	if k >= len(t.quote) {
		return ^len(t.b)
	}
	w := t.quote[k] >> (i & 63) << (i & 63)
	for w == 0 {
		if k++; k >= len(t.quote) {
			return ^len(t.b)
		}
		w = t.quote[k]
	}
	return k<<6 + bits.TrailingZeros64(w) + 1
}

// skip gives the offset behind the value at or behind i, or the complement of the offset where it goes wrong. It does
// not recurse: see nesting.
func (t *Text) skip(i int) int {
	b := t.b
	var n nesting
value:
	for i < len(b) && b[i] <= ' ' && isSpace(b[i]) {
		i++
	}
	if i >= len(b) {
		return ^len(b)
	}
	switch b[i] {
	case '"':
		if i = t.str(i + 1); i < 0 {
			return i
		}
	case '{':
		i = SkipSpace(b, i+1)
		if i < len(b) && b[i] == '}' {
			i++
			break
		}
		n.push(true)
		goto key
	case '[':
		i = SkipSpace(b, i+1)
		if i < len(b) && b[i] == ']' {
			i++
			break
		}
		n.push(false)
		goto value
	case 't':
		if i = skipWord(b, i, "true"); i < 0 {
			return i
		}
	case 'f':
		if i = skipWord(b, i, "false"); i < 0 {
			return i
		}
	case 'n':
		if i = skipWord(b, i, "null"); i < 0 {
			return i
		}
	default:
		if i = skipNumber(b, i); i < 0 {
			return i
		}
	}
after:
	if n.depth == 0 {
		return i
	}
	for i < len(b) && b[i] <= ' ' && isSpace(b[i]) {
		i++
	}
	if i >= len(b) {
		return ^len(b)
	}
	switch c := b[i]; {
	case c == ',':
		i++
		if n.object() {
			i = SkipSpace(b, i)
			goto key
		}
		goto value
	case c == '}' && n.object(), c == ']' && !n.object():
		n.pop()
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
	for i < len(b) && b[i] <= ' ' && isSpace(b[i]) {
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

// Damaged says that the text is not JSON throughout: an open string in a damaged piece must not decide where the
// strings behind it begin, so each is looked at byte by byte from its opening quote.
func (t *Text) Damaged() { t.plain = true }
