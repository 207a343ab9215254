package rawjson

import "bytes"

// walk traverses one value, from its first byte to its end. It does not recurse.
type walk struct {
	t    *Text
	i    int    // its position
	at   place  // what is expected there
	open uint64 // the innermost containers
	outer

	// members has the first n members so far: those of the outermost object, and those whose key has one of the initials while open equals
	// inside. See Text.Outline. watch equals inside as long as that level can be reached.
	members  []Member
	n        int
	watch    uint64
	inside   uint64
	initials Initials

	general bool // quick did not handle everything
}

// place is what a walk expects next.
type place uint8

const (
	atValue    place = iota
	atKey            // the quote of a key
	afterValue       // a comma, the end of a container, or the end of the walk
)

// A walk keeps one bit for each open container, which says whether it is an object: hostile input may open a hundred million
// of them, so neither recursion nor a word for each will do. The bits of the innermost ones are in a word, below a bit that
// marks its end.
const (
	object = 1       // the lowest bit, for an object
	top    = 1       // a word without a container
	full   = 1 << 63 // a word without room

	outermost = top<<1 | object       // an object
	inner     = outermost<<1 | object // an object in an object
	listed    = outermost<<2 | object // an object in an array in an object
)

// outer has the words that are full.
type outer []uint64

// skip returns the offset after the value at or after i, or the complement of the position of an error.
func (t *Text) skip(i int) int {
	w := walk{t: t, i: i, open: top}
	return w.run()
}

// run walks to the end of the value and returns the offset after it, or the complement of the position of an error. It tries
// quick again after each general step as long as that makes progress.
func (w *walk) run() int {
	if !w.t.plain && w.t.index.done.to == 0 {
		w.t.more() // so that quick can begin
	}
	for quick := !w.t.plain; ; {
		if quick {
			// In a text with white space between its tokens a second try is not worth while.
			from := w.i
			w.quick()
			quick = w.i > from
		}
		var next int
		if w.at == afterValue && w.open == top && len(w.outer) == 0 {
			return w.i
		}
		w.general = true
		switch w.at {
		case atValue:
			next = w.value()
		case atKey:
			next = w.key()
		default:
			next = w.after()
		}
		if next < 0 {
			return next
		}
		w.i = next
	}
}

// The three methods below take one token each, anywhere and with white space. quick does the same in the usual case.
func (w *walk) value() int {
	b := w.t.b
	i := SkipSpace(b, w.i)
	if i >= len(b) {
		return ^len(b)
	}
	w.at = afterValue
	switch c := b[i]; {
	case c == '"':
		return w.t.str(i + 1)
	case c == '-' || c-'0' <= 9:
		return skipNumber(b, i)
	case c == 't' || c == 'f' || c == 'n':
		return skipWord(b, i)
	case c == '{':
		if i = SkipSpace(b, i+1); i < len(b) && b[i] == '}' {
			return i + 1
		}
		w.push(object)
		w.at = atKey
		return i
	case c == '[':
		if i = SkipSpace(b, i+1); i < len(b) && b[i] == ']' {
			return i + 1
		}
		w.push(0)
		w.at = atValue
		return i
	}
	return ^i
}

// watch is cleared while outer is not empty: a member that deep is never requested.
func (w *walk) push(kind uint64) {
	if w.open >= full {
		w.outer = append(w.outer, w.open)
		w.open = top
		w.watch = 0
	}
	w.open = w.open<<1 | kind
}

// key takes a key and its colon. It must agree with quick on which members are wanted.
func (w *walk) key() int {
	b := w.t.b
	i := SkipSpace(b, w.i)
	if i >= len(b) {
		return ^len(b)
	}
	if b[i] != '"' {
		return ^i
	}
	end := w.t.str(i + 1)
	if end < 0 {
		return end
	}
	start := i + 1
	if i = SkipSpace(b, end); i >= len(b) {
		return ^len(b)
	}
	if b[i] != ':' {
		return ^i
	}
	if w.open <= w.watch && (w.open == outermost || w.open == w.inside && w.initials>>(b[start]&31)&1 != 0) {
		m := Member{key: start, end: end - 1, Inner: w.open != outermost}
		m.escaped = bytes.IndexByte(b[start:end-1], '\\') >= 0
		w.members = append(w.members[:w.n], m)
		w.members = w.members[:cap(w.members)]
		w.n++
	}
	w.at = atValue
	return i + 1
}

// after handles what follows a value. An empty word of containers is replaced by the one before it.
func (w *walk) after() int {
	b := w.t.b
	if w.open == top {
		last := len(w.outer) - 1
		w.open = w.outer[last]
		w.outer = w.outer[:last]
		if last == 0 && w.members != nil {
			w.watch = w.inside
		}
	}
	i := SkipSpace(b, w.i)
	if i >= len(b) {
		return ^len(b)
	}
	inObject := w.open&object != 0
	switch c := b[i]; {
	case c == ',':
		w.at = atValue
		if inObject {
			w.at = atKey
		}
		return i + 1
	case c == '}' && inObject, c == ']' && !inObject:
		w.open >>= 1
		return i + 1
	}
	return ^i
}
