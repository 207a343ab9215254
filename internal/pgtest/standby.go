package pgtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby makes a copy of a running server that follows it, as pg_basebackup does, and ends with the test. From then on the
// server acknowledges a commit when the copy has it too.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	c := &Server{tool: s.tool, port: s.port}
	if err := c.folder(Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	const name = "copy"
	err := s.tool.run("pg_basebackup", "-h", s.dir, "-U", User, "-D", c.data(), "-c", "fast", "-X", "stream", "-R", "-N",
		"-d", "application_name="+name)
	if err == nil {
		// The copied configuration names the socket of the first server. The last line counts.
		err = c.configure(Options{})
	}
	if err == nil {
		err = c.Up()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "alter system set synchronous_standby_names = '"+name+"'", "select pg_reload_conf()")
	s.awaitSync(t)
	return c
}

// awaitSync returns when commits wait for the copy. Each check is a transaction of its own: within one, the server repeats the same list of
// connections.
func (s *Server) awaitSync(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, s.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for {
		var ready bool
		err := c.QueryRow(ctx, "select exists (select from pg_stat_replication where sync_state = 'sync')").Scan(&ready)
		if err != nil {
			t.Fatalf("waiting for the standby: %v", err)
		}
		if ready {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Promote makes a copy an independent server, which takes writes and waits for no other.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	auto := filepath.Join(s.data(), "postgresql.auto.conf")
	old, err := os.ReadFile(auto)
	if err == nil {
		var keep []string
		for line := range strings.Lines(string(old)) {
			if !strings.HasPrefix(line, "synchronous_standby_names") {
				keep = append(keep, line)
			}
		}
		err = os.WriteFile(auto, []byte(strings.Join(keep, "")), 0o600)
	}
	err = errors.Join(err, s.tool.run("pg_ctl", "promote", "-D", s.data(), "-w"))
	if err != nil {
		t.Fatal(err)
	}
}

// URLs returns a URL for whichever of the servers takes writes.
func URLs(database string, servers ...*Server) string {
	var dirs []string
	for _, s := range servers {
		dirs = append(dirs, s.dir)
	}
	return address(database, dirs...) + "&target_session_attrs=read-write"
}
