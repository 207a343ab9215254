package markup

import (
	"bytes"
	"path"
	"strings"
	"sync"
)

// maxHighlight limits how much of a piece of code is highlighted.
const maxHighlight = 8 << 10

// Code writes source code as the content of a code element: highlighted up to 8 KB, plain after that. language is a name as after the fence
// of a code block; unknown languages stay plain.
func Code(dst *bytes.Buffer, source, language string) {
	if l := languageNamed(language); l != nil {
		l.highlight(htmlPen(dst), source)
		return
	}
	Plain(dst, source)
}

// Language returns the language of a file by its name, or "" if it is not known.
func Language(file string) string {
	file = strings.ToLower(path.Base(strings.ReplaceAll(file, `\`, "/")))
	if l := byExtension()[strings.TrimPrefix(path.Ext(file), ".")]; l != nil {
		return l.name
	}
	return ""
}

// A language describes how code is split into tokens. Most languages differ only in their words, quotes and comments.
type language struct {
	name       string
	aliases    string                        // other names of it
	extensions string                        // extensions of its files
	scan       func(*pen, *language, string) // used instead of scanCode
	inner      map[string]*language          // languages inside elements, by their tags

	keywords, types string   // words
	fold            bool     // keywords are the same in upper and lower case
	capital         bool     // a name that begins with a capital is a type
	word            string   // characters of names besides letters, digits and _
	line            []string // beginnings of comments that end with the line
	block           [2]string
	quotes          []quote // the first match counts, so long ones come first
	prefixes        string  // names that are part of the string after them
	meta            string  // beginning of an annotation (@), an attribute (#[) or, first on a line, a directive (#)

	words func() map[string]string // classes of keywords and types, built on first use
}

// A quote begins and ends a string.
type quote struct {
	open, close string
	raw         bool // a backslash is an ordinary character
	lines       bool // may contain newlines
	char        bool // one character, or no string at all
}

// Classes of highlighted tokens. The package comment documents them.
const (
	keyword  = "k"
	str      = "s"
	comment  = "c"
	number   = "n"
	name     = "f"
	typ      = "t"
	operator = "o"
	meta     = "m"
	added    = "a"
	deleted  = "d"
)

// highlight writes the tokens of source code. Text beyond the limit has no class.
func (l *language) highlight(p *pen, source string) {
	source = strings.ReplaceAll(source, "\r\n", "\n") // a token could end between the two
	head, tail := source, ""
	if len(source) > maxHighlight {
		n := cutAt(source, maxHighlight)
		head, tail = source[:n], source[n:]
	}
	l.tokens(p, head)
	p.write("", tail)
}

func (l *language) tokens(p *pen, source string) {
	if l.scan != nil {
		l.scan(p, l, source)
		return
	}
	scanCode(p, l, source)
}

// A pen writes tokens with a class, or without one.
type pen struct{ put func(class, s string) }

func (p *pen) write(class, s string) {
	if s != "" {
		p.put(class, s)
	}
}

// htmlPen writes a span for each token that has a class.
func htmlPen(dst *bytes.Buffer) *pen {
	return &pen{func(class, s string) {
		if class == "" {
			Plain(dst, s)
			return
		}
		dst.WriteString(`<span class="` + class + `">`)
		Plain(dst, s)
		dst.WriteString("</span>")
	}}
}

// languageNamed returns the language of that name, in upper or lower case, or nil.
func languageNamed(s string) *language {
	if s == "" || len(s) > 20 {
		return nil
	}
	return byName()[strings.ToLower(s)]
}

var byName = sync.OnceValue(func() map[string]*language {
	all := map[string]*language{}
	for _, l := range languages() {
		all[l.name] = l
		for _, alias := range strings.Fields(l.aliases) {
			all[alias] = l
		}
	}
	return all
})

var byExtension = sync.OnceValue(func() map[string]*language {
	all := map[string]*language{}
	for _, l := range languages() {
		for _, e := range strings.Fields(l.extensions) {
			all[e] = l
		}
	}
	return all
})

// classes makes the map of a language's words.
func (l *language) classes() map[string]string {
	all := map[string]string{}
	for _, w := range strings.Fields(l.types) {
		all[w] = typ
	}
	for _, w := range strings.Fields(l.keywords) {
		all[w] = keyword
	}
	return all
}
