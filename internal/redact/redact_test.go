package redact

import (
	"encoding/base64"
	"encoding/json"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// sample makes a key of a shape. No key is stored in this repository: other scanners would report it.
func sample(r *rand.Rand, source string) string {
	var b strings.Builder
	for _, it := range compile(source).items {
		if it.class == nil {
			b.WriteString(it.literal)
			continue
		}
		b.WriteString(chars(r, it.class, it.min))
	}
	return b.String()
}

// chars returns n random bytes of a class; the last one is a letter or a digit.
func chars(r *rand.Rand, c *class, n int) string {
	var all, plain []byte
	for b := range 256 {
		if c[b] {
			all = append(all, byte(b))
			if isAlnum(byte(b)) {
				plain = append(plain, byte(b))
			}
		}
	}
	out := make([]byte, n)
	for i := range out {
		out[i] = all[r.IntN(len(all))]
	}
	out[n-1] = plain[r.IntN(len(plain))]
	return string(out)
}

// of makes n characters from the inside of a class.
func of(r *rand.Rand, class string, n int) string { return chars(r, newClass(class), n) }

// around are the texts that may surround keys.
var around = []struct{ before, after string }{
	{"", ""}, {"key: ", "\n"}, {`"`, `"`}, {"'", "',"}, {"the key is ", "."}, {"`", "`"}, {"-", "\n"}, {"https://x.invalid/?k=", "&b=c"}, {"\x1b[32m", "\x1b[0m"}, {"(", ")"}, {"a\n", "\nb"}, {"**", "**"}, {" _", "_ "}, {"key＝", "。"},
}

// TestShapes: keys of every shape are found, wherever they stand, and inside of JSON in JSON.
func TestShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range kinds() {
		for _, source := range k.shapes {
			for range 2 {
				key := sample(r, source)
				for _, a := range around {
					text := a.before + key + a.after
					for nested := range 3 {
						if got, _ := Text(text); strings.Contains(got, key) || strings.Count(got, "[redacted: ") != 1 || nested == 0 && a.before != " _" && got != a.before+Mark(k.name)+a.after {
							t.Errorf("%s: %q became %q", k.name, text, got)
						}
						quoted, err := json.Marshal(text)
						if err != nil {
							t.Fatal(err)
						}
						text = string(quoted)
					}
				}
			}
		}
	}
}

// secrets are examples of each kind that is not a shape. The secret is between « and ».
func secrets() map[string][]string {
	r := rand.New(rand.NewPCG(3, 4))
	const b64, word, hex = `A-Za-z0-9+/`, `\w`, `\h`
	pem := func(kind string) string {
		return "«-----BEGIN " + kind + "-----\n" + of(r, b64, 64) + "\n" + of(r, b64, 64) + "\n" + of(r, b64, 22) + "==\n-----END " + kind + "-----»\n"
	}
	return map[string][]string{
		"private key": {
			pem("PRIVATE KEY"), pem("RSA PRIVATE KEY"), "cat id:\n" + pem("OPENSSH PRIVATE KEY"), pem("PGP PRIVATE KEY BLOCK"), pem("ENCRYPTED PRIVATE KEY"),
			"«-----BEGIN EC PRIVATE KEY-----\n" + of(r, b64, 64) + "\n" + of(r, b64, 40) + "»\n[cut off]",
			"«-----BEGIN EC PRIVATE KEY-----\n   2→" + of(r, b64, 64) + "\n   3→-----END EC PRIVATE KEY-----»",
		},
		"private key in base64":         {"client: «" + base64.StdEncoding.EncodeToString([]byte("-----BEGIN RSA PRIVATE KEY-----\n"+of(r, b64, 90))) + "»"},
		"putty private key":             {"Private-Lines: 2«\n" + of(r, b64, 64) + "\n" + of(r, b64, 64) + "»\nPrivate-MAC: x"},
		"json web token":                {"t=«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx" + of(r, word, 20) + "." + of(r, word, 43) + "».", "«eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0.." + of(r, word, 16) + "." + of(r, word, 60) + "." + of(r, word, 22) + "»"},
		"discord bot token":             {"bot «MTA4NzY1NDMyMTA5ODc2NTQzMg." + of(r, word, 6) + "." + of(r, word, 38) + "»"},
		"telegram bot token":            {"https://api.telegram.org/bot«1234567890:AA" + of(r, word, 33) + "»/getMe"},
		"firebase server key":           {"«AAAA" + of(r, word, 7) + ":APA91b" + of(r, word, 134) + "»"},
		"node endpoint":                 {"https://mainnet.infura.io/v3/«" + of(r, hex, 32) + "»"},
		"pgpass password":               {"db.internal:5432:app:bob:«hunter2»\n"},
		"sql password":                  {"CREATE USER bob IDENTIFIED BY '«letmein»';"},
		"mailchimp key":                 {"«" + of(r, hex, 32) + "-us21»"},
		"new relic license key":         {"«" + of(r, hex, 36) + "NRAL»"},
		"azure client secret":           {"«" + of(r, `A-Za-z0-9`, 3) + "8Q~" + of(r, `\w~`, 34) + "»"},
		"azure service key":             {"«" + of(r, `A-Za-z0-9`, 52) + "JQQJ99" + of(r, `A-Za-z0-9`, 26) + "»", "«" + of(r, b64, 76) + "+ASt" + of(r, `A-Za-z0-9`, 6) + "==»"},
		"azure shared access signature": {"https://a.blob.core.windows.net/c?sv=2025-01-01&sig=«" + of(r, `A-Za-z0-9`, 43) + "%3D»&se=x"},
		"signed url":                    {"https://b.s3.amazonaws.com/k?X-Amz-Signature=«" + of(r, hex, 64) + "»"},
		"twitter bearer token":          {"«" + strings.Repeat("A", 21) + of(r, `A-Za-z0-9`, 20) + "%2B" + of(r, `A-Za-z0-9`, 20) + "%3D" + of(r, `A-Za-z0-9`, 50) + "»"},
		"password hash":                 {"root:«$6$" + of(r, `A-Za-z0-9`, 16) + "$" + of(r, `A-Za-z0-9./`, 86) + "»:19000:0", "«$2b$12$" + of(r, `A-Za-z0-9./`, 53) + "»"},
		"slack webhook":                 {"https://hooks.slack.com/services/«T0" + of(r, `A-Z0-9`, 8) + "/B0" + of(r, `A-Z0-9`, 8) + "/" + of(r, `A-Za-z0-9`, 24) + "»"},
		"discord webhook":               {"https://discord.com/api/webhooks/«108765432109876543/" + of(r, word, 68) + "»"},
		"teams webhook":                 {"https://acme.webhook.office.com/webhookb2/«" + of(r, hex, 32) + "@" + of(r, hex, 32) + "/IncomingWebhook/" + of(r, hex, 32) + "»"},
		"zapier webhook":                {"https://hooks.zapier.com/hooks/catch/«1234567/" + of(r, `a-z0-9`, 7) + "»/"},
		"make webhook":                  {"https://hook.eu1.make.com/«" + of(r, `a-z0-9`, 32) + "»"},
		"ifttt webhook":                 {"https://maker.ifttt.com/trigger/door/with/key/«" + of(r, word, 22) + "»"},
		"chat webhook":                  {"https://open.feishu.cn/open-apis/bot/v2/hook/«" + of(r, hex, 32) + "»"},
		"health check ping":             {"curl https://hc-ping.com/«" + of(r, hex, 8) + "-" + of(r, hex, 4) + "-4" + of(r, hex, 3) + "-" + of(r, hex, 12) + "»"},
		"recovery phrase":               {`mnemonic = "«witch collapse practice feed shame open despair creek road again ice least»"`},
		"password in a database url": {
			"DATABASE_URL=postgres://app:«s3cr/t@pw»@db.internal:5432/app", "postgresql+asyncpg://app:«tr0ub4dor»@h/x", "mongodb+srv://u:«hunter2»@c0.mongodb.net/",
			"redis://:«kLm9sdfX»@cache:6379/0", `postgres:\/\/app:«kLm9sdfX»@db`, `{"url":"mysql://root:«Zx81!q»@127.0.0.1/db"}`,
		},
		"password in a url":     {"git clone https://bob:«hunter2»@git.example/x.git", "https://«" + of(r, hex, 40) + "»@git.invalid/x"},
		"terraform token":       {"token «" + of(r, `A-Za-z0-9`, 14) + ".atlasv1." + of(r, word, 66) + "»"},
		"authorization header":  {"Authorization: Bearer «" + of(r, word, 30) + "»", `-H "authorization: token «` + of(r, hex, 40) + `»"`, "Authorization: Basic «" + "YWRtaW46aHVudGVyMg==»", `\"Authorization\": \"«` + of(r, word, 40) + `»\"`},
		"basic credentials":     {"Basic «YWRtaW46aHVudGVyMg==»"},
		"bearer token":          {"use Bearer «" + of(r, word, 32) + "» there"},
		"cookie":                {"Cookie: lang=en; session_id=«" + of(r, hex, 32) + "»; theme=dark", "Set-Cookie: connect.sid=«s%3A" + of(r, word, 32) + "»; Path=/; HttpOnly"},
		"command-line password": {"curl -s -u admin:«hunter2» https://x.invalid", "sshpass -p '«hunter2»' ssh host", "mysql -u root -p«hunter2» app"},
		"netrc password":        {"machine h login bob password «hunter2»\n"},
		"aws secret key":        {"aws_secret_access_key = «" + of(r, b64, 39) + "a»", `{"SecretAccessKey":"«` + of(r, b64, 39) + `a»"}`},
		"azure storage key":     {"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«" + of(r, b64, 86) + "==»;EndpointSuffix=core.windows.net"},
		"url key":               {"GET /v1/x?key=«" + of(r, word, 30) + "»&q=1"},
		"password": {
			"DB_PASSWORD=«letmein»\n", `"password": "«hunter2»"`, "password: «hunter2!»\n", "Server=db;User Id=sa;Password=«Str0ng;»Timeout=5"[:38] + "»;Timeout=5", "--password «hunter22» x",
			"<password>«hunter2»</password>", `const dbPassword: string = "«hunter2»"`, "PGPASSWORD=«abcdefg» psql", `{\"password\":\"«hunter2»\"}`, "ALTER USER bob WITH PASSWORD '«hunter2»';", "my password is `«hunter2»`",
			`SMTP_PASS="«letme1n»"`, "spring.datasource.password=«hunter2»", "so my password is «hunter2», and",
		},
		"secret":  {"CLIENT_SECRET=«" + of(r, word, 32) + "»", `clientSecret: '«` + of(r, hex, 32) + `»'`, "SECRET_KEY_BASE=«" + of(r, hex, 128) + "»", "export JWT_SECRET=\"«" + of(r, b64, 44) + "»\""},
		"token":   {"GITHUB_TOKEN=«" + of(r, hex, 40) + "»", `\"access_token\":\"«` + of(r, word, 40) + `»\"`, "//registry.npmjs.org/:_authToken=«" + of(r, hex, 36) + "»", "aws_session_token=«" + of(r, b64, 60) + "//////////" + of(r, b64, 200) + "»", "AZURE_DEVOPS_EXT_PAT=«" + of(r, `a-z2-7`, 52) + "»"},
		"api key": {"DATADOG_API_KEY=«" + of(r, hex, 32) + "»", `apiKey: "«` + of(r, word, 32) + `»",`, "X-Api-Key: «" + of(r, word, 32) + "»", "PRIVATE_KEY=«0x" + of(r, hex, 64) + "»", "HEROKU_API_KEY=«" + of(r, hex, 8) + "-" + of(r, hex, 4) + "-4" + of(r, hex, 3) + "-a" + of(r, hex, 3) + "-" + of(r, hex, 12) + "»", "--api-key «" + of(r, word, 32) + "»"},
	}
}

// TestSecrets: only the secret is replaced, also in JSON in JSON. Every kind has an example.
func TestSecrets(t *testing.T) {
	examples := secrets()
	for _, k := range kinds() {
		if len(k.shapes) == 0 && len(examples[k.name]) == 0 {
			t.Errorf("no example of %q", k.name)
		}
	}
	for kind, list := range examples {
		for _, example := range list {
			for range 3 {
				before, rest, _ := strings.Cut(example, "«")
				secret, after, ok := strings.Cut(rest, "»")
				if !ok {
					t.Fatalf("%s: no secret in %q", kind, example)
				}
				got, found := Text(before + secret + after)
				if diff := difftest.Diff(before+Mark(kind)+after, got); diff != "" {
					t.Errorf("%s: %s\n%v; want diff == \"\"", kind, diff, found)
				}
				quoted, err := json.Marshal(example)
				if err != nil {
					t.Fatal(err)
				}
				example = string(quoted)
			}
		}
	}
}

// TestChecksum: a key with a right checksum is a secret, whatever it looks like.
func TestChecksum(t *testing.T) {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	body := strings.Repeat("x", 30)
	sum, tail := crc32.ChecksumIEEE([]byte(body)), [6]byte{}
	for i := 5; i >= 0; i-- {
		tail[i] = digits[sum%62]
		sum /= 62
	}
	if got, _ := Text("ghp_" + body + string(tail[:])); got != Mark("github personal token") {
		t.Error(got)
	}
	if got, _ := Text("ghp_" + body + "xxxxxx"); got != "ghp_"+body+"xxxxxx" {
		t.Error(got)
	}
}

// TestHide: texts of the caller are hidden without regard to case, inside words too.
func TestHide(t *testing.T) {
	got, found := New(Options{Hide: []string{"Acme", ""}}).Text("mail bob@ACME.invalid or acmeadmin")
	want := "mail bob@" + Mark(HiddenText) + ".invalid or " + Mark(HiddenText) + "admin"
	if got != want {
		t.Error(got)
	}
	if diff := difftest.Diff([]Match{{HiddenText, 9, 13}, {HiddenText, 25, 29}}, found); diff != "" {
		t.Error(diff)
	}
}

// TestKnown: a known secret is found without any context, as a whole word.
func TestKnown(t *testing.T) {
	f := New(Options{Known: map[string]string{"hunter2x9": "password", "short": "password"}})
	got, _ := f.Text("mysql: hunter2x9, \\nhunter2x9\\n, short, Hunter2x9, hunter2x90")
	if want := "mysql: [redacted: password], \\n[redacted: password]\\n, short, Hunter2x9, hunter2x90"; got != want {
		t.Error(got)
	}
}

func TestHint(t *testing.T) {
	for secret, want := range map[string]string{"abcdefghijklmnopqrstuvwxyz": "abcd…", "hunter2": "h…", "abc": "…", "a\nbcdefghijklmnopqr": "a…"} {
		if got := Hint(secret); got != want {
			t.Errorf("%q: %q; want got == %v", secret, got, want)
		}
	}
}

// FuzzText: marks do not contain secrets, so a second pass finds nothing new; matches are in order and inside of the text.
func FuzzText(f *testing.F) {
	for _, list := range secrets() {
		for _, s := range list {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, m := range Find(text) {
			if m.Start < at || m.End <= m.Start || m.End > len(text) {
				t.Fatal(m, at, len(text))
			}
			at = m.End
		}
	})
}
