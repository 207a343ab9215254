package redact

import (
	"encoding/base64"
	"strings"
)

// structured are secrets that are recognised by their form, wherever they are.
var structured = []kind{
	{name: "private key", keywords: []string{"PRIVATE KEY"}, find: at(privateKey), about: "`-----BEGIN … PRIVATE KEY-----` up to its end: PKCS, RSA, EC, DSA, OpenSSH, encrypted, PGP blocks"},
	{name: "putty private key", keywords: []string{"Private-Lines:"}, find: at(puttyKey), about: "the lines after `Private-Lines:`"},
	{name: "private key in base64", keywords: []string{"LS0tLS1CRUdJTi"}, find: at(encodedKey), about: "the same as base64, as Kubernetes keeps it"},
	{name: "json web token", keywords: []string{"eyJ"}, find: at(webToken), about: "`eyJ….eyJ….…`: two objects in base64url and a signature, or five parts if it is encrypted"},
	{name: "discord bot token", keywords: []string{"."}, find: at(discord), about: "an id in base64, six characters and 27 or more, with dots between"},
	{name: "telegram bot token", keywords: []string{":AA"}, find: at(telegram), about: "8 to 10 digits, `:AA` and 33 characters"},
	{name: "firebase server key", keywords: []string{":APA91b"}, find: at(firebase), about: "11 characters, `:APA91b` and 130 or more"},
	{name: "mailchimp key", keywords: []string{"-us"}, find: at(mailchimp), about: "32 hexadecimal digits, `-us` and a number"},
	{name: "new relic license key", keywords: []string{"NRAL", "FFFFNRAL"}, find: at(newRelic), about: "36 hexadecimal digits and `NRAL`"},
	{name: "azure client secret", keywords: []string{"Q~"}, find: at(azureClient), about: "3 characters, a digit, `Q~`, and 31 to 34 characters"},
	{name: "azure service key", keywords: []string{"JQQJ99", "AzFu", "AzSe", "ACDb", "+ACR", "+ASt", "+AEh", "+ASb", "AIoT", "AzCa"}, find: at(azureService),
		about: "52 to 88 characters around a signature such as `JQQJ99`, `AzFu`, `AzSe`, `ACDb`, `+ASt`"},
	{name: "azure shared access signature", keywords: []string{"sig="}, find: at(sharedAccess), about: "`sig=` in a URL and 40 characters or more"},
	{name: "signed url", keywords: []string{"Signature=", "X-Amz-Security-Token="}, find: at(signature), about: "`X-Amz-Signature=`, `X-Goog-Signature=`, `Signature=` and 40 characters or more"},
	{name: "twitter bearer token", keywords: []string{"AAAAAAAAAAAAAAAAAAAA"}, find: at(twitter), about: "20 times `A`, then 60 characters or more with `%`"},
	{name: "password hash", keywords: []string{"$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$apr1$", "$argon2", "$scrypt$", "pbkdf2_sha256$"}, find: at(passwordHash),
		about: "`$2b$…`, `$6$…`, `$argon2id$…` and the like"},
	{name: "slack webhook", keywords: []string{"hooks.slack.com/"}, find: webhook(1), about: "`hooks.slack.com/services/…`, `…/workflows/…`, `…/triggers/…`"},
	{name: "discord webhook", keywords: []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"}, find: webhook(0), about: "`discord.com/api/webhooks/…`"},
	{name: "teams webhook", keywords: []string{"webhook.office.com/webhookb2/", "webhook.office.com/webhook/", "outlook.office.com/webhook/"}, find: webhook(0), about: "`….webhook.office.com/webhookb2/…`"},
	{name: "zapier webhook", keywords: []string{"hooks.zapier.com/hooks/"}, find: webhook(1), about: "`hooks.zapier.com/hooks/catch/…`"},
	{name: "make webhook", keywords: []string{".make.com/", ".integromat.com/"}, find: at(makeHook), about: "`hook.eu1.make.com/…`"},
	{name: "ifttt webhook", keywords: []string{"/with/key/"}, find: webhook(0), about: "`maker.ifttt.com/trigger/…/with/key/…`"},
	{name: "chat webhook", keywords: []string{
		"/open-apis/bot/v2/hook/", "/open-apis/bot/hook/", "/cgi-bin/webhook/send?key=", "robot/send?access_token=", "rocket.chat/hooks/", "mattermost.com/hooks/",
	}, find: webhook(0), about: "hooks of Feishu, WeCom, DingTalk, Rocket.Chat and Mattermost"},
	{name: "health check ping", keywords: []string{"hc-ping.com/", "betterstack.com/api/v1/heartbeat/", "betteruptime.com/api/v1/heartbeat/", "cronitor.link/"}, find: webhook(0), about: "`hc-ping.com/…` and the like"},
	{name: "node endpoint", keywords: []string{"infura.io/v3/", "alchemy.com/v2/", "alchemyapi.io/v2/", "quiknode.pro/", "rpc.ankr.com/"}, find: webhook(0), about: "`mainnet.infura.io/v3/…`, `….g.alchemy.com/v2/…`, `….quiknode.pro/…`"},
	{name: "recovery phrase", keywords: []string{"mnemonic", "seed phrase", "seed_phrase", "seedphrase", "recovery phrase"}, find: at(mnemonic), about: "12 to 24 short words after `mnemonic`, `seed phrase` or `recovery phrase`"},
	{name: "password in a database url", keywords: slashes, find: urlPassword{database: true}, about: "`postgres://user:PASSWORD@host`, and of mysql, mariadb, mongodb, redis, amqp, mssql, clickhouse and others"},
	{name: "password in a url", keywords: slashes, find: urlPassword{}, about: "`https://user:PASSWORD@host`, and a token in place of the user"},
}

// slashes are those of a URL, also as PHP escapes them in JSON, and such JSON inside JSON.
var slashes = []string{"://", `:\/\/`, `:\\/\\/`, `:\\\/\\\/`, `:\\\\/\\\\/`}

// marks is the set of letters, digits and the bytes of the string. Unlike a class it needs no table.
type marks string

const (
	wordMarks   marks = "_-"
	base64Marks marks = "+/="
	anyBase64   marks = "+/=_-"
)

func (c marks) has(b byte) bool { return isAlnum(b) || strings.IndexByte(string(c), b) >= 0 }

// run returns the number of bytes at the beginning of s in the set, at most most.
func (c marks) run(s string, most int) int {
	n := min(len(s), most)
	for i := range n {
		if !c.has(s[i]) {
			return i
		}
	}
	return n
}

// back returns the number of bytes at the end of s in the set, at most most.
func (c marks) back(s string, most int) int {
	n := min(len(s), most)
	for i := range n {
		if !c.has(s[len(s)-1-i]) {
			return i
		}
	}
	return n
}

// longestBlock is the longest private key: 16,384 bits take 12 KB, plus line numbers.
const longestBlock = 32 << 10

// privateKey extends from the line of the header to the end of the footer. Without a footer it extends as far as there are lines of base64:
// the output of a tool may be cut off. The content between header and footer does not matter, so lines with numbers or > before them are
// covered too.
func privateKey(text string, at, end int) (span, bool) {
	head := text[max(0, at-40):at]
	begin := strings.LastIndex(head, "-----BEGIN ")
	if begin < 0 || strings.Contains(head[begin+11:], "-----") {
		return span{}, false
	}
	start, from := max(0, at-40)+begin, end
	if strings.HasPrefix(text[from:], " BLOCK") {
		from += len(" BLOCK")
	}
	if !strings.HasPrefix(text[from:], "-----") {
		return span{}, false
	}
	from += len("-----")
	body := text[from:min(len(text), from+longestBlock)]
	stop := strings.Index(body, "-----")
	footer := stop >= 0 && strings.HasPrefix(body[stop:], "-----END ")
	if !footer {
		stop = linesOfBase64(body)
	}
	if count := base64Chars(body[:stop]); count < 40 || distinct(body[:stop]) < 12 {
		return span{}, false
	}
	if footer {
		stop += len("-----END ")
		if close := strings.Index(body[stop:], "-----"); close >= 0 && close < 40 {
			stop += close + 5
		}
	}
	return span{start, from + stop}, true
}

// linesOfBase64 returns the length of the lines of base64 at the beginning of s, whose ends may be escaped.
func linesOfBase64(s string) int {
	end := 0
	for end < len(s) {
		i := end
		for i < len(s) && (isSpace(s[i]) || s[i] == '\\' || i > 0 && (s[i] == 'n' || s[i] == 'r') && s[i-1] == '\\') {
			i++
		}
		n := base64Marks.run(s[i:], len(s))
		if n < 16 {
			break
		}
		end = i + n
	}
	return end
}

// base64Chars counts the bytes of s in words of 16 or more that could be base64.
func base64Chars(s string) (n int) {
	for i := 0; i < len(s); {
		run := base64Marks.run(s[i:], len(s))
		if run >= 16 {
			n += run
		}
		i += run + 1
	}
	return n
}

// puttyKey matches the lines after the keyword and their number.
func puttyKey(text string, _, end int) (span, bool) {
	rest := text[end:min(len(text), end+longestBlock)]
	i := 0
	for i < len(rest) && (rest[i] == ' ' || isDigit(rest[i])) {
		i++
	}
	n := linesOfBase64(rest[i:])
	return span{end + i, end + i + n}, n >= 40
}

// encodedKey decodes the first line.
func encodedKey(text string, at, _ int) (span, bool) {
	n := base64Marks.run(text[at:], longestBlock)
	head, err := base64.StdEncoding.DecodeString(text[at : at+min(n, 64)/4*4])
	return span{at, at + n}, err == nil && n >= 100 && strings.Contains(string(head), "PRIVATE KEY")
}

// webToken is a token of three parts, or of five if it is encrypted. The first part is an object.
func webToken(text string, at, _ int) (span, bool) {
	if text[at:at+3] != "eyJ" || !beginsWord(text, at) {
		return span{}, false
	}
	i, parts := at, 0
	for parts < 5 {
		n := wordMarks.run(text[i:], longest)
		if n == 0 && parts != 1 { // an encrypted token may have no key
			break
		}
		i += n
		parts++
		if i == len(text) || text[i] != '.' {
			break
		}
		i++
	}
	for i > at && text[i-1] == '.' {
		i--
	}
	token := text[at:i]
	fields := strings.Split(token, ".")
	if len(fields) < 3 || len(fields[0]) < 12 || len(token) < 60 {
		return span{at, i}, false
	}
	head, err := base64.RawURLEncoding.DecodeString(fields[0][:len(fields[0])/4*4])
	if err != nil || !strings.HasPrefix(string(head), `{"`) {
		return span{at, i}, false
	}
	return span{at, i}, true
}

// discord checks a dot with another one seven bytes after it. The id before the first dot is a number in base64.
func discord(text string, at, _ int) (span, bool) {
	if at+8 >= len(text) || text[at+7] != '.' || wordMarks.run(text[at+1:], 6) != 6 {
		return span{}, false
	}
	before, after := wordMarks.back(text[:at], 40), wordMarks.run(text[at+8:], 64)
	start := pastEscape(text, at-before, at)
	id, err := base64.RawStdEncoding.DecodeString(text[start:at])
	if err != nil || len(id) < 16 || len(id) > 20 || after < 25 || after > 40 {
		return span{}, false
	}
	for _, c := range id {
		if !isDigit(c) {
			return span{}, false
		}
	}
	return span{start, at + 8 + after}, true
}

func telegram(text string, at, end int) (span, bool) {
	start := at
	for start > 0 && isDigit(text[start-1]) && at-start < 12 {
		start--
	}
	n := wordMarks.run(text[end:], 64)
	// A URL of the API has "bot" before the number.
	if at-start < 8 || at-start > 10 || n < 31 || n > 36 || text[at:end] != ":AA" || placeholder(text[end:end+n]) {
		return span{}, false
	}
	return span{start, end + n}, distinct(text[end:end+n]) > 8
}

func firebase(text string, at, end int) (span, bool) {
	start := pastEscape(text, at-wordMarks.back(text[:at], 24), at)
	n := wordMarks.run(text[end:], 400)
	return span{start, end + n}, at-start >= 11 && n >= 100
}

func mailchimp(text string, at, end int) (span, bool) {
	start := at
	for start > 0 && isHex(text[start-1]) && at-start < 40 {
		start--
	}
	i := end
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	if at-start == 33 && start > 0 && escapedBefore(text, start+1) {
		start++ // \f and \b end in a hexadecimal digit
	}
	ok := at-start == 32 && i > end && i-end <= 2 && !(i < len(text) && isAlnum(text[i]))
	return span{start, i}, ok && distinct(text[start:at]) >= 5
}

func newRelic(text string, at, end int) (span, bool) {
	start := at
	for start > 0 && isHex(text[start-1]) && end-start < 44 {
		start--
	}
	return span{start, end}, end-start == 40 && text[end-4:end] == "NRAL"
}

func azureClient(text string, at, end int) (span, bool) {
	class := marks("_-.~")
	before, after := class.back(text[:at], 5), class.run(text[end:], 40)
	start := at - 4
	if before == 5 && !escapedBefore(text, start) || before < 4 || !isDigit(text[at-1]) || text[at:end] != "Q~" {
		return span{}, false
	}
	return span{start, end + after}, after >= 31 && after <= 35
}

// azureService extends the signature to both sides.
func azureService(text string, at, end int) (span, bool) {
	before, after := anyBase64.back(text[:at], 100), anyBase64.run(text[end:], 100)
	key := text[at-before : end+after]
	if before < 30 || len(key) < 50 || len(key) > 90 || after > 40 || after < 5 {
		return span{}, false
	}
	for _, signature := range []string{"JQQJ99", "AzFu", "AzSe", "ACDb", "+ACR", "+ASt", "+AEh", "+ASb", "AIoT", "AzCa"} {
		if text[at:end] == signature {
			return span{at - before, end + after}, true
		}
	}
	return span{}, false
}

func sharedAccess(text string, at, end int) (span, bool) {
	if at == 0 || strings.IndexByte("?&;\"' ", text[at-1]) < 0 && !escapedBefore(text, at) {
		return span{}, false
	}
	n := marks("%/+=_-").run(text[end:], 200)
	return span{end, end + n}, n >= 40 && n < 200 && !wordy(text[end:end+n])
}

func signature(text string, at, end int) (span, bool) {
	if at > 0 && strings.IndexByte("-&?, ", text[at-1]) < 0 && !escapedBefore(text, at) && text[at] != 'X' {
		return span{}, false
	}
	n := marks("%/+=_-~").run(text[end:], 4096)
	return span{end, end + n}, n >= 40 && !placeholder(text[end:end+n]) && !wordy(text[end:end+n])
}

func twitter(text string, at, end int) (span, bool) {
	if !beginsWord(text, at) {
		return span{}, false
	}
	n := marks("%").run(text[end:], 200)
	return span{at, end + n}, n >= 50 && n < 200 && strings.Contains(text[end:end+n], "%")
}

func passwordHash(text string, at, end int) (span, bool) {
	n := marks("./$=,+*-_").run(text[end:], 400)
	for n > 0 && strings.IndexByte(".,", text[end+n-1]) >= 0 {
		n--
	}
	return span{at, end + n}, n >= 28 && !placeholder(text[end:end+n]) && distinct(text[end:end+n]) > 10
}

func terraform(text string, at, end int) (span, bool) {
	before, after := marks("").back(text[:at], 20), marks("_=-").run(text[end:], 200)
	start := at - before
	if before > 14 && escapedBefore(text, at-14) {
		start = at - 14
	}
	return span{start, end + after}, at-start == 14 && after >= 50
}

// webhook is a URL whose path is the secret, after some segments that are not secret. The keyword ends where the path begins.
type webhook int

func (skip webhook) match(text string, _, end int) (span, bool) {
	n := marks("/_-.~%?=&:@").run(text[end:], 1024)
	i := end
	for range int(skip) {
		slash := strings.IndexByte(text[i:end+n], '/')
		if slash < 0 {
			return span{}, false
		}
		i += slash + 1
	}
	for n > 0 && strings.IndexByte("./?&:", text[end+n-1]) >= 0 {
		n--
	}
	if i >= end+n {
		return span{}, false
	}
	path := text[i : end+n]
	return span{i, end + n}, len(path) >= 12 && !placeholder(path) && !wordy(path)
}

// makeHook is a webhook of a host whose name begins with hook.
func makeHook(text string, at, end int) (span, bool) {
	host := text[at-marks("-.").back(text[:at], 40) : at]
	if !strings.HasPrefix(host, "hook.") {
		return span{}, false
	}
	return webhook(0).match(text, at, end)
}

// mnemonic matches 12 to 24 words of three to eight letters after the name.
func mnemonic(text string, _, end int) (span, bool) {
	i := end
	for i < len(text) && i < end+12 && !('a' <= text[i] && text[i] <= 'z' && i > end) {
		i++
	}
	if sep := text[end:i]; !strings.ContainsAny(sep, ":=") {
		return span{}, false
	}
	start, words, stop := i, 0, i
	for words < 24 {
		n := 0
		for i+n < len(text) && 'a' <= text[i+n] && text[i+n] <= 'z' {
			n++
		}
		if n < 3 || n > 8 {
			break
		}
		words++
		i += n
		stop = i
		if i == len(text) || text[i] != ' ' {
			break
		}
		i++
	}
	return span{start, stop}, words >= 12 && words%3 == 0
}
