package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
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
const newest = 2

// Several processes make the schema at the same time, and it is made once. A reader makes none, and sees a place without logs.
func TestMigrate(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t, "migrate")
	reader := opened(t, url, "a")
	for at, err := range reader.List(t.Context(), "") {
		t.Errorf("an empty database has %v, %v", at, err)
	}
	_, err := reader.Stat(t.Context(), "a.jsonl")
	if _, err2 := blob.Get(t.Context(), reader.Blobs(""), blob.Ref{}); !errors.Is(err, backend.ErrNotExist) || !errors.Is(err2, blob.ErrNotExist) {
		t.Errorf("%v, %v; want the error backend.ErrNotExist, the error blob.ErrNotExist", err, err2)
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

// Every method reports what is wrong with an address, a database or a name, without the password, and changes nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	kept := s.Database(t, "refusals")
	if _, err := opened(t, kept, "a").Create(t.Context(), "a.jsonl", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	newer := s.Database(t, "newer")
	if _, err := opened(t, newer, "a").Create(t.Context(), "a.jsonl", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	ask[int](t, newer, "insert into treeline.migration values ($1, now()) returning version", newest+1)
	s.Exec(t, "create role weak login", "create role "+pgtest.Guarded+" login password 'right'")
	as := func(user string) string { return strings.Replace(kept, pgtest.User+"@", user+"@", 1) }
	for what, tc := range map[string]struct{ url, want string }{
		"bad address":    {"postgres://me:s3cret@host:port/db", "is not valid"},
		"wrong database": {strings.Replace(s.URL("missing"), "@", ":s3cret@", 1), `the server has no database "missing"`},
		"wrong host":     {"postgres://me:s3cret@/postgres?host=%2Fno%2Fwhere", "no/where"},
		"no such user":   {as("stranger:s3cret"), `role "stranger" does not exist`},
		"no right":       {as("weak:s3cret"), `the user "weak" lacks a right`},
		"wrong password": {as(pgtest.Guarded + ":s3cret"), `the server refuses the user "guarded" or its password`},
		"no password":    {as(pgtest.Guarded), `the server refuses the user "guarded" or its password`},
		"newer schema":   {newer, fmt.Sprintf("version %d, this program knows %d", newest+1, newest)},
	} {
		for method, err := range refused(t, tc.url) {
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s, %s: %v; want %q", what, method, err, tc.want)
			}
		}
	}
	for _, url := range []string{kept, newer} {
		if n := ask[int](t, url, "select (select count(*) from treeline.log) + (select count(*) from treeline.record) + (select count(*) from treeline.blob)"); n != 2 {
			t.Errorf("%d rows, want those of one log", n)
		}
	}
}

// refused opens a database and returns the errors of its methods.
func refused(t *testing.T, url string) map[string]error {
	t.Helper()
	b, err := Open(url, Options{}, backend.OpenOptions{Below: "a"})
	if err != nil {
		return map[string]error{"open": err}
	}
	defer b.Close()
	ctx, at, errs := t.Context(), backend.Log{Name: "a.jsonl", Generation: "1", Size: 5}, map[string]error{}
	_, errs["create"] = b.Create(ctx, "new.jsonl", []byte("{}"))
	_, errs["append"] = b.Append(ctx, at, []byte("{}"))
	_, errs["replace"] = b.Replace(ctx, at, []byte("{}"))
	errs["remove"] = b.Remove(ctx, at)
	_, errs["overwrite"] = b.Overwrite(ctx, backend.Log{Name: "new.jsonl"}, "", strings.NewReader("{}"))
	_, errs["stat"] = b.Stat(ctx, "a.jsonl")
	for _, errs["read"] = range b.Read(ctx, at, 0) {
	}
	for _, errs["list"] = range b.List(ctx, "") {
	}
	_, errs["folders"] = b.Folders(ctx, "")
	_, errs["identity"] = b.Identity(ctx)
	_, errs["watch"] = b.Watch(func(string, error) {})
	_, errs["put"] = b.Blobs("").Put(ctx, []byte("blob"))
	_, errs["has"] = b.Blobs("").Has(ctx, blob.Ref{})
	return errs
}

// Every method refuses an invalid name before it sends a query.
func TestNames(t *testing.T) {
	t.Parallel()
	b := opened(t, "postgres://nobody@/nothing?host=%2Fno%2Fwhere", "")
	for _, name := range []string{"", ".", "/a", "a//b", "a/../b", "a/\xff", "a/\x00", "origin", strings.Repeat("x/", longest/2) + "x.jsonl"} {
		if name != "" && len(name) < longest { // no log can have a longer name
			if _, err := b.Stat(t.Context(), name); !errors.Is(err, backend.ErrName) {
				t.Errorf("%.20q: %v; want the error backend.ErrName", name, err)
			}
		}
		if _, err := b.Create(t.Context(), name, []byte("x")); !errors.Is(err, backend.ErrName) {
			t.Errorf("%.20q: %v; want the error backend.ErrName", name, err)
		}
		if _, err := b.Overwrite(t.Context(), backend.Log{Name: name}, "", strings.NewReader("x")); !errors.Is(err, backend.ErrName) {
			t.Errorf("%.20q: %v; want the error backend.ErrName", name, err)
		}
	}
	for _, below := range []string{"/a", "a/", "..", "a/\xff"} {
		if _, err := Open("postgres://h/d", Options{}, backend.OpenOptions{Below: below}); !errors.Is(err, backend.ErrName) {
			t.Errorf("below %q: %v", below, err)
		}
	}
}

// The last writer is recorded, and old generations are kept: those of replaced logs and of removed ones.
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

// Appends to many logs at once share transactions, and one that conflicts does not disturb the others.
func TestTogether(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).URL("")
	b := opened(t, url+"&pool_max_conns=2", "together")
	const logs, each = 24, 5
	heads := make([]backend.Log, logs)
	run := func(work func(i int) error) *sync.WaitGroup {
		var group sync.WaitGroup
		for i := range logs {
			group.Go(func() {
				if err := work(i); err != nil {
					t.Error(err)
				}
			})
		}
		return &group
	}
	run(func(i int) (err error) {
		at, err := b.Create(t.Context(), fmt.Sprintf("%d.jsonl", i))
		for j := 1; j < each && err == nil; j++ {
			old := at
			if at, err = b.Append(t.Context(), at, fmt.Appendf(nil, "%d", j)); err == nil {
				if _, e := b.Append(t.Context(), old, []byte("late")); !errors.Is(e, backend.ErrConflict) {
					t.Errorf("an old token: %v", e)
				}
			}
		}
		heads[i] = at
		return err
	}).Wait()

	// The last append of each log waits until the logs are unlocked. By then most appends are in the queue.
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(t.Context(), "begin; select from treeline.log where name like 'together/%' for update"); err != nil {
		t.Fatal(err)
	}
	last := run(func(i int) error {
		_, err := b.Append(t.Context(), heads[i], []byte("last"))
		return err
	})
	for !t.Failed() && ask[int](t, url, "select count(*) from pg_stat_activity where $1::int = any(pg_blocking_pids(pid))", c.PgConn().PID()) == 0 {
		runtime.Gosched()
	}
	if _, err := c.Exec(t.Context(), "commit"); err != nil {
		t.Fatal(err)
	}
	last.Wait()
	if n := ask[int](t, url, "select count(*) from treeline.record r join treeline.log l using (log) where name like 'together/%'"); n != logs*each {
		t.Errorf("%d records, want %d", n, logs*each)
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
		for _, content := range []string{"", "hi", strings.Repeat("long ", 1<<18), strings.Repeat("longer", inline/6+1)} {
			for _, s := range []blob.Store{one, two} {
				if r, err := s.Put(t.Context(), []byte(content)); err != nil || r != blob.Sum([]byte(content)) {
					t.Fatalf("%s, %v; want no error, r == blob.Sum([]byte(content))", r, err)
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
			t.Errorf("%s: %v; want the error blob.ErrCorrupt", damage, err)
		}
	}
}
