package pgtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Standby makes a copy of a running server that follows it, as pg_basebackup does, and ends with the test. From then on the
// server acknowledges a commit when the copy has it too.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	c := &Server{tool: s.tool, port: s.port}
	if err := c.folder(); err != nil {
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
	s.Exec(t, "alter system set synchronous_standby_names = '"+name+"'", "select pg_reload_conf()",
		// The settings are read in the server's own time.
		`do $$ begin
			while not exists (select from pg_stat_replication where sync_state = 'sync') loop perform pg_sleep(0.01); end loop;
		end $$`)
	return c
}

// Promote makes a copy a server of its own, which takes writes and waits for no other.
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

// URLs is the address of whichever of the servers takes writes.
func URLs(database string, servers ...*Server) string {
	var dirs []string
	for _, s := range servers {
		dirs = append(dirs, s.dir)
	}
	return address(database, dirs...) + "&target_session_attrs=read-write"
}
