// Package guard decides whether an HTTP request is answered at all: it must be meant for this server, come from its own pages or from a
// program, have a valid token, and not be too long. The package does not know what is served.
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
	// Local reports whether only this machine reaches the server.
	Local bool
	// Public is the server's URL behind a proxy or a tunnel; nil means that clients use the address that it listens on.
	Public *url.URL
	// Secure reports whether clients use TLS.
	Secure bool
	// Certificate is the server's certificate, or nil if it does not speak TLS itself. Clients may use the names in it as the host.
	Certificate *x509.Certificate
	// Base is the path below which everything is served.
	Base string
	// Keeper checks tokens; nil lets all clients in.
	Keeper *Keeper
}

// Refusal is the error of a request that is not answered.
type Refusal struct {
	Status  int
	Message string
	// Wait is how long to wait before another attempt; 0 if waiting does not help.
	Wait time.Duration
	// Grant belongs to a token that is no longer valid; nil for any other refusal.
	Grant *access.Grant
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Refuse returns a Refusal.
//
//go:noinline // its copies took 5.5 KB
func Refuse(status int, format string, a ...any) error {
	return &Refusal{Status: status, Message: fmt.Sprintf(format, a...)}
}

// Protect sets the headers that restrict browsers: they load nothing from elsewhere, run nothing inline, and let no other site frame or
// read the answer.
func Protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with "no-referrer" a browser sends "Origin: null" with our own forms
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Encoding, Cookie, Authorization")
}

// Limits on parts of a request, in bytes. Check does not look at the body.
const (
	QueryMost = 8 << 10
	pathMost  = 4 << 10
	BodyMost  = 4 << 20
)

// Check refuses requests that are not meant for this server or come from another site's pages.
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

// PlainPath reports whether a path is in its shortest form: it has no "..", "." or empty parts.
func PlainPath(p string) bool {
	clean := path.Clean(p)
	return p != "" && p[0] == '/' && (clean == p || clean != "/" && clean+"/" == p) && !strings.ContainsAny(p, "\\\x00")
}

// IsLoopback reports whether only programs on this machine reach a host.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// scheme returns the scheme of the server's URLs.
func (g *Guard) scheme() string {
	if g.Secure {
		return "https"
	}
	return "http"
}

// allowsHost checks the host name that a client used. Another site can make its name resolve to this machine, and would then have the same
// origin (DNS rebinding); it cannot do so with an IP address, nor with a name in the certificate.
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

// checkOrigin refuses requests of another site's pages. It allows links that a person follows, and programs, which send neither header.
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
