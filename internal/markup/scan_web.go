package markup

import "strings"

// scanHTML splits HTML and XML into tokens. The content of script and style elements is code of its own.
func scanHTML(p *pen, l *language, s string) {
	for s != "" {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			i = len(s)
		}
		p.write("", s[:i])
		s = s[i:]
		switch {
		case s == "":
		case strings.HasPrefix(s, "<!--"):
			n := upTo(s, 4, "-->")
			p.write(comment, s[:n])
			s = s[n:]
		case strings.HasPrefix(s, "<!"), strings.HasPrefix(s, "<?"):
			n := upTo(s, 2, ">")
			p.write(meta, s[:n])
			s = s[n:]
		default:
			tag, n := htmlTag(p, s)
			s = s[n:]
			if inner := l.inner[tag]; inner != nil {
				end := strings.Index(s, "</"+tag)
				if end < 0 {
					end = len(s)
				}
				inner.tokens(p, s[:end])
				s = s[end:]
			}
		}
	}
}

// htmlTag writes the tag at the beginning of s and returns its name, if it opens an element, and its length.
func htmlTag(p *pen, s string) (tag string, n int) {
	n = 1
	if strings.HasPrefix(s, "</") {
		n = 2
	}
	from := n
	for n < len(s) && isTagName(s[n]) {
		n++
	}
	if n == from { // a < that opens nothing
		p.write("", s[:n])
		return "", n
	}
	p.write(operator, s[:from])
	p.write(keyword, s[from:n])
	if from == 1 {
		tag = strings.ToLower(s[from:n])
	}
	for n < len(s) && s[n] != '>' && s[n] != '<' {
		from := n
		switch c := s[n]; {
		case c == '"' || c == '\'':
			n = upTo(s, n+1, string(c))
			p.write(str, s[from:n])
		case isTagName(c):
			for n < len(s) && isTagName(s[n]) {
				n++
			}
			class := name
			if from > 0 && s[from-1] == '=' {
				class = str
			}
			p.write(class, s[from:n])
		default:
			n++
			p.write("", s[from:n])
		}
	}
	if n < len(s) && s[n] == '>' {
		p.write(operator, ">")
		n++
	}
	return tag, n
}

// isTagName reports whether a character may be in the name of a tag or an attribute, or in a value without quotes. The bytes of a non-ASCII
// character stay together.
func isTagName(c byte) bool {
	return isWord(c) || strings.IndexByte("-:.@#", c) >= 0
}

// scanCSS distinguishes properties from selectors by the braces.
func scanCSS(p *pen, l *language, s string) {
	depth := 0
	for i := 0; i < len(s); {
		rest := s[i:]
		class, n := "", 1
		c := rest[0]
		switch {
		case strings.HasPrefix(rest, "/*"):
			class, n = comment, upTo(rest, 2, "*/")
		case c == '"' || c == '\'':
			class, n = str, l.quoted(rest)
		case c == '{':
			depth++
		case c == '}':
			depth = max(0, depth-1)
		case isDigit(c) || c == '#' && depth > 0:
			class = number
			for n < len(rest) && (isWord(rest[n]) || rest[n] == '.' || rest[n] == '%') {
				n++
			}
		case c == '@' || c == '!' || c == '.' || c == '#' || c == '-' || isWord(c):
			for n < len(rest) && (isWord(rest[n]) || rest[n] == '-') {
				n++
			}
			class = cssWord(rest, n, depth)
		}
		p.write(class, s[i:i+n])
		i += n
	}
}

// cssWord returns the class of a word by its first character and by what follows it.
func cssWord(s string, n, depth int) string {
	switch c := s[0]; {
	case c == '@':
		return meta
	case c == '!':
		return keyword
	case n < len(s) && s[n] == '(':
		return name
	case depth == 0 && (c == '.' || c == '#'):
		return typ
	case depth == 0:
		return keyword
	case strings.HasPrefix(strings.TrimLeft(s[n:min(len(s), n+4)], " "), ":"):
		return name
	}
	return ""
}
