// Package remote keeps logs on a treeline server, over HTTPS.
//
// The URL is that of the server, https://host or https://host/base, without a user, a query or a fragment. http:// is only for servers on
// this machine: elsewhere the token and the sessions could be read on the way. The server's archive (see backend.Driver) has logs of many
// machines; OpenOptions.Below names the folder that a Backend shows. Package protocol describes the requests.
//
// # Connections
//
// A request is answered on a connection of its own, which is then reused for another one: HTTP/1.1, so that a large body does not delay
// other requests. Redirects are refused: the token is for one host. Bodies are compressed with zstd unless the server is on this machine.
//
// # Lost connections
//
// A read that is cut off continues where it was. A mutation whose answer was lost is sent again. If the log is then not what the caller
// saw, its bytes decide whether the first attempt was carried out. Another writer that wrote the same bytes to the same place in that
// moment cannot be told apart. A server that was never reached is an error at once; one that was reached before is tried for some time
// (Options.Patience).
//
// # Reading
//
// Only what is read is transferred: both ends of a log for lists, windows of it for random access. A Reader can still read a log that was
// replaced or removed as long as the server holds it open, which is for minutes; then it returns ErrChanged.
package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
)

// Options say how a driver reaches servers.
type Options struct {
	// Token returns the token for a host, with its port if the URL names one; "" means none. nil is Tokens of the environment, without a
	// file.
	Token func(host string) (string, error)
	// Roots are the certificate authorities that are accepted; nil means the system's.
	Roots *x509.CertPool
	// Patience is how long a call tries to reach a server that it had reached before; 0 is 30 seconds.
	Patience time.Duration
	// Silence is how long a server may say nothing in the middle of an answer; 0 is one minute.
	Silence time.Duration
}

// Drivers returns the drivers for the schemes https and http.
func Drivers(opt Options) []backend.Driver {
	all := &cores{opt: opt, open: map[string]*core{}}
	open := func(root string, open backend.OpenOptions) (backend.Backend, error) { return all.view(root, open) }
	return []backend.Driver{
		{Name: "remote", Scheme: "https", Archive: true, Split: Split, Shown: Shown, Open: open},
		{Name: "remote", Scheme: "http", Archive: true, Split: Split, Shown: Shown, Open: open},
	}
}

// Shown returns the URL of a server as paths of its logs begin, or an error if it is not such a URL.
func Shown(root string) (string, error) {
	u, err := parse(root)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// isOrigin distinguishes an origin from a base path: an origin ends in a hyphen and eight hex digits.
func isOrigin(name string) bool {
	i := len(name) - 9
	return i > 0 && name[i] == '-' && strings.Trim(name[i:], "0123456789abcdef") == "-"
}

// Split splits the URL of a folder of an archive into the URL of the server and the folder, which begins with an origin.
func Split(address string) (root, below string, err error) {
	u, err := parse(address)
	if err != nil {
		return "", "", err
	}
	parts := strings.Split(u.Path, "/")
	if i := slices.IndexFunc(parts, isOrigin); i >= 0 {
		u.Path, below = strings.Join(parts[:i], "/"), strings.Join(parts[i:], "/")
	}
	return u.String(), below, nil
}

// parse parses and checks the URL of a server. No error repeats a password.
func parse(root string) (*url.URL, error) {
	u, err := url.Parse(root)
	switch {
	case err != nil:
		return nil, errors.New("the URL of the server cannot be read: it must be like https://host")
	case u.User != nil:
		return nil, fmt.Errorf("%s://%s: a URL must not have a user or a password: a token is kept elsewhere", u.Scheme, u.Host)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Hostname() == "":
		return nil, fmt.Errorf("%.80q is no URL of a server: it must be like https://host", root)
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, fmt.Errorf("%s://%s: the URL of a server has no ? or #", u.Scheme, u.Host)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("http://%s: sessions and the token could be read on the network: use https, or a tunnel to a port of this machine", u.Host)
	}
	u.Host = strings.ToLower(u.Host)
	u.Path = strings.TrimSuffix(u.Path, "/")
	if u.Path != "" && path.Clean(u.Path) != u.Path {
		return nil, fmt.Errorf("%s://%s: its path is not a plain one", u.Scheme, u.Host)
	}
	return u, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// cores are the open servers of the drivers, by their URLs.
type cores struct {
	opt Options

	mu   sync.Mutex
	open map[string]*core
}

// core is the state that the views of one server share.
type core struct {
	opt     Options
	base    *url.URL
	token   string
	http    *http.Client
	packs   bool        // bodies are compressed
	reached atomic.Bool // the server has answered
	after   func(time.Duration) <-chan time.Time

	views int // guarded by cores.mu
}

// Backend is a folder of a server's archive. It connects when it is used first.
type Backend struct {
	*core
	prefix string // "", or the folder with a slash
	opt    backend.OpenOptions
	closed atomic.Bool
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	leave  func()
	unsure unsure
}

// Open opens a server. It makes no connection yet.
func Open(root string, opt Options, open backend.OpenOptions) (*Backend, error) {
	return (&cores{opt: opt, open: map[string]*core{}}).view(root, open)
}

// view opens a view, and its server if no other view has it open.
func (cs *cores) view(root string, open backend.OpenOptions) (*Backend, error) {
	if err := open.Durability.Check(); err != nil {
		return nil, err
	}
	u, err := parse(root)
	if err == nil && open.Writer.Limited {
		err = fmt.Errorf("%s: a limited writer: %w", root, errors.ErrUnsupported) // the server decides which of its writers are limited
	}
	if err != nil {
		return nil, err
	}
	b := &Backend{opt: open}
	if open.Below != "" {
		if err := backend.CheckName(open.Below); err != nil {
			return nil, err
		}
		b.prefix = open.Below + "/"
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	key := u.String()
	if cs.open[key] == nil {
		if cs.open[key], err = newCore(u, cs.opt); err != nil {
			delete(cs.open, key)
			return nil, err
		}
	}
	c := cs.open[key]
	c.views++
	b.core = c
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.leave = func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if c.views--; c.views == 0 {
			delete(cs.open, key)
			c.http.CloseIdleConnections()
		}
	}
	return b, nil
}

// connections is how many connections stay open for later requests.
const connections = 32

func newCore(u *url.URL, opt Options) (*core, error) {
	if opt.Patience == 0 {
		opt.Patience = 30 * time.Second
	}
	if opt.Silence == 0 {
		opt.Silence = time.Minute
	}
	token := opt.Token
	if token == nil {
		token = Tokens(os.Getenv, "")
	}
	c := &core{opt: opt, base: u, packs: !loopback(u.Hostname()), after: time.After}
	var err error
	if c.token, err = token(u.Host); err != nil {
		return nil, err
	}
	c.token = strings.TrimSpace(c.token)
	c.http = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second,
			TLSClientConfig:     &tls.Config{RootCAs: opt.Roots, MinVersion: tls.VersionTLS12},
			MaxIdleConnsPerHost: connections, MaxIdleConns: connections, IdleConnTimeout: 90 * time.Second,
			ResponseHeaderTimeout: 5 * time.Minute, // a large log may take a while to be stored
			ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
			WriteBufferSize: 64 << 10, ReadBufferSize: 64 << 10,
		},
	}
	return c, nil
}

// full returns the name of a log in the archive.
func (b *Backend) full(name string) string { return b.prefix + name }

// begin makes the checks of a method that only reads. The context ends with the Backend too; call done after the last use.
func (b *Backend) begin(ctx context.Context, name string) (_ context.Context, done func(), err error) {
	if err := backend.Begin(ctx, b.closed.Load(), name); err != nil {
		return ctx, func() {}, err
	}
	return b.until(ctx)
}

// until returns a context that ends with the Backend too.
func (b *Backend) until(ctx context.Context) (context.Context, func(), error) {
	if b.closed.Load() {
		return ctx, func() {}, backend.ErrClosed
	}
	both, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.ctx, func() { cancel(backend.ErrClosed) })
	return both, func() { stop(); cancel(nil) }, nil
}

// change is begin for a mutation.
func (b *Backend) change(ctx context.Context, name string) (context.Context, func(), error) {
	ctx, done, err := b.begin(ctx, name)
	if err == nil && b.opt.ReadOnly {
		done()
		return ctx, func() {}, fmt.Errorf("%s: %w", name, backend.ErrReadOnly)
	}
	return ctx, done, err
}

// Close implements backend.Backend.
func (b *Backend) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.cancel()
	b.tasks.Wait()
	b.leave()
	return nil
}

// Identity implements backend.Identified.
func (b *Backend) Identity(ctx context.Context) (string, error) {
	ctx, done, err := b.until(ctx)
	defer done()
	if err != nil {
		return "", err
	}
	var id protocol.Identity
	err = b.json(ctx, ask{path: protocol.Logs + "/identity"}, &id)
	return id.ID, err
}
