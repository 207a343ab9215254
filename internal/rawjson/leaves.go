package rawjson

// Leaves visits the values inside value that are neither objects nor arrays, in order and in one pass. A value that is
// neither is visited itself. A member whose key enter refuses is skipped, and so is what is nested deeper than deepest. Keys
// are valid until enter returns. It stops if the value is not well formed.
func Leaves(value []byte, deepest int, enter func(key []byte) bool, leaf func(value []byte)) {
	t := borrow(value)
	defer t.done()
	l := leaves{t: t, deepest: deepest, enter: enter, leaf: leaf}
	l.value(SkipSpace(value, 0), 0)
}

type leaves struct {
	t       *Text
	deepest int
	enter   func(key []byte) bool
	leaf    func(value []byte)
}

// value visits the value at i and returns the offset after it, or the complement of the position of an error.
func (l *leaves) value(i, depth int) int {
	b := l.t.b
	if depth <= l.deepest && i < len(b) {
		switch b[i] {
		case '{':
			return l.object(i, depth)
		case '[':
			return l.array(i, depth)
		}
	}
	end := l.t.skip(i)
	if end >= 0 && depth <= l.deepest {
		l.leaf(b[i:end])
	}
	return end
}

func (l *leaves) object(i, depth int) int {
	o, _ := l.t.Object(i)
	for o.Next() {
		if !l.enter(o.Key) {
			continue
		}
		end := l.value(o.at, depth+1)
		if end < 0 {
			return end
		}
		o.at, o.pending = end, false
	}
	if o.bad != 0 {
		return o.bad
	}
	return o.at
}

func (l *leaves) array(i, depth int) int {
	b := l.t.b
	for i = SkipSpace(b, i+1); i < len(b) && b[i] != ']'; {
		if i = l.value(i, depth+1); i < 0 {
			return i
		}
		if i = SkipSpace(b, i); i < len(b) && b[i] == ',' {
			i = SkipSpace(b, i+1)
		}
	}
	if i >= len(b) {
		return ^len(b)
	}
	return i + 1
}
