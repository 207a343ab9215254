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

// Options say what is served, and to whom.
type Options struct {
	// Store is what is served. The caller closes it after the server.
	Store *treeline.Store
	// Archive has the logs that other machines push and pull; nil serves none. ArchiveAs gives it with a writer that is noted
	// with each write; nil is Archive, and tokens that are limited to projects do not write it. The caller closes it after the server.
	Archive   backend.Backend
	ArchiveAs func(writer backend.Writer) (backend.Backend, error)
	// Host is the host that the server listens on. On another one than this machine's own, a Token is needed.
	Host string
	// Token is what clients must know to do everything; "" is none.
	Token string
	// Access has the tokens of users, and what each of them may do; nil is none. With neither it nor a Token all are let in. Every
	// write is noted in it. The caller closes it after the server.
	Access access.Book
	// Write allows operations that change sessions, to clients whose token does. Writing says how.
	Write   bool
	Writing store.WriteOptions
	// PublicURL is how clients reach the server through a proxy or a tunnel; "" is by its address. Its path is the base path.
	PublicURL string
	// BasePath is the path below which everything is served; "" is the path of PublicURL, or the root.
	BasePath string
	// Certificate is that of a server that speaks TLS itself; nil for others. Clients may use the names in it.
	Certificate *x509.Certificate
	// Home is the user's folder, which is shown as ~.
	Home string
	// Agents are those that can continue a session of another one, by name.
	Agents []string
	// Version is that of the program.
	Version wire.Version
	// Log is told what is refused and what fails and, at level debug, every request; nil logs nothing.
	Log *slog.Logger
	// Patience is how long a client may take to send its request, a third of it for the header, and to accept each piece of an
	// answer, before it is dropped; 0 is 30 seconds.
	Patience time.Duration
	// MaxRequests bounds the requests that are answered at the same time, MaxStreams the clients of events besides; 0 is 512 and
	// 256.
	MaxRequests, MaxStreams int
	// Clock is the time and Random the source of the number of the event log; nil is the machine's own.
	Clock  func() time.Time
	Random io.Reader
}

// ErrNeedsToken is returned by New for a host other than this machine's own without a token.
var ErrNeedsToken = errors.New("other machines can reach this address, so it needs a token")

// ErrShortToken is returned by New for such a host with a token that could be guessed.
var ErrShortToken = errors.New("other machines can reach this address, so its token needs 12 characters or more")

// tokenLeast is the length of a token for hosts that other machines reach.
const tokenLeast = 12

// Server serves a store. It is an http.Handler; Serve runs it on a listener.
type Server struct {
	opt   Options
	store *treeline.Store
	log   *slog.Logger
	guard guard.Guard
	base  string // "" or a path without a slash at its end
	mux   *http.ServeMux
	// patterns are the routes, as they were added.
	patterns []string
	sender   *reply.Sender
	counts   counts

	journal *access.Journal // nil without users

	site   *page.Site
	recent view.Recent

	feed     *feed.Feed
	watching watching
	logs     *logs.Logs // nil without an archive
	list     view.Catalogue
	projects view.Projects
	sums     view.Sums
	docs     documents
	busy     atomic.Int64 // requests
	live     atomic.Int64 // clients of events

	exports downloads

	ctx   context.Context
	close context.CancelFunc
	tasks sync.WaitGroup
}

// New gives a server. Close ends it.
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

// pathBytes are the characters of a base path: those that addresses, cookies and patterns of the mux do not change.
const pathBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"

// place finds out where the server is for its clients.
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

// Unguarded reports whether clients on other machines are let in without a token: a proxy leads them here.
func (s *Server) Unguarded() bool {
	return s.guard.Public != nil && !s.guard.Closed() && !guard.IsLoopback(s.guard.Public.Hostname())
}

// Close ends all streams and the watch, and closes the sessions. No request may come afterwards.
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

// Base is the path below which everything is served, without a slash at its end.
func (s *Server) Base() string { return s.base }

// Limits on connections.
const (
	idleTime    = 2 * time.Minute
	headerMost  = 16 << 10
	socketBytes = 32 << 10 // what the system may hold for a client
)

// Serve answers on a listener until ctx ends; then it lets requests end for a few seconds. It closes the listener.
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
	s.close() // streams of events end: they would never do so by themselves
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := h.Shutdown(last); err != nil {
		return h.Close() // requests that are still going on are cut off
	}
	return nil
}

// small keeps what the system holds for a client small.
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
