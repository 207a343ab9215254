package pgdb_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// A call whose context ends does not wait for the connection that another call is making.
func TestConnectingElsewhere(t *testing.T) {
	dials, goOn := make(chan struct{}, 1), make(chan struct{})
	d, err := pgdb.Open("postgres://u@127.0.0.1:1/db?sslmode=disable", pgdb.Options{Schema: versions("select 1"), Wrap: func(c *pgconn.Config) {
		c.DialFunc = func(context.Context, string, string) (net.Conn, error) {
			dials <- struct{}{}
			<-goOn
			return nil, net.ErrClosed
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() { first <- d.Read(context.Background(), func(*pgdb.Pool) error { return nil }) }()
	<-dials
	gone := errors.New("the caller is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	second := make(chan error, 1)
	go func() { second <- d.Read(ctx, func(*pgdb.Pool) error { return nil }) }()
	select {
	case err := <-second:
		if !errors.Is(err, gone) {
			t.Errorf("%v, want %v", err, gone)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for the other call")
	}
	close(goOn)
	if err := <-first; err == nil {
		t.Error("no error, want that of the dial")
	}
	d.Close()
}

// A call whose context has ended leaves the idle connections as they are.
func TestEndedContext(t *testing.T) {
	url := pgtest.Shared(t).Database(t, "ended")
	var made atomic.Int64
	d, err := pgdb.Open(url, pgdb.Options{Schema: versions("select 1"), Wrap: func(c *pgconn.Config) {
		dial := c.DialFunc
		c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			made.Add(1)
			return dial(ctx, network, addr)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if n, err := ask(t, d, true, "select 1"); n != 1 || err != nil {
		t.Fatalf("%d, %v; want 1", n, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	before := made.Load()
	time.Sleep(pgdb.CheckAfter) // an idle connection is asked whether it is alive
	for range 20 {
		err := d.Read(ended, func(p *pgdb.Pool) error {
			_, err := p.Exec(ended, "select 1")
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want %v", err, context.Canceled)
		}
	}
	if n, err := ask(t, d, true, "select 1"); n != 1 || err != nil || made.Load() != before {
		t.Errorf("%d, %v, and %d new connections; want 1 and none", n, err, made.Load()-before)
	}
}
