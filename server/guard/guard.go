// Package guard decides whether an HTTP request is answered at all: whether it is meant for this server, comes from its own
// pages or from a program, knows a token, and is not too long. It knows nothing of what is served.
package guard

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/access"
)

// Guard decides whether a request is answered.
type Guard struct {
	// Local: only this machine reaches the server.
	Local bool
	// Public is how clients reach the server through a proxy or a tunnel; nil is by its address.
	Public *url.URL
	// Secure: clients use TLS.
	Secure bool
	// Certificate is the server's own; nil if it does not speak TLS. Its names are the server's.
	Certificate *x509.Certificate
	// Base is the path below which everything is served.
	Base string
	// Keeper knows which tokens are good; nil lets all in.
	Keeper *Keeper
}

// Refusal is why a request is not answered.
type Refusal struct {
	Status  int
	Message string
	// Wait is when it is worth trying again; 0 if it is not a matter of time.
	Wait time.Duration
	// Grant is that of a token that is no longer good; nil for any other.
	Grant *access.Grant
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Refuse makes a Refusal.
//
//go:noinline // its copies took 5.5 KB
func Refuse(status int, format string, a ...any) error {
	return &Refusal{Status: status, Message: fmt.Sprintf(format, a...)}
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
	pathMost  = 4 << 10
	BodyMost  = 4 << 20
)

// Check refuses requests that are not meant for this server, or not from its own pages.
func (g *Guard) Check(r *http.Request) error {
	if !g.allowsHost(r.Host) {
		return Refuse(http.StatusForbidden, "the host %q is not allowed: a name that leads here may be another site's; "+
			"start the server with --public-url %s://%s%s if it is yours", r.Host, g.scheme(), r.Host, g.Base)
	}
	switch {
	case len(r.URL.RawQuery) > QueryMost:
		return Refuse(http.StatusRequestURITooLong, "the query is longer than %d bytes", QueryMost)
	case len(r.URL.Path) > pathMost:
		return Refuse(http.StatusRequestURITooLong, "the path is longer than %d bytes", pathMost)
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

// scheme is that of URLs of the server.
func (g *Guard) scheme() string {
	if g.Secure {
		return "https"
	}
	return "http"
}

// allowsHost checks the name that a client used. Another site can have its name lead to this machine and would then count
// as the same origin (DNS rebinding); it cannot do so with an address, nor with a name of the certificate.
func (g *Guard) allowsHost(host string) bool {
	if g.Public != nil && strings.EqualFold(host, g.Public.Host) {
		return true
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if g.Certificate != nil && g.Certificate.VerifyHostname(name) == nil {
		return true
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
