package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/wire"
)

// serveFlags say what is served, where, and to which clients.
type serveFlags struct {
	addr, root              string
	token, tokenFile        string
	cert, key               string
	publicURL, basePath     string
	write, browser, verbose bool
	demo, users             bool
}

// tokenVariable is where a token can be kept off the command line, which other users of the machine see.
const tokenVariable = "TREELINE_TOKEN"

// serveCommand shows sessions in a browser. Ctrl-C ends it with exit code 0.
func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:        "serve",
		SuggestFor: []string{"server", "web", "ui", "viewer", "browse", "http"},
		Short:      "Show sessions in a browser and serve them to programs",
		Long: "Serve web pages that show the sessions of all agents, with every branch, and an HTTP API below /api/v1, described in\n" +
			"docs/http.md. Only programs on this machine can reach it, and it is read-only unless --write is set. Ctrl-C stops it.\n\n" +
			"Listening on an address that other machines can reach requires a token: in a file (--token-file), in the variable\n" +
			"" + tokenVariable + ", or with --token. Browsers log in with it; programs send it as 'Authorization: Bearer TOKEN'. Use --tls-cert\n" +
			"and --tls-key, or a proxy that speaks TLS, so that it is not sent in the clear.\n\n" +
			"With --store it serves an archive to a team: sessions, searches and, for 'treeline push' and 'pull', the logs\n" +
			"themselves. Every client then needs a token from 'treeline token add', which decides what it can see and change,\n" +
			"unless only this machine can reach the server or --token is set; --users requires one in any case. Nothing is written\n" +
			"without --write, whatever a token allows.\n\n" +
			"Requests for an unknown host name are refused, because another site could point its own name here. --public-url is the\n" +
			"address that people use behind a proxy or a tunnel; its path is the base path.",
		Example: "  treeline serve --open\n  treeline serve --addr 127.0.0.1:0 --write\n" +
			"  treeline serve --addr 0.0.0.0:7331 --token-file ~/.treeline-token --tls-cert cert.pem --tls-key key.pem\n" +
			"  treeline serve --public-url https://box.example/treeline\n" +
			"  treeline serve --store postgres://host/db --addr 0.0.0.0:7331 --write --tls-cert cert.pem --tls-key key.pem",
		Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context(), &f)
		},
	}
	cmd.Flags().StringVar(&f.addr, "addr", "127.0.0.1:7331", "listen on `HOST:PORT`; port 0 is any free one")
	cmd.Flags().BoolVar(&f.browser, "open", false, "open the browser")
	cmd.Flags().BoolVar(&f.demo, "demo", false, "serve made-up sessions of several agents, in a folder that is removed at the end")
	cmd.Flags().BoolVar(&f.write, "write", false, "let clients append, branch, label, rename, fork and remove, and push")
	cmd.Flags().BoolVar(&f.users, "users", false, "with --store: every client needs a token from 'treeline token add'")
	cmd.Flags().StringVar(&f.root, "root", "", "serve the sessions in the folder `DIR` instead of the agents' own")
	cmd.Flags().StringVar(&f.token, "token", "", "require this `TOKEN` from clients")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "require the token in this `FILE` from clients")
	cmd.Flags().StringVar(&f.cert, "tls-cert", "", "use TLS, with the certificate in `FILE`")
	cmd.Flags().StringVar(&f.key, "tls-key", "", "the private key of --tls-cert is in `FILE`")
	cmd.Flags().StringVar(&f.publicURL, "public-url", "", "the `URL` that people use behind a proxy or a tunnel")
	cmd.Flags().StringVar(&f.basePath, "base-path", "", "serve everything below this `PATH`; default: the path of --public-url")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "log every request")
	a.addJSON(cmd)
	return cmd
}

// secret gives the token, "" for none. Only one place may name it. With an archive the variable has the token of a client, which must
// not replace those of users.
func (f *serveFlags) secret(getenv func(string) string, archived bool) (string, error) {
	switch {
	case f.token != "" && f.tokenFile != "":
		return "", misused("--token and --token-file cannot be combined")
	case f.tokenFile != "":
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return "", atPath(f.tokenFile, err)
		}
		if token := strings.TrimSpace(string(text)); token != "" {
			return token, nil
		}
		return "", fmt.Errorf("%s: the token is empty", f.tokenFile)
	}
	if archived {
		return f.token, nil
	}
	return cmp.Or(f.token, getenv(tokenVariable)), nil
}

// certificate gives the configuration of TLS, nil for none.
func (f *serveFlags) certificate() (*tls.Config, error) {
	switch {
	case f.cert == "" && f.key == "":
		return nil, nil
	case f.cert == "" || f.key == "":
		return nil, misused("--tls-cert and --tls-key must be given together")
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

func (a *app) serve(ctx context.Context, f *serveFlags) error {
	host, port, err := net.SplitHostPort(f.addr)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(ctx, "tcp", port) // a number up to 65535, or the name of a service
	}
	if err != nil {
		return invalid("addr", f.addr, "HOST:PORT, such as 127.0.0.1:7331")
	}
	config, err := f.certificate()
	if err != nil {
		return err
	}
	token, err := f.secret(a.getenv, a.archive != "")
	if err != nil {
		return err
	}
	opt, clean, err := a.served(ctx, f)
	if err != nil {
		return errors.Join(err, clean())
	}
	s, err := a.opened(opt)
	a.close = append(a.close, clean)
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if f.verbose {
		level = slog.LevelDebug
	}
	given := server.Options{
		Store: s, Host: host, Token: token, Write: f.write, PublicURL: f.publicURL, BasePath: f.basePath,
		Home: a.home(), Agents: launchable(), Version: thisVersion(), Clock: a.clock,
		Log: slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level})),
	}
	if config != nil {
		given.Certificate = config.Certificates[0].Leaf
	}
	if err := a.serveArchive(ctx, f, s, &given); err != nil {
		return err
	}
	h, err := server.New(given)
	if errors.Is(err, server.ErrNeedsToken) || errors.Is(err, server.ErrShortToken) {
		return misused("--addr %s: %w; use --token-file FILE, or the variable %s", f.addr, err, tokenVariable)
	}
	if err != nil {
		return usageError{err}
	}
	a.close = append([]func() error{h.Close}, a.close...) // before the store
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		return listenError(f.addr, err)
	}
	url := "http://"
	if config != nil {
		url, l = "https://", tls.NewListener(l, config)
	}
	url += reached(l.Addr().String(), host, given.Certificate) + h.Base() + "/"
	if f.publicURL != "" {
		url = strings.TrimSuffix(strings.TrimSuffix(f.publicURL, "/"), h.Base()) + h.Base() + "/"
	}
	if err := a.announce(ctx, s, url, f.write, given.Access != nil); err != nil {
		return errors.Join(err, l.Close())
	}
	if config == nil && !f.alone(host) && !strings.HasPrefix(f.publicURL, "https://") {
		a.notice("without TLS, tokens and sessions can be read on the network: use --tls-cert and --tls-key, or a proxy and its --public-url https://HOST")
	}
	if h.Unguarded() {
		a.notice("every client that can reach " + url + " can read the sessions, unless the proxy asks for a password; use --token-file FILE to require a token")
	}
	if f.browser {
		a.browse(url)
	}
	a.patience.Store(int64(10 * time.Second)) // requests may end by themselves
	a.endless.Store(true)
	if err := h.Serve(ctx, l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// serveArchive adds what a server of an archive has besides: the logs themselves, and users.
func (a *app) serveArchive(ctx context.Context, f *serveFlags, s *treeline.Store, opt *server.Options) (err error) {
	if a.archive == "" {
		if f.users {
			return misused("--users needs --store")
		}
		return nil
	}
	root := strings.TrimSuffix(s.ArchivedPath(""), "/")
	if f.write {
		opt.Archive, err = s.OpenWriting(root, "")
		opt.ArchiveAs = func(writer string) (backend.Backend, error) { return s.OpenAs(writer, root, "") }
	} else {
		opt.Archive, err = s.Machine.Open(root)
	}
	if err != nil || !f.users && (opt.Token != "" || f.alone(opt.Host)) {
		return err
	}
	if opt.Access, err = a.book(); err != nil {
		return err
	}
	tokens, err := opt.Access.List(ctx)
	if err == nil && len(tokens) == 0 {
		a.notice("there are no tokens yet, so no client can connect; 'treeline token add' creates one")
	}
	return err
}

// alone reports whether only programs of this machine reach the server.
func (f *serveFlags) alone(host string) bool {
	public := host
	if u, err := url.Parse(f.publicURL); err == nil && f.publicURL != "" {
		public = u.Hostname()
	}
	return guard.IsLoopback(host) && guard.IsLoopback(public)
}

// served gives the options of the store: this machine, a folder, or the demo. clean is called when the store is closed.
func (a *app) served(ctx context.Context, f *serveFlags) (opt treeline.Options, clean func() error, err error) {
	opt, clean = a.options(), func() error { return nil }
	switch {
	case f.demo && f.root != "":
		err = misused("--demo and --root cannot be combined")
	case f.demo && a.archive != "":
		err = misused("--demo and --store cannot be combined")
	case f.root != "":
		opt.Roots, err = []string{f.root}, isFolder(f.root)
	case f.demo:
		var dir string
		if dir, clean, err = a.writeDemo(ctx); err == nil {
			opt = demo.Machine(dir, a.now, a.drivers()...)
		}
	}
	opt.ReadOnly = !f.write
	return opt, clean, err
}

// reached is the address by which clients reach the server. An address such as 0.0.0.0 cannot be reached itself: it is the first name
// of the certificate, or this machine.
func reached(addr, host string, certificate *x509.Certificate) string {
	_, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return addr
	}
	name := "localhost"
	if certificate != nil && len(certificate.DNSNames) > 0 && !strings.Contains(certificate.DNSNames[0], "*") {
		name = certificate.DNSNames[0]
	}
	return net.JoinHostPort(name, port)
}

// listenError says what to do about a port that is taken.
func listenError(addr string, err error) error {
	const taken syscall.Errno = 10048 // on Windows
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, taken) {
		return fmt.Errorf("--addr: %s is in use: another 'treeline serve' may be running there, so look at http://%s/ first; "+
			"--addr 127.0.0.1:0 takes a free port", addr, addr)
	}
	return fmt.Errorf("--addr: %w", err)
}

// announce prints the URL, alone on a line so that a script can use it, and what is served there.
func (a *app) announce(ctx context.Context, s *treeline.Store, url string, write, users bool) error {
	if a.json {
		return wire.Write(a.stdout, wire.Endpoint{URL: url})
	}
	sources, err := s.LookAtSources(ctx)
	if err != nil {
		return err
	}
	sessions, agents := tally(sources)
	what := wire.Count(sessions, "session", "sessions")
	if len(agents) > 0 {
		what += " of " + strings.Join(agents, ", ")
	}
	how := "read-only"
	if write {
		how = "clients may write"
	}
	if users {
		how += ", with a token from 'treeline token add'"
	}
	if err := a.say(nil, url); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "%s; %s; Ctrl-C ends it\n", what, how)
	return nil
}

// tally counts the sessions in some places, and names their agents.
func tally(sources []place.SourceInfo) (sessions int, agents []string) {
	for _, src := range sources {
		if src.Sessions > 0 {
			if sessions += src.Sessions; !slices.Contains(agents, dialect.Agent(src.Dialect)) {
				agents = append(agents, dialect.Agent(src.Dialect))
			}
		}
	}
	return sessions, agents
}

// browse opens the browser. That it fails is not worth ending the server.
func (a *app) browse(url string) {
	if err := openBrowser(url); err != nil {
		a.notice(err.Error())
	}
}

// openBrowser starts the user's browser, which may stay open longer than this program.
func openBrowser(url string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	c := exec.Command(command[0], append(command[1:], url)...)
	if err := c.Start(); err != nil {
		return fmt.Errorf("the browser was not opened: %w", err)
	}
	go func() { _ = c.Wait() }()
	return nil
}
