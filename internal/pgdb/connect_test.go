package pgdb_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// brief is a connection that breaks after some messages.
type brief struct {
	net.Conn
	left int
}

func (b *brief) Write(p []byte) (int, error) {
	if b.left--; b.left < 0 {
		_ = b.Conn.Close()
	}
	return b.Conn.Write(p)
}

// The tables are made once although connections break at several steps of that. An address that never answered is not tried again.
func TestPatience(t *testing.T) {
	url := pgtest.Shared(t).Database(t, "patience")
	var made atomic.Int64
	d, err := pgdb.Open(url, pgdb.Options{Schema: versions("create table \"Odd name\".a as select 1 as n"), Wrap: func(c *pgconn.Config) {
		dial := c.DialFunc
		c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return &brief{conn, 3 * int(made.Add(1))}, err
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if n, err := ask(t, d, true, `select sum(n) + (select count(*) from "Odd name".migration) from "Odd name".a`); n != 2 || err != nil {
		t.Errorf("%d, %v; want n == 2, no error", n, err)
	}
	if made.Load() < 3 {
		t.Errorf("only %d connections", made.Load())
	}
	wrong, err := pgdb.Open("postgres://u@/db?host=/no/where", pgdb.Options{Schema: versions("select 1")})
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Close()
	start := time.Now()
	if _, err := ask(t, wrong, true, "select 1"); err == nil || time.Since(start) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}
