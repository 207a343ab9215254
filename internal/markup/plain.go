package markup

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/screen"
)

// Plain writes a text as HTML that shows it and has no other effect. Characters that control a terminal, change the direction of writing or
// hide text are shown by name in a span of class "ctl", together with the rest of their escape sequence. Newlines and tabs stay as they
// are, and CR LF is a newline. A byte that is not UTF-8 becomes U+FFFD.
func Plain(dst *bytes.Buffer, text string) {
	done := 0 // number of bytes written so far
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			n := 1
			if entity, isCtl := entities[c], c < ' ' && c != '\n' && c != '\t' || c == 0x7f; isCtl || entity != "" {
				dst.WriteString(text[done:i])
				if dst.WriteString(entity); isCtl {
					n = control(dst, text[i:])
				}
				done = i + n
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if broken := r == utf8.RuneError && n == 1; broken || screen.Dangerous(r) {
			dst.WriteString(text[done:i])
			if broken {
				dst.WriteRune(utf8.RuneError)
			} else {
				n = named(dst, fmt.Sprintf("U+%04X", r), text[i:], n)
			}
			done = i + n
		}
		i += n
	}
	dst.WriteString(text[done:])
}

// entities are the characters that have a meaning in HTML. Quotes are among them: a caller may write into an attribute.
var entities = [utf8.RuneSelf]string{'<': "&lt;", '>': "&gt;", '&': "&amp;", '"': "&#34;", '\'': "&#39;"}

// controls are the names of the control characters.
var controls = [...]string{
	"NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI",
	"DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US",
}

// control writes the control character that text begins with and returns how many bytes of the text it stands for.
func control(dst *bytes.Buffer, text string) int {
	c, n := text[0], 1
	name := "DEL"
	switch {
	case c == '\r' && len(text) > 1 && text[1] == '\n':
		return 1
	case int(c) < len(controls):
		name = controls[c]
	}
	if c == 0x1b {
		n += sequence(text[1:])
		dst.WriteString(`<span class="ctl">‹ESC›` + text[1:n] + `</span>`)
		return n
	}
	return named(dst, "‹"+name+"›", text, n)
}

// named writes the character at the beginning of text, which has n bytes, by its name. Repetitions are counted, so that a file of zeros
// does not become much larger. It returns how many bytes of text were written.
func named(dst *bytes.Buffer, name, text string, n int) int {
	times := 1
	for strings.HasPrefix(text[times*n:], text[:n]) {
		times++
	}
	dst.WriteString(`<span class="ctl">` + name)
	if times > 1 {
		dst.WriteString("×" + strconv.Itoa(times))
	}
	dst.WriteString(`</span>`)
	return times * n
}

// sequence returns the length of a control sequence after its escape character: "[", parameters and a letter, as for colours. Any other
// sequence has length 0: its characters are shown as text. No character of a control sequence needs an entity.
func sequence(s string) int {
	if len(s) == 0 || s[0] != '[' {
		return 0
	}
	for i := 1; i < len(s) && i < 32; i++ {
		switch c := s[i]; {
		case c >= '0' && c <= ';' || c == '?':
		case c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}
