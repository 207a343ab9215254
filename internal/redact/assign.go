package redact

import "strings"

// secretClass is what a name tells about its value.
type secretClass int

const (
	classNone     secretClass = iota
	classPassword             // chosen by a person: it need not look random
	classSecret
	classToken
	classKey
)

// assignment is a value beside a name: NAME=value, "name": "value", name: value, --name value, <name>value</name>.
type assignment struct{ class secretClass }

func (a assignment) match(text string, at, end int) (span, bool) {
	name := nameAround(text, at, end)
	if classify(text[name.start:name.end]) != a.class {
		return span{}, false
	}
	v, ok := valueAfter(text, name)
	if !ok {
		return span{}, false
	}
	value := text[v.start:v.end]
	if placeholder(value) || strings.Contains(value, "://") {
		return v.span, false
	}
	if !v.quoted && code(text[v.start:], len(value)) {
		return v.span, false
	}
	again := repeats(value, text[name.start:name.end])
	if a.class == classPassword {
		return v.span, plausiblePassword(value, v) && !(again && (!v.quoted || wordy(value)))
	}
	return v.span, random(value) && !isPath(value) && !again
}

// repeats reports whether a value is an identifier made from its own name: privateKey = testRSA2048PrivateKey.
func repeats(value, name string) bool {
	words := split(name)
	return marks("_.").run(value, len(value)) == len(value) && strings.Contains(lower(value), words[len(words)-1])
}

// nameAround extends a keyword to the whole name.
func nameAround(text string, at, end int) span {
	start := pastEscape(text, at-marks("_-.").back(text[:at], 64), at)
	for start < at && (text[start] == '-' || text[start] == '.') {
		start++
	}
	if text[at] == '"' {
		start = at
	}
	return span{start, end + marks("_-").run(text[end:], 32)}
}

// value is the position of a name's value.
type value struct {
	span
	quoted bool
	env    bool // NAME=value, as in an environment file
	prose  bool // "the password is value"
}

// valueAfter finds the value of a name.
func valueAfter(text string, name span) (value, bool) {
	i, sep := separator(text, name)
	if sep == 0 {
		return value{}, false
	}
	v := value{env: sep == '=' && i == name.end+1 && isShouted(text[name.start:name.end])}
	for n := 0; i < len(text) && (text[i] == ' ' || text[i] == '\t') && n < 8; n++ {
		i++
	}
	// b"…" and other string prefixes of Python.
	if i+1 < len(text) && strings.IndexByte("bru", text[i]) >= 0 && (text[i+1] == '"' || text[i+1] == '\'') {
		i++
	}
	escapes := 0
	for i < len(text) && text[i] == '\\' && escapes < 7 {
		i++
		escapes++
	}
	if i < len(text) && (text[i] == '"' || text[i] == '\'' || text[i] == '`') {
		v.quoted = true
		v.start = i + 1
		v.end = v.start + quotedLength(text[v.start:], text[i], escapes > 0)
		return v, v.end > v.start
	}
	if escapes > 0 || sep == ',' || sep == 'q' {
		return value{}, false
	}
	v.prose = sep == 'i'
	v.start = i
	stops := " \t\r\n\"'`\\;|<>"
	if !v.env {
		stops += ",)}]&("
	}
	for i < len(text) && i < v.start+longest && strings.IndexByte(stops, text[i]) < 0 {
		i++
	}
	if amp := strings.Index(text[v.start:i], "&&"); amp >= 0 {
		i = v.start + amp
	}
	v.end = i
	// name: type = value
	if sep == ':' && i < len(text) && text[i] == ' ' && wordy(text[v.start:v.end]) && strings.HasPrefix(text[i:], " = ") {
		return valueAfter(text, span{v.start, v.end})
	}
	return v, v.end > v.start
}

// separator returns the position after the separator of a name and its value, and the kind of separator: '=', ':', ',' between quoted
// words, ' ' after an option or in a line ENV NAME value, 'q' if the value must be quoted (PASSWORD 'x'), 'i' for "is", '>' of XML.
func separator(text string, name span) (int, byte) {
	i := name.end
	quoted := false
	for n := 0; i < len(text) && n < 8; n++ {
		switch c := text[i]; c {
		case '"', '\'', '`':
			quoted = true
			i++
			continue
		case '\\', ']', '*', '?', '!':
			if c == '\\' && i+1 < len(text) && text[i+1] == 'n' {
				return 0, 0
			}
			i++
			continue
		}
		break
	}
	spaces := i
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') && i-spaces < 24 {
		i++
	}
	if i == len(text) {
		return 0, 0
	}
	switch c := text[i]; {
	case c == ':' && i == name.end && name.start > 0 && text[name.start-1] == ':': // a:secret:b, as in AWS names
		return 0, 0
	case c == '=' || c == ':':
		i++
		for i < len(text) && (text[i] == '=' || text[i] == '>') { // :=, ==, =>
			i++
		}
		return i, c
	case c == ',' && quoted:
		return i + 1, ','
	case c == '>' && name.start > 0 && text[name.start-1] == '<':
		return i + 1, '>'
	case strings.HasPrefix(text[i:], "u003e") && strings.HasSuffix(text[:name.start], "u003c"): // the same, escaped as Go does
		return i + 5, '>'
	case i == spaces:
		return 0, 0
	case name.start >= 2 && text[name.start-2:name.start] == "--":
		return i, ' '
	case name.start >= 4 && text[name.start-4:name.start] == "ENV ":
		return i, ' '
	case strings.HasPrefix(text[i:], "is "):
		return i + 3, 'i'
	case strings.HasPrefix(text[i:], "is: "):
		return i + 4, ':'
	}
	return i, 'q'
}

// quotedLength returns the length up to the closing quote. Inside an escaped quote a backslash ends the value; otherwise it escapes a
// character.
func quotedLength(s string, quote byte, escaped bool) int {
	for i := 0; i < len(s) && i < longest; i++ {
		switch c := s[i]; {
		case c == quote:
			return i
		case c == '\n':
			return 0
		case c == '\\' && escaped:
			return i
		case c == '\\':
			if i+1 < len(s) && s[i+1] == 'n' {
				return 0
			}
			i++
		}
	}
	return 0
}

// plausiblePassword reports whether a value may be a password. After PASSWORD= in an environment file it may be a word. Elsewhere words are
// texts for people, types and names of fields.
func plausiblePassword(value string, v value) bool {
	if len(value) > 256 || strings.ContainsAny(value, " \t") || isPath(value) {
		return false
	}
	digits, others := 0, 0
	for i := range len(value) {
		switch c := value[i]; {
		case isDigit(c):
			digits++
		case c >= 0x80:
			return false
		case !isAlnum(c) && strings.IndexByte("_-./:", c) < 0:
			others++
		}
	}
	switch {
	case v.prose:
		return len(value) >= 6 && digits > 0 && digits < len(value) && !strings.Contains(value, "-") && !isTechnical(lower(value))
	case v.env:
		return len(value) >= 5 && (digits < len(value) || digits >= 6)
	case digits == len(value):
		return v.quoted && digits >= 6
	case v.quoted:
		return len(value) >= 5 && (digits > 0 || others > 0 || !wordy(value) && len(value) >= 8 || len(value) >= 16 && marks("").run(value, len(value)) == len(value))
	}
	return len(value) >= 6 && (digits > 0 || others > 0) && !(others == 0 && digits <= 2 && wordy(value) && len(value) < 7)
}

// isTechnical reports whether a word with digits is one that people use when they talk about passwords.
func isTechnical(word string) bool {
	for _, w := range []string{"sha", "md5", "base64", "utf", "bcrypt", "argon", "aes", "rsa", "pbkdf", "http", "oauth"} {
		if strings.HasPrefix(word, w) {
			return true
		}
	}
	return false
}

// isShouted reports whether a name is an environment variable's.
func isShouted(name string) bool {
	for i := range len(name) {
		if 'a' <= name[i] && name[i] <= 'z' || name[i] == '.' {
			return false
		}
	}
	return true
}

// isPath reports whether a value is a file or a folder.
func isPath(s string) bool {
	for _, p := range []string{"/", "./", "../", "~/", `\\`} {
		if strings.HasPrefix(s, p) && (strings.Count(s, "/") > 1 || len(s) > 1 && wordy(s)) {
			return !mixed(s) || strings.Contains(s, ".") || strings.HasPrefix(s, "~/")
		}
	}
	return len(s) > 2 && s[1] == ':' && s[2] == '\\' || strings.HasPrefix(s, "arn:") || strings.HasPrefix(s, "op:") || strings.HasPrefix(s, "ENC[")
}

// code reports whether a value without quotes is an expression of a program instead of text: a call, an index, a member, a variable.
func code(text string, n int) bool {
	value := text[:n]
	if n < len(text) && strings.IndexByte("([", text[n]) >= 0 {
		return true
	}
	if strings.ContainsAny(value, "(){}[]$`") {
		return true
	}
	if strings.IndexByte("+-=!|&?:", value[0]) >= 0 || strings.HasPrefix(value, "/^") { // an operator, or a regular expression
		return true
	}
	// Members: each piece is a name, and at least one is a word.
	pieces := strings.Split(strings.ReplaceAll(value, "?.", "."), ".")
	if len(pieces) < 2 {
		return false
	}
	for _, p := range pieces {
		if p == "" || isDigit(p[0]) || marks("_").run(p, len(p)) < len(p) || !wordy(p) {
			return false
		}
	}
	return true
}

// classify returns what a name tells about its value. The last word counts: token_url and secret_name are not secrets.
func classify(name string) secretClass {
	words := split(name)
	for len(words) > 1 && isQualifier(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return classNone
	}
	last, before := words[len(words)-1], ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	ends := func(s string) bool { return strings.HasSuffix(last, s) }
	switch {
	case ends("password"), ends("passwd"), ends("pwd"), ends("passphrase"), last == "passcode", last == "psk", last == "pass" && (before != "" || len(words) == 1),
		ends("pass") && len(last) <= 9 && isOneOf(last, "dbpass", "userpass", "smtppass", "mysqlpass", "pgpass"):
		return classPassword
	case ends("secret"), last == "credential", last == "credentials", last == "creds":
		return classSecret
	case ends("token"):
		if isOneOf(before, "page", "next", "continuation", "sync", "cursor", "start", "resume", "cancellation", "stop", "eos", "bos", "pad", "unk", "special", "design", "mask", "sep") {
			return classNone
		}
		return classToken
	case last == "pat" && before != "", last == "auth" && (before == "" || strings.HasPrefix(name, "_")):
		return classToken
	case last == "key" && before == "secret", last == "secretkey":
		return classSecret
	case last == "key" && isOneOf(before, keyOwners...), isOneOf(strings.TrimSuffix(last, "key"), keyOwners...) && ends("key"):
		return classKey
	}
	return classNone
}

// keyOwners are words before "key" that make it a secret. A cache key, a primary key and a public key are not secrets.
var keyOwners = []string{
	"api", "access", "private", "encryption", "signing", "auth", "account", "master", "shared", "service", "storage", "app", "application", "consumer", "write", "client",
	"license", "subscription", "admin", "deploy", "webhook", "hmac", "aes", "jwt", "integration", "ingest", "ingestion", "rpc", "personal", "role", "preshared",
	"sharedaccess", "privateapi", "secretapi", "functions", "function", "decryption",
}

func isOneOf(s string, list ...string) bool {
	for _, w := range list {
		if s == w {
			return true
		}
	}
	return false
}

// isQualifier reports whether a word at the end of a name does not change its meaning.
func isQualifier(w string) bool {
	return isPort(w) || isOneOf(w, "value", "string", "prod", "production", "dev", "development", "staging", "test", "live", "default", "base", "base64", "b64", "plain", "old", "new", "current", "main", "raw", "text", "v1", "v2", "data", "pem", "hex")
}

// split splits a name into its words, in lower case: API_KEY, api-key, apiKey, APIKey.
func split(name string) (words []string) {
	start := 0
	cut := func(end int) {
		if end > start {
			words = append(words, lower(name[start:end]))
		}
		start = end
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_' || c == '-' || c == '.' || c == '"' || c == '\\':
			cut(i)
			start = i + 1
		case i > start && isUpper(c) && (!isUpper(name[i-1]) || i+1 < len(name) && 'a' <= name[i+1] && name[i+1] <= 'z'):
			cut(i)
		case i > start && isDigit(c) && !isDigit(name[i-1]) && i+1 == len(name):
			cut(i)
		}
	}
	cut(len(name))
	return words
}
