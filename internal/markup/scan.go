package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanCode splits code into comments, strings, numbers, names and operators. Each step writes what it has read, so the time is linear. An
// unfinished token ends with the code.
func scanCode(p *pen, l *language, s string) {
	for i := 0; i < len(s); {
		class, n := l.token(s, i)
		p.write(class, s[i:i+n])
		i += n
	}
}

// token returns the class and the length of the token that begins at i.
func (l *language) token(s string, i int) (class string, n int) {
	rest := s[i:]
	if n := l.comment(rest); n > 0 {
		return comment, n
	}
	if n := l.metadata(s, i); n > 0 {
		return meta, n
	}
	if n := l.quoted(rest); n > 0 {
		return str, n
	}
	c := rest[0]
	switch {
	case isDigit(c):
		return number, numberLength(rest)
	case l.begins(rest):
		n := l.nameLength(rest)
		if n < len(rest) && l.isPrefix(rest[:n]) {
			if m := l.quoted(rest[n:]); m > 0 {
				return str, n + m
			}
		}
		return l.classOf(rest, n), n
	case isOperator(c):
		n := 1
		for n < len(rest) && isOperator(rest[n]) && l.comment(rest[n:]) == 0 {
			n++
		}
		if rest[:n] == ":" {
			return "", n
		}
		return operator, n
	}
	for n = 1; n < len(rest); n++ { // including the white space after it
		if c := rest[n]; c != ' ' && c != '\t' && c != '\n' {
			break
		}
	}
	if c >= utf8.RuneSelf {
		_, n = utf8.DecodeRuneInString(rest)
	}
	return "", n
}

// comment returns the length of the comment at the beginning of s.
func (l *language) comment(s string) int {
	for _, open := range l.line {
		if strings.HasPrefix(s, open) {
			return lineLength(s)
		}
	}
	if open := l.block[0]; open != "" && strings.HasPrefix(s, open) {
		return upTo(s, len(open), l.block[1])
	}
	return 0
}

// metadata returns the length of an annotation, an attribute or a line of a preprocessor at i.
func (l *language) metadata(s string, i int) int {
	rest := s[i:]
	if l.meta == "" || !strings.HasPrefix(rest, l.meta) {
		return 0
	}
	switch l.meta {
	case "#": // in C: first on its line, and continued while lines end in a backslash
		if strings.TrimSpace(s[strings.LastIndexByte(s[:i], '\n')+1:i]) != "" {
			return 0
		}
		n := lineLength(rest)
		for n < len(rest) && rest[n-1] == '\\' {
			n += 1 + lineLength(rest[n+1:])
		}
		return n
	case "#[": // in Rust
		return upTo(rest, 2, "]")
	}
	n := 1
	for n < len(rest) && (isWord(rest[n]) || rest[n] == '.') {
		n++
	}
	if n == 1 {
		return 0
	}
	return n
}

// quoted returns the length of the string at the beginning of s.
func (l *language) quoted(s string) int {
	for _, q := range l.quotes {
		if !strings.HasPrefix(s, q.open) {
			continue
		}
		if q.char && !isChar(s) {
			return 0
		}
		return q.length(s)
	}
	return 0
}

// length returns the length of a string with this quote. It ends with the line if it may not continue in the next one.
func (q quote) length(s string) int {
	for i := len(q.open); i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && !q.raw:
			i++
		case c == '\n' && !q.lines:
			return i
		case strings.HasPrefix(s[i:], q.close):
			return i + len(q.close)
		}
	}
	return len(s)
}

// isChar distinguishes a character ('a', '\n') from a lifetime of Rust ('a).
func isChar(s string) bool {
	if strings.HasPrefix(s, `'\`) {
		return true
	}
	_, n := utf8.DecodeRuneInString(s[1:])
	return strings.HasPrefix(s[1+n:], "'")
}

func (l *language) begins(s string) bool {
	if c := s[0]; c < utf8.RuneSelf {
		return isWord(c) || strings.IndexByte(l.word, c) >= 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// nameLength returns the length of the name at the beginning of s, at least 1.
func (l *language) nameLength(s string) int {
	for i, r := range s {
		ok := r < utf8.RuneSelf && (isWord(byte(r)) || strings.IndexByte(l.word, byte(r)) >= 0) || r >= utf8.RuneSelf && unicode.IsLetter(r)
		if !ok {
			return max(i, 1)
		}
	}
	return len(s)
}

func (l *language) isPrefix(s string) bool {
	return l.prefixes != "" && len(s) <= 2 && strings.Contains(" "+l.prefixes+" ", " "+strings.ToLower(s)+" ")
}

// classOf returns the class of the name that is s[:n].
func (l *language) classOf(s string, n int) string {
	word := s[:n]
	if l.fold {
		word = strings.ToLower(word)
	}
	if class := l.words()[word]; class != "" {
		return class
	}
	if n < len(s) && s[n] == '(' {
		return name
	}
	if c := s[0]; l.capital && c >= 'A' && c <= 'Z' {
		return typ
	}
	return ""
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isOperator(c byte) bool { return strings.IndexByte("+-*/%=<>!&|^~?:", c) >= 0 }

// numberLength returns the length of a number, whatever its base, exponent and suffix.
func numberLength(s string) int {
	for i := 1; i < len(s); i++ {
		c := s[i]
		sign := (c == '+' || c == '-') && (s[i-1] == 'e' || s[i-1] == 'E') && !strings.HasPrefix(s, "0x")
		point := c == '.' && i+1 < len(s) && isDigit(s[i+1])
		if !sign && !point && (!isWord(c) || c >= utf8.RuneSelf) {
			return i
		}
	}
	return len(s)
}

// lineLength returns the length of the first line of s without its newline.
func lineLength(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

// upTo returns where end ends in s after from, or the length of s.
func upTo(s string, from int, end string) int {
	if i := strings.Index(s[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(s)
}
