package markup

import (
	"strings"
	"unicode/utf8"
)

// scanDiff writes each line with its class.
func scanDiff(p *pen, _ *language, s string) {
	for line := range strings.Lines(s) {
		text := strings.TrimSuffix(line, "\n")
		p.write(diffClass(text), text)
		p.write("", line[len(text):])
	}
}

// diffHeads are prefixes of the lines of a diff that describe the file.
var diffHeads = []string{"+++ ", "--- ", "@@", "*** ", "diff ", "index ", "new file ", "deleted file ", "rename ", "similarity ",
	"old mode ", "new mode ", `\ No newline`}

func diffClass(line string) string {
	for _, h := range diffHeads {
		if strings.HasPrefix(line, h) {
			return meta
		}
	}
	switch {
	case strings.HasPrefix(line, "+"), strings.HasPrefix(line, ">"):
		return added
	case strings.HasPrefix(line, "-"), strings.HasPrefix(line, "<"):
		return deleted
	}
	return ""
}

// scanJSON is scanCode that distinguishes keys from strings.
func scanJSON(p *pen, l *language, s string) {
	for i := 0; i < len(s); {
		class, n := l.token(s, i)
		switch {
		case class == str && strings.HasPrefix(strings.TrimLeft(s[i+n:min(len(s), i+n+8)], " \t\n"), ":"):
			class = name
		case class == operator:
			class = ""
		}
		p.write(class, s[i:i+n])
		i += n
	}
}

// scanYAML works line by line: indentation and dashes, a key, a value, a comment. Block scalars are plain.
func scanYAML(p *pen, l *language, s string) {
	block := -1 // the indentation of the key of the current block scalar
	for line := range strings.Lines(s) {
		body := strings.TrimLeft(line, " ")
		indent := len(line) - len(body)
		if block >= 0 && (indent > block || strings.TrimSpace(body) == "") {
			p.write(str, line)
			continue
		}
		block = -1
		if strings.HasPrefix(body, "---") || strings.HasPrefix(body, "...") {
			p.write(meta, line)
			continue
		}
		p.write("", line[:indent])
		for strings.HasPrefix(body, "- ") {
			p.write(operator, "-")
			rest := strings.TrimLeft(body[1:], " ")
			p.write("", body[1:len(body)-len(rest)])
			body = rest
		}
		if n := yamlKey(body); n > 0 {
			p.write(name, body[:n])
			p.write(operator, ":")
			body = body[n+1:]
			if v := strings.TrimSpace(body); v != "" && strings.IndexByte("|>", v[0]) >= 0 && len(v) < 4 {
				block = indent
			}
		}
		yamlValue(p, l, body)
	}
}

// yamlKey returns the length of the key that a line begins with: up to a colon before white space.
func yamlKey(line string) int {
	for i := range len(line) {
		switch c := line[i]; {
		case c == ':' && (i+1 == len(line) || strings.IndexByte(" \t\r\n", line[i+1]) >= 0):
			return i
		case c == '#' && (i == 0 || line[i-1] == ' '), c == '{' || c == '[':
			return 0
		}
	}
	return 0
}

// yamlValue writes what follows a key or a dash.
func yamlValue(p *pen, l *language, s string) {
	value := s
	if i := strings.Index(" "+s, " #"); i >= 0 && !strings.ContainsAny(s[:i], `"'`) {
		value = s[:i]
	}
	core := strings.Trim(value, " \t\r\n")
	class := ""
	switch {
	case core == "":
	case core[0] == '"' || core[0] == '\'':
		class = str
	case core[0] == '&' || core[0] == '*' || core[0] == '!':
		class = meta
	case l.words()[core] != "":
		class = keyword
	case strings.Trim(core, "0123456789.-+_eExabcdfABCDF") == "" && (isDigit(core[0]) || len(core) > 1 && isDigit(core[1])):
		class = number
	}
	lead := len(value) - len(strings.TrimLeft(value, " \t\r\n"))
	p.write("", value[:lead])
	p.write(class, core)
	p.write("", value[lead+len(core):])
	rest := s[len(value):]
	text := strings.TrimRight(rest, "\r\n")
	p.write(comment, text)
	p.write("", rest[len(text):])
}

// scanShell distinguishes comments, which follow white space, from the # of ${#x}, and recognises variables.
func scanShell(p *pen, l *language, s string) {
	first := true // the next word is a command
	for i := 0; i < len(s); {
		rest := s[i:]
		class, n := "", 1
		assigned := i > 0 && s[i-1] == '='
		switch c := rest[0]; {
		case c == '#' && (i == 0 || strings.IndexByte(" \t\n;(", s[i-1]) >= 0):
			class, n = comment, lineLength(rest)
		case c == '\\' && len(rest) > 1:
			_, size := utf8.DecodeRuneInString(rest[1:])
			n = 1 + size
		case c == '$' && len(rest) > 1 && rest[1] == '{':
			class, n = typ, upTo(rest[:lineLength(rest)], 2, "}")
		case c == '$' && len(rest) > 1 && (isWord(rest[1]) || strings.IndexByte("?#@*!$-", rest[1]) >= 0):
			class, n = typ, 2
			for isWord(rest[1]) && n < len(rest) && isWord(rest[n]) {
				n++
			}
		case l.quoted(rest) > 0:
			class, n = str, l.quoted(rest)
			first = first && assigned
		case isWord(c) || strings.IndexByte("./~-", c) >= 0:
			for n < len(rest) && (isWord(rest[n]) || strings.IndexByte("./~-+@:%", rest[n]) >= 0) {
				n++
			}
			class = shellWord(l, rest, n, first && !assigned)
			first = first && assigned || class == keyword || class == typ
		case strings.IndexByte("|&;(\n", c) >= 0:
			if first = true; c != '\n' {
				class = operator
			}
		case strings.IndexByte("<>=", c) >= 0:
			class = operator
		}
		p.write(class, s[i:i+n])
		i += n
	}
}

// shellWord returns the class of a word: a keyword, a command, an option, a number, or none.
func shellWord(l *language, s string, n int, first bool) string {
	switch word := s[:n]; {
	case first && l.words()[word] != "":
		return keyword
	case n < len(s) && s[n] == '=':
		return typ
	case first && word[0] != '-':
		return name
	case strings.Trim(word, "0123456789") == "":
		return number
	}
	return ""
}
