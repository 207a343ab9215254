package redact_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/redact"
)

// The texts of this file were written from what providers publish, by a person who had not read the rules, and did not shape
// them. Keys are made up when the test runs, so that no file of the repository has the shape of a key.

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum  = digits + lower + upper
	hexes  = digits + "abcdef"
	url64  = alnum + "-_"
	std64  = alnum + "+/"
	base32 = upper + "234567"
)

type maker struct{ *rand.Rand }

func (m maker) of(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[m.IntN(len(alphabet))]
	}
	return string(b)
}

func (m maker) uuid() string {
	h := m.of(hexes, 32)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// held is a text around a secret, which must not be visible afterwards.
type held struct{ kind, text, secret string }

func heldKeys(m maker) []held {
	var list []held
	add := func(kind, format string, secret string) {
		list = append(list, held{kind, fmt.Sprintf(format, secret), secret})
	}
	add("aws id", "export AWS_ACCESS_KEY_ID=%s\n", "AKIA"+m.of(base32, 16))
	add("aws id", "the bare id is %s, used by the deploy user", "AKIA"+m.of(base32, 16))
	add("aws temporary id", `{"AccessKeyId": "%s", "Version": 1}`, "ASIA"+m.of(base32, 16))
	add("aws secret", "aws_secret_access_key = %s", m.of(std64, 40))
	add("github classic", "git remote add o https://%s@github.com/you/shop.git", "ghp_"+m.of(alnum, 36))
	add("github fine-grained", "GH_TOKEN=%s gh pr list", "github_pat_"+m.of(alnum, 22)+"_"+m.of(alnum, 59))
	add("github app", `"token":"%s"`, "ghs_"+m.of(alnum, 36))
	add("gitlab", "curl -H 'PRIVATE-TOKEN: %s' https://gitlab.com/api/v4/projects", "glpat-"+m.of(url64, 20))
	add("openai", "OPENAI_API_KEY=%s", "sk-proj-"+m.of(url64, 74)+"T3BlbkFJ"+m.of(url64, 74))
	add("openai", "openai.api_key = '%s'", "sk-"+m.of(alnum, 20)+"T3BlbkFJ"+m.of(alnum, 20))
	add("anthropic", "x-api-key: %s\n", "sk-ant-api03-"+m.of(url64, 93)+"AA")
	add("anthropic", `{"ANTHROPIC_API_KEY":"%s"}`, "sk-ant-api03-"+m.of(url64, 93)+"AA")
	add("google", "https://maps.googleapis.com/maps/api/js?key=%s&callback=init", "AIza"+m.of(url64, 35))
	add("slack bot", "SLACK_BOT_TOKEN=%s", "xoxb-"+m.of(digits, 12)+"-"+m.of(digits, 12)+"-"+m.of(alnum, 24))
	add("slack webhook", "curl -X POST %s", "https://hooks.slack.com/services/T"+m.of(upper+digits, 8)+"/B"+m.of(upper+digits, 10)+"/"+m.of(alnum, 24))
	add("stripe live", "stripe.api_key = \"%s\"", "sk_live_"+m.of(alnum, 24))
	add("stripe restricted", "key: %s", "rk_live_"+m.of(alnum, 24))
	add("npm", "//registry.npmjs.org/:_authToken=%s", "npm_"+m.of(alnum, 36))
	add("pypi", "password = %s", "pypi-AgEIcHlwaS5vcmc"+m.of(url64, 150))
	add("sendgrid", "SENDGRID_API_KEY='%s'", "SG."+m.of(url64, 22)+"."+m.of(url64, 43))
	add("twilio", "client = Client(sid, auth)  # api key %s", "SK"+m.of(hexes, 32))
	add("hugging face", "huggingface-cli login --token %s", "hf_"+m.of(lower+upper, 34))
	add("digitalocean", "doctl auth init -t %s", "dop_v1_"+m.of(hexes, 64))
	add("discord webhook", "post to %s", "https://discord.com/api/webhooks/"+m.of(digits, 18)+"/"+m.of(url64, 68))
	add("telegram", "https://api.telegram.org/bot%s/sendMessage", m.of("123456789", 1)+m.of(digits, 9)+":AA"+m.of(url64, 33))
	add("jwt", "Authorization: Bearer %s", jwt(m))
	add("jwt", "the cookie held %s when it broke", jwt(m))
	add("private key", "it says:\n%s\nand stops", pem(m, "RSA PRIVATE KEY"))
	add("private key", `{"private_key":"%s"}`, strings.ReplaceAll(pem(m, "PRIVATE KEY"), "\n", `\n`))
	add("openssh key", "%s", pem(m, "OPENSSH PRIVATE KEY"))
	add("database url", "DATABASE_URL=postgres://shop:%s@db.internal:5432/shop", m.of(alnum, 14))
	add("database url", "mongodb+srv://admin:%s@cluster0.abcde.mongodb.net/test", m.of(alnum, 16))
	add("database url", "redis://:%s@cache:6379/0", m.of(alnum, 20))
	add("password", "DB_PASSWORD=%s\nDB_HOST=localhost", "Tr"+m.of(alnum, 12)+"9!")
	add("client secret", `"client_secret": "%s",`, m.of(alnum, 32))
	add("basic", "curl -H 'Authorization: Basic %s' https://api.internal/v1", base64.StdEncoding.EncodeToString([]byte("deploy:"+m.of(alnum, 18))))
	add("vault", "VAULT_TOKEN=%s vault kv get secret/shop", "hvs."+m.of(url64, 95))
	add("docker hub", "docker login -u you -p %s", "dckr_pat_"+m.of(url64, 27))
	add("datadog", "DD_API_KEY=%s", m.of(hexes, 32))
	add("azure storage", "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=%s;EndpointSuffix=core.windows.net", m.of(std64, 86)+"==")
	add("shopify", "X-Shopify-Access-Token: %s", "shpat_"+m.of(hexes, 32))
	add("linear", "LINEAR=%s", "lin_api_"+m.of(alnum, 40))
	return list
}

func jwt(m maker) string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc([]byte(`{"sub":"`+m.of(digits, 10)+`","name":"You","iat":1771200000}`)) + "." + m.of(url64, 43)
}

func pem(m maker, kind string) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + kind + "-----\n")
	for range 12 {
		b.WriteString(m.of(std64, 64) + "\n")
	}
	return b.String() + "-----END " + kind + "-----"
}

func lookAlikes(m maker) []string {
	sum := func() []byte { h := sha256.Sum256([]byte(m.of(alnum, 9))); return h[:] }
	sri := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(m.Uint32())
		}
		return base64.StdEncoding.EncodeToString(b)
	}
	return []string{
		"commit " + m.of(hexes, 40) + "\nAuthor: You <you@example.com>",
		"merge-base " + m.of(hexes, 7) + ".." + m.of(hexes, 12),
		"index " + m.of(hexes, 7) + ".." + m.of(hexes, 7) + " 100644",
		"session " + m.uuid() + " was resumed",
		`{"id":"` + m.uuid() + `","parentId":"` + m.uuid() + `"}`,
		`"toolu_` + m.of(alnum, 24) + `"`,
		"call_" + m.of(alnum, 24) + " answered",
		"msg_01" + m.of(alnum, 22),
		"data:image/png;base64,iVBORw0KGgo" + m.of(std64, 400),
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAA` + m.of(std64, 600) + `"}}`,
		`"integrity": "sha512-` + sri(64) + `"`,
		"golang.org/x/sys v0.49.0 h1:" + base64.StdEncoding.EncodeToString(sum()),
		"golang.org/x/sys v0.49.0/go.mod h1:" + base64.StdEncoding.EncodeToString(sum()),
		`checksum = "` + hex.EncodeToString(sum()) + `"`,
		"sha256:" + hex.EncodeToString(sum()),
		"image: ghcr.io/you/shop@sha256:" + hex.EncodeToString(sum()),
		"resolved \"https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz#" + m.of(hexes, 40) + "\"",
		"ETag: \"" + m.of(hexes, 32) + "\"",
		"OPENAI_API_KEY=<your-key>",
		"export AWS_SECRET_ACCESS_KEY=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"api_key = os.environ[\"ANTHROPIC_API_KEY\"]",
		"const token = process.env.GITHUB_TOKEN",
		"password: ${{ secrets.DB_PASSWORD }}",
		"DATABASE_URL=postgres://user:password@localhost:5432/db",
		"postgres://localhost:5432/shop",
		"Authorization: Bearer $TOKEN",
		"func resetPassword(ctx context.Context, token string) error {",
		"if user.Password == \"\" { return errPasswordRequired }",
		"the secret is to count in cents",
		"tokens: 41200, max_tokens: 8192",
		"input_tokens=1234 output_tokens=567",
		"monkey-patching sk-learn and task-runner",
		"const key = cacheKey(userID, \"" + "recent_sessions_by_project" + "\")",
		"-----BEGIN CERTIFICATE-----\n" + m.of(std64, 64) + "\n-----END CERTIFICATE-----",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + m.of(std64, 43) + " you@host",
		"https://example.com/reset?next=/home&utm_source=mail",
		"0x" + m.of(hexes, 40) + " holds the contract",
		"gAAAAAB" + m.of(url64, 220) + "  # reasoning, encrypted by the provider",
		"//# sourceMappingURL=data:application/json;base64," + base64.StdEncoding.EncodeToString([]byte(`{"version":3,"sources":["a.ts"],"mappings":"AAAA,SAAS"}`)),
		"trace_id=" + m.of(hexes, 32) + " span_id=" + m.of(hexes, 16),
	}
}

func TestHeldKeys(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		m := maker{rand.New(rand.NewPCG(seed, 1))}
		for _, k := range heldKeys(m) {
			got, _ := redact.Text(k.text)
			left := k.secret
			if len(left) > 60 {
				left = left[20:60] // no part of a long secret may stay
			}
			if strings.Contains(got, left) {
				t.Errorf("seed %d: %s stays: %s", seed, k.kind, got)
			}
		}
	}
}

func TestHeldLookAlikes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		m := maker{rand.New(rand.NewPCG(seed, 2))}
		alarms := 0
		for _, text := range lookAlikes(m) {
			if got, matches := redact.Text(text); len(matches) > 0 {
				alarms++
				t.Logf("seed %d: %s: %q became %q", seed, matches[0].Kind, text, got)
			}
		}
		if alarms > 1 {
			t.Errorf("seed %d: %d false alarms, want at most one", seed, alarms)
		}
	}
}
