package markup

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// link writes a link; label writes its label. A destination that is not allowed is shown after the label, visible but not clickable.
func (r *renderer) link(to, title string, label func()) {
	to = unescape(to)
	target, ok := address(to)
	if r.inLink || !ok {
		label()
		if !r.inLink && to != "" {
			r.dst.WriteString(` <span class="dest">(`)
			Plain(r.dst, screen.Cut(to, 100))
			r.dst.WriteString(`)</span>`)
		}
		return
	}
	r.dst.WriteString(`<a href="` + target + `" rel="noopener noreferrer nofollow"`)
	if title != "" {
		r.dst.WriteString(` title="`)
		attribute(r.dst, unescape(title))
		r.dst.WriteByte('"')
	}
	r.dst.WriteByte('>')
	r.inLink = true
	label()
	r.inLink = false
	r.dst.WriteString("</a>")
}

// autoLink writes a link in angle brackets. A link that is not allowed is text, with its brackets: it may be vector<std::string>.
func (r *renderer) autoLink(n *ast.AutoLink) {
	label := string(n.Label(r.source))
	to := label
	if n.AutoLinkType == ast.AutoLinkEmail {
		to = "mailto:" + label
	}
	if target, ok := address(to); ok && !r.inLink {
		r.anchor(target, label)
	} else {
		Plain(r.dst, "<"+label+">")
	}
}

// anchor writes a link whose label is a text.
func (r *renderer) anchor(target, label string) {
	r.dst.WriteString(`<a href="` + target + `" rel="noopener noreferrer nofollow">`)
	Plain(r.dst, label)
	r.dst.WriteString("</a>")
}

// schemes are the allowed schemes of links.
var schemes = []string{"http://", "https://", "mailto:"}

// address returns a destination as the value of an href attribute, and whether it is allowed. A fragment is not: headings have no ids, and
// in a page of many texts it would refer to something else.
func address(to string) (string, bool) {
	for _, s := range schemes {
		if len(to) > len(s) && strings.EqualFold(to[:len(s)], s) {
			return percent(s + to[len(s):]), true
		}
	}
	return "", false
}

// percent escapes all bytes that a URL may not have, and those that have a meaning in HTML attributes.
func percent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~:/?#[]@!$()*+,;=%", c) >= 0:
			b.WriteByte(c)
		case c == '&':
			b.WriteString("&amp;")
		default:
			const hex = "0123456789ABCDEF"
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// attribute writes a text as the value of an attribute. An attribute has no elements, so dangerous characters become escapes.
func attribute(dst *bytes.Buffer, s string) {
	Plain(dst, screen.Clean(strings.ReplaceAll(s, "\r\n", "\n")))
}

// text writes a text of Markdown, with its bare links, and a box in place of a task's brackets at its beginning.
func (r *renderer) text(s string) {
	if r.box != "" && task(s) == r.box {
		r.dst.WriteString(r.box)
		s = s[3:]
	}
	r.box = ""
	s = unescape(s)
	if r.inLink {
		Plain(r.dst, s)
		return
	}
	bareLinks(s, func(part string, link bool) {
		to := part
		if strings.HasPrefix(part, "www.") {
			to = "http://" + part
		}
		if target, ok := address(to); ok && link {
			r.anchor(target, part)
		} else {
			Plain(r.dst, part)
		}
	})
}

// bareLinks splits a text into links without brackets and the text around them.
func bareLinks(s string, use func(part string, link bool)) {
	done := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != 'h' && c != 'w' || i > 0 && isWord(s[i-1]) {
			continue
		}
		n := bareLink(s[i:])
		if n == 0 {
			continue
		}
		use(s[done:i], false)
		done = i + n
		use(s[i:done], true)
		i = done - 1
	}
	use(s[done:], false)
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= utf8.RuneSelf
}

// bareLink returns the length of the link at the beginning of a text, or 0. Punctuation at its end belongs to the sentence.
func bareLink(s string) int {
	prefix := 0
	for _, p := range []string{"http://", "https://", "www."} {
		if strings.HasPrefix(s, p) {
			prefix = len(p)
		}
	}
	if prefix == 0 || prefix == len(s) || !isWord(s[prefix]) && s[prefix] != '[' {
		return 0
	}
	n := strings.IndexFunc(s, endsLink)
	if n < 0 {
		n = len(s)
	}
	round := strings.Count(s[:n], "(") - strings.Count(s[:n], ")")
	square := strings.Count(s[:n], "[") - strings.Count(s[:n], "]")
	for n > prefix {
		switch c := s[n-1]; {
		case c == ')' && round < 0:
			round++
		case c == ']' && square < 0:
			square++
		case strings.IndexByte(`?!.,:;*_~'"}`, c) >= 0:
		default:
			return n
		}
		n--
	}
	return 0
}

// endsLink reports whether a bare link ends before a character: white space, quotes, and the punctuation of scripts that put no space
// before it.
func endsLink(c rune) bool {
	return unicode.IsSpace(c) || screen.Dangerous(c) || c == '<' || c == '>' || c == '"' || c == '`' || c == '\\' || c == '|' ||
		c == utf8.RuneError || c >= 0x3000 && c <= 0x303f || c >= 0xff00 && c <= 0xffef
}

// unescape resolves the backslashes and the character references of Markdown.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			i++
			b.WriteByte(s[i])
		case c == '&':
			n := 1
			for n < 32 && i+n < len(s) && (isWord(s[i+n]) || s[i+n] == '#') {
				n++
			}
			if i+n < len(s) && s[i+n] == ';' {
				n++
			}
			b.WriteString(reference(s[i : i+n]))
			i += n - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// reference resolves one character reference, such as &lt; or &#60;. Any other text stays as it is.
func reference(s string) string {
	if len(s) < 3 || s[len(s)-1] != ';' {
		return s
	}
	if s[1] == '#' {
		return string(util.ResolveNumericReferences([]byte(s)))
	}
	if e, ok := util.LookUpHTML5EntityByName(s[1 : len(s)-1]); ok {
		return string(e.Characters)
	}
	return s
}
