// Package pgtest starts real PostgreSQL servers for tests, from the installed binaries, on a unix socket in a temporary
// folder. The folder is in memory where the system has one that is large enough, unless the server is to be durable. It also works as root: the server, which refuses to run as root, then runs as another user.
//
// The tests of one binary share a server (Shared), which Main stops. A test that stops or promotes servers has its own (Start). On Linux, a
// process that is killed takes its servers with it.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// User is the superuser of every server. It needs no password.
const User = "treeline"

// Guarded is the name of a role that needs a password, once a test has created it.
const Guarded = "guarded"

// patience bounds the wait for a server to start or stop. It is long because tests share the machine.
const patience = time.Minute

// Options are the settings of a server.
type Options struct {
	// Settings are lines of postgresql.conf. The defaults are for tests: nothing is synced to the disk, so the data survives
	// a crash of the server but not of the machine.
	Settings []string
	// Durable syncs to the disk, as a server of a team does.
	Durable bool
}

// Server is a PostgreSQL server.
type Server struct {
	tool tools
	dir  string // folder with the data folder and the socket
	port int
	proc *process // nil while it is stopped
	// strategy is how a database is copied. Copying files takes a quarter of the time of records in the write-ahead log, the default since
	// version 15, which is the first with a choice.
	strategy string
}

// tools are the installed programs.
type tools struct {
	bin  string // folder of initdb and postgres
	cred credential
}

var shared struct {
	once sync.Once
	s    *Server
	err  error

	bouncerOnce sync.Once
	bouncer     *Bouncer
	bouncerErr  error
}

// Main is for TestMain: it runs the tests and stops the shared servers.
func Main(m interface{ Run() int }) (code int) {
	defer func() {
		if shared.bouncer != nil {
			shared.bouncer.Close()
		}
		if shared.s != nil {
			if err := shared.s.Close(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
	}()
	return soaktest.Main(m)
}

// ErrAbsent: the programs are not installed.
var ErrAbsent = errors.New("PostgreSQL is not installed")

// ready fails the test on an error. If the programs are not installed, it skips the test, unless TREELINE_CI is set.
func ready(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrAbsent) && os.Getenv("TREELINE_CI") == "" {
		t.Skipf("SKIPPED: %v: nothing was tested on a database", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Shared returns the server that all tests of this binary share. TestMain must call Main.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.once.Do(func() { shared.s, shared.err = Launch(Options{}) })
	ready(t, shared.err)
	return shared.s
}

// SharedBouncer returns a pgbouncer in transaction mode in front of the shared server.
func SharedBouncer(t testing.TB) *Bouncer {
	t.Helper()
	s := Shared(t)
	shared.bouncerOnce.Do(func() { shared.bouncer, shared.bouncerErr = s.bounce() })
	ready(t, shared.bouncerErr)
	return shared.bouncer
}

// Start starts a server of the test's own, which ends with it.
func Start(t testing.TB, opt Options) *Server {
	t.Helper()
	s, err := Launch(opt)
	ready(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// find finds a program: in PATH, otherwise where Debian puts it, the newest version first.
func find(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return filepath.EvalSymlinks(path) // the other programs are beside the real one
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program) // the pattern is valid
	if more, err := os.Stat("/usr/sbin/" + program); err == nil && !more.IsDir() {
		found = append(found, "/usr/sbin/"+program)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 for another layout
		return n
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%w: there is no %s", ErrAbsent, program)
	}
	return slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }), nil
}

// servant returns the user for programs that refuse to run as root; nil if this process is not root.
func servant() (credential, error) {
	if os.Getuid() != 0 {
		return credential{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err := errors.Join(err1, err2); err != nil {
			return credential{}, err
		}
		return credential{uid: uid, gid: gid, set: true}, nil
	}
	return credential{}, errors.New("no user postgres or nobody: PostgreSQL does not run as root")
}

// Launch starts a server outside of a test: Close stops it.
func Launch(opt Options) (*Server, error) {
	initdb, err := find("initdb")
	if err != nil {
		return nil, err
	}
	cred, err := servant()
	if err != nil {
		return nil, err
	}
	s := &Server{tool: tools{filepath.Dir(initdb), cred}, port: 5432}
	if err := s.folder(opt); err != nil {
		return nil, err
	}
	err = s.initialise(initdb)
	if err == nil {
		err = s.configure(opt)
	}
	if err == nil {
		err = s.Up()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// folder makes the folder of a server. The name is short: the path of a unix socket has at most 107 bytes.
func (s *Server) folder(opt Options) (err error) {
	if !opt.Durable {
		s.dir = soaktest.MemoryFolder()
	}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "pg-"); err != nil {
			return err
		}
	}
	return s.tool.cred.own(s.dir)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) configure(opt Options) error {
	lines := append([]string{
		"listen_addresses = ''", "unix_socket_directories = '" + s.dir + "'", "max_connections = 200", "shared_buffers = '32MB'",
		"log_min_messages = fatal", "jit = off", "autovacuum_naptime = '1h'",
	}, opt.Settings...)
	if opt.Durable {
		lines = append(lines, "max_wal_size = '2GB'")
	} else {
		lines = append(lines, "max_wal_size = '256MB'", "fsync = off", "full_page_writes = off", "wal_init_zero = off")
	}
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	// The first line that matches counts.
	rules := filepath.Join(s.data(), "pg_hba.conf")
	old, err := os.ReadFile(rules)
	if err != nil {
		return err
	}
	return os.WriteFile(rules, append([]byte("local all "+Guarded+" scram-sha-256\n"), old...), 0o600)
}

// run runs a program to its end.
func (t tools) run(program string, args ...string) error {
	if !filepath.IsAbs(program) {
		program = filepath.Join(t.bin, program)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.SysProcAttr = "/", t.cred.attr()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

// URL returns the URL of a database; "" means the first database.
func (s *Server) URL(database string) string {
	if database == "" {
		database = "postgres"
	}
	return address(database, s.dir)
}

func address(database string, sockets ...string) string {
	query := url.Values{"host": {strings.Join(sockets, ",")}, "sslmode": {"disable"}}
	return fmt.Sprintf("postgres://%s@/%s?%s", User, database, query.Encode())
}

// Up starts a server that was stopped, and returns when it accepts connections.
func (s *Server) Up() error {
	p, err := s.tool.start(filepath.Join(s.tool.bin, "postgres"), "-D", s.data(), "-p", strconv.Itoa(s.port))
	if err != nil {
		return err
	}
	s.proc = p
	version, err := p.await(s.URL(""))
	if major, _, _ := strings.Cut(version, "."); len(major) > 1 && major >= "15" {
		s.strategy = " strategy file_copy"
	}
	return err
}

// await returns when a server answers, with its version.
func (p *process) await(url string) (version string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, url)
		if err == nil {
			return c.PgConn().ParameterStatus("server_version"), c.Close(ctx)
		}
		select {
		case <-p.done:
			return "", fmt.Errorf("the server ended: %w\n%s", err, p.output())
		case <-ctx.Done():
			return "", fmt.Errorf("the server does not answer: %w\n%s", err, p.output())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Crash stops the server like pg_ctl stop -m immediate: it waits for no connection and writes nothing, so that the next start recovers.
func (s *Server) Crash() error {
	if s.proc == nil {
		return nil
	}
	p := s.proc
	s.proc = nil
	return p.stop(syscall.SIGQUIT)
}

// Close stops the server and removes its folder.
func (s *Server) Close() error { return errors.Join(s.Crash(), os.RemoveAll(s.dir)) }

// Database makes an empty database and returns its URL.
func (s *Server) Database(t testing.TB, name string) string {
	t.Helper()
	s.Exec(t, "create database "+pgx.Identifier{name}.Sanitize()+s.strategy)
	return s.URL(name)
}

// Exec runs statements as the superuser, in the first database.
func (s *Server) Exec(t testing.TB, statements ...string) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	for _, sql := range statements {
		if _, err := c.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}
