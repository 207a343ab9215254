package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/server/feed"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/logs"
	"github.com/treeline-dev/treeline/server/reply"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// Options say what is served, and who may use it.
type Options struct {
	// Store is what is served. The caller closes it after the server.
	Store *treeline.Store
	// Archive has the logs that other machines push and pull; nil serves none. ArchiveAs returns the archive for a writer, whose name is
	// recorded with each write. If ArchiveAs is nil, Archive is used, and tokens that are limited to projects may not write to it. The
	// caller closes the archive after the server.
	Archive   backend.Backend
	ArchiveAs func(writer backend.Writer) (backend.Backend, error)
	// Host is the host that the server listens on. If it is not a loopback address, a Token or Access is needed.
	Host string
	// Token is the token that allows everything; "" means none.
	Token string
	// Access has the tokens of users and what each of them may do; nil means none. Without Access and Token, all clients are let in. Every
	// write is recorded in it. The caller closes it after the server.
	Access access.Book
	// Write allows operations that change sessions to clients whose token allows writing. Writing has the options of these writes.
	Write   bool
	Writing store.WriteOptions
	// PublicURL is the server's URL behind a proxy or a tunnel; "" means the address that it listens on. Its path is the base path.
	PublicURL string
	// BasePath is the path below which everything is served; "" is the path of PublicURL, or the root.
	BasePath string
	// Certificate is the server's certificate if it speaks TLS itself, and otherwise nil. Clients may use the names in it as the host.
	Certificate *x509.Certificate
	// Home is the user's home directory, which is shown as ~.
	Home string
	// Agents are the names of the agents that can continue another agent's session.
	Agents []string
	// Version is the version of the program.
	Version wire.Version
	// Log receives refusals and failures and, at level debug, every request; nil logs nothing.
	Log *slog.Logger
	// Patience is how long a client may take to send its request, with a third of it for the header, and to accept each piece of an answer.
	// A slower client is dropped. 0 means 30 seconds.
	Patience time.Duration
	// MaxRequests is the largest number of requests that are answered at the same time; 0 means 512. MaxStreams is that of event streams,
	// which do not count as requests; 0 means 256.
	MaxRequests, MaxStreams int
	// Clock returns the time, and Random is the source of the event log's number; nil means the machine's own.
	Clock  func() time.Time
	Random io.Reader
}

// ErrNeedsToken is returned by New for a host that other machines can reach if no token is needed.
var ErrNeedsToken = errors.New("other machines can reach this address, so it needs a token")

// ErrShortToken is returned by New for such a host if its token is short enough to be guessed.
var ErrShortToken = errors.New("other machines can reach this address, so its token needs 12 characters or more")

// tokenLeast is the shortest length of a token for a host that other machines can reach.
const tokenLeast = 12

// Server serves a store. It is an http.Handler; Serve runs it on a listener.
type Server struct {
	opt   Options
	store *treeline.Store
	log   *slog.Logger
	guard guard.Guard
	base  string // "" or a path without a slash at its end
	mux   *http.ServeMux
	// patterns are the patterns of the routes in the order in which they were added.
	patterns []string
	sender   *reply.Sender
	counts   counts

	journal *access.Journal // nil without Access

	site   *page.Site
	recent view.Recent

	feed     *feed.Feed
	watching watching
	logs     *logs.Logs // nil without an archive
	list     view.Catalogue
	projects view.Projects
	sums     view.Sums
	docs     documents
	busy     atomic.Int64 // requests in progress
	live     atomic.Int64 // open event streams

	exports downloads

	ctx   context.Context
	close context.CancelFunc
	tasks sync.WaitGroup
}

// New returns a server. The caller closes it with Close.
func New(opt Options) (*Server, error) {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	opt.Patience = cmp.Or(opt.Patience, 30*time.Second)
	opt.MaxRequests, opt.MaxStreams = cmp.Or(opt.MaxRequests, 512), cmp.Or(opt.MaxStreams, 256)
	if opt.Random == nil {
		opt.Random = rand.Reader
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{opt: opt, store: opt.Store, log: opt.Log, sender: reply.NewSender(opt.Patience, opt.Log)}
	if err := s.place(); err != nil {
		return nil, err
	}
	epoch := make([]byte, 4)
	if _, err := io.ReadFull(opt.Random, epoch); err != nil {
		return nil, fmt.Errorf("number of the event log: %w", err)
	}
	s.counts.began = opt.Clock()
	s.ctx, s.close = context.WithCancel(context.Background())
	s.feed = feed.New(hex.EncodeToString(epoch))
	s.watching.reads, s.watching.ready = make(chan string, 16), make(chan struct{})
	s.docs.s = s
	s.list.Read, s.list.Live, s.list.Clock = s.catalogue, s.watch, opt.Clock
	if opt.Archive != nil {
		s.logs = logs.New(s.ctx, logs.Options{Backend: opt.Archive, Writing: opt.ArchiveAs, Patience: opt.Patience, Epoch: s.feed.Epoch,
			MaxStreams: opt.MaxStreams})
	}
	if opt.Access != nil {
		s.journal = access.NewJournal(opt.Access, func(err error) { s.log.Error("the audit log", "error", err) })
	}
	s.routes()
	return s, nil
}

// pathBytes are the characters of a base path: those that URLs, cookies and patterns of the mux leave unchanged.
const pathBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"

// place checks the addresses in the options, and sets the base path and the guard.
func (s *Server) place() error {
	opt := &s.opt
	local := guard.IsLoopback(opt.Host)
	if !local && opt.Token == "" && opt.Access == nil {
		return ErrNeedsToken
	}
	if !local && opt.Token != "" && len(opt.Token) < tokenLeast {
		return ErrShortToken
	}
	base := opt.BasePath
	s.guard = guard.Guard{Local: local, Secure: opt.Certificate != nil, Certificate: opt.Certificate}
	if opt.Token != "" || opt.Access != nil {
		s.guard.Keeper = &guard.Keeper{Shared: opt.Token, Book: opt.Access, Clock: opt.Clock}
	}
	if opt.PublicURL != "" {
		u, err := url.Parse(opt.PublicURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return fmt.Errorf("public URL %q: must be like https://host/path", opt.PublicURL)
		}
		s.guard.Public, s.guard.Secure = u, opt.Certificate != nil || u.Scheme == "https"
		if base == "" {
			base = u.Path
		}
	}
	base = strings.TrimSuffix(base, "/")
	if base != "" && (base[0] != '/' || path.Clean(base) != base || strings.Trim(base, pathBytes) != "") {
		return fmt.Errorf("base path %q: must be like /treeline", base)
	}
	if u := s.guard.Public; u != nil && strings.Trim(u.Path, "/") != "" && strings.TrimSuffix(u.Path, "/") != base {
		return fmt.Errorf("public URL %q: its path is not the base path %q", opt.PublicURL, base)
	}
	s.base, s.guard.Base = base, base
	return nil
}

// Unguarded reports whether clients on other machines, which reach the server through a proxy, are let in without a token.
func (s *Server) Unguarded() bool {
	return s.guard.Public != nil && !s.guard.Closed() && !guard.IsLoopback(s.guard.Public.Hostname())
}

// Close ends all streams and the watch, and closes the sessions. There must be no requests after it.
func (s *Server) Close() error {
	s.close()
	s.tasks.Wait()
	err := s.docs.closeAll()
	if s.logs != nil {
		err = errors.Join(s.logs.Close(), err)
	}
	if s.journal != nil {
		err = errors.Join(err, s.journal.Close())
	}
	return err
}

// Base returns the path below which everything is served, without a trailing slash.
func (s *Server) Base() string { return s.base }

// Limits on connections.
const (
	idleTime    = 2 * time.Minute
	headerMost  = 16 << 10
	socketBytes = 32 << 10 // send buffer of a connection
)

// Serve answers requests on a listener until ctx ends, and then gives requests in progress a few seconds. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: s.opt.Patience / 3, ReadTimeout: s.opt.Patience, IdleTimeout: idleTime, MaxHeaderBytes: headerMost,
		DisableGeneralOptionsHandler: true, // the guard sees every request
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			s.small(c)
			return ctx
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		s.close()
		return err
	case <-ctx.Done():
	}
	s.close() // event streams would never end by themselves
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := h.Shutdown(last); err != nil {
		return h.Close() // cuts off requests that are still in progress
	}
	return nil
}

// small limits the send buffer that the operating system keeps for a client.
func (s *Server) small(c net.Conn) {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = t.NetConn()
	}
	if t, ok := c.(*net.TCPConn); ok {
		if err := t.SetWriteBuffer(socketBytes); err != nil {
			s.log.Debug("write buffer of a connection", "error", err)
		}
	}
}
