package reading

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
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/demo"
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

// Serve shows sessions in a browser. Ctrl-C ends it with exit code 0.
func Serve(a *cli.App) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:        "serve",
		SuggestFor: []string{"server", "web", "ui", "viewer", "browse", "http"},
		Short:      "Show sessions in a browser and serve them to programs",
		Long: "Serve web pages that show the sessions of all agents, with every branch, and an HTTP API below /api/v1, described in\n" +
			"docs/http.md. Only programs on this machine can reach it, and it is read-only unless --write is set. Ctrl-C stops it.\n\n" +
			"Listening on an address that other machines can reach requires a token: in a file (--token-file), in the variable\n" +
			"" + cli.TokenVariable + ", or with --token. Browsers log in with it; programs send it as 'Authorization: Bearer TOKEN'. Use --tls-cert\n" +
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
		Args: cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), a, &f)
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
	a.AddJSON(cmd)
	return cmd
}

// secret returns the token, or "". It may be given in one place only. With an archive, the variable has the token of a client, which must
// not replace the tokens of users.
func (f *serveFlags) secret(getenv func(string) string, archived bool) (string, error) {
	switch {
	case f.token != "" && f.tokenFile != "":
		return "", cli.Misused("--token and --token-file cannot be combined")
	case f.tokenFile != "":
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return "", cli.AtPath(f.tokenFile, err)
		}
		if token := strings.TrimSpace(string(text)); token != "" {
			return token, nil
		}
		return "", fmt.Errorf("%s: the token is empty", f.tokenFile)
	}
	if archived {
		return f.token, nil
	}
	return cmp.Or(f.token, getenv(cli.TokenVariable)), nil
}

// certificate returns the configuration of TLS, or nil.
func (f *serveFlags) certificate() (*tls.Config, error) {
	switch {
	case f.cert == "" && f.key == "":
		return nil, nil
	case f.cert == "" || f.key == "":
		return nil, cli.Misused("--tls-cert and --tls-key must be given together")
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

func serve(ctx context.Context, a *cli.App, f *serveFlags) error {
	host, port, err := net.SplitHostPort(f.addr)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(ctx, "tcp", port) // a number up to 65535, or the name of a service
	}
	if err != nil {
		return cli.Invalid("addr", f.addr, "HOST:PORT, such as 127.0.0.1:7331")
	}
	config, err := f.certificate()
	if err != nil {
		return err
	}
	token, err := f.secret(a.Getenv, a.Archive != "")
	if err != nil {
		return err
	}
	opt, clean, err := served(ctx, a, f)
	if err != nil {
		return errors.Join(err, clean())
	}
	s, err := a.Opened(opt)
	a.AtEnd(clean)
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if f.verbose {
		level = slog.LevelDebug
	}
	given := server.Options{
		Store: s, Host: host, Token: token, Write: f.write, PublicURL: f.publicURL, BasePath: f.basePath,
		Home: a.Home(), Agents: cli.Launchable(), Version: cli.ThisVersion(), Clock: a.Clock,
		Log: slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: level})),
	}
	if config != nil {
		given.Certificate = config.Certificates[0].Leaf
	}
	if err := serveArchive(ctx, a, f, s, &given); err != nil {
		return err
	}
	h, err := server.New(given)
	if errors.Is(err, server.ErrNeedsToken) || errors.Is(err, server.ErrShortToken) {
		return cli.Misused("--addr %s: %w; use --token-file FILE, or the variable %s", f.addr, err, cli.TokenVariable)
	}
	if err != nil {
		return cli.Misused("%w", err)
	}
	a.BeforeEnd(h.Close)
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
	if err := announce(ctx, a, s, url, f.write, given.Access != nil); err != nil {
		return errors.Join(err, l.Close())
	}
	if config == nil && !f.alone(host) && !strings.HasPrefix(f.publicURL, "https://") {
		a.Notice("without TLS, tokens and sessions can be read on the network: use --tls-cert and --tls-key, or a proxy and its --public-url https://HOST")
	}
	if h.Unguarded() {
		a.Notice("every client that can reach " + url + " can read the sessions, unless the proxy asks for a password; use --token-file FILE to require a token")
	}
	if f.browser {
		browse(a, url)
	}
	a.Patience.Store(int64(10 * time.Second)) // time for requests to end by themselves
	a.Endless.Store(true)
	if err := h.Serve(ctx, l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// serveArchive adds what a server of an archive has in addition: the logs themselves, and users.
func serveArchive(ctx context.Context, a *cli.App, f *serveFlags, s *treeline.Store, opt *server.Options) (err error) {
	if a.Archive == "" {
		if f.users {
			return cli.Misused("--users needs --store")
		}
		return nil
	}
	root := strings.TrimSuffix(s.ArchivedPath(""), "/")
	if f.write {
		opt.Archive, err = s.OpenWriting(root, "")
		opt.ArchiveAs = func(writer backend.Writer) (backend.Backend, error) { return s.OpenAs(writer, root, "") }
	} else {
		opt.Archive, err = s.Machine.Open(root)
	}
	if err != nil || !f.users && (opt.Token != "" || f.alone(opt.Host)) {
		return err
	}
	if opt.Access, err = a.Book(); err != nil {
		return err
	}
	tokens, err := opt.Access.List(ctx)
	if err == nil && len(tokens) == 0 {
		a.Notice("there are no tokens yet, so no client can connect; 'treeline token add' creates one")
	}
	return err
}

// alone reports whether only programs on this machine can reach the server.
func (f *serveFlags) alone(host string) bool {
	public := host
	if u, err := url.Parse(f.publicURL); err == nil && f.publicURL != "" {
		public = u.Hostname()
	}
	return guard.IsLoopback(host) && guard.IsLoopback(public)
}

// served returns the options of the store: this machine, a folder, or the demo. clean is called when the store is closed.
func served(ctx context.Context, a *cli.App, f *serveFlags) (opt treeline.Options, clean func() error, err error) {
	opt, clean = a.Options(), func() error { return nil }
	switch {
	case f.demo && f.root != "":
		err = cli.Misused("--demo and --root cannot be combined")
	case f.demo && a.Archive != "":
		err = cli.Misused("--demo and --store cannot be combined")
	case f.root != "":
		opt.Roots, err = []string{f.root}, cli.IsFolder(f.root)
	case f.demo:
		var dir string
		if dir, clean, err = a.WriteDemo(ctx); err == nil {
			opt = demo.Machine(dir, a.Now, a.Drivers()...)
		}
	}
	opt.ReadOnly = !f.write
	return opt, clean, err
}

// reached returns the address by which clients reach the server. For an address such as 0.0.0.0, which is not reachable itself, it is the
// first name of the certificate, or this machine.
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

// listenError adds advice to the error for a port that is in use.
func listenError(addr string, err error) error {
	const taken syscall.Errno = 10048 // on Windows
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, taken) {
		return fmt.Errorf("--addr: %s is in use: another 'treeline serve' may be running there, so look at http://%s/ first; "+
			"--addr 127.0.0.1:0 takes a free port", addr, addr)
	}
	return fmt.Errorf("--addr: %w", err)
}

// announce prints the URL on a line of its own, so that a script can use it, and what is served there.
func announce(ctx context.Context, a *cli.App, s *treeline.Store, url string, write, users bool) error {
	if a.JSON {
		return wire.Write(a.Stdout, wire.Endpoint{URL: url})
	}
	sources, err := s.LookAtSources(ctx)
	if err != nil {
		return err
	}
	sessions, agents := cli.Tally(sources)
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
	if err := a.Say(nil, url); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "%s; %s; Ctrl-C ends it\n", what, how)
	return nil
}

// browse opens the browser. A failure does not end the server.
func browse(a *cli.App, url string) {
	if err := cli.OpenBrowser(url); err != nil {
		a.Notice(err.Error())
	}
}
