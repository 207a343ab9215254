package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// ask runs a query that returns one value.
func ask[T any](t *testing.T, url, sql string, args ...any) (v T) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := c.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// newest is the version of the schema.
const newest = 1

// Several processes make the schema at once, and it is made once. A reader makes none, and sees a place without logs.
func TestMigrate(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t, "migrate")
	reader := opened(t, url, "a")
	for at, err := range reader.List(t.Context(), "") {
		t.Errorf("an empty database has %v, %v", at, err)
	}
	_, err := reader.Stat(t.Context(), "a.jsonl")
	if _, err2 := blob.Get(t.Context(), reader.Blobs(""), blob.Ref{}); !errors.Is(err, backend.ErrNotExist) || !errors.Is(err2, blob.ErrNotExist) {
		t.Errorf("%v, %v", err, err2)
	}
	if ask[bool](t, url, "select to_regnamespace('treeline') is not null") {
		t.Error("a reader made the schema")
	}
	var group sync.WaitGroup
	for i := range 4 {
		b := opened(t, url, fmt.Sprintf("b%d", i))
		group.Go(func() {
			if _, err := b.Create(t.Context(), "a.jsonl", []byte("{}")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := ask[int](t, url, "select count(*) from treeline.migration"); n != newest {
		t.Errorf("%d migrations were noted", n)
	}
	// Origins do not see each other's logs.
	if _, err := reader.Stat(t.Context(), "a.jsonl"); !errors.Is(err, backend.ErrNotExist) {
		t.Errorf("another origin's log: %v", err)
	}
}

// What is wrong with an address or a database is said, and nothing is changed.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	newer, older := s.Database(t, "newer"), s.Database(t, "older")
	for url, version := range map[string]int{newer: newest + 1, older: 0} {
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exec(t.Context(), "create schema treeline; create table treeline.migration (version integer primary key, applied timestamptz not null)"); err != nil {
			t.Fatal(err)
		}
		if version > 0 {
			_, err = c.Exec(t.Context(), "insert into treeline.migration values ($1, now())", version)
		}
		if err := errors.Join(err, c.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	s.Exec(t, "create role weak login", "create role "+pgtest.Guarded+" login password 'right'")
	for what, tc := range map[string]struct{ url, want string }{
		"bad address":    {"postgres://host:port/db", "is not valid"},
		"wrong database": {s.URL("missing"), `database "missing" does not exist`},
		"wrong host":     {"postgres://treeline@/postgres?host=%2Fno%2Fwhere", "no/where"},
		"no right":       {strings.Replace(s.URL(""), pgtest.User, "weak", 1), "lacks a right"},
		"wrong password": {strings.Replace(s.URL(""), pgtest.User, pgtest.Guarded+":wrong", 1), "password authentication failed"},
		"newer schema":   {newer, fmt.Sprintf("version %d, this program knows %d", newest+1, newest)},
	} {
		b, err := Open(tc.url, Options{}, backend.OpenOptions{Below: "a"})
		if err == nil {
			_, err = b.Create(t.Context(), "refused.jsonl", []byte("{}"))
			_ = b.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "wrong@") {
			t.Errorf("%s: %v; want %q", what, err, tc.want)
		}
	}
	if ask[bool](t, newer, "select to_regclass('treeline.log') is not null") {
		t.Error("a newer schema was changed")
	}
	if _, err := opened(t, older, "a").Create(t.Context(), "a.jsonl"); err != nil {
		t.Errorf("a schema without tables: %v", err)
	}
}

// Whoever wrote last is noted, and old generations are kept: those of replaced logs and of removed ones.
func TestRows(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).URL("")
	b := opened(t, url, "rows")
	at, err := b.Create(t.Context(), "a.jsonl", []byte("one"), bytes.Repeat([]byte("x"), 2*piece+5))
	if err == nil {
		at, err = b.Append(t.Context(), at, []byte("two"))
	}
	if err == nil {
		at, err = b.Replace(t.Context(), at, []byte("three"))
	}
	if err == nil {
		err = b.Remove(t.Context(), at)
	}
	if err != nil {
		t.Fatal(err)
	}
	k := b.key("a.jsonl")
	for sql, want := range map[string]string{
		"select writer from treeline.log where log = $1": "tester@machine",
		"select string_agg(generation || ' ' || length(data), ', ' order by generation, position) from treeline.record where log = $1":             "1 4, 1 1048576, 1 1048576, 1 6, 1 4, 2 6",
		"select string_agg(generation::text, ' ' order by generation) from treeline.retired where log = $1 and until > now() + interval '29 days'": "1 2",
	} {
		if got := ask[string](t, url, sql, k); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// A log that is larger than the parameters of a statement is copied in a transaction, and streams.
func TestLarge(t *testing.T) {
	t.Parallel()
	b := opened(t, pgtest.Shared(t).URL(""), "large")
	record := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16) // 1 MB
	record[len(record)-1] = '!'
	record = bytes.ReplaceAll(record, []byte{'\n'}, []byte{' '})
	const n = 6
	at, err := backend.CreateFrom(t.Context(), b, "a.jsonl", func(yield func([]byte, error) bool) {
		for range n {
			if !yield(record, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if at, err = b.Append(t.Context(), at, bytes.Repeat(record, n)); err != nil { // one record
		t.Fatal(err)
	}
	count := 0
	for r, err := range b.Read(t.Context(), at, 0) {
		if err != nil || len(r.Data) != len(record) && (count < n || !bytes.Equal(r.Data, bytes.Repeat(record, n))) {
			t.Fatalf("record %d has %d bytes, %v", count, len(r.Data), err)
		}
		count++
	}
	if count != n+1 {
		t.Errorf("%d records", count)
	}
}

// Appends to many logs at once share transactions, and one that conflicts does not disturb the others.
func TestTogether(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).URL("")
	b := opened(t, url+"&pool_max_conns=2", "together")
	const logs, each = 24, 5
	var group sync.WaitGroup
	for i := range logs {
		group.Go(func() {
			at, err := b.Create(t.Context(), fmt.Sprintf("%d.jsonl", i))
			for j := 0; j < each && err == nil; j++ {
				old := at
				if at, err = b.Append(t.Context(), at, fmt.Appendf(nil, "%d", j)); err == nil {
					if _, e := b.Append(t.Context(), old, []byte("late")); !errors.Is(e, backend.ErrConflict) {
						t.Errorf("an old token: %v", e)
					}
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := ask[int](t, url, "select count(*) from treeline.record r join treeline.log l using (log) where name like 'together/%'"); n != logs*each {
		t.Errorf("%d records", n)
	}
	if n := ask[int](t, url, "select count(distinct xid) from treeline.log where name like 'together/%'"); n == logs {
		t.Error("no two appends shared a transaction")
	}
}

// Blobs are stored once for all origins, read in pieces, and verified.
func TestBlobs(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).URL("")
	for _, url := range []string{url, pgtest.SharedBouncer(t).URL("")} {
		one, two := opened(t, url, "one").Blobs(""), opened(t, url, "two").Blobs("")
		for _, content := range []string{"", "hi", strings.Repeat("long ", 1<<19), strings.Repeat("longer ", 1<<20)} {
			for _, s := range []blob.Store{one, two, one} {
				if r, err := s.Put(t.Context(), []byte(content)); err != nil || r != blob.Sum([]byte(content)) {
					t.Fatalf("%s, %v", r, err)
				}
				got, err := blob.Get(t.Context(), two, blob.Sum([]byte(content)))
				if err != nil || string(got) != content {
					t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
				}
			}
		}
		if ok, err := two.Has(t.Context(), blob.Sum([]byte("missing"))); ok || err != nil {
			t.Errorf("a missing blob: %v, %v", ok, err)
		}
	}
	s := opened(t, url, "one").Blobs("")
	for _, damage := range []string{"update treeline.blob_piece set data = 'damageD' where ref = $1", "delete from treeline.blob_piece where ref = $1"} {
		r, err := s.Put(t.Context(), []byte("damaged"))
		if err != nil {
			t.Fatal(err)
		}
		ask[int](t, url, "with d as ("+damage+" returning 1) select count(*) from d", r[:])
		if _, err := blob.Get(t.Context(), s, r); !errors.Is(err, blob.ErrCorrupt) {
			t.Errorf("%s: %v", damage, err)
		}
	}
}
