package rawjson

// Member is a member of an object; see Outline.
type Member struct {
	// Inner is set for a member of an inner object: an object that is itself a member, or is in an array that is one. That outer member is
	// the last member before it that is not Inner.
	Inner bool

	escaped  bool // the key has a backslash
	key, end int  // the inside of the key
	// stop is the end of a value that is a string directly after the colon, which is directly after the key; otherwise 0.
	stop int
}

// Initials are a filter on the first letters of keys. Only five bits of a letter count, so several letters share one.
type Initials uint32

// InitialsOf returns the first letters of names.
func InitialsOf(names ...string) (in Initials) {
	for _, n := range names {
		in |= 1 << (n[0] & 31)
	}
	return in
}

// Outline reads once through the object that begins at i. It returns the members, each followed by its own members if it is
// an object, but of these only those whose key has one of the initials, and the offset after the object. The members are
// valid until the next call. It is the fastest way to look at a few members of many texts.
func (t *Text) Outline(i int, in Initials) (members []Member, end int, err error) {
	return t.outline(i, inner, in)
}

// OutlineLists is Outline for objects whose members are arrays of objects: it returns the members of these objects, one
// after the other, in place of those of an object.
func (t *Text) OutlineLists(i int, in Initials) (members []Member, end int, err error) {
	return t.outline(i, listed, in)
}

func (t *Text) outline(i int, inside uint64, in Initials) (members []Member, end int, err error) {
	if t.passed(i) {
		t.Damaged() // the index cannot go back
	}
	if t.members == nil {
		t.members = make([]Member, 64)
	}
	var w walk // set member by member: the processor stalls when it copies what it has just written
	w.t, w.i, w.open, w.members = t, i, top, t.members
	w.watch, w.inside, w.initials = inside, inside, in|1<<('\\'&31) // an escaped key may be anything
	end = w.run()
	t.members = w.members
	if end < 0 {
		return nil, ^end, syntaxError(t.b, ^end)
	}
	return w.members[:w.n], end, nil
}

// Key returns the key of a member, decoded.
func (t *Text) Key(m *Member) []byte {
	key := t.b[m.key:m.end]
	if m.escaped {
		return decodeKey(key)
	}
	return key // the function is small enough to be inlined
}

// Value returns the value of a member as in the text.
func (t *Text) Value(m *Member) []byte {
	if m.stop == 0 {
		return t.found(m)
	}
	return t.b[m.end+2 : m.stop]
}

// From returns the text from a member's value on, to look at the beginning of a long one.
func (t *Text) From(m *Member) []byte {
	colon := SkipSpace(t.b, m.end+1)
	return t.b[SkipSpace(t.b, colon+1):]
}

// found returns a value of which only the beginning is known, and which is known to be well formed.
func (t *Text) found(m *Member) []byte {
	value := t.From(m)
	switch c := value[0]; {
	case c-'0' <= 9:
		end := skipDigits(value, 1)
		if c := value[end]; c == ',' || c == '}' { // a value is followed by something
			return value[:end]
		}
	case c == 'n' || c == 't':
		return value[:4]
	case c == 'f':
		return value[:5]
	}
	end, _ := Skip(value, 0)
	return value[:end]
}
