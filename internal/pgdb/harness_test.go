package pgdb_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/internal/pgtest"
)

// number queries a number.
func number(t *testing.T, url, sql string) (n int) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if err := c.QueryRow(ctx, sql, pgx.QueryExecModeExec).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Committed data is there after an immediate stop, directly and behind the pooler.
func TestServerCrash(t *testing.T) {
	s := pgtest.Shared(t)
	url := s.Database(t, "crash")
	s.Exec(t, "create table kept as select 7 as n")
	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{s.URL(""), pgtest.SharedBouncer(t).URL("")} {
		if n := number(t, url, "select n from kept"); n != 7 {
			t.Errorf("kept %d", n)
		}
	}
	if n := number(t, url, "select 1"); n != 1 {
		t.Errorf("the database answers %d", n)
	}
}
