package redact

import (
	"math"
	"strings"
)

// beginsWord reports whether a key may begin at i: what comes before is not part of a word. An escape of JSON, of a URL or of a terminal
// before it may end in a letter, but is not part of a word.
func beginsWord(text string, i int) bool {
	if i == 0 {
		return true
	}
	c := text[i-1]
	switch {
	case c == '-' || c == '_': // a line that a diff removes, or emphasis, begins with one
		return i == 1 || !wordMarks.has(text[i-2]) || escapedBefore(text, i-1)
	case !isAlnum(c):
		return true
	}
	return escapedBefore(text, i)
}

// endsWord reports whether a key may end at i.
func endsWord(text string, i int) bool {
	if i < len(text) && text[i] == '_' { // the end of emphasis
		i++
	}
	return i >= len(text) || !isAlnum(text[i]) && text[i] != '_'
}

// escapedBefore reports whether an escape ends before i: \n, \u0022, %3D, or a colour of a terminal.
func escapedBefore(text string, i int) bool {
	back := func(n int) byte {
		if i-n < 0 {
			return 0
		}
		return text[i-n]
	}
	switch c := back(1); {
	case strings.IndexByte("nrtbf", c) >= 0 && back(2) == '\\':
		return true
	case back(6) == '\\' && back(5) == 'u':
		return isHex(back(1)) && isHex(back(2)) && isHex(back(3)) && isHex(back(4))
	case back(3) == '%':
		return isHex(back(1)) && isHex(back(2))
	case c == 'm':
		n := 2
		for n < 16 && (isDigit(back(n)) || back(n) == ';') {
			n++
		}
		return back(n) == '['
	}
	return false
}

// pastEscape returns where a word begins that was extended to the left up to start: the n of \n and the u0022 of \u0022 are not part of it.
func pastEscape(text string, start, end int) int {
	if start == 0 || start == end || text[start-1] != '\\' {
		return start
	}
	if text[start] == 'u' && start+5 <= end {
		return start + 5
	}
	return start + 1
}

// insideBase64 reports whether a key that could be part of a longer run of base64 is one: an image is full of random words. Only a prefix
// of letters and digits can occur in base64.
func insideBase64(text string, at int, prefix string) bool {
	for i := range len(prefix) {
		if !isAlnum(prefix[i]) {
			return false
		}
	}
	n := 0
	for i := at - 1; i >= 0 && (isAlnum(text[i]) || text[i] == '+' || text[i] == '/'); i-- {
		if n++; n == 40 {
			return true
		}
	}
	return false
}

// wordsOfExamples make a value a placeholder wherever they occur in it.
var wordsOfExamples = []string{
	"example", "your", "placeholder", "changeme", "change_me", "change-me", "replace", "redacted", "dummy", "insert", "xxxx", "****", "...",
	"…", "${", "{{", "}}", "#{", "$(", "%(", "process.env", "environ", "getenv", "import.meta", "secrets.", "•••", "key_here", "key-here",
	"token_here", "token-here", "secret_here", "secret-here", "password_here", "password-here",
}

// wholeExamples make a value a placeholder if they are all of it.
var wholeExamples = []string{
	"password", "passwd", "pass", "pwd", "secret", "token", "key", "apikey", "api_key", "api-key", "test", "testing", "none", "null", "nil", "undefined",
	"true", "false", "string", "str", "text", "bytes", "number", "any", "unknown", "optional", "required", "admin", "root", "user", "username", "guest", "postgres", "mysql",
	"redis", "rabbitmq", "mongo", "hidden", "masked", "empty", "todo", "tbd", "default", "value", "basic", "bearer",
	"12345", "123456", "1234567", "12345678", "123456789", "1234567890", "md5", "sha1", "sha256", "sha512", "bcrypt", "argon2", "scram-sha-256", "utf8", "utf-8", "base64",
}

// placeholder reports whether documentation or code uses the value instead of a secret: a word of examples, a variable, a regular
// expression.
func placeholder(value string) bool {
	if value == "" || strings.Contains(value, "]{") || strings.Contains(value, "]+") || strings.Contains(value, "]*") || strings.Contains(value, `\w`) || strings.Contains(value, `\d`) || strings.IndexByte("$%@!&*", value[0]) >= 0 && !strings.HasPrefix(value, "$2") && wordy(value[1:]) {
		return true
	}
	v := lower(value)
	for _, w := range wholeExamples {
		if v == w {
			return true
		}
	}
	for _, w := range wordsOfExamples {
		if strings.Contains(v, w) {
			return true
		}
	}
	// An AWS session token has ten slashes in a row, among hundreds of characters.
	run := longestRun(v)
	return v[0] == '<' || run >= 6 && run*4 >= len(v)
}

// longestRun returns the length of the longest run of one byte.
func longestRun(s string) int {
	most, n := 0, 0
	for i := range len(s) {
		if i > 0 && s[i] == s[i-1] {
			n++
		} else {
			n = 1
		}
		most = max(most, n)
	}
	return most
}

// distinct returns the number of different bytes.
func distinct(s string) int {
	var seen class
	n := 0
	for i := range len(s) {
		if !seen[s[i]] {
			seen[s[i]] = true
			n++
		}
	}
	return n
}

// entropy returns the Shannon entropy in bits per byte.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

// wordy reports whether a value is made of words: names, paths, identifiers. It has no digits, except a few at the end of a word, and its
// capitals only begin words.
func wordy(s string) bool {
	letters, digits, starts, upper := 0, 0, 0, 0
	for i := range len(s) {
		c := s[i]
		switch {
		case isDigit(c):
			digits++
		case isAlnum(c):
			letters++
			if isUpper(c) {
				upper++
				if i == 0 || !isUpper(s[i-1]) {
					starts++
				}
			}
		case c >= 0x80:
			letters++
		}
	}
	switch {
	case letters == 0:
		return false
	case digits*8 > letters:
		return false
	case digits > 0 && digitsInside(s):
		return false
	}
	if upper == letters {
		s = lower(s)
	} else if starts*4 > letters || upper*3 > letters {
		return false
	}
	return !unpronounceable(s)
}

// dull is wordy for what follows the prefix of a key, which is evidence in itself: a run of letters in both cases counts as words only if
// the words are long.
func dull(s string) bool {
	if !wordy(s) || isShouted(s) {
		return false
	}
	starts, mixed := 0, false
	for i := range len(s) {
		switch {
		case !isAlnum(s[i]):
			return true
		case isUpper(s[i]):
			mixed = true
			if i == 0 || !isUpper(s[i-1]) {
				starts++
			}
		}
	}
	return !mixed || starts*6 <= len(s)
}

// digitsInside reports whether a digit is between or before letters of one word.
func digitsInside(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if isDigit(s[i]) && isAlnum(s[i+1]) && !isDigit(s[i+1]) {
			return true
		}
	}
	return false
}

// unpronounceable reports whether letters are random rather than a language's: many consonants in a row. A capital begins a word.
func unpronounceable(s string) bool {
	run, beyond := 0, 0
	for i := range len(s) {
		c := s[i]
		if isUpper(c) {
			run, c = 0, c+'a'-'A'
		}
		switch {
		case !('a' <= c && c <= 'z') || strings.IndexByte("aeiouy", c) >= 0:
			run = 0
		default:
			if run++; run >= 5 {
				beyond++
			}
		}
	}
	return beyond > 0 && beyond*24 >= len(s)
}

// random reports whether a value looks machine-made: long enough, of several kinds of characters, without words.
func random(s string) bool {
	if len(s) < 10 || wordy(s) || placeholder(s) {
		return false
	}
	var kinds [4]bool
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			kinds[0] = true
			digits++
		case isUpper(c):
			kinds[1] = true
		case isAlnum(c):
			kinds[2] = true
		case c <= ' ' || c >= 0x7f:
			return false
		default:
			kinds[3] = true
		}
	}
	n := 0
	for _, has := range kinds {
		if has {
			n++
		}
	}
	switch {
	case digits == len(s):
		return false
	case len(s) < 16:
		return n >= 3 && entropy(s) >= 2.8
	}
	return n >= 2 && entropy(s) >= 3 || n == 1 && len(s) >= 20 && entropy(s) >= 3.2
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isAlnum(c byte) bool { return isDigit(c) || isUpper(c) || 'a' <= c && c <= 'z' }
func isHex(c byte) bool   { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
