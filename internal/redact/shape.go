package redact

import (
	"fmt"
	"strconv"
	"strings"
)

// shape is a small expression for keys with a prefix: a subset of the usual regular expressions, matched without going back.
//
//	ghp_[A-Za-z0-9]{36,}
//	SG.[\w-]{22}.[\w-]{43}
//
// It has literal characters, classes in brackets (\w is A-Za-z0-9_, \d is 0-9, \h is 0-9a-f), and
// after a class {n}, {m,n} or {m,}. A class takes as many characters as it may. The literal at the beginning is the keyword.
//
// A match begins and ends at a word boundary. The part that is not literal must not look like a placeholder.
type shape struct {
	items []item
	check func(key string) bool // a checksum that the key may have; nil if there is none
}

// item is a literal, or a class with the number of its characters.
type item struct {
	literal  string
	class    *class
	min, max int
}

// class is a set of bytes.
type class [256]bool

// longest is the most characters of a class without an upper bound. No key is as long.
const longest = 16 << 10

// compile panics if source is not a shape: shapes are constants, and a test compiles all of them.
func compile(source string) *shape {
	s := &shape{}
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			s.items = append(s.items, item{literal: literal.String()})
			literal.Reset()
		}
	}
	for i := 0; i < len(source); i++ {
		switch source[i] {
		case '[':
			flush()
			end := i + strings.IndexByte(source[i:], ']')
			it := item{class: newClass(source[i+1 : end]), min: 1, max: 1}
			i = end
			if i+1 < len(source) && source[i+1] == '{' {
				end := i + strings.IndexByte(source[i:], '}')
				it.min, it.max = bounds(source[i+2 : end])
				i = end
			}
			s.items = append(s.items, it)
		default:
			literal.WriteByte(source[i])
		}
	}
	flush()
	if len(s.items) == 0 || s.items[0].literal == "" {
		panic(fmt.Sprintf("redact: shape %q does not begin with a literal", source))
	}
	s.check = checksum(s.keyword())
	return s
}

// newClass parses what is between brackets.
func newClass(source string) *class {
	var c class
	add := func(from, to byte) {
		for b := int(from); b <= int(to); b++ {
			c[b] = true
		}
	}
	for i := 0; i < len(source); i++ {
		switch {
		case source[i] == '\\':
			i++
			switch source[i] {
			case 'w':
				add('a', 'z')
				add('A', 'Z')
				add('0', '9')
				add('_', '_')
			case 'd':
				add('0', '9')
			case 'h':
				add('0', '9')
				add('a', 'f')
			default:
				add(source[i], source[i])
			}
		case i+2 < len(source) && source[i+1] == '-':
			add(source[i], source[i+2])
			i += 2
		default:
			add(source[i], source[i])
		}
	}
	return &c
}

// bounds reads n, "m,n" or "m,".
func bounds(s string) (least, most int) {
	first, second, ranged := strings.Cut(s, ",")
	least, err := strconv.Atoi(first)
	if err != nil {
		panic(err)
	}
	switch {
	case !ranged:
		return least, least
	case second == "":
		return least, longest
	}
	if most, err = strconv.Atoi(second); err != nil {
		panic(err)
	}
	return least, most
}

func (s *shape) keyword() string { return s.items[0].literal }

// match takes the keyword as the beginning of the key.
func (s *shape) match(text string, at, _ int) (span, bool) {
	if !beginsWord(text, at) {
		return span{}, false
	}
	i := at
	for _, it := range s.items {
		if it.class == nil {
			if !strings.HasPrefix(text[i:], it.literal) {
				return span{}, false
			}
			i += len(it.literal)
			continue
		}
		n := it.class.run(text[i:], it.max)
		if n < it.min {
			return span{}, false
		}
		i += n
	}
	for text[i-1] == '.' { // the end of a sentence
		i--
	}
	found := span{at, i}
	if !endsWord(text, i) {
		return span{}, false
	}
	body := text[at+len(s.keyword()) : i]
	if s.check != nil && s.check(text[at:i]) {
		return found, true
	}
	return found, !placeholder(body) && distinct(body) >= 5 && !dull(body) && !insideBase64(text, at, s.keyword())
}

// run returns the number of bytes at the beginning of s that are in the class, at most most.
func (c *class) run(s string, most int) int {
	n := min(len(s), most)
	for i := range n {
		if !c[s[i]] {
			return i
		}
	}
	return n
}
