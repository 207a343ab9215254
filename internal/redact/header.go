package redact

import (
	"encoding/base64"
	"strings"
)

// named are secrets that are recognised by a name beside them.
var named = []kind{
	{name: "authorization header", keywords: []string{"authorization"}, find: at(authorization), about: "`Authorization:` or `Proxy-Authorization:` with any scheme"},
	{name: "basic credentials", keywords: []string{"basic "}, find: at(basic), about: "`Basic` and base64 of `user:password`"},
	{name: "bearer token", keywords: []string{"bearer "}, find: at(bearer), about: "`Bearer` and a value that looks random"},
	{name: "cookie", keywords: []string{"cookie"}, find: at(cookie), about: "values of `Cookie:`, `Set-Cookie:`, `--cookie` and cookies in code that look random"},
	{name: "command-line password", keywords: []string{"curl ", "sshpass ", "mysql", "mariadb", "redis-cli ", "docker login ", "wget ", "http ", "smbclient "}, find: at(commandLine),
		about: "`curl -u user:…`, `sshpass -p …`, `mysql -p…`, `redis-cli -a …`, `docker login -p …`"},
	{name: "netrc password", keywords: []string{" password ", "\tpassword ", "\npassword ", `\npassword `}, find: at(netrc), about: "`login … password …`"},
	{name: "pgpass password", keywords: []string{":5432:", ":3306:", ":5433:"}, find: at(pgpass), about: "`host:5432:database:user:…`"},
	{name: "sql password", keywords: []string{"identified by '", "identified by \"", `identified by \"`}, find: at(sqlPassword), about: "`IDENTIFIED BY '…'`"},
	{name: "aws secret key", keywords: []string{"secret_access_key", "secretaccesskey", "secret access key", "aws_secret", "aws secret", "secret-access-key", "AKIA", "ASIA"}, find: at(awsSecret), about: "40 characters beside a name such as `aws_secret_access_key`, or after an access key"},
	{name: "azure storage key", keywords: []string{"AccountKey=", "SharedAccessKey="}, find: at(connectionKey), about: "`AccountKey=`, `SharedAccessKey=` and base64"},
	{name: "url key", keywords: []string{"?key=", "&key=", "?auth=", "&auth=", "?code=", "&code=", "?apikey=", "&apikey="}, find: at(urlKey), about: "`?key=`, `?auth=`, `?code=` and a value that looks random"},
	{name: "password", keywords: []string{"password", "passwd", "pwd", "passphrase", "_pass", "passcode", "-pass", "\"pass\"", "\"pass\\", "psk"}, find: assignment{classPassword},
		about: "a value beside a name that ends in `password`, `passwd`, `pwd`, `passphrase`, `_pass` or `psk`"},
	{name: "secret", keywords: []string{"secret", "credential", "_creds"}, find: assignment{classSecret}, about: "a random value beside a name that ends in `secret`, `secret_key`, `credentials`"},
	{name: "token", keywords: []string{"token", "_pat", "_auth", "\"auth\"", "\"auth\\"}, find: assignment{classToken}, about: "a random value beside a name that ends in `token`, `_PAT`, `_auth`"},
	{name: "api key", keywords: []string{"key"}, find: assignment{classKey},
		about: "a random value beside a name that ends in `api_key`, `access_key`, `private_key`, `encryption_key` and the like"},
}

// skipTo skips what may stand between a name and its value: quotes, escapes and white space, then one of the separators.
func skipTo(text string, i int, separators string) (int, bool) {
	for n := 0; i < len(text) && n < 16; n++ {
		switch c := text[i]; {
		case strings.IndexByte(separators, c) >= 0:
			i++
			for i < len(text) && (strings.IndexByte(" \t\"'`", text[i]) >= 0 || text[i] == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\')) {
				i++
			}
			return i, true
		case c == ' ' || c == '\t' || c == '"' || c == '\'' || c == '\\' || c == ']' || c == '`':
			i++
		default:
			return i, false
		}
	}
	return i, false
}

// authorization matches the value after the scheme; without a scheme, a value that looks random.
func authorization(text string, _, end int) (span, bool) {
	i, ok := skipTo(text, end, ":=,")
	if !ok {
		return span{}, false
	}
	n := marks("_-").run(text[i:], 32)
	scheme := lower(text[i : i+n])
	if i+n < len(text) && text[i+n] == ' ' && n > 1 {
		switch scheme {
		case "bearer", "basic", "token", "apikey", "api-key", "key", "ssws", "geniekey", "splunk", "negotiate", "pat", "bot", "dpop", "oauth":
			i += n + 1
			n = marks("_-.~+/=:%|").run(text[i:], longest)
			value := text[i : i+n]
			bad := n < 6 || placeholder(value) || wordy(value) || i+n < len(text) && (text[i+n] == '(' || text[i+n] == '{' || text[i+n] == '$')
			return span{i, i + n}, !bad
		}
		return span{}, false
	}
	n = marks("_-.~+/=:%").run(text[i:], longest)
	return span{i, i + n}, n >= 16 && random(text[i:i+n]) && !code(text[i:], n) && !strings.Contains(text[i:i+n], "://")
}

func basic(text string, at, end int) (span, bool) {
	if !beginsWord(text, at) {
		return span{}, false
	}
	n := base64Marks.run(text[end:], 512)
	value := strings.TrimRight(text[end:end+n], "=")
	plain, err := base64.RawStdEncoding.DecodeString(value)
	if err != nil || n < 8 {
		return span{}, false
	}
	user, password, ok := strings.Cut(string(plain), ":")
	if !ok || user+password == "" || placeholder(password) {
		return span{}, false
	}
	for _, c := range plain {
		if c < ' ' || c > '~' {
			return span{}, false
		}
	}
	return span{end, end + n}, true
}

func bearer(text string, at, end int) (span, bool) {
	if !beginsWord(text, at) {
		return span{}, false
	}
	n := marks("_-.~+/=|").run(text[end:], longest)
	for n > 0 && text[end+n-1] == '.' {
		n--
	}
	return span{end, end + n}, n >= 16 && random(text[end:end+n]) && !code(text[end:], n)
}

// cookie reads the pairs after the name and matches from the first value that looks random to the last one.
func cookie(text string, _, end int) (span, bool) {
	if end < len(text) && (text[end] == 's' || text[end] == 'S') {
		end++
	}
	// --cookie 'a=b' and -b have a space.
	i, ok := skipTo(text, end, ":=,( ")
	if !ok {
		return span{}, false
	}
	found, any := span{}, false
	for n := 0; n < 64 && i < len(text); n++ {
		for i < len(text) && (text[i] == ' ' || text[i] == ';') {
			i++
		}
		name := marks("_-.$[]").run(text[i:], 128)
		if i+name >= len(text) || name == 0 || text[i+name] != '=' {
			break
		}
		value := i + name + 1
		size := marks("_-.~+/=:%|!*()#$&'@{}").run(text[value:], longest)
		if size > 0 && text[value+size-1] == '\'' {
			size--
		}
		if secretCookie(lower(text[i:i+name]), text[value:value+size]) {
			if !any {
				found.start = value
			}
			found.end, any = value+size, true
		}
		i = value + size
		if i >= len(text) || text[i] != ';' {
			break
		}
	}
	return found, any
}

// secretCookie reports whether a cookie is a secret. Attributes such as Expires and values that are words are not. The name of a session
// cookie makes shorter values secrets.
func secretCookie(name, value string) bool {
	switch name {
	case "path", "domain", "expires", "max-age", "samesite", "priority":
		return false
	}
	if placeholder(value) || strings.Contains(value, "${") || strings.Contains(value, "()") {
		return false
	}
	for _, w := range []string{"sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "login", "remember"} {
		if strings.Contains(name, w) {
			return len(value) >= 8 && !wordy(value)
		}
	}
	return len(value) >= 16 && random(value)
}

// flags are options of commands before a password.
var flags = []struct {
	command, flag string
	user          bool // user:password
	glued         bool // -pPASSWORD
}{
	{"curl ", "-u", true, true}, {"curl ", "--user", true, false}, {"curl ", "--proxy-user", true, false}, {"curl ", "-U", true, false},
	{"http ", "-a", true, false}, {"http ", "--auth", true, false}, {"smbclient ", "-U", true, false},
	{"sshpass ", "-p", false, true}, {"mysql", "-p", false, true}, {"mariadb", "-p", false, true}, {"redis-cli ", "-a", false, false},
	{"docker login ", "-p", false, false}, {"wget ", "--http-passwd", false, false},
}

// commandLine looks for a flag on the line after the name of a command.
func commandLine(text string, at, end int) (span, bool) {
	line := text[end:min(len(text), end+400)]
	if i := strings.IndexAny(line, "\n|;"); i >= 0 {
		line = line[:i]
	}
	if i := strings.Index(line, `\n`); i >= 0 {
		line = line[:i]
	}
	for _, f := range flags {
		if lower(text[at:end]) != f.command {
			continue
		}
		for from := 0; ; {
			i := strings.Index(line[from:], f.flag)
			if i < 0 {
				break
			}
			i += from
			from = i + len(f.flag)
			if i > 0 && line[i-1] != ' ' || from >= len(line) {
				continue
			}
			if s, ok := flagValue(line, from, f.user, f.glued); ok {
				return span{end + s.start, end + s.end}, true
			}
		}
	}
	return span{}, false
}

// flagValue reads the value after a flag. MySQL's password is glued to its flag: what follows after a space is a database.
func flagValue(line string, i int, user, glued bool) (span, bool) {
	switch {
	case line[i] == ' ' || line[i] == '=':
		i++
	case !glued:
		return span{}, false
	}
	for i < len(line) && strings.IndexByte("\\\"' ", line[i]) >= 0 {
		i++
	}
	n := 0
	for i+n < len(line) && !isSpace(line[i+n]) && strings.IndexByte("\"'\\`", line[i+n]) < 0 {
		n++
	}
	value := line[i : i+n]
	if user {
		name, password, ok := strings.Cut(value, ":")
		if !ok || name == "" {
			return span{}, false
		}
		i, n, value = i+len(name)+1, len(password), password
	}
	if n < 4 || placeholder(value) || value[0] == '-' || value[0] == '$' || isPort(value) && user {
		return span{}, false
	}
	return span{i, i + n}, user || !wordy(value)
}

func netrc(text string, at, end int) (span, bool) {
	if !strings.Contains(text[max(0, at-120):at], "login ") {
		return span{}, false
	}
	n := 0
	for end+n < len(text) && text[end+n] > ' ' && text[end+n] != '\\' && text[end+n] != '"' {
		n++
	}
	return span{end, end + n}, n >= 4 && text[end] != '{' && !placeholder(text[end:end+n])
}

// pgpass has five fields with colons between.
func pgpass(text string, _, end int) (span, bool) {
	i := end
	for range 2 {
		n := marks("_-.*@+").run(text[i:], 64)
		if n == 0 || i+n >= len(text) || text[i+n] != ':' {
			return span{}, false
		}
		i += n + 1
	}
	n := 0
	for i+n < len(text) && text[i+n] > ' ' && strings.IndexByte("\\\"'", text[i+n]) < 0 {
		n++
	}
	return span{i, i + n}, n >= 4 && !placeholder(text[i:i+n])
}

func sqlPassword(text string, at, end int) (span, bool) {
	if !strings.Contains(lower(text[max(0, at-80):at]), "user") {
		return span{}, false
	}
	n := strings.IndexAny(text[end:min(len(text), end+128)], "'\"\\\n")
	return span{end, end + n}, n >= 4 && !placeholder(text[end:end+n])
}

func connectionKey(text string, _, end int) (span, bool) {
	n := base64Marks.run(text[end:], 200)
	return span{end, end + n}, n >= 40 && !placeholder(text[end:end+n])
}

func urlKey(text string, _, end int) (span, bool) {
	n := marks("_-%=").run(text[end:], 512)
	return span{end, end + n}, n >= 20 && random(text[end:end+n])
}

// awsSecret is 40 characters of base64 with capitals, small letters and digits: the next value after a name with "secret", or within 200
// bytes after an access key.
func awsSecret(text string, at, end int) (span, bool) {
	beside := end-at > 4
	if !beside && !shapeOfAccessKey(text, at) {
		return span{}, false
	}
	limit := min(len(text), end+200)
	if beside {
		limit = min(len(text), end+60)
	}
	for i := end; i < limit; {
		n := marks("+/").run(text[i:], 64)
		escaped := n > 40 && escapedBefore(text, i+1)
		if escaped {
			i, n = i+1, n-1
		}
		value := text[i : i+n]
		if n == 40 && mixed(value) && !placeholder(value) {
			return span{i, i + n}, true
		}
		i += max(n, 1)
	}
	return span{}, false
}

func shapeOfAccessKey(text string, at int) bool {
	return at+20 <= len(text) && marks("").run(text[at:at+20], 20) == 20 && lower(text[at:at+20]) != text[at:at+20]
}

// mixed reports whether there are capitals, small letters and digits. No hexadecimal hash has them.
func mixed(s string) bool {
	var upper, small, digit bool
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digit = true
		case isUpper(c):
			upper = true
		case isAlnum(c):
			small = true
		}
	}
	return upper && small && digit
}
