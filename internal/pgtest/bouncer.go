package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Bouncer is a pgbouncer in transaction mode: each transaction may use another connection to the server.
type Bouncer struct {
	dir  string
	proc *process
}

// bounce starts a pgbouncer in front of a server. It has few connections, so that transactions of one client do use different ones.
func (s *Server) bounce() (*Bouncer, error) {
	program, err := find("pgbouncer")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, "b")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "pgbouncer.ini")
	text := strings.Join([]string{
		"[databases]",
		fmt.Sprintf("* = host=%s port=%d user=%s", s.dir, s.port, User),
		"[pgbouncer]",
		"pool_mode = transaction", "auth_type = any", "listen_addr =", "listen_port = 5432", "unix_socket_dir = " + dir,
		"max_client_conn = 500", "default_pool_size = 8", "ignore_startup_parameters = extra_float_digits", "log_connections = 0", "log_disconnections = 0",
	}, "\n") + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if err := errors.Join(s.tool.cred.own(dir), s.tool.cred.own(config)); err != nil {
		return nil, err
	}
	p, err := s.tool.start(program, config)
	if err != nil {
		return nil, err
	}
	b := &Bouncer{dir, p}
	if _, err := p.await(b.URL("") + "&default_query_exec_mode=exec"); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// URL returns the URL of a database behind the pooler; "" means the first database.
func (b *Bouncer) URL(database string) string {
	if database == "" {
		database = "postgres"
	}
	return address(database, b.dir)
}

// Close stops the pooler.
func (b *Bouncer) Close() { _ = b.proc.stop(os.Kill) }
