package pi

import (
	"strings"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/dialect"
)

// tidy formats a text as omp formats every prompt that it renders, including summaries, because the model sees the result: it
// trims line ends, narrows tables and removes blank lines around tags and lists. Between code fences it only trims
// line ends.
func tidy(text string) string {
	lines := strings.Split(text, "\n")
	out := make([]string, 0, len(lines))
	code := false
	for i, line := range lines {
		line = strings.TrimRightFunc(line, dialect.JSSpace)
		inner := strings.TrimLeftFunc(line, dialect.JSSpace)
		indent := line[:len(line)-len(inner)]
		if strings.HasPrefix(inner, "```") {
			code = !code
			out = append(out, line)
			continue
		}
		next, last := "", ""
		if i+1 < len(lines) {
			next = jsTrim(lines[i+1])
		}
		if len(out) > 0 {
			last = jsTrim(out[len(out)-1])
		}
		switch {
		case code:
		case isTag(inner, "</"):
			// blank lines before a closing tag are removed
			for len(out) > 0 && jsTrim(out[len(out)-1]) == "" {
				out = out[:len(out)-1]
			}
		case inner == "":
			if last == "" || isListItem(next) || isTag(last, "<") || isTag(next, "</") {
				continue
			}
		case isTableRow(inner):
			line = indent + tableRow(inner)
		}
		out = append(out, line)
	}
	for len(out) > 0 && jsTrim(out[len(out)-1]) == "" {
		out = out[:len(out)-1]
	}
	return strings.Join(out, "\n")
}

// isTag reports whether the line is a single tag: "<name …>" or "</name>".
func isTag(line, opening string) bool {
	rest, ok := strings.CutPrefix(line, opening)
	if !ok || !strings.HasSuffix(rest, ">") {
		return false
	}
	rest = rest[:len(rest)-1]
	name := strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz_-")
	if len(name) == len(rest) {
		return false
	}
	if name == "" {
		return true
	}
	space, _ := utf8.DecodeRuneInString(name)
	return opening == "<" && dialect.JSSpace(space) && !strings.Contains(name, ">")
}

// isListItem reports whether the line begins like "- ", "* " or "12. ". The line is trimmed, so a bare dash is not an item.
func isListItem(line string) bool {
	rest := strings.TrimLeft(line, "0123456789")
	switch {
	case len(rest) < len(line):
		if !strings.HasPrefix(rest, ".") {
			return false
		}
	case !strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "*"):
		return false
	}
	space, _ := utf8.DecodeRuneInString(rest[1:])
	return dialect.JSSpace(space)
}

// isTableRow reports whether the line begins and ends with a bar. As in the program's pattern, U+2028 and U+2029
// end a line, too, except in a separator.
func isTableRow(line string) bool {
	return len(line) > 1 && line[0] == '|' && line[len(line)-1] == '|' &&
		(isSeparator(line) || !strings.ContainsAny(line, "\r\u2028\u2029"))
}

// isSeparator reports whether the line consists of bars, dashes and colons, like the line below the head of a table.
func isSeparator(line string) bool {
	return len(line) > 2 && strings.IndexFunc(line, func(r rune) bool {
		return r != '|' && r != '-' && r != ':' && !dialect.JSSpace(r)
	}) < 0
}

// tableRow writes a row without spaces around its cells. The cells of a separator get three dashes and keep their alignment.
func tableRow(line string) string {
	cells := strings.Split(line, "|")
	if !isSeparator(line) {
		for i, c := range cells {
			cells[i] = jsTrim(c)
		}
		return strings.Join(cells, "|")
	}
	var rules []string
	for _, c := range cells {
		if c = jsTrim(c); c == "" {
			continue
		}
		rule := "---"
		if c[0] == ':' {
			rule = ":" + rule
		}
		if c[len(c)-1] == ':' {
			rule += ":"
		}
		rules = append(rules, rule)
	}
	return "|" + strings.Join(rules, "|") + "|"
}
