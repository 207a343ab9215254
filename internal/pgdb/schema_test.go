package pgdb_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// versions returns a schema with that many migrations.
func versions(sql ...string) pgdb.Schema {
	files := fstest.MapFS{}
	for i, s := range sql {
		files["migration/"+string(rune('1'+i))+".sql"] = &fstest.MapFile{Data: []byte(s), Mode: fs.FileMode(0o600)}
	}
	return pgdb.Schema{Name: "Odd name", Files: files}
}

func open(t *testing.T, url string, s pgdb.Schema) *pgdb.DB {
	t.Helper()
	d, err := pgdb.Open(url, pgdb.Options{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// ask runs a query that returns a number, as a reader or a writer.
func ask(t *testing.T, d *pgdb.DB, write bool, sql string) (n int, err error) {
	t.Helper()
	do := func(p *pgdb.Pool) error { return p.QueryRow(t.Context(), sql).Scan(&n) }
	if write {
		return n, d.Write(t.Context(), func(p *pgdb.Pool, _ bool) error { return do(p) })
	}
	return n, d.Read(t.Context(), do)
}

// Only writers upgrade a schema, each step completely or not at all, and once.
func TestVersions(t *testing.T) {
	url := pgtest.Shared(t).URL("")
	const (
		first  = `create table "Odd name".a as select 1 as n`
		second = `create table "Odd name".b as select 2 as n; insert into "Odd name".a values (10)`
		broken = `create table "Odd name".c as select 3 as n; select no_such_function()`
		sum    = `select sum(n) from "Odd name".a`
	)
	if _, err := ask(t, open(t, url, versions(first)), false, sum); !errors.Is(err, pgdb.ErrEmpty) {
		t.Errorf("a reader of an empty database: %v", err)
	}
	var group sync.WaitGroup
	for range 4 {
		d := open(t, url, versions(first))
		group.Go(func() {
			if n, err := ask(t, d, true, sum); n != 1 || err != nil {
				t.Errorf("version 1: %d, %v", n, err)
			}
		})
	}
	group.Wait()
	if _, err := ask(t, open(t, url, versions(first, second)), false, sum); !errors.Is(err, pgdb.ErrSchema) || !strings.Contains(err.Error(), "version 1, this program needs 2") {
		t.Errorf("a newer reader: %v", err)
	}
	if _, err := ask(t, open(t, url, versions(first, broken)), true, sum); err == nil || !strings.Contains(err.Error(), "making version 2") {
		t.Errorf("a migration that fails: %v", err)
	}
	old := open(t, url, versions(first))
	if n, err := ask(t, old, false, sum+` where to_regclass('"Odd name".b') is null and to_regclass('"Odd name".c') is null`); n != 1 || err != nil {
		t.Errorf("after refusals: %d, %v", n, err)
	}
	if n, err := ask(t, open(t, url, versions(first, second)), true, sum); n != 11 || err != nil {
		t.Errorf("version 2: %d, %v", n, err)
	}
	for _, write := range []bool{false, true} {
		if _, err := ask(t, open(t, url, versions(first)), write, sum); !errors.Is(err, pgdb.ErrSchema) || !strings.Contains(err.Error(), "version 2, this program knows 1") {
			t.Errorf("an older program, write %v: %v", write, err)
		}
	}
	if n, err := ask(t, open(t, url, versions(first, second)), false, sum); n != 11 || err != nil {
		t.Errorf("in the end: %d, %v", n, err)
	}
}
