package redact

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
)

// lookalikes are texts that are not secrets: hashes, ids, images, lock files, code, and placeholders in documentation.
func lookalikes() []string {
	r := rand.New(rand.NewPCG(5, 6))
	const b64, hex = `A-Za-z0-9+/`, `\h`
	uuid := of(r, hex, 8) + "-" + of(r, hex, 4) + "-4" + of(r, hex, 3) + "-a" + of(r, hex, 3) + "-" + of(r, hex, 12)
	image := make([]byte, 200_000)
	for i := range image {
		image[i] = byte(r.Uint32())
	}
	return []string{
		"commit " + of(r, hex, 40), of(r, hex, 64), "index " + of(r, hex, 7) + ".." + of(r, hex, 7) + " 100644", "md5: " + of(r, hex, 32), "sha256:" + of(r, hex, 64),
		uuid, `"sessionId":"` + uuid + `"`, "request_id=" + uuid, "trace-id: " + of(r, hex, 32), `"id":"toolu_01` + of(r, `A-Za-z0-9`, 22) + `"`, `"id":"msg_01` + of(r, `A-Za-z0-9`, 22) + `"`,
		`"id":"call_` + of(r, `A-Za-z0-9`, 24) + `"`, `"signature":"` + of(r, b64, 400) + `=="`, `"encrypted_content":"gAAAAA` + of(r, `\w`, 400) + `"`,
		"data:image/png;base64," + base64.StdEncoding.EncodeToString(image), base64.URLEncoding.EncodeToString(image[:5000]),
		`"integrity": "sha512-` + of(r, b64, 86) + `=="`, "integrity sha1-" + of(r, b64, 27) + "=", "golang.org/x/sys v0.30.0 h1:" + of(r, b64, 43) + "=", `checksum = "` + of(r, hex, 64) + `"`,
		"resolved https://registry.npmjs.org/@babel/core/-/core-7.26.0.tgz#" + of(r, hex, 40), `hash = "sha256:` + of(r, hex, 64) + `"`, "  sha256: " + of(r, hex, 64),
		`{"_resolved":"https://registry.yarnpkg.com/a/-/a-1.0.0.tgz","_shasum":"` + of(r, hex, 40) + `"}`, "cache-key: v1-" + of(r, hex, 40), "etag: W/\"" + of(r, hex, 32) + "\"",
		"AKIAIOSFODNN7EXAMPLE", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sk-XXXXXXXXXXXXXXXXXXXXXXXX", "sk-your-api-key-goes-in-this-place",
		"API_KEY=<your-key>", "API_KEY=your_api_key_here", "API_KEY=xxx", "TOKEN=$TOKEN", "TOKEN=${GITHUB_TOKEN}", "token: ${{ secrets.GITHUB_TOKEN }}", "apiKey: process.env.OPENAI_API_KEY,", "api_key=os.environ[\"OPENAI_API_KEY\"]",
		"password: string", "password: str = None", `"password": "password"`, "PASSWORD=changeme", "password = req.body.password", "const token = await getAccessToken(user1)", "token := os.Getenv(\"TOKEN\")",
		`password: "Enter your password"`, `"password": "Mot de passe"`, `type="password" name="password2"`, "password_reset_token_expires_at: 2026-01-02T03:04:05Z", "max_tokens: 4096", `"total_tokens":123456`, `"cache_read_input_tokens":123456789`,
		"next_page_token: CAUQAAoQCgYIBRIC1234", "tokenizer=gpt2-medium-v1-2024", "primary_key: a1b2c3d4e5f6a7b8c9d0", "public_key: " + of(r, b64, 43) + "=", "secret_name: prod-db-secret-2024", "token_type: Bearer",
		"postgres://user:password@localhost:5432/db", "postgres://postgres:postgres@localhost/app", "mysql://user:${DB_PASS}@host/db", "mongodb://<user>:<password>@host", "https://user:****@host/", "https://example.com:8080/@scope/pkg",
		"http://localhost:3000/@fs/home/x", "git@github.com:acme/repo.git", "https://medium.com/@bob/a-post-" + of(r, hex, 12), "redis://localhost:6379/0", "ssh://git@host:22/x",
		"Authorization: Bearer <token>", "Authorization: Bearer $TOKEN", "Authorization: `Bearer ${token}`", `headers["Authorization"] = "Bearer " + token`, "Bearer authentication is required", "a bearer token with scopes", "Basic usage: see below",
		"Basic authentication", "Cookie: theme=dark; lang=en", "Set-Cookie: a=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "cookie: ${cookie}", "cookies = requests.cookies.get_dict()",
		"-----BEGIN PUBLIC KEY-----\n" + of(r, b64, 64) + "\n-----END PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----\n" + of(r, b64, 64) + "\n-----END CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + of(r, b64, 43) + " bob@host", "SHA256:" + of(r, b64, 43), "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", "https://hooks.slack.com/services/YOUR/WEBHOOK/URL",
		"the password is required", "password is base64-encoded", "Password must be 12 characters", "tests pass: 12", "pass: 42, fail: 0", "pwd=/home/bob/src/app2", "PWD=/home/bob/src/app2", "OLDPWD=/tmp/x1", "api-key-manager-v2-service", "sk-cube-grid sk-folding-cube-animation",
		"docker run -u 1000:1000 img", "curl -u $USER:$PASS https://x", "mkdir -p foo/bar2", "mysql -p", "task-12345678901234567890", "risk-assessment-2024-07-18-final", "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-a1b2c3", "token=[redacted: token]", "password: [redacted: password]", "secretKeyRef: {name: db, key: password}",
		"key-value pairs", "keyboard: qwerty123456", "private_key_path = /etc/ssl/private/host1.key", "PASSWORD_FILE=/run/secrets/db1", "DB_PASSWORD_FILE=/run/secrets/db_password1", "POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:-postgres}", "access_token: string;", "if (token !== expectedToken1) {",
		"data-testid=\"token-input-1234567890abcdef\"", "npm_config_registry=https://registry.npmjs.org", "npm_package_name", "hf_hub_download", "xoxb-your-token", "SG.xxxxxxxx.yyyyyyyy", "eyJhbGciOiJIUzI1NiJ9", "AIzaSyYOUR_API_KEY_GOES_HERE_XXXXXXXXX",
		"version 1.2.3.abcdef.ghijklmnopqrstuvwxyzabcdefghijkl", "foo.bar123.bazquxquuxcorgegraultgarplywaldo", "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKmrcN", "0x" + of(r, hex, 40), "bc1q" + of(r, `a-z0-9`, 38), "arn:aws:iam::123456789012:role/x", "zobSecret = /^flush3Kelo9/;", "push({ a, zobSecret: flushSchema.kifigo ?? b })", `token === "timerLengthDecoder"`, `{ queueToken: "buildStreamWorker", n: 2 }`,
	}
}

// TestLookalikes: nothing of them is redacted.
func TestLookalikes(t *testing.T) {
	for _, text := range lookalikes() {
		if _, found := Text(text); len(found) > 0 {
			t.Errorf("%.100q: %s %.100q; want len(found) <= 0", text, found[0].Kind, text[found[0].Start:found[0].End])
		}
	}
}

// TestHostile: a text made of beginnings of keys takes about as long as any other. Quadratic time would be minutes.
func TestHostile(t *testing.T) {
	for _, piece := range []string{
		"sk-", "sk--", "eyJ.", "ya29.", "://", "-----BEGIN PRIVATE KEY-----\n", "password=", "token:", "cookie: a=b;", "Authorization: Bearer ", "AKIA", "hvs.hvs.", "secret ", "mnemonic: a ", "curl -u ", "x.abcdef.", "://a:", "\\\\", "pypi-AgEI", "key", "postgres://u:/",
	} {
		Find(strings.Repeat(piece, 200_000/len(piece)))
	}
}
