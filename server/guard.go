package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// guard decides whether a request is answered at all.
type guard struct {
	local  bool     // only this machine reaches the server
	public *url.URL // nil: none
	secure bool     // clients use TLS
	base   string
	token  token
}

// refusal is why a request is not answered.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

func refuse(status int, format string, a ...any) error {
	return &refusal{status, fmt.Sprintf(format, a...)}
}

// protect sets what every answer says to browsers: nothing is loaded from elsewhere, nothing inline runs, no other site
// frames or reads it.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Encoding, Cookie, Authorization")
}

// limits on what a request says.
const (
	queryMost = 8 << 10
	pathMost  = 4 << 10
	bodyMost  = 4 << 20
)

// check refuses requests that are not meant for this server, or not from its own pages.
func (g *guard) check(r *http.Request) error {
	if !g.allowsHost(r.Host) {
		return refuse(http.StatusForbidden, "the host %q is not allowed: a name that leads here may be another site's; "+
			"start the server with --public-url http://%s%s if it is yours", r.Host, r.Host, g.base)
	}
	switch {
	case len(r.URL.RawQuery) > queryMost:
		return refuse(http.StatusRequestURITooLong, "the query is longer than %d bytes", queryMost)
	case len(r.URL.Path) > pathMost:
		return refuse(http.StatusRequestURITooLong, "the path is longer than %d bytes", pathMost)
	case !plainPath(r.URL.Path):
		return refuse(http.StatusNotFound, "there is nothing at this path")
	}
	return g.checkOrigin(r)
}

// plainPath reports whether a path means itself: it does not climb, and has no empty parts.
func plainPath(p string) bool {
	clean := path.Clean(p)
	return p != "" && p[0] == '/' && (clean == p || clean+"/" == p) && !strings.ContainsAny(p, "\\\x00")
}

// allowsHost checks the name that a client used. Another site can have its name lead to this machine and would then count
// as the same origin (DNS rebinding); it cannot do so with an address.
func (g *guard) allowsHost(host string) bool {
	if g.public != nil && strings.EqualFold(host, g.public.Host) {
		return true
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if g.local {
		return isLoopback(name)
	}
	return isLoopback(name) || net.ParseIP(strings.Trim(name, "[]")) != nil
}

// checkOrigin refuses what another site's page asks for. A link that a person follows is allowed, and so are programs, which
// send neither header.
func (g *guard) checkOrigin(r *http.Request) error {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	from := r.Header.Get("Sec-Fetch-Site")
	switch {
	case from == "", from == "same-origin", from == "none":
	case reads && r.Header.Get("Sec-Fetch-Mode") == "navigate":
	default:
		return refuse(http.StatusForbidden, "a page of another site may not ask for this (Sec-Fetch-Site: %.40s)", from)
	}
	origin := r.Header.Get("Origin")
	if origin == "" || reads && from != "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) && (g.public == nil || !strings.EqualFold(u.Host, g.public.Host)) {
		return refuse(http.StatusForbidden, "a page of another site may not ask for this (Origin: %.100s)", origin)
	}
	return nil
}

// token is what clients must know. It is compared by its hash, so that neither its content nor its length shows in the time.
type token struct {
	set    bool
	sum    [sha256.Size]byte
	cookie [sha256.Size]byte
}

// cookieName is the cookie of browsers. Its value is made of the token and is not the token itself.
const cookieName = "treeline"

func newToken(text string) token {
	t := token{set: text != "", sum: sha256.Sum256([]byte(text))}
	m := hmac.New(sha256.New, []byte(text))
	m.Write([]byte("cookie of the viewer"))
	m.Sum(t.cookie[:0])
	return t
}

func (t *token) is(text string) bool {
	sum := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1
}

func (t *token) isCookie(text string) bool {
	value, err := hex.DecodeString(text)
	return err == nil && subtle.ConstantTimeCompare(value, t.cookie[:]) == 1
}

// admit checks the token of a request.
func (g *guard) admit(r *http.Request) error {
	if !g.token.set {
		return nil
	}
	if given := r.Header.Get("Authorization"); given != "" {
		if kind, text, _ := strings.Cut(given, " "); strings.EqualFold(kind, "Bearer") && g.token.is(text) {
			return nil
		}
		return refuse(http.StatusUnauthorized, "the token is wrong")
	}
	if c, err := r.Cookie(cookieName); err == nil && g.token.isCookie(c.Value) {
		return nil
	}
	return refuse(http.StatusUnauthorized, "a token is needed: send it as \"Authorization: Bearer TOKEN\", or log in")
}

// remember gives the cookie of a browser that knows the token.
func (g *guard) remember() *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: hex.EncodeToString(g.token.cookie[:]), Path: g.base + "/", HttpOnly: true, Secure: g.secure,
		SameSite: http.SameSiteStrictMode, MaxAge: 30 * 24 * 3600,
	}
}
