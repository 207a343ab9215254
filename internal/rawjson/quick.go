package rawjson

import "encoding/binary"

// quick continues a walk as long as the text is as programs write it: no white space, and nothing unusual. It stops before everything else:
// negative numbers, exponents, nesting deeper than a word has bits, the end of the window, and every error. A walk can stop and continue
// anywhere, so quick need not accept everything, but what it accepts must be right.
//
// Nearly all of every session passes through this function. It makes no calls and keeps every variable in a register, which makes it three
// times as fast as the general code.
func (w *walk) quick() {
	var (
		b, q = w.t.b, w.t.quotes
		i, k = w.i, w.t.next
		open = w.open
		at   = w.at
		c    byte
	)
	for k < len(q) && int(q[k]) < i {
		k++ // already passed
	}
	// From here on q[k] is the first quote at or after i. So if b[i] is a quote, it is q[k].
	switch at {
	case atKey:
		if i >= len(b) || b[i] != '"' {
			return
		}
		goto key
	case afterValue:
		goto after
	}
	if i >= len(b) {
		return
	}
	c = b[i]

	// Labels and jumps instead of loops and calls: the position in the code is the position in the grammar.
value: // c is b[i]
	at = atValue
	if c == '"' {
		if uint(k+1) >= uint(len(q)) {
			goto stop
		}
		i = int(q[k+1]) + 1
		k += 2
		goto after
	}
	// Leading zeros, signs and exponents are left to the general code, which detects errors in them.
	if c-'0' <= 9 {
		end := skipDigits(b, i+1)
		if c == '0' && end > i+1 {
			goto stop
		}
		if end < len(b) && b[end] == '.' {
			point := end + 1
			if end = skipDigits(b, point); end == point {
				goto stop
			}
		}
		if end < len(b) && b[end]|0x20 == 'e' {
			goto stop
		}
		i = end
		goto after
	}
	if uint(i+1) < uint(len(b)) && open < full {
		if c == '{' && b[i+1] == '"' {
			i++
			open = open<<1 | object
			goto key
		}
		if c == '[' && b[i+1] != ']' && b[i+1] > ' ' { // before a space it may still be empty
			i++
			open <<= 1
			c = b[i]
			goto value
		}
		if c == '{' && b[i+1] == '}' || c == '[' && b[i+1] == ']' {
			i += 2
			goto after
		}
	}
	if c == 'f' && i+5 <= len(b) && string(b[i:i+5]) == "false" {
		i += 5
		goto after
	}
	if i+4 <= len(b) && (c == 't' && string(b[i:i+4]) == "true" || c == 'n' && string(b[i:i+4]) == "null") {
		i += 4
		goto after
	}
	goto stop

key: // b[i] is a quote
	at = atKey
	if uint(k+1) >= uint(len(q)) {
		goto stop
	}
	{
		end := int(q[k+1]) + 1
		if uint(end+1) >= uint(len(b)) || b[end] != ':' {
			goto stop
		}
		if open <= w.watch && (open == outermost || open == w.inside && w.initials>>(b[i+1]&31)&1 != 0) {
			n := w.n
			if uint(n) >= uint(len(w.members)) {
				goto stop
			}
			// A key with a backslash must be decoded; the general code marks it.
			for j := i + 1; j < end-1; j += 8 {
				if j+8 > len(b) {
					goto stop
				}
				if x := binary.LittleEndian.Uint64(b[j:j+8]) ^ slants; (x-ones)&^x&highs != 0 {
					goto stop // a backslash in the key, or shortly after it
				}
			}
			m := &w.members[n]
			w.n = n + 1
			m.key, m.end, m.stop = i+1, end-1, 0
			m.Inner, m.escaped = open != outermost, false
			if b[end+1] == '"' && uint(k+3) < uint(len(q)) {
				m.stop = int(q[k+3]) + 1
			}
		}
		k += 2
		i = end + 1
		if c = b[i]; c != '"' || uint(k+1) >= uint(len(q)) {
			goto value
		}
		// A string, most often followed by another member: this is in an object, so nothing else need be checked.
		i = int(q[k+1]) + 1
		k += 2
		if uint(i+1) < uint(len(b)) && b[i] == ',' && b[i+1] == '"' {
			i++
			goto key
		}
		goto after
	}

after:
	at = afterValue
	if open == top || uint(i) >= uint(len(b)) {
		goto stop
	}
	c = b[i]
	if c == ',' && i+1 < len(b) {
		c = b[i+1]
		if open&object == 0 {
			i++
			goto value
		}
		if c == '"' {
			i++
			goto key
		}
		goto stop
	}
	if c == '}' && open&object != 0 || c == ']' && open&object == 0 {
		open >>= 1
		i++
		goto after
	}

stop:
	w.i, w.t.next, w.open, w.at = i, k, open, at
}
