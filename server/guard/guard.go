// Package guard decides whether an HTTP request is answered at all: whether it is meant for this server, comes from its own
// pages or from a program, knows the token, and is not too long. It knows nothing of what is served.
package guard

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

// Guard decides whether a request is answered.
type Guard struct {
	// Local: only this machine reaches the server.
	Local bool
	// Public is how clients reach the server through a proxy or a tunnel; nil is by its address.
	Public *url.URL
	// Secure: clients use TLS.
	Secure bool
	// Base is the path below which everything is served.
	Base string
	// Token is what clients must know; the zero Token lets all in.
	Token Token
}

// Refusal is why a request is not answered.
type Refusal struct {
	Status  int
	Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Refuse makes a Refusal.
func Refuse(status int, format string, a ...any) error {
	return &Refusal{status, fmt.Sprintf(format, a...)}
}

// Protect sets what every answer says to browsers: nothing is loaded from elsewhere, nothing inline runs, no other site
// frames or reads it.
func Protect(h http.Header) {
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

// Limits on what a request says, in bytes. Check does not look at the body.
const (
	QueryMost = 8 << 10
	PathMost  = 4 << 10
	BodyMost  = 4 << 20
)

// Check refuses requests that are not meant for this server, or not from its own pages.
func (g *Guard) Check(r *http.Request) error {
	if !g.allowsHost(r.Host) {
		return Refuse(http.StatusForbidden, "the host %q is not allowed: a name that leads here may be another site's; "+
			"start the server with --public-url http://%s%s if it is yours", r.Host, r.Host, g.Base)
	}
	switch {
	case len(r.URL.RawQuery) > QueryMost:
		return Refuse(http.StatusRequestURITooLong, "the query is longer than %d bytes", QueryMost)
	case len(r.URL.Path) > PathMost:
		return Refuse(http.StatusRequestURITooLong, "the path is longer than %d bytes", PathMost)
	case !PlainPath(r.URL.Path):
		return Refuse(http.StatusNotFound, "there is nothing at this path")
	}
	return g.checkOrigin(r)
}

// PlainPath reports whether a path means itself: it does not climb, and has no empty parts.
func PlainPath(p string) bool {
	clean := path.Clean(p)
	return p != "" && p[0] == '/' && (clean == p || clean != "/" && clean+"/" == p) && !strings.ContainsAny(p, "\\\x00")
}

// IsLoopback reports whether only programs of this machine reach a host.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// allowsHost checks the name that a client used. Another site can have its name lead to this machine and would then count
// as the same origin (DNS rebinding); it cannot do so with an address.
func (g *Guard) allowsHost(host string) bool {
	if g.Public != nil && strings.EqualFold(host, g.Public.Host) {
		return true
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if g.Local {
		return IsLoopback(name)
	}
	return IsLoopback(name) || net.ParseIP(strings.Trim(name, "[]")) != nil
}

// checkOrigin refuses what another site's page asks for. A link that a person follows is allowed, and so are programs, which
// send neither header.
func (g *Guard) checkOrigin(r *http.Request) error {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	from := r.Header.Get("Sec-Fetch-Site")
	switch {
	case from == "", from == "same-origin", from == "none":
	case reads && r.Header.Get("Sec-Fetch-Mode") == "navigate":
	default:
		return Refuse(http.StatusForbidden, "a page of another site may not ask for this (Sec-Fetch-Site: %.40s)", from)
	}
	origin := r.Header.Get("Origin")
	if origin == "" || reads && from != "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) && (g.Public == nil || !strings.EqualFold(u.Host, g.Public.Host)) {
		return Refuse(http.StatusForbidden, "a page of another site may not ask for this (Origin: %.100s)", origin)
	}
	return nil
}

// Token is what clients must know. It is compared by its hash, so that neither its content nor its length shows in the time.
type Token struct {
	set    bool
	sum    [sha256.Size]byte
	cookie [sha256.Size]byte
}

// CookieName is the cookie of browsers. Its value is made of the token and is not the token itself.
const CookieName = "treeline"

// NewToken gives the token of a text; "" is none.
func NewToken(text string) Token {
	t := Token{set: text != "", sum: sha256.Sum256([]byte(text))}
	m := hmac.New(sha256.New, []byte(text))
	m.Write([]byte("cookie of the viewer"))
	m.Sum(t.cookie[:0])
	return t
}

// Set reports whether there is one.
func (t *Token) Set() bool { return t.set }

// Is compares a text with the token.
func (t *Token) Is(text string) bool {
	sum := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1
}

func (t *Token) isCookie(text string) bool {
	value, err := hex.DecodeString(text)
	return err == nil && subtle.ConstantTimeCompare(value, t.cookie[:]) == 1
}

// Admit checks the token of a request.
func (g *Guard) Admit(r *http.Request) error {
	if !g.Token.set {
		return nil
	}
	if given := r.Header.Get("Authorization"); given != "" {
		if kind, text, _ := strings.Cut(given, " "); strings.EqualFold(kind, "Bearer") && g.Token.Is(text) {
			return nil
		}
		return Refuse(http.StatusUnauthorized, "the token is wrong")
	}
	if c, err := r.Cookie(CookieName); err == nil && g.Token.isCookie(c.Value) {
		return nil
	}
	return Refuse(http.StatusUnauthorized, "a token is needed: send it as \"Authorization: Bearer TOKEN\", or log in")
}

// Remember gives the cookie of a browser that knows the token.
func (g *Guard) Remember() *http.Cookie {
	return &http.Cookie{
		Name: CookieName, Value: hex.EncodeToString(g.Token.cookie[:]), Path: g.Base + "/", HttpOnly: true, Secure: g.Secure,
		SameSite: http.SameSiteStrictMode, MaxAge: 30 * 24 * 3600,
	}
}
