package server_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/server"
)

func gunzip(t *testing.T, r io.Reader) string {
	t.Helper()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A name that resolves to this machine may belong to another site. The refusal names it, and the flag that allows it.
func TestHost(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for host, code := range map[string]int{
		"127.0.0.1:7331": 200, "localhost": 200, "localhost:9999": 200, "[::1]:7331": 200, "127.1.2.3": 200,
		"evil.example": 403, "evil.example:7331": 403, "localhost.evil.example": 403, "192.168.1.5:7331": 403, "": 403, "127.0.0.1.evil.example": 403,
	} {
		w := m.ask("GET", "/api/v1/version", "", "Host", host)
		if w.Code != code {
			t.Errorf("host %q: %d", host, w.Code)
		}
		if code == 403 && (!strings.Contains(w.Body.String(), host) || !strings.Contains(w.Body.String(), "--public-url")) {
			t.Errorf("host %q: %s", host, w.Body)
		}
	}
	if !strings.Contains(m.logs.String(), "host=evil.example") {
		t.Error("the refusal is not logged")
	}
	m.must(m.Close())
	m.start(func(o *server.Options) { o.PublicURL = "https://view.example/lines/" })
	for host, code := range map[string]int{"view.example": 200, "VIEW.example": 200, "127.0.0.1": 200, "evil.example": 403} {
		if w := m.ask("GET", "/lines/api/v1/version", "", "Host", host); w.Code != code {
			t.Errorf("with a public URL, host %q: %d", host, w.Code)
		}
	}
	if w := m.ask("GET", "/api/v1/version", ""); w.Code != 404 || !strings.Contains(w.Body.String(), "/lines/") {
		t.Errorf("outside of the base path: %d %s", w.Code, w.Body)
	}
	for _, wrong := range []server.Options{
		{PublicURL: "view.example"}, {PublicURL: "ftp://view.example"}, {PublicURL: "https://a:b@view.example"},
		{BasePath: "lines"}, {BasePath: "/a/../b"}, {BasePath: "/{x}"},
	} {
		wrong.Store, wrong.Host = m.store, "localhost"
		if _, err := server.New(wrong); err == nil {
			t.Errorf("%q %q is accepted", wrong.PublicURL, wrong.BasePath)
		}
	}
}

// A server that other machines reach needs a token, in a header or a cookie.
func TestToken(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, host := range []string{"0.0.0.0", "192.168.1.5", "::", "", "box.example"} {
		if _, err := server.New(server.Options{Store: m.store, Host: host}); !errors.Is(err, server.ErrNeedsToken) {
			t.Errorf("host %q without a token: %v", host, err)
		}
	}
	m.must(m.Close())
	const secret = "correct horse"
	m.start(func(o *server.Options) { o.Host, o.Token, o.Write = "0.0.0.0", secret, true })
	for given, code := range map[string]int{
		"": 401, "Bearer wrong": 401, "Bearer " + secret: 200, "bearer " + secret: 200, "Basic " + secret: 401, "Bearer " + secret + " ": 401, "Bearer": 401,
	} {
		var headers []string
		if given != "" {
			headers = []string{"Authorization", given}
		}
		w := m.ask("GET", "/api/v1/version", "", headers...)
		if w.Code != code {
			t.Errorf("%q: %d %s; want w.Code == %v", given, w.Code, w.Body, code)
		}
		if code == 401 && w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%q: no challenge", given)
		}
	}
	for _, path := range []string{"/", "/metrics", "/api/v1/sessions", "/api/v1/events", "/s/" + beds, "/usage", "/api/v1/openapi.json"} {
		if w := m.ask("GET", path, ""); w.Code != 401 {
			t.Errorf("%s without a token: %d", path, w.Code)
		}
	}
	if w := m.ask("GET", "/healthz", ""); w.Code != 200 || w.Body.String() != "ok\n" {
		t.Errorf("health: %d %s", w.Code, w.Body)
	}
	if w := m.ask("POST", "/api/v1/sessions/"+beds+"/trash", ""); w.Code != 401 {
		t.Errorf("a write without a token: %d", w.Code)
	}
	// An IP address in the Host header cannot belong to another site.
	if w := m.ask("GET", "/healthz", "", "Host", "192.168.1.5:7331"); w.Code != 200 {
		t.Errorf("by address: %d", w.Code)
	}
	if w := m.ask("GET", "/healthz", "", "Host", "evil.example"); w.Code != 403 {
		t.Errorf("by another name: %d", w.Code)
	}
	if strings.Contains(m.logs.String(), secret) {
		t.Error("the token is in the log")
	}
}

// A browser logs in with a form and gets a cookie that scripts cannot use, and other sites only for links.
func TestLogin(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.must(m.Close())
	m.start(func(o *server.Options) { o.Token, o.PublicURL = "secret", "https://view.example/lines" })
	login := func(token, next string) (int, http.Header, string) {
		form := url.Values{"token": {token}, "next": {next}}.Encode()
		w := m.ask("POST", "/lines/login", form, "Content-Type", "application/x-www-form-urlencoded", "Host", "view.example", "Origin", "https://view.example")
		return w.Code, w.Header(), w.Body.String()
	}
	if code, h, _ := login("wrong", "/lines/"); code != 401 || h.Get("Set-Cookie") != "" {
		t.Errorf("wrong token: %d %s", code, h)
	}
	code, h, _ := login("secret", "/lines/usage?x=1")
	cookie := h.Get("Set-Cookie")
	if code != 303 || h.Get("Location") != "/lines/usage?x=1" {
		t.Errorf("login: %d to %q", code, h.Get("Location"))
	}
	for _, want := range []string{"HttpOnly", "SameSite=Lax", "Secure", "Path=/lines/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("no %s in %q", want, cookie)
		}
	}
	if strings.Contains(cookie, "secret") {
		t.Errorf("the token is in the cookie %q", cookie)
	}
	value, _, _ := strings.Cut(cookie, ";")
	if w := m.ask("GET", "/lines/api/v1/version", "", "Cookie", value); w.Code != 200 {
		t.Errorf("with the cookie: %d", w.Code)
	}
	if w := m.ask("GET", "/lines/api/v1/version", "", "Cookie", "treeline=00ff"); w.Code != 401 {
		t.Errorf("with another cookie: %d", w.Code)
	}
	// The form leads to no other site.
	for _, next := range []string{"https://evil.example/", "//evil.example/", "/\\evil.example", "/elsewhere", "javascript:alert(1)", ""} {
		if code, h, _ := login("secret", next); code != 303 || h.Get("Location") != "/lines/" {
			t.Errorf("next %q leads to %q", next, h.Get("Location"))
		}
	}
	w := m.ask("GET", "/lines/", "", "Accept", "text/html")
	if w.Code != 401 || !strings.Contains(w.Body.String(), "<form") || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Errorf("a page without a token: %d %s", w.Code, w.Body)
	}
}

// Pages of other sites neither write nor read. Links from them work.
func TestOrigin(t *testing.T) {
	t.Parallel()
	m := newMachine(t, writing)
	send := func(method string, headers ...string) int {
		t.Helper()
		path, body := "/api/v1/sessions/"+beds+"/label", `{"entry":"b1","label":"x"}`
		if method == "GET" {
			path, body = "/api/v1/sessions/"+beds, ""
		}
		return m.ask(method, path, body, headers...).Code
	}
	for _, tc := range []struct {
		method  string
		headers []string
		code    int
	}{
		{"POST", nil, 200}, // a program
		{"POST", []string{"Origin", "http://127.0.0.1:7331", "Sec-Fetch-Site", "same-origin"}, 200},
		{"POST", []string{"Origin", "http://evil.example"}, 403},
		{"POST", []string{"Origin", "null"}, 403},
		{"POST", []string{"Origin", "http://127.0.0.1:8080"}, 403},
		{"POST", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"POST", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		{"GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		{"GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"GET", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}, 200},
		{"GET", []string{"Origin", "http://evil.example"}, 403},
	} {
		if code := send(tc.method, tc.headers...); code != tc.code {
			t.Errorf("%s %v: %d, want %d", tc.method, tc.headers, code, tc.code)
		}
	}
	// A form of another site cannot send JSON.
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", ""} {
		if w := m.ask("POST", "/api/v1/sessions/"+beds+"/label", `{"entry":"b1","label":"x"}`, "Content-Type", kind); w.Code != 415 {
			t.Errorf("type %q: %d", kind, w.Code)
		}
	}
}

// A body of the wrong shape is refused in terms of JSON, not of Go.
func TestWrongBody(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(o *server.Options) { o.Write = true })
	for body, want := range map[string]string{
		`{"text":1}`: `"text\" cannot be of type number`, `[]`: "(it is of type array)", `{"txt":"x"}`: `unknown field \"txt`, `{`: "unexpected EOF",
	} {
		w := m.ask("POST", "/api/v1/sessions/"+beds+"/entries", body, "Content-Type", "application/json")
		if text := w.Body.String(); w.Code != 400 || !strings.Contains(text, want) || strings.Contains(text, "Go ") {
			t.Errorf(`%s: %d %s; want w.Code == 400, strings.Contains(text, want), not strings.Contains(text, "Go ")`, body, w.Code, text)
		}
	}
}

// Without --write, nothing is written.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	before, err := os.ReadFile(m.at(garden + "beds.jsonl"))
	m.must(err)
	for _, one := range tries("") {
		switch one.op {
		case "append", "branch", "label", "rename", "fork", "trash":
			if w := m.ask("POST", one.path, one.body); w.Code != 403 || !strings.Contains(w.Body.String(), "--write") {
				t.Errorf(`%s: %d %s; want w.Code == 403, strings.Contains(w.Body.String(), "--write")`, one.op, w.Code, w.Body)
			}
		}
	}
	after, err := os.ReadFile(m.at(garden + "beds.jsonl"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the session was changed (%v)", err)
	}
}

// Every answer has the headers that protect browsers.
func TestHeaders(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, path := range []string{"/", "/api/v1/version", "/none", "/healthz", "/metrics", "/s/" + beds} {
		h := m.ask("GET", path, "").Header()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
				"form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s: %q; want h.Get(name) == %v", path, name, h.Get(name), want)
			}
		}
	}
	// An answer to a wrong host has them, too.
	if h := m.ask("GET", "/", "", "Host", "evil.example").Header(); h.Get("X-Content-Type-Options") == "" {
		t.Error("a refusal has no headers")
	}
}

// Blobs are sent with a type from a fixed list, whatever type they claim.
func TestBlobTypes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for content, want := range map[string]string{
		dot: "image/png", "\xff\xd8\xff\xe0 jpeg": "image/jpeg", "GIF89a gif": "image/gif", "RIFF1234WEBPVP8 ": "image/webp",
		"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>": "application/octet-stream",
		"<!doctype html><script>alert(1)</script>":                                "application/octet-stream",
		"%PDF-1.7": "application/octet-stream", "plain": "application/octet-stream",
	} {
		w := m.ask("GET", "/api/v1/sessions/"+beds+"/blobs/"+m.blob(content), "")
		attached := strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment")
		if w.Code != 200 || w.Body.String() != content || w.Header().Get("Content-Type") != want || attached == strings.HasPrefix(want, "image/") {
			t.Errorf("%.20q: %d %s, attached %t", content, w.Code, w.Header().Get("Content-Type"), attached)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "sandbox") {
			t.Errorf(`%.20q: %s; want strings.Contains(csp, "sandbox")`, content, csp)
		}
	}
}

// No part of a request is ever used as a path.
func TestPathTricks(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.put("secret.jsonl", head("secret")+said("x", "", "user", "hidden"))
	for _, path := range []string{
		"/../secret.jsonl", "/api/v1/../../etc/passwd", "/api/v1/sessions/..", "/api/v1/sessions/%2e%2e%2fsecret.jsonl", "/api/v1/sessions/../secret.jsonl",
		"/api/v1/sessions/" + url.PathEscape(m.at("secret.jsonl")), "/api/v1/sessions/" + url.PathEscape(m.at(garden+"beds.jsonl")),
		"/api/v1/sessions/..%5c..%5csecret", "/api/v1/sessions/secret%00", "/api/v1/sessions/@last", "/api/v1/sessions/secret",
		"/s/" + url.PathEscape("../../secret.jsonl"), "/assets/../server.go", "/assets/%2e%2e/x", "//api/v1/version", "/api//v1/version",
		"/api/v1/runs/" + url.PathEscape(m.at("secret.jsonl")), "/api/v1/runs/@last",
		"/api/v1/sessions/" + beds + "/blobs/" + url.PathEscape("../../../secret.jsonl"),
	} {
		if w := m.ask("GET", path, ""); w.Code != 404 || strings.Contains(w.Body.String(), "hidden") {
			t.Errorf(`%s: %d %s; want w.Code == 404, not strings.Contains(w.Body.String(), "hidden")`, path, w.Code, w.Body)
		}
	}
}

// A body that is too large is refused, with and without its length in the header.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	m := newMachine(t, writing)
	large := `{"text":"` + strings.Repeat("a", 5<<20) + `"}`
	if w := m.ask("POST", "/api/v1/sessions/"+beds+"/entries", large); w.Code != 413 {
		t.Errorf("with a length: %d", w.Code)
	}
	r, err := http.NewRequest("POST", m.listen()+"/api/v1/sessions/"+beds+"/entries", struct{ io.Reader }{strings.NewReader(large)})
	m.must(err)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	m.must(err)
	m.must(res.Body.Close())
	if res.StatusCode != 413 {
		t.Errorf("in chunks: %d", res.StatusCode)
	}
}
