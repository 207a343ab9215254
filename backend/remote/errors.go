package remote

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrToken: the server needs a token, or the token is not valid.
	ErrToken = errors.New("no valid token")
	// ErrForbidden: the token does not allow it.
	ErrForbidden = backend.ErrForbidden
	// ErrNotServer: what answers is not a treeline server with an archive, or is an older one.
	ErrNotServer = errors.New("no treeline server with an archive answers there")
)

// refusal is an error that the server sent. kind is the sentinel error that it stands for.
type refusal struct {
	text string
	kind error
}

// Error returns the message of the server.
func (e *refusal) Error() string { return e.text }

// Unwrap returns the kind.
func (e *refusal) Unwrap() error { return e.kind }

// lost is an attempt that failed on the way: another one can succeed. sent: the server may have carried it out.
type lost struct {
	err  error
	sent bool
}

func (e *lost) Error() string { return e.err.Error() }
func (e *lost) Unwrap() error { return e.err }

// textMost is the longest text of a server that is shown.
const textMost = 1 << 10

// plain makes a text of a server safe to show on a terminal.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > textMost {
		text = strings.ToValidUTF8(text[:textMost], "") + "…"
	}
	return strings.TrimSpace(text)
}

// plain returns a text of the server without the token that was sent to it.
func (c *core) plain(text string) string {
	if c.token != "" {
		text = strings.ReplaceAll(text, c.token, "[token]")
	}
	return plain(text)
}

// message reads the message of an error; "" if the error is not one of treeline's.
func (c *core) message(r io.Reader) string {
	all, err := io.ReadAll(io.LimitReader(r, 64<<10))
	if err != nil {
		return ""
	}
	var failure struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(all, &failure) != nil {
		return ""
	}
	return c.plain(failure.Error.Message)
}

// refused returns the error for an answer other than 200. It does not close the body.
func (c *core) refused(res *http.Response) error {
	host, text := c.base.Host, c.message(res.Body)
	ours := res.Header.Get(protocol.Version) != ""
	if kind := protocol.ErrorOf(res.Header.Get(protocol.Error)); ours && kind != nil {
		if text == "" {
			text = kind.Error()
		}
		return &refusal{text, kind}
	}
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		to := c.plain(res.Header.Get("Location"))
		return fmt.Errorf("%s leads to %q, which is not followed, since the token is for one server only: give that URL if it is right: %w", host, to, ErrNotServer)
	case res.StatusCode == http.StatusUnauthorized && c.token == "":
		return fmt.Errorf("%s: %w: the server needs one, and none is set", host, ErrToken)
	case res.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s: %w: it is wrong, expired or revoked", host, ErrToken)
	case res.StatusCode == http.StatusForbidden && text != "":
		return &refusal{host + ": " + text, ErrForbidden}
	case res.StatusCode == http.StatusBadGateway, res.StatusCode == http.StatusServiceUnavailable, res.StatusCode == http.StatusGatewayTimeout:
		if text == "" {
			text = res.Status
		}
		return &lost{fmt.Errorf("%s: %s", host, c.plain(text)), true}
	case ours && res.StatusCode == http.StatusNotFound:
		return &refusal{host + ": " + text, ErrNotServer}
	case text != "" && (ours || res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed):
		return fmt.Errorf("%s: %s", host, text)
	case text != "":
		return fmt.Errorf("%s%s: %w: the path is another one, or the server is of an older version", host, c.base.Path, ErrNotServer)
	}
	return c.stranger(res)
}

// stranger returns the error for an answer that no treeline server gives.
func (c *core) stranger(res *http.Response) error {
	if c.base.Scheme == "http" && res.StatusCode == http.StatusBadRequest {
		return fmt.Errorf("%s: %w: it may speak TLS: use https", c.base.Host, ErrNotServer)
	}
	return fmt.Errorf("%s%s: %w (it answers %s, %.60q)", c.base.Host, c.base.Path, ErrNotServer, c.plain(res.Status), c.plain(res.Header.Get("Content-Type")))
}

// failed returns why an attempt got no answer.
func (c *core) failed(err error) error {
	host := c.base.Host
	var wrong *url.Error
	if errors.As(err, &wrong) {
		err = wrong.Err // its text repeats the whole URL
	}
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var noTLS tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return fmt.Errorf("%s: its certificate is valid from %s to %s, and now it is %s: %w", host, invalid.Cert.NotBefore.Format(time.DateOnly),
			invalid.Cert.NotAfter.Format(time.DateOnly), time.Now().Format(time.DateOnly), err)
	case errors.As(err, &unknown):
		return fmt.Errorf("%s: its certificate is signed by an authority that this machine does not know (SSL_CERT_FILE can name a file with more): %w", host, err)
	case errors.As(err, &other):
		return fmt.Errorf("%s: its certificate is for another host: %w", host, err)
	case errors.As(err, &invalid), errors.As(err, &alert):
		return fmt.Errorf("%s: TLS: %w", host, err)
	case errors.As(err, &noTLS):
		return fmt.Errorf("%s: it does not speak TLS: %w", host, ErrNotServer)
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Errorf("%s: it does not speak TLS: %w", host, ErrNotServer)
	case strings.Contains(err.Error(), "malformed HTTP"):
		return fmt.Errorf("%s: %w: it does not speak HTTP", host, ErrNotServer)
	}
	var dial *net.OpError
	unsent := errors.As(err, &dial) && dial.Op == "dial"
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // io.EOF would be the end of a log
	}
	var unknownHost *net.DNSError
	switch {
	case unsent && errors.As(err, &unknownHost) && unknownHost.Name == c.base.Hostname():
		err = errors.New(unknownHost.Err) // the text of the whole error repeats the host
	case unsent && dial.Addr != nil && dial.Addr.String() == host:
		err = dial.Err
	}
	return &lost{fmt.Errorf("%s cannot be reached: %w", host, err), !unsent}
}
