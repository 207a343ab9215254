package rawjson

import "encoding/binary"

// quick goes on with a walk as long as the text is as programs write it: no white space, and nothing that is not seen in
// most records. It stops in front of all else: negative numbers, exponents, what is nested more deeply than a word has room
// for, the end of the window, and everything that is wrong. A walk may stop and go on anywhere, so what quick takes must be
// right, and what it leaves may be anything.
//
// Nearly all of every session is walked through here. It calls nothing, and every variable is in a register: that makes it
// three times as fast as the general way.
func (w *walk) quick() {
	var (
		b, q = w.t.b, w.t.quotes
		i, k = w.i, w.t.next
		open = w.open
		at   = w.at
		c    byte
	)
	for k < len(q) && int(q[k]) < i {
		k++ // someone else has passed over it
	}
	// From here on q[k] is the first quote at or behind i. So, where b[i] is a quote, it is q[k].
	switch at {
	case atKey:
		if i >= len(b) || b[i] != '"' {
			return
		}
		goto key
	case behindValue:
		goto behind
	}
	if i >= len(b) {
		return
	}
	c = b[i]

	// Labels and jumps instead of loops and calls, because the place in the grammar is then the place in the code.
value: // c is b[i]
	at = atValue
	if c == '"' {
		if uint(k+1) >= uint(len(q)) {
			goto stop
		}
		i = int(q[k+1]) + 1
		k += 2
		goto behind
	}
	// Leading zeros, signs and exponents go the general way, which knows what is wrong with them.
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
		goto behind
	}
	if uint(i+1) < uint(len(b)) && open < full {
		if c == '{' && b[i+1] == '"' {
			i++
			open = open<<1 | object
			goto key
		}
		if c == '[' && b[i+1] != ']' && b[i+1] > ' ' { // behind a space it may still be empty
			i++
			open <<= 1
			c = b[i]
			goto value
		}
		if c == '{' && b[i+1] == '}' || c == '[' && b[i+1] == ']' {
			i += 2
			goto behind
		}
	}
	if c == 'f' && i+5 <= len(b) && string(b[i:i+5]) == "false" {
		i += 5
		goto behind
	}
	if i+4 <= len(b) && (c == 't' && string(b[i:i+4]) == "true" || c == 'n' && string(b[i:i+4]) == "null") {
		i += 4
		goto behind
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
			// A key with a backslash has to be decoded; it is left to the general way, which marks it.
			for j := i + 1; j < end-1; j += 8 {
				if j+8 > len(b) {
					goto stop
				}
				if x := binary.LittleEndian.Uint64(b[j:j+8]) ^ slants; (x-ones)&^x&highs != 0 {
					goto stop // a backslash in the key, or not far behind it
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
		// A string, and behind it most often another member: we are in an object, so nothing else need be asked.
		i = int(q[k+1]) + 1
		k += 2
		if uint(i+1) < uint(len(b)) && b[i] == ',' && b[i+1] == '"' {
			i++
			goto key
		}
		goto behind
	}

behind:
	at = behindValue
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
		goto behind
	}

stop:
	w.i, w.t.next, w.open, w.at = i, k, open, at
}
