package rawjson

// Member is a member of an object that Outline found.
type Member struct {
	// Inner is set for a member of an object that is itself a member, or is in a list that is one: the last before it that is
	// not Inner.
	Inner bool

	escaped  bool // the key has a backslash
	key, end int  // what is between the quotes of the key
	// stop is the end of a value that is a string and stands directly behind the colon, and that directly behind the key; 0
	// where it is not.
	stop int
}

// Initials are letters with which keys may begin.
// Only five bits of a letter count, so several letters share one: it is a filter, and Key decides.
type Initials uint32

// InitialsOf gives the first letters of names.
func InitialsOf(names ...string) (in Initials) {
	for _, n := range names {
		in |= 1 << (n[0] & 31)
	}
	return in
}

// Outline goes once through the object that begins at i. It gives the members, each followed by its own members where it
// is an object, but of these only the ones whose key has one of the initials; and the offset behind the object. The members
// are valid until the next call.
//
// It is the fast way to look at a few members of very many texts.
func (t *Text) Outline(i int, in Initials) (members []Member, end int, err error) {
	return t.outline(i, inner, in)
}

// OutlineLists is Outline for objects whose members are lists of objects: it gives the members of these, one after the other,
// in the place of those of an object.
func (t *Text) OutlineLists(i int, in Initials) (members []Member, end int, err error) {
	return t.outline(i, listed, in)
}

func (t *Text) outline(i int, inside uint64, in Initials) (members []Member, end int, err error) {
	if t.passed(i) {
		t.Damaged() // there is no way back in the index
	}
	if t.members == nil {
		t.members = make([]Member, 64)
	}
	w := walk{t: t, i: i, open: top, members: t.members, watch: inside, inside: inside, initials: in | 1<<('\\'&31)} // what is escaped may be anything
	end = w.run()
	t.members = w.members
	if end < 0 {
		return nil, ^end, syntaxError(t.b, ^end)
	}
	return w.members[:w.n], end, nil
}

// Key gives the key of a member, decoded.
func (t *Text) Key(m *Member) []byte {
	if m.escaped {
		return t.decoded(m)
	}
	return t.b[m.key:m.end]
}

func (t *Text) decoded(m *Member) []byte { return decodeKey(t.b[m.key:m.end]) }

// Value gives the value of a member as it stands in the text.
func (t *Text) Value(m *Member) []byte {
	if m.stop == 0 {
		return t.found(m)
	}
	return t.b[m.end+2 : m.stop]
}

// From gives the text from a member's value on, for who looks at the beginning of a long one.
func (t *Text) From(m *Member) []byte {
	colon := SkipSpace(t.b, m.end+1)
	return t.b[SkipSpace(t.b, colon+1):]
}

// found gives a value of which it is known only where it begins, and that it is good.
func (t *Text) found(m *Member) []byte {
	value := t.From(m)
	end, _ := Skip(value, 0)
	return value[:end]
}
